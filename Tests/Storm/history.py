"""What the server's rows were at each moment, from its own journal. Moments are real ones: the server's clock is set."""

import collections
import itertools
import json

from clocks import Clock


class Row:
    """An item of the server, and everything that became of it."""

    def __init__(self, line):
        self.id = line["id"]
        self.inserted = line
        # (time, line), a removal as (time, None)
        self.states = []
        # Lines.
        self.removals = []
        # When a backup brought it back that had been removed.
        self.returned = None

    def put(self, line):
        if line["client"] == "restore" and self.states and self.now is None:
            self.returned = line["real"]
        self.states.append((line["real"], line))

    def remove(self, line):
        self.states.append((line["real"], None))
        self.removals.append(line)

    @property
    def inserted_at(self):
        return self.inserted["real"]

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

    def was_shown(self, begin, end):
        """Whether a list that was asked for at any moment of this time had it."""
        return self.visible_at(begin) and all(
            line is not None and not line["hidden"] for at, line in self.states if begin <= at <= end)

    def was_taken_by(self, time):
        """Whether it was gone by then, and not by a deletion of ours: by another client, or by a backup. Another backup may have
        brought it back, after it was looked for."""
        return any(line["real"] <= time and line["client"] != "http" for line in self.removals)

    def was_rewritten_by(self, time):
        """Whether another client had given the note another title and another text by then."""
        return any(line is not None and line["real"] <= time and line["client"] == "other"
                   and line["title"] != self.inserted["title"] and line["content"] != self.inserted["content"]
                   for _, line in self.states)

    def since(self, time):
        """The states that a client may have seen which read at this time or later: from the one then. Of a row that was hidden
        then it saw nothing, and any from before may stand."""
        first = 0
        for index, (at, line) in enumerate(self.states):
            if at <= time:
                first = 0 if line is not None and line["hidden"] else index
        return [line for _, line in self.states[first:] if line is not None]

    def last_change(self, name):
        """(time, line) of the last change of a field; its insertion, where it never changed."""
        found, before = None, None
        for at, line in self.states:
            if line is None:
                continue
            value = sorted(line[name]) if isinstance(line[name], list) else line[name]
            if found is None or value != before:
                found, before = (at, line), value
        return found

    def was_set_back(self, time):
        """Whether a backup has changed it since."""
        return any(at >= time and line is not None and line["client"] == "restore" for at, line in self.states)

    def foreign_changes(self, name):
        """When another client changed a field after the insertion."""
        lines = [(at, line) for at, line in self.states if line is not None]
        return [at for (_, before), (at, line) in zip(lines, lines[1:])
                if line["client"] == "other" and line[name] != before[name]]

    def lines_from(self, version):
        """What it was from this version on."""
        lines = [line for _, line in self.states if line is not None]
        return list(itertools.dropwhile(lambda line: line["updated"] != version, lines))

    def is_older(self, version, other):
        """Whether the server had this version (`updated`) only before that one."""
        own = [index for index, (_, line) in enumerate(self.states) if line is not None and line["updated"] == version]
        others = [index for index, (_, line) in enumerate(self.states) if line is not None and line["updated"] == other]
        return bool(own) and bool(others) and own[-1] < others[0]


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
        self.clock = Clock()
        self.restores = 0
        # Of rows.
        self.change_count = 0

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
        match line["op"]:
            case "fault": self.faults[line["fault"]] += 1
            case "clock": self.clock.step(line["real"], line["ahead"])
            case "restore": self.restores += 1
            case "put": self.put(line)
            case "remove": self.remove(line)

    def put(self, line):
        self.change_count += 1
        key = line["key"] if line["client"] == "http" else None
        row = self.rows.get(line["id"])
        is_new = row is None
        if is_new:
            row = self.rows[line["id"]] = Row(line)
        row.put(line)
        if key and is_new:
            self.inserts[key].append(row)
        elif key:
            self.changes[key].append((row, line))
        elif is_new and line["client"] == "http":
            self.unkeyed.append(line)

    def remove(self, line):
        row = self.rows.get(line["id"])
        if row is None:
            return
        self.change_count += 1
        row.remove(line)
        if line["client"] != "http":
            return
        if line["key"]:
            self.removals[line["key"]].append((row, line))
        else:
            self.unkeyed.append(line)
