"""What the server's rows were at each moment, from its own journal."""

import collections
import json


class Row:
    """An item of the server, and everything that became of it."""

    def __init__(self, line):
        self.id = line["id"]
        self.inserted = line
        # (time, line), a removal as (time, None)
        self.states = []

    @property
    def removed(self):
        return self.states[-1][0] if self.states[-1][1] is None else None

    @property
    def now(self):
        return self.states[-1][1]

    def at(self, time):
        """What it was at this time; None where it was not there."""
        state = None
        for at, line in self.states:
            if at > time:
                break
            state = line
        return state

    def visible_at(self, time):
        state = self.at(time)
        return state is not None and not state["hidden"]

    def since(self, time):
        """The states that a client may have seen which read at this time or later: from the last visible one before it."""
        first = 0
        for index, (at, line) in enumerate(self.states):
            if at <= time and line is not None and not line["hidden"]:
                first = index
        return [line for _, line in self.states[first:] if line is not None]


class History:
    def __init__(self, path):
        self.path = path
        self.offset = 0
        self.rows = {}
        # By idempotency key: what was inserted, changed and removed by requests of prsnld.
        self.inserts = collections.defaultdict(list)
        self.changes = collections.defaultdict(list)
        self.removals = collections.defaultdict(list)
        self.unkeyed = []
        self.faults = collections.Counter()

    def read(self):
        """Reads what was written since."""
        with open(self.path, "rb") as file:
            file.seek(self.offset)
            data = file.read()
        end = data.rfind(b"\n") + 1
        self.offset += end
        for text in data[:end].split(b"\n"):
            try:
                line = json.loads(text)
            except ValueError:
                continue  # cut off by a kill
            self.take(line)
        return self

    def take(self, line):
        if line["op"] == "fault":
            self.faults[line["fault"]] += 1
            return
        key = line["key"] if line["client"] == "http" else None
        row = self.rows.get(line["id"])
        if line["op"] == "put":
            if row is None:
                row = self.rows[line["id"]] = Row(line)
                row.states.append((line["at"], line))
                if key:
                    self.inserts[key].append(row)
                elif line["client"] == "http":
                    self.unkeyed.append(line)
                return
            row.states.append((line["at"], line))
            if key:
                self.changes[key].append((row, line))
        elif row is not None:
            row.states.append((line["at"], None))
            row.remover = line
            if key:
                self.removals[key].append((row, line))
            elif line["client"] == "http":
                self.unkeyed.append(line)
