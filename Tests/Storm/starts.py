"""`make start-kills`: daemons with work to do are started and killed, several at once. None may end by a signal but ours, or by
itself; each note that was accepted is on the server once in the end, or parked with the question whether it is; and the copy is the
server's list."""

import argparse
import concurrent.futures
import os
import random
import re
import sys
import time

import page
from world import tour

ITEMS = 300
# Between two notes, and between two new items, in lives of the daemon.
NOTES_EVERY, ITEMS_EVERY = 5, 7
# What a sanitizer says, or the runtime before it ends the process.
COMPLAINT = re.compile(r".*(?:Sanitizer|Fatal error|Crash:|BUG IN).*")


class Starts:
    """One copy, whose daemon is killed again and again."""

    def __init__(self, options, number):
        self.options, self.number = options, number
        self.random = random.Random(options.seed * 100 + number)
        self.folder = os.path.join(options.folder, str(number))
        os.makedirs(self.folder)
        self.notes = self.captured = self.parked = 0
        self.problems = []

    def run(self):
        texts = ["--texts", "1-20K", "--settle", "0.2", "--capture-limit", "0"]
        with tour.DevServer(self.folder, "--items", str(ITEMS), "--seed", str(self.number + 1), *texts) as server:
            setting = tour.Setting(
                self.folder, server.url, server.token_file, poll_interval="2s", sweep_interval="5s", lookup_interval="1s",
                log_level="info")
            if code := setting.once("--no-texts"):
                raise tour.Failed(f"the first copy ended with {code}")
            for life in range(self.options.kills // self.options.at_once):
                if life % NOTES_EVERY == 0:
                    self.note(setting)
                if life % ITEMS_EVERY == 0:
                    server.post("/__dev/add", count=1)
                self.live(setting, life)
            self.finish(setting, server)
        self.read_log(setting)
        return self

    def note(self, setting):
        code, _, complaint = setting.control("note", f"Note {self.notes + 1}")
        if code != 0:
            return self.problems.append(f"a note was refused: {complaint}")
        self.notes += 1

    def live(self, setting, life):
        with setting.daemon() as child:
            time.sleep(self.random.uniform(0, self.options.longest / 1_000))
            child.process.kill()
            code = child.process.wait()
        if code != -9:
            self.problems.append(f"life {life} ended with {code}: {child.last_words(60)}")

    def finish(self, setting, server):
        def is_quiet():
            setting.control("retry-queue")
            code, _, _ = setting.control("sync", "--full", "--texts", "--wait", seconds=120)
            return (code == 0 and setting.status()["outbox"]["waiting"] == 0
                    and not self.differences(setting, server))

        with setting.daemon() as child:
            try:
                tour.wait_until(is_quiet, "a copy that is complete", 120, 1)
            except tour.Failed as error:
                self.problems += [str(error), *self.differences(setting, server)]
            code, _ = child.end(seconds=30)
        if code != 0:
            self.problems.append(f"the last life ended with {code}")
        self.captured, self.parked = len(server.captures()), setting.status()["outbox"]["parked"]
        if not self.notes - self.parked <= self.captured <= self.notes:
            self.problems.append(
                f"{self.notes} notes were accepted, {self.parked} are parked, and the server has {self.captured}")
        code, text, complaint = setting.control("verify", "--file", seconds=600)
        if code != 0:
            self.problems.append(f"verify --file ended with {code}: {text} {complaint}")

    def differences(self, setting, server):
        """What the copy has otherwise than the server, but for notes that are parked."""
        return [line for line in tour.differences(server.items(), setting) if not line.startswith("local-")]

    def read_log(self, setting):
        with open(setting.log, errors="replace") as file:
            self.problems += [line.strip() for line in file if COMPLAINT.match(line)][:5]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("--longest", type=int, default=150, help="milliseconds that a daemon lives at most")
    options = page.begin(parser, "start-kills")
    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(options.at_once) as pool:
        runs = list(pool.map(lambda number: Starts(options, number).run(), range(options.at_once)))
    problems = [f"{run.number}: {problem}" for run in runs for problem in run.problems]
    figures = {
        "seed": options.seed, "seconds": round(time.monotonic() - began), "daemons at once": options.at_once,
        "starts and `kill -9`": options.kills // options.at_once * options.at_once,
        "notes accepted": sum(run.notes for run in runs),
        "of these, once on the server": sum(run.captured for run in runs),
        "of these, parked: the server may have them": sum(run.parked for run in runs),
        "ends that were not ours, and other findings": len(problems),
    }
    return page.tell(figures, problems, page.STARTS, options)


if __name__ == "__main__":
    sys.exit(tour.main(main))
