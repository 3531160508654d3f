"""The writers: people at prsnlctl. Everything that was asked for is kept, with what prsnlctl said of it."""

import json
import threading
import time

TAGS = ["storm", "work", "reading list", "to-do", "garden", "tag-8"]


class Write:
    """One write that prsnlctl was asked for."""

    def __init__(self, kind, marker, target=None, **fields):
        self.kind, self.marker, self.target, self.fields = kind, marker, target, fields
        # accepted, refused, or lost: prsnlctl was killed, or did not know.
        self.outcome = "lost"
        self.entry = self.state = self.item = self.code = None
        # When its command was started, and when it had answered: microseconds, real ones.
        self.began = self.ended = None

    def record(self):
        return dict(vars(self))


class Ledger:
    def __init__(self):
        self.lock = threading.Lock()
        self.writes = []
        self.refusals = []

    def add(self, write):
        write.began = real_time()
        with self.lock:
            self.writes.append(write)

    def recent(self, *kinds):
        with self.lock:
            return [write for write in self.writes[-40:] if write.kind in kinds]


def real_time():
    return int(time.time() * 1_000_000)


class Writer(threading.Thread):
    """A person who writes without a pause. The plan comes from the seed; which items there are to be edited does not."""

    # How many of the edits and deletions are of any item; the others are of the newest 60.
    anywhere = 0.3

    def __init__(self, world, ledger, random, name, gate):
        super().__init__(name=name, daemon=True)
        self.world, self.ledger, self.random, self.gate = world, ledger, random, gate
        self.count = 0
        self.recent = []

    def run(self):
        while self.gate.enter():
            try:
                self.write()
            except Exception as error:  # a harness that fails must not pass for a quiet one
                self.world.accident(f"writer {self.name}: {type(error).__name__}: {error}")
            finally:
                self.gate.leave()
            self.gate.pause(self.rest())

    def rest(self):
        return self.random.uniform(0.0, 0.4)

    def marker(self):
        self.count += 1
        return f"mk{self.name}x{self.count:06}z"

    def tags(self):
        return self.random.sample(TAGS, self.random.randint(0, 3))

    def write(self):
        draw = self.random.random()
        kill = self.random.uniform(0.001, 0.06) if self.random.random() < 0.12 else None
        if draw < 0.28 or not self.recent:
            self.create(self.note(self.marker()), kill)
        elif draw < 0.48:
            self.create(self.link(self.marker()), kill)
        elif draw < 0.62:
            self.again(kill)
        elif draw < 0.65:
            self.many()
        elif draw < 0.70:
            self.replace(kill)
        elif draw < 0.88:
            self.change("edit", kill)
        else:
            self.change("delete", kill)

    # Creations

    def note(self, marker):
        first = self.random.choice(["Buy milk", "A thought about gardens", "x", "Call back at four o'clock"])
        rest = self.random.choice(["", "\nsecond line", "\n\n  indented  line\nand   spaces", " – naïve, 日本語"])
        # E asks for a title.
        title = f"Title of {marker}" if self.world.dialect == "E" or self.random.random() < 0.3 else None
        return Write("note", marker, note=f"{first} {marker}{rest}", title=title, tags=self.tags())

    def link(self, marker):
        title = f"Page {marker}" if self.world.dialect == "E" or self.random.random() < 0.5 else None
        return Write("capture", marker, url=f"https://storm.example/{marker}", title=title, tags=self.tags())

    def again(self, kill):
        """The same once more, of one's own or of another person: a note is another note, a URL gets other tags."""
        earlier = self.random.choice(self.recent if self.random.random() < 0.5 else self.ledger.recent("note", "capture"))
        fields = dict(earlier.fields)
        if earlier.kind == "capture":
            fields["tags"] = self.tags()
            if self.random.random() < 0.5:
                fields["title"] = f"Again {self.marker()} {earlier.marker}"
        self.create(Write(earlier.kind, earlier.marker, **fields), kill)

    def create(self, write, kill):
        self.remember(write)
        fields = write.fields
        words = ["capture", fields["url"]] if write.kind == "capture" else ["note"]
        if fields["title"]:
            words += ["--title", fields["title"]]
        for tag in fields["tags"]:
            words += ["--tag", tag]
        self.perform(write, words + (["--", fields["note"]] if write.kind == "note" else []), kill)

    def remember(self, write):
        self.ledger.add(write)
        self.recent = [*self.recent[-19:], write]

    def replace(self, kill):
        """An item of another client, or of one's own, is deleted here, and its URL captured again at once."""
        rows = self.world.setting.query(
            "SELECT id, url FROM timeline WHERE url LIKE 'https://storm.example/mk%' ORDER BY created_at DESC LIMIT 30")
        if not rows:
            return
        id, url = self.random.choice(rows)
        write = Write("delete", self.marker(), target=id)
        self.ledger.add(write)
        self.perform(write, ["delete", "--", id], kill if self.random.random() < 0.3 else None)
        marker = url.rpartition("/")[2]
        title = f"Replaced {self.marker()} {marker}" if self.world.dialect == "E" or self.random.random() < 0.5 else None
        self.create(Write("capture", marker, url=url, title=title, tags=self.tags()), kill)

    def many(self):
        """`capture --stdin`: all of it in one durable transaction, and counted. Some are long, with one URL in two lines."""
        writes, lines = [], []
        count = 60 if self.random.random() < 0.15 else self.random.randint(2, 12)
        repeated = self.random.random() < 0.5
        for number in range(count):
            write = self.random.choice([self.note, self.link])(self.marker())
            if repeated and number in (0, count - 1):
                marker = write.marker if number == 0 else writes[0].marker
                write = self.link(marker)
                write.fields |= {"title": f"Line {number} {marker}", "tags": self.tags()}
            self.remember(write)
            writes.append(write)
            names = {"note": "note", "url": "url", "title": "title", "tags": "tags"}
            lines.append(json.dumps({names[name]: value for name, value in write.fields.items() if value}))
        code, answer, _ = self.world.control("capture", "--stdin", stdin="\n".join(lines).encode())
        if answer and answer.get("accepted") == len(writes):
            for write in writes:
                write.outcome, write.code = "accepted", code
        elif code == 0:
            self.world.accident(f"capture --stdin of {len(writes)} lines ended with 0 and {answer}")

    # Edits and deletions

    def change(self, kind, kill):
        rows = self.world.setting.query(
            "SELECT id, title FROM timeline ORDER BY random() LIMIT 1" if self.random.random() < self.anywhere
            else "SELECT id, title FROM timeline WHERE id IN (SELECT id FROM timeline LIMIT 60) ORDER BY random() LIMIT 1")
        # An item that cannot be asked for may keep its edits waiting forever.
        if not rows or rows[0][0] in self.world.failing:
            return
        write = Write(kind, self.marker(), target=rows[0][0])
        words = [kind]
        if kind == "edit":
            if self.random.random() < 0.7:
                write.fields["title"] = f"Edited {write.marker}"
                words += ["--title", write.fields["title"]]
            if self.random.random() < 0.5 or "title" not in write.fields:
                tags = [*self.tags(), write.marker.lower()]
                names = {"--add-tag": "add", "--remove-tag": "remove"} if self.random.random() < 0.5 else {"--tag": "tags"}
                for option, name in names.items():
                    write.fields[name] = [tag for tag in self.tags() if tag not in tags] if name == "remove" else tags
                    for tag in write.fields[name]:
                        words += [option, tag]
        self.ledger.add(write)
        self.perform(write, [*words, "--", write.target], kill)

    def perform(self, write, words, kill):
        code, answer, complaint = self.world.control(*words, kill_after=kill)
        write.code, write.ended = code, real_time()
        if not answer or not answer.get("writes"):
            if code not in (None, 0):
                write.complaint = complaint.decode(errors="replace")[:500]
            return
        said = answer["writes"][0]
        write.outcome = said["outcome"]
        write.entry, write.state, write.item = said.get("entry"), said.get("state"), said.get("item_id")
        if write.outcome == "refused":
            self.ledger.refusals.append((said.get("error") or {}).get("code"))
