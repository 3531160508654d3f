"""`make text-kills`: the daemon is killed again and again while it fetches texts. Each kill may cost two groups of answers, and in
the end each text is the server's, byte for byte."""

import argparse
import contextlib
import os
import random
import socket
import sys
import time

import page
from world import tour

# TextPull has two groups of answers uncommitted, and four requests under way: that is what a kill may cost.
GROUP = 2 * 64 + 4
SYNC = b'{"command":"sync","full":false,"wait":false,"accept_deletions":false,"texts":true}\n'


def key_file(options):
    return os.path.join(options.folder, "key")


class Kills:
    def __init__(self, options, server):
        self.options, self.server = options, server
        self.random = random.Random(options.seed)
        self.setting = tour.Setting(
            options.folder, server.url, server.token_file if options.dialect == "C" else key_file(options),
            poll_interval="60s", log_level="info")
        self.needed = options.items
        self.done = self.ended = 0
        self.repeated = []
        # Milliseconds that the server takes for a text: so that there are texts to fetch until the last kill.
        self.delay = None
        self.problems = []

    # MARK: Counting

    def requests(self):
        return self.server.settled("GET /api/items/{id}")

    def texts(self):
        return self.setting.query("SELECT count(*) FROM item_body")[0][0]

    # MARK: One life of the daemon

    def live(self, seconds):
        """Starts the daemon and kills it after this time. Nearly always a person asks for the texts, so that there is no pause."""
        end = time.monotonic() + seconds
        asks = self.random.random() < 0.9
        child = self.setting.daemon()
        with contextlib.ExitStack() as stack:
            while asks and time.monotonic() < end and not self.ask(stack):
                time.sleep(0.002)
            time.sleep(max(0, end - time.monotonic()))
            self.ended += child.process.poll() is not None
            child.process.kill()
            child.process.wait()

    def ask(self, stack):
        """Asks for the texts; whether the daemon listens already."""
        client = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        try:
            client.connect(self.setting.socket)
            client.sendall(SYNC)
        except OSError:
            return False
        return True

    # MARK: The run

    def run(self):
        if code := self.setting.once("--no-texts"):
            raise tour.Failed(f"the first copy ended with {code}")
        self.set_delay(8)
        asked, had = self.requests(), self.texts()
        since, had_then = 0, had
        while self.done < self.options.kills:
            self.live(self.random.uniform(0.01, 0.3))
            self.done += 1
            now_asked, now_has = self.requests(), self.texts()
            self.repeated.append((now_asked - asked) - (now_has - had))
            asked, had = now_asked, now_has
            if had == self.needed:
                self.add(200)
            if self.done - since == 20:
                self.steer((had - had_then) / 20)
                since, had_then = self.done, had
            if self.done % 100 == 0:
                print(f"{self.done:6} kills  {had} of {self.needed} texts  {asked} requests", flush=True)
        self.finish(asked, had)

    def add(self, count):
        """More items, where all texts are here before the last kill."""
        self.server.post("/__dev/add", count=count)
        self.needed += count

    def steer(self, pace):
        """Makes the server slower or faster, so that the texts last as long as the kills."""
        wanted = (self.needed - self.texts()) / max(1, self.options.kills - self.done)
        if pace > wanted * 1.25:
            self.set_delay(self.delay + 2)
        elif pace < wanted * 0.8 and self.delay > 0:
            self.set_delay(max(0, self.delay - 2))

    def set_delay(self, delay):
        self.delay = delay
        self.server.post("/__dev/clear-faults")
        if delay:
            self.server.post("/__dev/fault", kind="delay", ms=delay, path="/api/items/*", method="GET", times=0)

    def finish(self, asked, had):
        self.server.post("/__dev/clear-faults")
        with self.setting.daemon():
            with contextlib.ExitStack() as stack:
                tour.wait_until(lambda: self.ask(stack), "the control socket")
            code, _, complaint = self.setting.control("sync", "--texts", "--wait", seconds=300)
            if code != 0:
                self.problems.append(f"sync --texts --wait ended with {code}: {complaint}")
        # The last life was not killed, so that it repeats nothing.
        self.last = (self.requests() - asked) - (self.texts() - had)
        self.compare()

    # MARK: Judging

    def compare(self):
        """The server's texts and the copy's, byte for byte."""
        items = {item["id"]: item for item in self.server.items()}
        rows = dict((row[0], row[1:]) for row in self.setting.query(
            "SELECT item_id, content, transcription, version FROM item_text"))
        self.equal = self.bytes = 0
        for id, item in items.items():
            text = self.server.get(f"/__dev/text?id={id}").decode()
            expected = (text, text if item["type"] == "video" else None, tour.fixed_time(item["updatedAt"]))
            if rows.get(id) == expected:
                self.equal += 1
                self.bytes += len(text.encode())
            else:
                self.problems.append(f"the text of {id} is not the server's")
        if len(items) != self.needed or len(rows) != self.needed:
            self.problems.append(f"{self.needed} items, the server has {len(items)}, the copy {len(rows)} texts")
        state = self.setting.query("SELECT texts_complete, texts_as_of IS NOT NULL, texts_missing FROM sync_state")[0]
        if state != (1, 1, 0):
            self.problems.append(f"texts_complete, T3 and texts_missing are {state}")
        if max(self.repeated) > GROUP:
            self.problems.append(f"a kill cost {max(self.repeated)} requests, more than {GROUP}: {self.repeated}")
        if self.last > 0:
            self.problems.append(f"{self.last} requests too many without a kill")
        if self.ended:
            self.problems.append(f"the daemon ended by itself {self.ended} times")
        if self.setting.query("PRAGMA integrity_check") != [("ok",)]:
            self.problems.append("integrity_check")

    def figures(self, seconds):
        total = sum(self.repeated) + self.needed + self.last
        return {
            "seed": self.options.seed, "dialect": self.options.dialect, "seconds": round(seconds),
            "`kill -9` of the daemon": self.done, "texts": self.needed,
            "MiB of text": round(self.bytes / (1 << 20), 1), "equal to the server's, byte for byte": self.equal,
            "requests for a text": total, "of these, repeated after a kill": sum(self.repeated),
            "kills that cost a request or more": sum(count > 0 for count in self.repeated),
            "repeated after one kill, on average": round(sum(self.repeated) / max(1, self.done), 1),
            f"repeated after one kill, at most ({GROUP} may be)": max(self.repeated),
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=None, help="three for each kill, if not given")
    parser.add_argument("--dialect", default="C", choices=["C", "P"])
    parser.add_argument("--texts", default="100-200K", help="how long the texts are")
    options = page.begin(parser, "text-kills")
    options.items = options.items or max(100, 3 * options.kills)
    began = time.monotonic()
    words = ["--items", str(options.items), "--dialect", options.dialect, "--texts", options.texts, "--seed", str(options.seed)]
    if options.dialect == "P":
        words += ["--api-key-file", key_file(options)]
    with tour.DevServer(options.folder, *words) as server:
        kills = Kills(options, server)
        kills.run()
    figures = kills.figures(time.monotonic() - began)
    return page.tell(figures, kills.problems, page.KILLS, options)


if __name__ == "__main__":
    sys.exit(tour.main(main))
