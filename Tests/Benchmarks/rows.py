"""The rows of the table: each is a function of the bench that returns one or more `Row`s."""

import contextlib
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
import time
from dataclasses import dataclass

import tour
from measure import MEBIBYTE, FileWatch, MemoryWatch, Run, bytes_written, duration, mebibytes, median, status_of, wake_ups
from tour import Failed, wait_until

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.join(tour.ROOT, ".build", "bench")
ITEMS = int(os.environ.get("ITEMS") or 100_000)
ROUNDS = int(os.environ.get("ROUNDS") or 5)
PEER_REQUIREMENTS = ["requests==2.*", "sqlite-utils==4.*"]


@dataclass
class Row:
    what: str
    measured: str
    must: str
    beside: str = ""
    reached: bool | None = None


class Bench(contextlib.ExitStack):
    """Servers and copies that rows share; made when first asked for, ended together."""

    def __enter__(self):
        super().__enter__()
        os.makedirs(BUILD, exist_ok=True)
        # On the disk that the build is on: /tmp may be memory.
        self.directory = self.enter_context(tempfile.TemporaryDirectory(prefix="run-", dir=BUILD))
        self.servers, self.copies, self.count = {}, {}, 0
        return self

    def fresh(self):
        """An empty folder."""
        self.count += 1
        path = os.path.join(self.directory, str(self.count))
        os.mkdir(path)
        return path

    def server(self, items):
        if items not in self.servers:
            options = ["--items", str(items), "--dialect", "C", "--seed", "1"]
            self.servers[items] = self.enter_context(tour.DevServer(self.fresh(), *options))
        return self.servers[items]

    def copy(self, items):
        """A complete copy, and how its pull went."""
        if items not in self.copies:
            server = self.server(items)
            setting = tour.Setting(self.fresh(), server.url, server.token_file)
            self.copies[items] = setting, once(setting, items, watch=True)
        return self.copies[items]

    def floor(self):
        program = os.path.join(BUILD, "floor")
        source = os.path.join(HERE, "floor.cpp")
        subprocess.run(["g++", "-O2", "-std=c++20", "-o", program, source, "-lcurl", "-lsqlite3", "-lsimdjson"], check=True)
        return program

    def empty_item_table(self, database):
        """The table and the indexes that items have in a copy, without a row."""
        statements = self.copy(ITEMS)[0].query(
            "SELECT sql FROM sqlite_schema WHERE tbl_name = 'item' AND type IN ('table', 'index') AND sql IS NOT NULL")
        with contextlib.closing(sqlite3.connect(database)) as file:
            for statement, in statements:
                file.execute(statement)

    def pull_like(self, program, server, **options):
        """The floor or the peer pulls everything, into a file of its own."""
        directory = self.fresh()
        database = os.path.join(directory, "like.sqlite")
        if len(program) == 1:
            self.empty_item_table(database)
        run = Run([*program, server.url, database, server.token_file], **options)
        shutil.rmtree(directory)
        return run

    def peer(self):
        """Its own Python, with its libraries from PyPI."""
        environment = os.path.join(BUILD, "venv")
        python = os.path.join(environment, "bin", "python")
        if not os.path.exists(python):
            subprocess.run(["python3", "-m", "venv", environment], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *PEER_REQUIREMENTS],
                       check=True)
        return [python, os.path.join(HERE, "peer.py")]


def once(setting, items, **options):
    run = Run([tour.DAEMON, "--config", setting.path, "--once"], **options)
    if setting.live() != items:
        raise Failed(f"the pull ended with {setting.live()} of {items} items")
    return run


def seconds(value):
    return f"{value:.2f} s"


def megabytes(value):
    return f"{value / 1e6:.0f} MB"


def full_pull(bench):
    """Three programs in turn, in another order each round; ratios are made within a round."""
    server = bench.server(ITEMS)
    programs = {"prsnld": None, "floor": [bench.floor()], "peer": bench.peer()}
    runs = {name: [] for name in programs}
    bench.copy(ITEMS)
    for round in range(ROUNDS):
        names = list(programs)
        for name in names[round % 3:] + names[:round % 3]:
            if name != "prsnld":
                runs[name].append(bench.pull_like(programs[name], server))
                continue
            # Neither of the others makes an index. What it costs is a row of its own.
            directory = bench.fresh()
            runs[name].append(once(tour.Setting(directory, server.url, server.token_file, search_index="no"), ITEMS))
            shutil.rmtree(directory)
    result = []
    for what, limit, text, of in (
            ("CPU", 1.7, seconds, lambda run: run.cpu),
            ("wall", 1.6, seconds, lambda run: run.wall),
            ("bytes written", 1.1, megabytes, lambda run: run.written)):
        own, least, most = ([of(run) for run in runs[name]] for name in programs)
        to_floor = median([a / b for a, b in zip(own, least)])
        to_peer = median([b / a for a, b in zip(own, most)])
        result.append(Row(
            f"full pull of {ITEMS:,}, {what}", f"{text(median(own))}: {to_floor:.2f} × floor, peer / {to_peer:.1f}",
            f"≤ {limit} × floor, peer / ≥ 2", f"floor {text(median(least))}, peer {text(median(most))}",
            to_floor <= limit and to_peer >= 2))
    return result


def large_pull(bench):
    """What an item costs in a timeline of ten times as many."""
    few, many = (bench.server(items) for items in (ITEMS, ITEMS * 10))
    bench.copy(ITEMS)
    runs = {}
    for server, items in ((few, ITEMS), (many, ITEMS * 10)):
        directory = bench.fresh()
        runs[items] = once(tour.Setting(directory, server.url, server.token_file, search_index="no"), items, watch=True)
        shutil.rmtree(directory)
    floor = bench.pull_like([bench.floor()], many)
    one, ten = runs.values()
    ratio = ten.written / one.written / 10
    return [Row(
        f"full pull of {ITEMS * 10:,}", f"{seconds(ten.cpu)} of CPU, {ten.written / ITEMS / 1e4:.1f} KB an item: {ratio:.1f} × "
        f"those of {ITEMS:,}", "≤ 22 s, ≤ 1.5 ×", f"floor {seconds(floor.cpu)}, {floor.written / ITEMS / 1e4:.1f} KB an item; "
        f"anonymous {mebibytes(ten.memory.anonymous)}", ten.cpu <= 22 and ratio <= 1.5)]


def memory(bench):
    result = []

    def row(what, run, beside=""):
        anonymous = run.memory.anonymous
        result.append(Row(
            f"memory of `prsnld --once`, {what}", f"anonymous {mebibytes(anonymous)} at peak", "≤ 16 MiB",
            f"RSS {mebibytes(run.memory.resident)}{beside}", anonymous <= 16 * MEBIBYTE))

    for items in (ITEMS // 10, ITEMS, ITEMS * 10):
        beside = others(bench) if items == ITEMS else ""
        row(f"{items:,} items", bench.copy(items)[1], beside)
    with tls_in_front(bench, bench.server(ITEMS)) as (url, authority):
        setting = tour.Setting(bench.fresh(), url, bench.server(ITEMS).token_file, ca_file=authority)
        row(f"{ITEMS:,} items over https", once(setting, ITEMS, watch=True))
    return result


def others(bench):
    server = bench.server(ITEMS)
    floor = bench.pull_like([bench.floor()], server, watch=True)
    peer = bench.pull_like(bench.peer(), server, watch=True)
    return f"; RSS of the floor {mebibytes(floor.memory.resident)}, of the peer {mebibytes(peer.memory.resident)}"


@contextlib.contextmanager
def tls_in_front(bench, server):
    """https on a port of its own, by socat with a throw-away certificate authority."""
    directory = bench.fresh()

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=directory, check=True, capture_output=True)

    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    with open(f"{directory}/extensions", "w") as file:
        file.write("subjectAltName = IP:127.0.0.1, DNS:localhost\n")
    openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=throw-away CA")
    openssl("req", *key, "-keyout", "leaf.key", "-out", "leaf.csr", "-subj", "/CN=localhost")
    openssl("x509", "-req", "-in", "leaf.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out",
            "leaf.pem", "-days", "2", "-extfile", "extensions")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    target = server.url.removeprefix("http://")
    # A group of its own, because socat forks for each connection.
    with tour.Child(
        ["socat", f"OPENSSL-LISTEN:{port},bind=127.0.0.1,reuseaddr,fork,verify=0,cert=leaf.pem,key=leaf.key",
         f"TCP:{target},nodelay"],
        log=f"{directory}/socat.log", cwd=directory, start_new_session=True) as front:
        try:
            wait_until(lambda: accepts(port), "socat to listen")
            yield f"https://localhost:{port}", f"{directory}/ca.pem"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(front.pid, signal.SIGTERM)


def accepts(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def first_rows(bench):
    """From the start of the process until another one has read a row."""
    server, times = bench.server(ITEMS), []
    for _ in range(max(ROUNDS, 11)):
        setting = tour.Setting(bench.fresh(), server.url, server.token_file)
        begin = time.perf_counter()
        with setting.daemon("--once") as daemon:
            wait_until(lambda: setting.query("SELECT 1 FROM timeline LIMIT 1") or not daemon.is_running, "a row", 30, 0.001)
            times.append((time.perf_counter() - begin) * 1e3)
        if not setting.live():
            raise Failed("the daemon ended without a row")
    return [Row("first rows readable by another process", f"{median(times):.0f} ms after start", "≤ 150 ms",
                f"slowest of {len(times)}: {max(times):.0f} ms", median(times) <= 150)]


def second_once(bench):
    """Items of less than a day, some of which the server never finishes."""
    items = 3_000
    server = bench.enter_context(tour.DevServer(bench.fresh(), "--items", str(items), "--dialect", "C", "--seed", "1"))
    for item in server.items()[::100]:
        server.post("/__dev/edit", id=item["id"], status="pending")
    setting = tour.Setting(bench.fresh(), server.url, server.token_file)
    once(setting, items)
    before = server.timeline_requests()
    once(setting, items)
    asked = server.timeline_requests() - before
    return [Row("pages asked by a second `--once`, nothing changed", f"{asked}", "1", f"of {items // 99 + 1}", asked == 1)]


@contextlib.contextmanager
def daemon_on_copy(bench, items, **keys):
    """The daemon on a complete copy, when it has nothing to do."""
    server = bench.server(items)
    setting = tour.Setting(bench.fresh(), server.url, server.token_file, **keys)
    shutil.copy(bench.copy(items)[0].database, setting.database)
    with setting.daemon() as daemon:
        wait_until(lambda: is_idle(setting), "an idle daemon", 120)
        yield server, setting, daemon


def is_idle(setting):
    code, text, _ = setting.control("status", "--json")
    if code not in (0, 4):
        return False
    report = json.loads(text)
    return (report["daemon"] or {}).get("activity") == "idle"


def poll(bench):
    polls = 5
    with daemon_on_copy(bench, ITEMS, poll_interval="2s") as (server, setting, daemon):
        # The start is noted in the file some seconds later, and the first poll may have something to note.
        start = server.timeline_requests()
        wait_until(lambda: server.timeline_requests() > start and is_idle(setting), "a poll", 30)
        wait_until(lambda: setting.query("SELECT stopped_cleanly FROM copy") == [(0,)], "the start to be noted", 30)
        file, written = FileWatch(setting.database), bytes_written(daemon.pid)
        before, counts = server.timeline_requests(), server.requests()
        wait_until(lambda: server.timeline_requests() >= before + polls and is_idle(setting), f"{polls} polls", 60)
        asked = {name: count - counts.get(name, 0) for name, count in server.requests().items()}
        touched, committed, pages = file.changes()
        written = bytes_written(daemon.pid) - written
        file.close()
    looks = asked.get("GET /api/timeline", 0)
    total = sum(asked.values())
    directory = bench.fresh()
    peer = [*bench.peer(), server.url, f"{directory}/peer.sqlite", server.token_file, "1"]
    Run(peer)
    again = Run(peer, output=subprocess.PIPE)
    rewritten = json.loads(again.output)["rows_written"]
    # A reader marks its snapshot in a page of `-shm`, which the kernel counts once when it has put that page away.
    clean = not touched and not committed and written in (0, 4_096)
    return [Row(
        f"poll without news ({polls} polls)",
        f"{total / polls:.1f} requests each ({looks} pages in all), {'no commit' if not committed else f'commits: {pages}'}, "
        f"{written:,} bytes written",
        "1 request; 0 rows, 0 bytes written but a mark in `-shm`", f"the peer writes {rewritten} rows, {again.written:,} bytes",
        total == looks == polls and clean)]


def sweep(bench):
    with daemon_on_copy(bench, ITEMS, search_index="no") as (server, setting, daemon):
        file, written = FileWatch(setting.database), bytes_written(daemon.pid)
        own, least = [], []
        for _ in range(ROUNDS):
            requests, cpu = server.timeline_requests(), cpu_of(daemon.pid)
            code, text, complaint = setting.control("sync", "--full", "--wait", seconds=900)
            if code != 0:
                raise Failed(f"prsnlctl sync --full --wait ended with {code}: {text}{complaint}")
            own.append((cpu_of(daemon.pid) - cpu) / (server.timeline_requests() - requests) * 1e3)
            requests = server.timeline_requests()
            floor = Run([bench.floor(), server.url, setting.database, server.token_file, "sweep"])
            least.append(floor.cpu / (server.timeline_requests() - requests) * 1e3)
        _, _, pages = file.changes()
        file.close()
        written = bytes_written(daemon.pid) - written
    of_items = sum(count for name, count in pages.items() if name.startswith(("item", "sqlite_autoindex_item")))
    rest, each = sum(pages.values()) - of_items, median(own)
    return [Row(
        f"sweep of {ITEMS:,} without changes",
        f"{of_items} pages of the items written, {each:.2f} ms of CPU a page: {each / median(least):.1f} × floor",
        "0 rows written, ≤ 0.6 ms", f"floor {median(least):.2f} ms; {len(own)} sweeps: {rest} pages of other tables, "
        f"{written:,} bytes", not of_items and each <= 0.6)]


def idle(bench):
    """A whole pull by the daemon, and then a minute in which it has nothing to do."""
    server = bench.server(ITEMS)
    setting = tour.Setting(bench.fresh(), server.url, server.token_file)
    with setting.daemon() as daemon:
        wait_until(lambda: setting.live() == ITEMS and is_idle(setting), "the end of the pull", 300)
        wait_until(lambda: setting.status()["copy"]["search"]["not_indexed"] == 0, "the full-text index", 300, 0.5)
        # Asking for the status woke it; what that left behind is over within a second.
        wait_until(lambda mark=time.monotonic() + 2: time.monotonic() > mark, "two quiet seconds")
        before, watch, cpu = wake_ups(daemon.pid), MemoryWatch(daemon.pid), cpu_of(daemon.pid)
        wait_until(lambda mark=time.monotonic() + 60: time.monotonic() > mark, "the minute", 70, 0.5)
        after, anonymous = wake_ups(daemon.pid), watch.end().anonymous
        cpu, names = cpu_of(daemon.pid) - cpu, thread_names(daemon.pid)
        resident = status_of(daemon.pid)["VmRSS"]
        log = os.path.getsize(setting.database + "-wal")
    by_thread = {thread: count - before.get(thread, 0) for thread, count in after.items()}
    woken = sum(by_thread.values())
    return [Row(
        f"idle for 60 s after a pull of {ITEMS:,}", f"anonymous {mebibytes(anonymous)}, {woken} wake-ups",
        "≤ 8 MiB, ≤ 5 wake-ups", f"RSS {mebibytes(resident)}, {cpu:.2f} s CPU, {len(names)} threads"
        + "".join(f", {names.get(thread, thread)} woke {count}×" for thread, count in by_thread.items() if count),
        anonymous <= 8 * MEBIBYTE and woken <= 5),
        Row("the write-ahead log of an idle daemon", mebibytes(log), "≤ 1 MiB", reached=log <= MEBIBYTE), polling(bench)]


def polling(bench):
    """The memory of a daemon that has pulled everything and polls all the time."""
    server = bench.server(ITEMS)
    setting = tour.Setting(bench.fresh(), server.url, server.token_file, poll_interval="2s")
    with setting.daemon() as daemon:
        wait_until(lambda: setting.live() == ITEMS and is_idle(setting), "the end of the pull", 300)
        wait_until(lambda: setting.status()["copy"]["search"]["not_indexed"] == 0, "the full-text index", 300, 0.5)
        wait_until(lambda mark=time.monotonic() + 50: time.monotonic() > mark, "most of a minute", 70, 0.5)
        watch = MemoryWatch(daemon.pid)
        wait_until(lambda mark=time.monotonic() + 10: time.monotonic() > mark, "ten seconds", 20, 0.5)
        anonymous = watch.end().anonymous
    return Row(
        "a minute of polls, every 2 s, after that pull", f"anonymous {mebibytes(anonymous)}", "≤ 7 MiB",
        reached=anonymous <= 7 * MEBIBYTE)


def thread_names(pid):
    names = {}
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/comm") as file:
            names[thread] = file.read().strip()
    return names


def cpu_of(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def status(bench):
    items = ITEMS * 10
    setting, _ = bench.copy(items)

    def measured():
        times = [duration(tour.CONTROL, "--config", setting.path, "status", expected=(0, 4)) for _ in range(20)]
        return median(times), max(times)

    file, slowest = measured()
    with setting.daemon():
        wait_until(lambda: is_idle(setting), "an idle daemon", 120)
        daemon, slowest_daemon = measured()
    return [Row(
        f"`prsnlctl status` on {items:,} items", f"{file:.1f} ms from the file, {daemon:.1f} ms from the daemon",
        "≤ 20 ms", f"slowest of 20: {slowest:.1f} and {slowest_daemon:.1f} ms", max(file, daemon) <= 20)]


def commands(bench):
    """What a command costs from exec to exit, without a daemon."""

    def measured(setting, name):
        return median([duration(tour.CONTROL, "--config", setting.path, name, expected=(0, 4)) for _ in range(21)])

    setting, _ = bench.copy(ITEMS)
    limits = {"--version": 4, "queue": 6, "list": 8, "status": 8}
    times = {name: measured(setting, name) for name in limits}
    return [Row(
        f"commands on {ITEMS:,} items", ", ".join(f"`{name}` {took:.1f} ms" for name, took in times.items()),
        "≤ " + ", ".join(str(limit) for limit in limits.values()) + " ms",
        reached=all(times[name] <= limit for name, limit in limits.items()))]


def day(bench):
    """The engine's own schedule, with a clock that is not the wall's."""
    program = os.path.join(tour.BINARIES, "prsnl-simulate-day")
    what, must = "requests a day, 10,000 items, idle account (virtual time)", "≤ 150"
    if not os.access(program, os.X_OK):
        return [Row(what, "not measured", must)]
    # {"requests": of an idle day, "first_day": …, "first_pull": …, …}
    run = Run([program], output=subprocess.PIPE)
    figures = json.loads(run.output.splitlines()[-1])
    count = figures["requests"]
    # Each day's texts are part of it: none, where nothing changes.
    return [Row(what, f"{count} requests", must,
                f"the first day {figures['first_day']}, the first pull {figures['first_pull']}", count <= 150)]


ALL = {
    "pull": full_pull, "large": large_pull, "memory": memory, "first": first_rows, "once": second_once, "poll": poll, "sweep": sweep,
    "idle": idle, "status": status, "commands": commands, "day": day,
}
