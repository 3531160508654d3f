"""`make soak`: weeks in the life of a daemon, in minutes. The clocks of the release daemon run so many times as fast, and its
waits are as much shorter (clock.c). People write, other clients too, answers get lost, and the server is away for some minutes,
several times a day. At the end of each day everything that might grow is measured. In the end each figure has to be flat, and
the storm's judge counts what became of the writes."""

import argparse
import collections
import contextlib
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Benchmarks"))
import page
from clocks import SOURCE
from followers import Followers, Picture
from gate import Gate
from history import History
from reader import Copy
from reference import Judge
from rivals import OtherClient
from storm import Storm
from world import World, tour
from writes import Ledger, Writer
import cable
from measure import MEBIBYTE, status_of

DAY, HOUR, MINUTE = 86_400, 3_600, 60
# Of the timeline; and of commands in a day, most of which bring a deletion or three.
ITEMS, TURNS = 2_500, 120
# What has ended is kept for 30 days, and goes with a poll once a day. So tables and files are judged from here on. So are the CPU
# time, and the memory, which rises by 1 MiB until then. All else from the third day.
KEPT_DAYS, WARM_DAYS, FEWEST = 32, 3, 5
# The index is built again where half of it is of old texts, here after some ten days: the peaks of two halves are compared.
INDEX, INDEX_DAYS = "rows of search_index", 12
# By figure: the part of its median, and the least, by which it may have grown over the days that are judged.
BANDS = {
    "resident memory, MiB": (0.05, 0.5), "anonymous memory, MiB": (0.05, 0.5), "descriptors": (0, 2), "threads": (0, 0.5),
    "WAL, MiB": None, "file, MiB": (0.05, 0.5), "log lines in a day": (0.5, 20), "errors in a day": (0.5, 20),
    "CPU seconds in a day": (0.5, 0.5), "files": (0, 1), INDEX: (0.15, 10), "rows of": (0.05, 10)}
KEPT = ("resident", "anonymous", "file", "CPU", "rows")
AGE = "oldest that is kept, days"
# What has a limit of its own: `journal_size_limit`; and a row for each item that was made here, for as long as there is the item.
LIMITS = {AGE: KEPT_DAYS, "WAL, MiB": 40, "rows of written_here": "rows of item"}
OLDEST = ("SELECT min(at) AS at FROM change_log UNION ALL SELECT min(ended_at) FROM outbox UNION ALL "
          "SELECT min(deleted_at) FROM item UNION ALL SELECT min(replaced_at) FROM former_text")
# What stands in docs/reliability.md of all that is judged.
SHOWN = [*list(BANDS)[:9], "rows of outbox", "rows of change_log", AGE]


class SoakWorld(World):
    options = ["--items", str(ITEMS), "--texts", "100-16K", "--settle", "20", "--login-lifetime", "1800"]
    # The daemon's own. But an answer that takes a millisecond takes seconds here, and one that stalls is waited for in vain.
    keys = {"poll_interval": None, "sweep_interval": None, "lookup_interval": None, "connect_timeout": "10m",
            "stall_timeout": "1h", "request_timeout": "1h"}


class SoakJudge(Judge):
    """Entries are taken away 30 days after their end: this judge has seen them before."""

    seen, attempts = {}, {}

    def read_outbox(self, copy):
        self.attempts |= {(row["entry_id"], row["number"]): row for row in super().read_outbox(copy)}
        self.seen |= self.entries
        self.entries = dict(self.seen)
        return list(self.attempts.values())


class Person(Writer):
    """Keeps the timeline as long as it is: where it grows, more is deleted."""

    anywhere, undone, until, turn = 1, 0, 0, 0

    def rest(self):
        """As often on a busy machine as on another."""
        self.until = max(self.until + self.random.uniform(0, 2 * self.turn), time.monotonic() - 20 * self.turn)
        return max(0, self.until - time.monotonic())

    def write(self):
        super().write()
        if self.random.random() < 0.05:
            self.create(self.note(self.marker()), None)
            self.undone += self.world.control("undo")[0] == 0
        if self.world.setting.live() > ITEMS:
            for _ in range(3):
                self.change("delete", None)


class Reader(Followers):
    """`changes --cursor`, once in an hour: each change once and in order, and together they make the timeline."""

    def __init__(self, world, find):
        self.world, self.find = world, find
        self.picture, self.newest, self.compared = None, 0, 0

    def read(self):
        again = ["--reread"] if self.picture is None else []
        code, text, complaint = self.world.setting.control("changes", "--cursor", "soak", "--json", *again)
        self.picture = self.picture or Picture(lambda change, why: self.find("feed", change["seq"], f"{change}: {why}"))
        if code != 0 or '"missed"' in text:
            self.find("feed", self.newest, f"changes ended with {code}: {text[:1_000]} {complaint}")
        for said in map(json.loads, text.splitlines()):
            if "kind" not in said:
                self.newest, again = said["from"] if again else self.newest, []
                continue
            if said["kind"] != "present":
                self.newest += 1
                if said["seq"] != self.newest:
                    self.find("feed", self.newest, f"{said} was given for change {self.newest}")
            self.picture.add(said)

    def judge(self, _):
        self.read()
        with Copy(self.world.setting.database) as copy:
            last = copy.rows("SELECT max(seq) AS last FROM change")[0]["last"]
            if self.newest != last:
                self.find("feed", "behind", f"the reader stays at {self.newest}, the last change is {last}")
            self.compare_picture(copy, self.picture)

    def end(self):
        pass


class Soak(Storm):
    def __init__(self, options):
        self.options, self.dialect, self.seed, options.patience = options, "C", options.seed, 120
        self.random = self.dice("days")
        self.world = SoakWorld(os.path.join(options.folder, "world"), "C", options.seed, 0.3)
        self.world.setting.environment = self.world.clock.environment | {"STORM_WAITS": "1"}
        self.ledger, self.gate = Ledger(), Gate()
        self.history = History(self.world.journal)
        self.judge = SoakJudge(self.world, self.history, self.ledger)
        self.followers = Reader(self.world, self.judge.find)
        self.person = Person(self.world, self.ledger, self.dice("a"), "a", self.gate)
        self.person.turn = DAY / TURNS / options.speed
        self.threads = [self.person, OtherClient(self.world, self.ledger, self.dice("other"), self.gate)]
        self.checkpoints, self.days = 0, []
        self.before, self.troubles = collections.Counter(), collections.Counter()

    def nap(self, seconds):
        """So many seconds of the daemon's time."""
        time.sleep(max(0, seconds) / self.options.speed)

    def run(self):
        self.world.start_daemon()
        # The first pull, with its texts, is no day.
        tour.wait_until(lambda: self.world.setting.query("SELECT 1 FROM sync_state WHERE complete = 1"), "the first copy", 60)
        self.world.control("sync", "--texts", "--wait", seconds=120)
        self.sample()
        for thread in self.threads:
            thread.start()
        self.gate.open()
        began = time.time()
        for day in range(1, self.options.days + 1):
            self.live(began + (day - 1) * DAY)
            self.days.append(self.sample())
            if day % 5 == 1 or day == self.options.days:
                print(f"day {day:3}  " + "  ".join(f"{name} {self.days[-1][name]}" for name in list(BANDS)[:-2]), flush=True)
        self.gate.close()
        self.world.give_texts()
        self.calm()
        return [self.judge_growth(name) for name in self.days[-1]]

    # MARK: A day

    def live(self, began):
        plan = [(hour * HOUR, self.followers.read) for hour in range(24)] + [(20 * HOUR, self.decide)]
        plan += [(self.random.uniform(0, 23 * HOUR), self.look) for _ in range(6)]
        plan += [(self.random.uniform(0, 22 * HOUR), trouble) for trouble in (
            self.lose, self.lose, self.close, self.refuse, self.hang, *[self.cut] * 2 * self.options.link)]
        for at, act in sorted(plan, key=lambda each: each[0]):
            self.nap(began + at - time.time())
            act()
        self.nap(began + DAY - time.time())

    def lose(self):
        """A bad hour or two: answers that are lost after the write, and all else that goes wrong."""
        self.world.storm(True)
        self.nap(self.random.uniform(1, 2) * HOUR)
        self.world.storm(False)

    def be_away(self, begin, end):
        self.troubles["times away"] += 1
        begin()
        self.nap(self.random.uniform(4, 25) * MINUTE)
        end()

    def close(self, **fault):
        fault = {"kind": "close", "path": "/api/*", "times": 0} | fault
        self.be_away(lambda: self.world.dev("fault", **fault), self.world.end_phase)

    def refuse(self):
        self.close(kind="status", status=503, body="no healthy upstream")

    def hang(self):
        self.be_away(*(lambda number=number: os.kill(self.world.server.pid, number) for number in (signal.SIGSTOP, signal.SIGCONT)))

    def cut(self):
        self.be_away(*(lambda to=to: subprocess.run(["ip", "link", "set", "lo", to], check=True) for to in ("down", "up")))

    def look(self):
        self.world.keep_login()
        self.world.control("search", self.random.choice(["milk", "gardens", "the", "naïve"]))

    def decide(self):
        """A person gives up what waits for them."""
        parked = [str(id) for id, in self.world.setting.query("SELECT id FROM outbox WHERE state = 'parked'")]
        self.troubles["parked and given up"] += len(parked)
        if parked:
            self.world.control("queue", "drop", *parked)

    # MARK: Measuring

    def sample(self):
        self.world.daemon_is_there()
        pid, database, folder = self.world.daemon.pid, self.world.setting.database, self.world.folder
        status = status_of(pid)
        with open(f"/proc/{pid}/stat") as file:
            cpu = sum(map(int, file.read().rpartition(")")[2].split()[11:13])) / os.sysconf("SC_CLK_TCK")
        with open(self.world.setting.log, "rb") as log:
            now = {"log lines in a day": sum(1 for _ in log), "CPU seconds in a day": cpu}
        with Copy(database) as copy:
            self.judge.read_outbox(copy)
            now["errors in a day"] = copy.rows("SELECT total(count) AS n FROM recurring_error")[0]["n"]
            tables = copy.rows("SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'")
            more = {f"rows of {row['name']}": copy.rows(f"SELECT count(*) AS n FROM {row['name']}")[0]["n"] for row in tables}
            more[AGE] = copy.rows(f"SELECT julianday('now') - julianday(min(at)) AS n FROM ({OLDEST})")[0]["n"] or 0
        figures = {
            "resident memory, MiB": status["VmRSS"] / MEBIBYTE, "anonymous memory, MiB": status["RssAnon"] / MEBIBYTE,
            "descriptors": len(os.listdir(f"/proc/{pid}/fd")), "threads": status["Threads"],
            **{name: value - self.before[name] for name, value in now.items()},
            "WAL, MiB": os.path.getsize(database + "-wal") / MEBIBYTE, "file, MiB": os.path.getsize(database) / MEBIBYTE,
            "files": sum(name.startswith("prsnl.sqlite") for name in os.listdir(folder)), **more}
        self.before = collections.Counter(now)
        return {name: round(value, 2) if isinstance(value, float) else value for name, value in figures.items()}

    def judge_growth(self, name):
        """A figure, and how much it has grown by its slope over the days that are judged, if these are enough. Of one that has a
        limit, the most that it was."""
        values = [day[name] for day in self.days]
        first, growth, limit = 1, max(values), LIMITS.get(name)
        may = self.days[-1][limit] if isinstance(limit, str) else limit
        if limit is None:
            share, least = next(band for start, band in BANDS.items() if name.startswith(start))
            first = INDEX_DAYS if name.startswith(INDEX) else KEPT_DAYS if name.startswith(KEPT) else WARM_DAYS
            judged, growth = values[first - 1:], None
            half = len(judged) // 2
            if name.startswith(INDEX) and half > INDEX_DAYS:
                growth = max(judged[half:]) - max(judged[:half])
            elif not name.startswith(INDEX) and len(judged) >= FEWEST:
                growth = round(slope(judged) * (len(judged) - 1), 2)
            may = growth if growth is None else round(max(share * statistics.median(judged), least), 2)
        if growth is not None and growth > may:
            self.judge.find("growth", name, f"{name}: {growth} from day {first} on, {may} may be: {values}")
        return {"name": name, "values": values, "first": first, "growth": growth, "may": may}


def slope(values):
    """Of a day: the median of the slopes between any two (Theil and Sen), which no single day moves."""
    return statistics.median((values[j] - values[i]) / (j - i) for i in range(len(values)) for j in range(i + 1, len(values)))


# MARK: What is said


def table(figures):
    days = figures["days"]
    shown = [day for day in (1, 8, 16, 24, 32, 38) if day < days] + [days]
    yield "| at the end of day | " + " | ".join(map(str, shown)) + " | growth, or most | from day | may be |"
    yield "| --- |" + " ---: |" * (len(shown) + 3)
    rows = {row["name"]: row for row in figures["rows"]}
    for row in map(rows.get, SHOWN):
        values = [row["values"][day - 1] for day in shown]
        growth = [row["growth"], row["first"], row["may"]] if row["growth"] is not None else ["not judged", "", ""]
        yield f"| {row['name']} | " + " | ".join(map(page.text, values + growth)) + " |"


def part(options):
    """The inner process: its wall clock is fast too, and its waits are real."""
    soak = Soak(options)
    try:
        rows = soak.run()
    finally:
        with contextlib.suppress(OSError):
            os.kill(soak.world.server.pid, signal.SIGCONT)
        soak.gate.end()
        soak.end()
    judge = soak.judge
    told = {
        "days": options.days, "writes accepted": sum(write.outcome == "accepted" for write in soak.ledger.writes),
        "delivered": judge.delivered, "lost answers": judge.lost_answers, **soak.troubles, "taken back": soak.person.undone,
        "other faults": sum(soak.history.faults.values()), "changes": soak.followers.newest, "rows": rows,
        "findings": [f"{kind}: {text[:2_000]}" for (kind, _), text in judge.findings.items()]}
    with open(os.path.join(options.folder, "figures.json"), "w") as file:
        json.dump(told, file, indent=1)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, default=40)
    parser.add_argument("--speed", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000))
    parser.add_argument("--folder", default=os.path.join(tour.ROOT, ".run", "soak"))
    parser.add_argument("--save", action="store_true", help="write the table into docs/reliability.md")
    parser.add_argument("--link", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.link is not None:
        return part(options)
    shutil.rmtree(options.folder, ignore_errors=True)
    os.makedirs(options.folder)
    obstacle = cable.obstacle()
    print(f"soak of {options.days} days, seed {options.seed}, {options.days * DAY / options.speed / 60:.0f} minutes"
          + (f"; the link is not cut: {obstacle}" if obstacle else ""), flush=True)
    library, log = os.path.join(options.folder, "clock.so"), os.path.join(options.folder, "soak.log")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-Wall", "-o", library, SOURCE], check=True)
    environment = os.environ | {"LD_PRELOAD": library, "STORM_SPEED": str(options.speed),
                                "STORM_SINCE": str(time.clock_gettime_ns(time.CLOCK_BOOTTIME))}
    words = [sys.executable, os.path.abspath(__file__), *sys.argv[1:], "--seed", str(options.seed), "--link", str(int(not obstacle))]
    with tour.Child(words, log=log, network=None if obstacle else cable.Network(), env=environment, stdout=None) as child:
        if child.process.wait() != 0:
            raise tour.Failed(f"the soak ended with {child.process.returncode}:\n{child.last_words()}")
    with open(os.path.join(options.folder, "figures.json")) as file:
        figures = json.load(file)
    said = ", ".join(f"{page.text(value)} {name}" for name, value in figures.items() if name not in ("rows", "findings"))
    lines = [f"Run on {time.strftime('%Y-%m-%d')}, seed {options.seed}: {said}.", "", *table(figures)]
    print("\n".join([*lines, *(f"FOUND: {text}" for text in figures["findings"][:20])]))
    if figures["findings"]:
        print(f"{len(figures['findings'])} findings; the files: {os.path.relpath(options.folder, tour.ROOT)}")
        return 1
    if options.save:
        page.put(lines, *page.SOAK)
    return 0


if __name__ == "__main__":
    sys.exit(tour.main(main))
