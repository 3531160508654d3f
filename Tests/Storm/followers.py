"""The readers of `prsnlctl changes`: one folds what it is given into a picture of the timeline, the other has a command that
fails and is killed (hook.py). Both are killed all the time.

The judge wants each change once and in order, the same line whenever it comes again, what the view `change` has under its
number, and in the end the picture of the timeline that the file has."""

import collections
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time

from reader import Copy
from world import tour

HOOK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hook.py")
TEXT_SIZES = """SELECT item_id, length(CAST(coalesce(content, '') AS BLOB))
    + length(CAST(coalesce(transcription, '') AS BLOB)) AS bytes FROM item_text"""


class Picture:
    """The timeline, and the texts that have changed."""

    def __init__(self, complain):
        self.items, self.texts, self.complain = {}, {}, complain

    def add(self, change):
        kind, id, old, new = (change[name] for name in ("kind", "item_id", "old", "new"))
        item = self.items.get(id)
        if kind == "text":
            if item is None or self.texts.get(id, old) != old:
                self.complain(change, f"the text of {item} was {self.texts.get(id)}")
            self.texts[id] = new
            return
        is_new = kind in ("present", "added", "restored")
        if is_new != (item is None) or any((item or {}).get(name) != value for name, value in (old or {}).items()):
            self.complain(change, f"it was {item}")
        if kind in ("deleted", "identified"):
            # What it is from now on may be there already.
            if kind == "identified" and new:
                self.items.setdefault(new["id"], item)
            self.items.pop(id, None)
            self.texts.pop(id, None)
        else:
            self.items[id] = (item or {}) | new


class Follower(threading.Thread):
    """One reader: its lives, and the changes that it was given in them."""

    # Seconds, about: many lives end when the place is moved for the first time.
    LIVES = [0.01, 0.02, 0.03, 0.1, 0.5, 4]

    def __init__(self, name, followers):
        super().__init__(name=name, daemon=True)
        self.followers, self.world = followers, followers.world
        self.random = followers.dice(name)
        self.lock = threading.Lock()
        self.process = None
        # The last change that it has, how many it was given, and how many of these it had before.
        self.newest = self.given = self.again = 0
        self.is_to_restart = False

    def path(self, name):
        return os.path.join(self.world.folder, f"{self.name}.{name}")

    def begin(self, *words, stdout=subprocess.DEVNULL):
        with open(self.path("log"), "ab") as log:
            return subprocess.Popen(
                [tour.CONTROL, "--config", self.world.setting.path, "changes", "--cursor", self.name, *words],
                stdin=subprocess.DEVNULL, stdout=stdout, stderr=log, start_new_session=True, env=self.followers.environment)

    def run(self):
        while not self.followers.is_over:
            try:
                self.live()
            except Exception as error:  # a harness that fails must not pass for a quiet one
                self.world.accident(f"{self.name} of changes: {type(error).__name__}: {error}")

    def live(self):
        end = time.monotonic() + self.random.choice(self.LIVES) * self.random.uniform(0.5, 1.5)
        self.is_to_restart = False
        self.start_process()
        while self.process.poll() is None:
            is_calm = self.followers.is_calm
            if self.followers.is_over or self.is_to_restart or (time.monotonic() > end and not is_calm):
                self.process.kill()
                self.process.wait()
                self.world.kills["readers"] += 1
            else:
                time.sleep(min(0.02, max(0.001, end - time.monotonic())))
            self.read()
        self.read()
        code = self.process.returncode
        with open(self.path("log")) as log:
            complaint = "".join(log.readlines()[-2:])
        # A kill leaves the lock of the place for a moment to a command that was just being started.
        if code not in (-signal.SIGKILL, self.end_life(code)) and "Another reader has the place" not in complaint:
            self.followers.find("accident", f"{self.name} {code}", f"changes ended with {code}: {complaint}")

    def read(self):
        """What came since."""

    def end_life(self, code):
        """The code with which it may end."""

    def take(self, line):
        """The change, where the reader did not have it yet."""
        change = json.loads(line)
        seq = change["seq"]
        known = self.followers.lines.setdefault(seq, line)
        if known != line:
            self.wrong(change, f"it was {known.decode()}")
        self.given += 1
        if seq <= self.newest:
            self.again += 1
            return None
        if seq != self.newest + 1:
            self.wrong(change, f"the one before was {self.newest}")
        self.newest = seq
        return change

    def wrong(self, change, text):
        self.followers.find("feed", f"{self.name} {change['seq']}", f"{self.name} was given {json.dumps(change)}: {text}")

    def new_lines(self, path):
        """What was written since, without a line that a kill has cut off."""
        with open(path, "rb") as file:
            file.seek(self.offset)
            lines = file.read().split(b"\n")[:-1]
        self.offset += sum(len(line) + 1 for line in lines)
        return lines


class Reader(Follower):
    """`changes --follow --json`. It begins with `--reread`, and forgets everything now and then."""

    def __init__(self, followers):
        super().__init__("reader", followers)
        self.picture = None
        self.rereads = 0

    def start_process(self):
        if self.random.random() < 0.03 and not self.followers.is_calm:
            self.picture = None
        self.is_rereading, self.has_header, self.offset = self.picture is None, False, 0
        self.building = Picture(self.wrong) if self.is_rereading else self.picture
        with open(self.path("lines"), "wb") as output:
            self.process = self.begin("--json", "--reread" if self.is_rereading else "--follow", stdout=output)

    def read(self):
        with self.lock:
            for line in self.new_lines(self.path("lines")):
                self.hear(line, json.loads(line))

    def hear(self, line, said):
        if not self.has_header or "missed" in said:
            self.has_header = True
            # Nothing in a storm makes a place that cannot be gone on from.
            if said.get("epoch") != self.followers.epoch or "to" not in said or (
                    not self.is_rereading and said["from"] > self.newest):
                self.followers.find("feed", f"{self.name} {said}", f"the reader had {self.newest}, and was told {said}")
                self.forget()
            elif self.is_rereading:
                self.newest = said["from"]
        elif said["kind"] == "present":
            self.building.add(said)
        elif (change := self.take(line)) and change["kind"] == "pulled":
            self.forget()
        elif change and self.building:
            self.building.add(change)

    def forget(self):
        self.picture = self.building = None
        self.is_to_restart = True

    def end_life(self, code):
        if self.is_rereading and code == 0:
            self.picture = self.building
            self.rereads += 1
        return 0 if self.is_rereading else None


class Hook(Follower):
    """`changes --follow -- COMMAND`. What its command took is in one file, with what was set aside."""

    # In the longest, a change is set aside that the command refuses each time.
    LIVES = [0.05, 0.1, 0.2, 1, 3, 15]

    def __init__(self, followers):
        super().__init__("hook", followers)
        self.offset, self.aside = 0, {}
        for name in ("taken", "fates"):
            open(self.path(name), "wb").close()

    def start_process(self):
        batch = 100 if self.followers.is_calm else self.random.choice([2, 20, 100])
        self.process = self.begin("--follow", "--batch", str(batch), "--", sys.executable, "-IS", HOOK, self.path(""))

    def read_all(self):
        """At a checkpoint: before, it is not known what was set aside."""
        listing = self.begin("--failed", stdout=subprocess.PIPE).communicate(timeout=60)[0]
        self.aside |= {json.loads(line)["seq"]: line for line in listing.splitlines()}
        for line in self.new_lines(self.path("taken")):
            self.skip_aside(json.loads(line)["seq"])
            self.take(line)
        self.skip_aside(None)

    def skip_aside(self, next):
        while self.newest + 1 != next and self.newest + 1 in self.aside:
            self.take(self.aside[self.newest + 1])


class Followers:
    def __init__(self, world, dice, find):
        self.world, self.dice, self.find = world, dice, find
        # By number: what was first given under it.
        self.lines = {}
        self.checked = self.compared = 0
        self.is_calm = self.is_over = False
        self.environment = tour.clean_environment() | world.clock.environment | {"XDG_STATE_HOME": world.folder}
        self.reader, self.hook = self.both = Reader(self), Hook(self)

    def start(self):
        self.epoch = self.world.setting.query("SELECT epoch FROM change_state")[0][0]
        for follower in self.both:
            follower.start()

    def judge(self, seconds):
        """Where all is quiet: the readers come to the last change, and then everything is compared."""
        open(self.hook.path("calm"), "w").close()
        # After so many failures, it may wait for minutes.
        self.is_calm = self.hook.is_to_restart = True
        end = time.monotonic() + seconds
        while not self.are_equal():
            if time.monotonic() > end:
                self.find("feed", "behind", f"the reader stays at {self.reader.newest}, the hook at {self.hook.newest}")
                break
            time.sleep(0.1)
        os.remove(self.hook.path("calm"))
        self.is_calm = False

    def are_equal(self):
        """Compares, where both readers are where the file is."""
        self.hook.read_all()
        with Copy(self.world.setting.database) as copy, self.reader.lock:
            last = copy.rows("SELECT max(seq) AS last FROM change")[0]["last"]
            if self.reader.picture is None or not self.reader.newest == self.hook.newest == last:
                return False
            self.compare_picture(copy, self.reader.picture)
            for change in copy.rows(f"SELECT * FROM change WHERE seq > {self.checked}"):
                self.checked += 1
                self.compare_line(self.checked, change)
        return True

    def compare_picture(self, copy, picture):
        shown = {row["id"]: row for row in copy.rows("SELECT * FROM timeline")}
        for id in shown.keys() | picture.items.keys():
            here, folded = shown.get(id), picture.items.get(id)
            if here is None or folded is None or any(here[name] != folded.get(name) for name in here.keys() - {"id", "content"}):
                self.find("feed", id, f"the timeline has {here}, and the changes make {folded}")
        sizes = {row["item_id"]: row["bytes"] for row in copy.rows(TEXT_SIZES)}
        for id, text in picture.texts.items():
            if sizes.get(id, 0) != (text or {"bytes": 0})["bytes"]:
                self.find("feed", f"text {id}", f"the text of {id} has {sizes.get(id)} bytes, and changes say {text}")
        self.compared += len(shown)

    def compare_line(self, number, change):
        """The hook had all of them."""
        row = {name: change[name] for name in ("seq", "at", "item_id", "kind", "origin")}
        row |= {name: change[name] and json.loads(change[name]) for name in ("old", "new")}
        if number not in self.lines or json.loads(self.lines[number]) != row:
            self.find("feed", f"line {number}", f"{self.lines.get(number)} was given for change {number}, which is {row}")

    def figures(self):
        with open(self.hook.path("fates")) as file:
            fates = collections.Counter(file.read().splitlines())
        return {
            "`kill -9` of a hook's command": fates["killed before"] + fates["killed after"],
            "batches that a hook refused, or put off": fates["refused"] + fates["away"],
            "changes": self.checked, "changes given to two readers": self.reader.given + self.hook.given,
            "of these, given again": self.reader.again + self.hook.again, "changes set aside": len(self.hook.aside),
            "timelines read again": self.reader.rereads, "items compared with what the changes make": self.compared,
        }

    def end(self):
        self.is_over = True
        for follower in self.both:
            if follower.process is not None:
                follower.join(30)
                # With the command that it has started.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(follower.process.pid, signal.SIGKILL)
