"""The writers: people at prsnlctl, and other clients of the same account. Everything that was asked for is kept, with what
prsnlctl said of it."""

import http.client
import json
import threading
import urllib.parse

TAGS = ["storm", "work", "reading list", "to-do", "garden", "tag-8"]


class Write:
    """One write that prsnlctl was asked for."""

    def __init__(self, kind, marker, target=None, **fields):
        self.kind, self.marker, self.target, self.fields = kind, marker, target, fields
        # accepted, refused, or lost: prsnlctl was killed, or did not know.
        self.outcome = "lost"
        self.entry = self.state = self.item = self.code = None
        self.behind_back = False

    def record(self):
        return dict(vars(self))


class Ledger:
    def __init__(self):
        self.lock = threading.Lock()
        self.writes = []
        self.refusals = []

    def add(self, write):
        with self.lock:
            self.writes.append(write)


class Writer(threading.Thread):
    """A person who writes without a pause. The plan comes from the seed; which items there are to be edited does not."""

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
            self.gate.pause(self.random.uniform(0.0, 0.4))

    def marker(self):
        self.count += 1
        return f"mk{self.name}x{self.count:06}z"

    def tags(self):
        return self.random.sample(TAGS, self.random.randint(0, 3))

    def write(self):
        draw = self.random.random()
        kill = self.random.uniform(0.001, 0.06) if self.random.random() < 0.12 else None
        if draw < 0.34 or not self.recent:
            self.create(self.note(self.marker()), kill)
        elif draw < 0.60:
            self.create(self.link(self.marker()), kill)
        elif draw < 0.66:
            self.again(kill)
        elif draw < 0.70:
            self.many()
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
        """The same once more: a note is another note, a URL gets other tags."""
        earlier = self.random.choice(self.recent)
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

    def many(self):
        """`capture --stdin`: all of it in one durable transaction, and counted."""
        writes, lines = [], []
        for _ in range(self.random.randint(2, 12)):
            write = self.random.choice([self.note, self.link])(self.marker())
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
            "SELECT id, title FROM timeline ORDER BY random() LIMIT 1" if self.random.random() < 0.3
            else "SELECT id, title FROM timeline WHERE id IN (SELECT id FROM timeline LIMIT 60) ORDER BY random() LIMIT 1")
        # An item that cannot be asked for may keep its edits waiting for ever.
        if not rows or rows[0][0] in self.world.failing:
            return
        write = Write(kind, self.marker(), target=rows[0][0])
        words = [kind]
        if kind == "edit":
            if self.random.random() < 0.7:
                write.fields["title"] = f"Edited {write.marker}"
                words += ["--title", write.fields["title"]]
            if self.random.random() < 0.5 or "title" not in write.fields:
                write.fields["tags"] = [*self.tags(), write.marker.lower()]
                for tag in write.fields["tags"]:
                    words += ["--tag", tag]
        self.ledger.add(write)
        self.perform(write, [*words, "--", write.target], kill)

    def perform(self, write, words, kill):
        code, answer, complaint = self.world.control(*words, kill_after=kill)
        write.code = code
        if not answer or not answer.get("writes"):
            if code not in (None, 0):
                write.complaint = complaint.decode(errors="replace")[:500]
            return
        said = answer["writes"][0]
        write.outcome = said["outcome"]
        write.entry, write.state, write.item = said.get("entry"), said.get("state"), said.get("item_id")
        if write.outcome == "refused":
            self.ledger.refusals.append((said.get("error") or {}).get("code"))


class OtherClient(threading.Thread):
    """Another client of the same account, straight at the server: it writes the same URLs and notes, edits and deletes."""

    def __init__(self, world, ledger, random, gate):
        super().__init__(name="other", daemon=True)
        self.world, self.ledger, self.random, self.gate = world, ledger, random, gate
        self.count = 0
        self.done = {"created": 0, "edited": 0, "deleted": 0}

    def run(self):
        while self.gate.enter():
            try:
                self.act()
            except (OSError, http.client.HTTPException):
                pass  # the server was killed, or a fault: what it did stands in its journal
            except Exception as error:
                self.world.accident(f"other client: {type(error).__name__}: {error}")
            finally:
                self.gate.leave()
            self.gate.pause(self.random.uniform(0.2, 1.0))

    def act(self):
        self.count += 1
        with self.ledger.lock:
            recent = [write for write in self.ledger.writes[-12:] if write.kind in ("note", "capture")]
        draw = self.random.random()
        if draw < 0.6 or not recent:
            body = {"title": f"Other {self.count}", "tags": ["elsewhere"]}
            if recent and draw < 0.35:
                # Exactly what somebody at prsnlctl has just asked for, with other tags.
                fields = self.random.choice(recent).fields
                body |= {"url": fields["url"]} if "url" in fields else {"content": fields["note"]}
            elif draw < 0.48:
                body["url"] = f"https://elsewhere.example/{self.count}"
            else:
                body["content"] = f"Written elsewhere, number {self.count}"
            body["content_type" if self.world.dialect != "E" else "itemType"] = "link" if "url" in body else "note"
            path = "/api/items" if self.world.dialect == "E" else "/api/capture"
            self.world.request("POST", path, body)
            self.done["created"] += 1
            return
        rows = self.world.setting.query("SELECT id FROM item WHERE deleted_at IS NULL ORDER BY random() LIMIT 1")
        if not rows or rows[0][0] in self.world.failing:
            return
        path = f"/api/items/{rows[0][0]}"
        if draw < 0.72:
            text = f"Changed text {self.count}\n" + "naïve 日本語 " * self.random.choice([0, 3, 200])
            self.world.request("POST", "/__dev/edit?" + urllib.parse.urlencode({"id": rows[0][0], "content": text}))
            self.done["edited"] += 1
        elif draw < 0.88:
            self.world.request("PUT" if self.world.dialect == "E" else "PATCH", path, {"title": f"Elsewhere {self.count}"})
            self.done["edited"] += 1
        else:
            self.world.request("DELETE", path)
            self.done["deleted"] += 1
