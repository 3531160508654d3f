"""`make storm`: the daemon, prsnlctl and the server, killed at random, with clocks that are set and a server that fails in
every way that is known, while people and other clients write. At each checkpoint a judge that knows what was accepted counts
what is wrong. All of it must be 0."""

import argparse
import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import threading
import time

from clocks import draw_ahead
from followers import Followers
from gate import Gate
from history import History
import page
from reference import Judge
from texts import fetch_all, fetch_round
from world import SETTLE_SECONDS, World, tour
from rivals import OtherClient
from writes import Ledger, Writer

KINDS = ["lost", "doubled", "misbound", "wrong deletion", "false tombstone", "false claim", "edit lost", "wish lost",
         "damaged", "unfairly parked", "stuck", "text wrong", "text missing", "false suspect", "index", "feed", "accident"]


class Storm:
    def __init__(self, options, dialect, seed, seconds):
        self.options, self.dialect, self.seed, self.seconds = options, dialect, seed, seconds
        self.random = self.dice("kills")
        self.folder = os.path.join(options.folder, f"{dialect}-{seed}")
        shutil.rmtree(self.folder, ignore_errors=True)
        self.world = World(self.folder, dialect, seed, options.rate)
        self.ledger, self.gate = Ledger(), Gate()
        self.history = History(self.world.journal)
        self.judge = Judge(self.world, self.history, self.ledger)
        self.followers = Followers(self.world, self.dice, self.judge.find)
        self.checkpoints = 0
        self.threads = [
            Writer(self.world, self.ledger, self.dice(name), name, self.gate) for name in "abcdef"[:options.writers]
        ]
        self.threads.append(OtherClient(self.world, self.ledger, self.dice("other"), self.gate))

    def dice(self, purpose):
        """Random numbers for one purpose: what one part draws does not change what another does."""
        return random.Random(f"{self.seed} {self.dialect} {purpose}")

    def run(self):
        began = time.monotonic()
        self.world.start_daemon()
        tour.wait_until(lambda: self.world.setting.live() > 0, "the first copy", 30)
        self.followers.start()
        for thread in self.threads:
            thread.start()
        try:
            while True:
                left = self.seconds - (time.monotonic() - began)
                if left <= 0:
                    break
                # A short storm has a checkpoint too.
                self.blow(min(self.options.round, max(left * 0.6, 5)))
                self.rain()
                self.breeze()
                self.calm()
                self.say(began)
                if self.judge.findings and self.options.stop:
                    break
            # The quiet end: what was kept back is there.
            self.world.give_texts()
            self.calm()
            self.say(began)
        finally:
            self.gate.end()
        return self.report(time.monotonic() - began)

    # MARK: The storm

    def blow(self, seconds):
        """Kills the daemon in bursts with time for progress in between, and the server now and then."""
        end = time.monotonic() + seconds
        self.world.begin_phase(self.dice(f"phase {self.checkpoints}"))
        self.world.storm(True)
        self.gate.open()
        others = [threading.Thread(target=self.kill_servers, args=(end,), daemon=True),
                  threading.Thread(target=self.trouble_server, args=(end,), daemon=True)]
        for other in others:
            other.start()
        claims = time.monotonic()
        retries = time.monotonic()
        while time.monotonic() < end:
            for _ in range(self.random.randint(4, 40)):
                self.restart_daemon(0.03)
                time.sleep(self.random.choice([0.01, 0.02, 0.04, 0.08, 0.15, 0.3]) * self.random.uniform(0.5, 1.5))
                if time.monotonic() > end:
                    break
            time.sleep(self.random.uniform(0.3, 2))
            self.world.daemon_is_there()
            if time.monotonic() - retries > 5:
                retries = time.monotonic()
                self.world.keep_login()
                self.world.control("retry-queue")
                self.world.control("sync", "--texts")
            if time.monotonic() - claims > 2:
                claims = time.monotonic()
                self.judge.claims()
        for other in others:
            other.join()
        self.gate.close()

    def restart_daemon(self, steps):
        """Kills it and starts it again, and sets its machine's clock in between in so many cases."""
        self.world.kill_daemon()
        if self.random.random() < 0.2:
            time.sleep(self.random.uniform(0, 0.2))
        if self.random.random() < steps:
            self.world.step_daemon(draw_ahead(self.random))
        self.world.start_daemon()

    def trouble_server(self, end):
        """Sets the server's clock, puts backups back, and lets a list be empty once."""
        dice = self.dice(f"trouble {self.checkpoints}")
        while time.monotonic() < end:
            self.world.note_backup()
            draw = dice.random()
            try:
                if draw < 0.1:
                    self.world.step_server(draw_ahead(dice))
                elif draw < 0.14:
                    self.world.restore(dice)
                elif draw < 0.22:
                    self.world.lose_list()
            except OSError:
                pass  # the server was killed
            except Exception as error:
                self.world.accident(f"trouble: {type(error).__name__}: {error}")
            time.sleep(dice.uniform(0.5, 1.5))

    def kill_servers(self, end):
        dice = self.dice(f"servers {self.checkpoints}")
        while True:
            time.sleep(dice.uniform(1, 6))
            if time.monotonic() > end:
                return
            try:
                self.world.kill_server(dice.choice([0, 0.05, 0.3, 1.0]))
            except Exception as error:
                self.world.accident(f"server: {type(error).__name__}: {error}")
                return

    def rain(self):
        """Faults and few kills: most of what waits is sent, and a part of the answers lost. A daemon that was killed
        forgets that many writes in a row have failed."""
        end = time.monotonic() + self.options.round / 2
        while time.monotonic() < end and len(self.waiting()) > 5:
            self.world.keep_login()
            self.world.control("retry-queue")
            self.judge.claims()
            time.sleep(self.random.uniform(0.5, 1.5))
            self.restart_daemon(0.1)

    def breeze(self):
        """Writes and kills, and no faults: so few texts fail that the copy claims something of them now and then."""
        self.world.storm(False)
        self.world.end_phase()
        fetch_round(self.world)
        self.gate.open()
        end = time.monotonic() + self.options.round / 5
        while time.monotonic() < end:
            if self.random.random() < 0.3:
                self.restart_daemon(0.1)
                time.sleep(self.random.uniform(0.02, 0.3))
            fetch_round(self.world)
            self.judge.claims()
        self.gate.close()

    # MARK: Calm

    def calm(self):
        """No faults and no kills: what was accepted has to arrive, and then everything is judged."""
        self.world.storm(False)
        self.world.end_phase()
        self.world.show_due(list(self.world.hidden) + self.left_hidden())
        self.world.daemon_is_there()
        end = time.monotonic() + self.options.patience
        while self.has_server_changed(end) and time.monotonic() < end:
            pass
        self.judge.claims()
        self.judge.settled(self.world.failing)
        self.verify()
        self.followers.judge(self.options.patience)
        self.checkpoints += 1
        for text in self.world.accidents:
            self.judge.find("accident", text, text)

    def verify(self):
        """The product's own comparison, beside the judge's: the server rests, so that neither may find anything."""
        self.world.keep_login()
        # A copy that names an item as missing does not say that the server has it.
        missing = {row[0] for row in self.world.setting.query("SELECT id FROM item WHERE missing_since IS NOT NULL")}
        code, report, complaint = self.world.control("verify", seconds=120)
        if code not in (0, 4) or report is None:
            self.world.accident(f"verify ended with {code}: {report} {complaint}")
            return
        for line in report["differences"]:
            if line["sign"] in "-+*" and not (line["sign"] == "+" and line["item_id"] in missing):
                self.judge.find("accident", f"verify {line['item_id']}", f"verify finds {line}")
        code, report, complaint = self.world.control("verify", "--file", seconds=120)
        wrong = [rule for rule in (report or {}).get("invariants", [{"findings": [complaint]}]) if rule["findings"]]
        if code != 0:
            self.judge.find("accident", f"verify --file {[rule.get('name') for rule in wrong]}", f"verify --file finds {wrong}")

    def left_hidden(self):
        """Items that a backup has hidden again."""
        return [row.id for row in self.history.read().rows.values()
                if row.now is not None and row.now["hidden"] and row.now["status"] != "pending"]

    def has_server_changed(self, end):
        """Lets all be delivered, pulled and fetched; whether it has to be done again, because the server has changed meanwhile, or
        because deletions are held back.

        The server changes items some time after they were sent, and what it makes of them may have to be edited. A person
        accepts the deletions that they were told of: where two backups were put back, those of the second wait for another word."""
        self.deliver(end)
        time.sleep(2 * SETTLE_SECONDS)
        before = self.history.read().change_count
        self.world.dev("clear-cache")
        self.world.keep_login()
        # A backup takes away more than a deletion or two: a person says that it is so, until they are told of no more. The texts
        # come after that, for they may use up all patience: a write waits forever behind an item that the server never finishes.
        while True:
            code, answer, complaint = self.world.control("sync", "--full", "--wait", "--accept-deletions", seconds=120)
            if code not in (0, 4):
                self.world.accident(f"sync --full --wait ended with {code}: {answer} {complaint}")
            held = self.world.setting.query("SELECT 1 FROM copy WHERE deletions_held > 0")
            if not held or time.monotonic() > end:
                break
        self.deliver(end)
        fetch_all(self.world, time.monotonic() + self.options.patience)
        return self.history.read().change_count != before

    def deliver(self, end):
        while self.waiting() and time.monotonic() < end:
            self.world.keep_login()
            self.world.control("retry-queue")
            time.sleep(0.5)
            self.world.daemon_is_there()

    def waiting(self):
        """Entries that wait, but for those that may wait for long: behind a parked one, before a parked
        deletion, and for an item that the server never finishes, because it was killed, or has lost."""
        rows = self.world.setting.query(
            "SELECT id, item_id, awaits_item FROM outbox AS own WHERE state IN ('queued', 'sending', 'unknown') AND NOT EXISTS ("
            "SELECT 1 FROM outbox AS other WHERE other.item_id = own.item_id AND other.state = 'parked' "
            "AND (other.id < own.id OR other.kind = 'delete'))")
        if rows is None:
            return [None]
        self.history.read()
        return [id for id, item, awaits in rows if not (awaits and self.is_abandoned(item))]

    def is_abandoned(self, item):
        row = self.history.rows.get(item)
        if row is None:
            return False
        if row.now is None:
            return row.was_taken_by(row.removed)
        if row.now["status"] != "pending":
            return False
        return time.time() - row.now["real"] / 1e6 > 10 * SETTLE_SECONDS

    # MARK: What is said

    def say(self, began):
        judge, kills = self.judge, self.world.kills
        print(f"{time.monotonic() - began:6.0f} s  {self.dialect}  kills {kills['daemon']}+{kills['server']}"
              f"+{kills['prsnlctl']}  writes {len(self.ledger.writes)}  delivered {judge.delivered}  lost answers "
              f"{judge.lost_answers}  parked {sum(judge.parked.values())}  claims {judge.claims_checked}  findings "
              f"{len(judge.findings)}", flush=True)

    def report(self, seconds):
        judge, kills = self.judge, self.world.kills
        outcomes = {name: sum(write.outcome == name for write in self.ledger.writes)
                    for name in ("accepted", "refused", "lost")}
        figures = {
            "dialect": self.dialect, "seed": self.seed, "seconds": round(seconds),
            "kills": dict(kills), "lost_answers": judge.lost_answers, "writes": outcomes,
            "entries": judge.entries_seen, "delivered": judge.delivered, "parked": dict(judge.parked),
            "checkpoints": self.checkpoints, "claims": judge.claims_checked, "rows_compared": judge.fields_compared,
            "texts_compared": judge.texts.compared, "text_claims": judge.texts.claims_checked,
            "words_looked_for": judge.index.looked, "wishes": judge.wishes.checked, "troubles": dict(self.world.counts),
            "followers": self.followers.figures(),
            "faults": dict(self.history.faults),
            "findings": {kind: sum(key[0] == kind for key in judge.findings) for kind in KINDS},
        }
        with open(os.path.join(self.folder, "figures.json"), "w") as file:
            json.dump(figures, file, indent=1)
        with open(os.path.join(self.folder, "clocks.json"), "w") as file:
            json.dump({"daemon": self.world.clock.steps, "server": self.history.clock.steps}, file)
        with open(os.path.join(self.folder, "findings.txt"), "w") as file:
            file.writelines(f"{kind}: {about}\n    {text}\n" for (kind, about), text in judge.findings.items())
        with open(os.path.join(self.folder, "ledger.jsonl"), "w") as file:
            file.writelines(json.dumps(write.record()) + "\n" for write in self.ledger.writes)
        return figures

    def tell(self):
        """Says what was found; the files of a storm without a finding go."""
        found = self.judge.findings
        for kind in KINDS:
            for text in [text for key, text in found.items() if key[0] == kind][:5]:
                print(f"{self.dialect}  {kind}: {text}", flush=True)
        if not found:
            shutil.rmtree(self.folder)
            return
        print(f"{self.dialect}  {len(found)} findings; the plan again: make storm DIALECT={self.dialect} SEED={self.seed} "
              f"STORM_SECONDS={self.seconds:g}; the files: {os.path.relpath(self.folder, tour.ROOT)}", flush=True)

    def end(self):
        self.followers.end()
        self.world.end()


def weather(options, dialect):
    """Storms of one dialect, one after another, each with a server and a copy of its own: a server to which hundreds write
    each minute makes every look at its newest quarter hour long."""
    total, left, seed = None, options.seconds, options.seed
    while left > 0:
        seconds = min(left, options.world)
        storm = Storm(options, dialect, seed, seconds)
        try:
            figures = storm.run()
        finally:
            storm.end()
        total = page.added(total, figures)
        storm.tell()
        left -= figures["seconds"]
        seed += 1
        if options.stop and sum(figures["findings"].values()):
            break
    with open(figures_file(options, dialect), "w") as file:
        json.dump(total, file, indent=1)
    return sum(total["findings"].values())


def figures_file(options, dialect):
    return os.path.join(options.folder, f"{dialect}.json")


def together(options):
    """All dialects at once: most of the time each waits."""
    children = []
    for dialect in options.dialect:
        with contextlib.suppress(FileNotFoundError):
            os.remove(figures_file(options, dialect))
        children.append(subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), *sys.argv[1:], "--seed", str(options.seed), "--dialect", dialect,
             "--part"]))
    try:
        codes = [child.wait() for child in children]
    finally:
        for child in children:
            if child.poll() is None:
                child.terminate()
                child.wait()
    runs = []
    for dialect in options.dialect:
        with open(figures_file(options, dialect)) as file:
            runs.append(json.load(file))
    print("\n" + "\n".join(page.lines(runs)))
    if options.save:
        page.save(runs)
    return max(codes)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="for each dialect; they storm at the same time")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--dialect", default="CPE", help="some of C, P, E")
    parser.add_argument("--rate", type=float, default=0.6, help="faults, of all writes")
    parser.add_argument("--round", type=float, default=45, help="seconds between two checkpoints")
    parser.add_argument("--world", type=float, default=300, help="seconds until another server and copy begin")
    parser.add_argument("--patience", type=float, default=120, help="seconds until accepted writes must have arrived")
    parser.add_argument("--writers", type=int, default=3)
    parser.add_argument("--stop", action="store_true", help="end at the first checkpoint with a finding")
    parser.add_argument("--save", action="store_true", help="write the figures into docs/reliability.md")
    parser.add_argument("--part", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--folder", default=os.path.join(tour.ROOT, ".run", "storm"))
    options = parser.parse_args()
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(1_000_000)
    os.makedirs(options.folder, exist_ok=True)
    if options.part:
        return 1 if weather(options, options.dialect) else 0
    print(f"storm of {options.seconds:g} s, seed {options.seed}, dialects {', '.join(options.dialect)}", flush=True)
    return together(options)


if __name__ == "__main__":
    sys.exit(tour.main(main))
