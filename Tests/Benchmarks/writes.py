"""The rows about the outbox: each is a function of the bench that returns one or more `Row`s, as in rows.py."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import time
from datetime import datetime

import tour
from measure import MEBIBYTE, Run, duration, mebibytes, median, percentile, status_of
from rows import BUILD, HERE, ITEMS, ROUNDS, Row, once
from tour import Failed, wait_until

# A copy that the writes go to. Small: what is measured is the outbox.
COPY = 1_000
TAGGED = 5_000
LINES = ITEMS
SENT = max(100, ITEMS // 20)
SINGLE = max(100, ITEMS // 100)
AT_LEAST = max(3, ROUNDS - 2)


@contextlib.contextmanager
def copy_without_server(bench, *options):
    """A complete copy whose server is gone."""
    directory = bench.fresh()
    with tour.DevServer(directory, "--items", str(COPY), "--dialect", "C", *options) as server:
        setting = tour.Setting(directory, server.url, server.token_file)
        once(setting, COPY)
        server.end()
    yield server, setting


@contextlib.contextmanager
def daemon_without_server(bench):
    """The daemon on a complete copy, once it knows that there is no server."""
    with copy_without_server(bench) as (_, setting), setting.daemon() as daemon:
        wait_until(lambda: knows_it_is_alone(setting), "the daemon to notice that the server is gone", 60)
        yield setting, daemon


def knows_it_is_alone(setting):
    code, text, _ = setting.control("status", "--json")
    if code not in (0, 4):
        return False
    daemon = json.loads(text)["daemon"]
    return daemon and daemon["connectivity"]["state"] == "unreachable"


class ControlSocket:
    """JSON lines, one answer for each request (docs/cli.md)."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.lines = self.socket.makefile("rb")

    def ask(self, request):
        self.socket.sendall(request)
        return json.loads(self.lines.readline())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.lines.close()
        self.socket.close()


def disk_times(directory, count):
    """Milliseconds of a write and fdatasync(2) of 4 KiB at the end of a file: what the disk takes for one durable page."""
    path, times, block = os.path.join(directory, "fsync"), [], os.urandom(4_096)
    file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        for _ in range(count):
            begin = time.perf_counter()
            os.write(file, block)
            os.fdatasync(file)
            times.append((time.perf_counter() - begin) * 1e3)
    finally:
        os.close(file)
        os.unlink(path)
    return times


def enqueue(bench):
    """One write after another over the control socket, each answered when it is on the disk."""
    own, disk = [], []
    with daemon_without_server(bench) as (setting, _):
        with ControlSocket(setting.socket) as daemon:
            for round in range(AT_LEAST):
                directory = os.path.dirname(setting.database)
                disk.append(disk_times(directory, SINGLE))
                times = []
                for number in range(SINGLE):
                    write = {"action": "create", "url": f"https://example.org/{round}/{number}", "title": "One at a time"}
                    # The first members as they are here, for the larger limit of a request.
                    request = json.dumps({"command": "write", "writes": [write]}, separators=(",", ":")).encode() + b"\n"
                    begin = time.perf_counter()
                    answer = daemon.ask(request)
                    times.append((time.perf_counter() - begin) * 1e3)
                    if answer.get("type") != "write" or answer["write"]["writes"][0]["outcome"] != "accepted":
                        raise Failed(f"a write was not accepted: {json.dumps(answer)[:500]}")
                own.append(times)
        waiting = setting.status()["outbox"]["waiting"]
    if waiting != AT_LEAST * SINGLE:
        raise Failed(f"{waiting} writes wait where {AT_LEAST * SINGLE} were accepted")

    def of(rounds, share):
        return median([percentile(times, share) for times in rounds])

    return [Row(
        f"durable enqueue through the daemon, {AT_LEAST} × {SINGLE:,} writes one by one",
        f"p99 {of(own, 0.99):.2f} ms, p50 {of(own, 0.5):.2f} ms", "p99 ≤ 10 ms",
        f"4 KiB and fdatasync on this disk: p99 {of(disk, 0.99):.2f} ms, p50 {of(disk, 0.5):.2f} ms",
        of(own, 0.99) <= 10)]


def lines_file(bench):
    path = os.path.join(bench.directory, "lines")
    if not os.path.exists(path):
        with open(path, "w") as file:
            file.writelines(f"https://example.org/a/page/of/usual/length?number={number}\n" for number in range(LINES))
    return path


def capture(setting, path):
    with open(path, "rb") as lines:
        run = Run([tour.CONTROL, "--config", setting.path, "capture", "--stdin", "--json"], input=lines,
                  output=subprocess.PIPE)
    report = json.loads(run.output)
    with open(path, "rb") as lines:
        count = sum(1 for _ in lines)
    if report["accepted"] != count:
        raise Failed(f"{report['accepted']} of {count} lines were accepted")
    return run


def bulk(bench):
    runs = []
    for _ in range(AT_LEAST):
        with daemon_without_server(bench) as (setting, _):
            runs.append(capture(setting, lines_file(bench)))
            rows = setting.query("SELECT waiting FROM sync_state")
        if rows != [(LINES,)]:
            raise Failed(f"{rows} wait where {LINES} lines were accepted")
    wall = median([run.wall for run in runs])
    return [Row(
        f"`prsnlctl capture --stdin`, {LINES:,} lines", f"{LINES / wall:,.0f} per second, durable ({wall:.2f} s)",
        "≥ 10,000 per second", f"slowest of {len(runs)}: {max(run.wall for run in runs):.2f} s; "
        f"prsnlctl's own CPU {median([run.cpu for run in runs]):.2f} s", LINES / wall >= 10_000)]


def tags(bench):
    """The tags of many items, by one command in one transaction, without a daemon; then all of it taken back."""
    server = bench.server(TAGGED)
    tagged, undone = [], []
    for _ in range(AT_LEAST):
        setting = tour.Setting(bench.fresh(), server.url, server.token_file)
        once(setting, TAGGED)
        ids = setting.query("SELECT id FROM timeline")
        run = Run([tour.CONTROL, "--config", setting.path, "tag", "+bench", *(id for (id,) in ids)])
        if setting.query("SELECT waiting, (SELECT count(DISTINCT accepted_at) FROM outbox) FROM sync_state") != [(TAGGED, 1)]:
            raise Failed("the tags are not in one transaction")
        tagged.append(run.wall)
        undone.append(Run([tour.CONTROL, "--config", setting.path, "undo"]).wall)
    return [Row(f"`prsnlctl tag +bench` of {TAGGED:,} items, and `undo`", f"{median(tagged):.2f} s, {median(undone):.2f} s", "≤ 1 s",
                f"slowest of {AT_LEAST}: {max(tagged):.2f}, {max(undone):.2f} s", median(tagged) <= 1)]


def alone(bench):
    """Writes of prsnlctl while no daemon runs: one note beside few and many that wait, and many lines at once."""
    def setting():
        made = tour.Setting(bench.fresh(), bench.server(COPY).url, bench.server(COPY).token_file)
        once(made, COPY)
        return made

    def note(of):
        runs = [Run([tour.CONTROL, "--config", of.path, "note", "Buy milk"]) for _ in range(21)]
        return median([run.cpu for run in runs]) * 1e3

    few = setting()
    empty = note(few)
    path = os.path.join(bench.directory, "many")
    with open(path, "w") as file:
        file.writelines(f"https://example.org/waiting/{number}\n" for number in range(60_000))
    capture(few, path)
    full = note(few)
    runs = [capture(setting(), lines_file(bench)) for _ in range(AT_LEAST)]
    wall = median([run.wall for run in runs])
    return [
        Row("`prsnlctl note` without a daemon, CPU", f"{empty:.1f} ms, with 60,000 that wait {full:.1f} ms",
            "≤ 15 ms, both", reached=max(empty, full) <= 15),
        Row(f"`prsnlctl capture --stdin` without a daemon, {LINES:,} lines", f"{wall:.2f} s", "≤ 6 s",
            f"CPU {median([run.cpu for run in runs]):.2f} s", wall <= 6)]


def commits_program():
    program = os.path.join(BUILD, "commits")
    subprocess.run(["gcc", "-O2", "-o", program, os.path.join(HERE, "commits.c"), "-lsqlite3"], check=True)
    return program


def replay(bench):
    """Against a server that takes everything at once, and in turn what the disk allows, on a copy of the same file."""
    program, own, disk, ratios, sends = commits_program(), [], [], [], []
    path = os.path.join(bench.directory, "to-send")
    with open(lines_file(bench)) as lines, open(path, "w") as file:
        file.writelines(line for line, _ in zip(lines, range(SENT)))
    for _ in range(AT_LEAST):
        directory = bench.fresh()
        options = ["--items", str(COPY), "--dialect", "C", "--capture-limit", "0"]
        with tour.DevServer(directory, *options) as server:
            setting = tour.Setting(directory, server.url, server.token_file)
            once(setting, COPY)
            # Into the file itself: no daemon runs.
            capture(setting, path)
            copy = os.path.join(directory, "copy.sqlite")
            for end in ("", "-wal", "-shm"):
                if os.path.exists(setting.database + end):
                    shutil.copy(setting.database + end, copy + end)
            entries, took = Run([program, copy], output=subprocess.PIPE).output.split()
            if int(entries) != SENT:
                raise Failed(f"{int(entries)} entries in the copy of the file")
            disk.append(SENT / float(took))
            with setting.daemon():
                wait_until(lambda: setting.query("SELECT waiting FROM sync_state") == [(0,)], "the queue to be empty",
                           300, 0.05)
            if server.writes()["created"] != SENT:
                raise Failed(f"{server.writes()} on the server where {SENT} were sent")
        # By the journal of the requests themselves.
        (first, last, count), = setting.query("SELECT min(started_at), max(ended_at), count(*) FROM outbox_attempt")
        own.append(SENT / (datetime.fromisoformat(last) - datetime.fromisoformat(first)).total_seconds())
        sends.append(count)
        ratios.append(own[-1] / disk[-1])
        shutil.rmtree(directory)
    ratio = median(ratios)
    return [Row(
        f"replay of {SENT:,} captures, server without limits",
        f"{median(own):,.0f} entries per second: {ratio:.2f} × the disk", "≥ 0.80 × the disk",
        f"two durable commits per entry on this disk: {median(disk):,.0f} entries per second; "
        f"{median(sends) / SENT:.2f} requests per entry", ratio >= 0.8)]


def pace(bench):
    """The engine's own pace against a clock that is not the wall's."""
    program = os.path.join(tour.BINARIES, "prsnl-simulate-queue")
    figures = json.loads(Run([program], output=subprocess.PIPE).output.splitlines()[-1])
    if not figures["entries"] == figures["delivered"] == figures["applied"]:
        raise Failed(f"not everything was delivered once: {figures}")
    over = figures["seconds"] / figures["ideal"] - 1
    hours = figures["seconds"] / 3_600
    return [Row(
        f"{figures['entries']:,} queued captures against {figures['limit']} per minute (virtual time)",
        f"{figures['seconds']:,.0f} s: {over * 100:.1f} % over the ideal time; {figures['refused']} answered with 429",
        "≤ 5 % over, ≤ 1 answer 429 per hour", f"ideal {figures['ideal']:,} s",
        over <= 0.05 and figures["refused"] <= max(1, hours))]


def waiting(bench):
    """What 100,000 entries that wait cost a daemon that cannot send them."""
    def quiet(setting, daemon):
        wait_until(lambda: knows_it_is_alone(setting), "the daemon to notice that the server is gone", 60)
        # It asks for the server ever less often, and gives back what it does not need before every long pause.
        wait_until(lambda mark=time.monotonic() + 30: time.monotonic() > mark, "half a quiet minute", 40, 0.5)
        return status_of(daemon.pid)["RssAnon"]

    def times(setting, command):
        return [duration(tour.CONTROL, "--config", setting.path, command) for _ in range(21)]

    with copy_without_server(bench) as (_, setting):
        with setting.daemon() as daemon:
            none = quiet(setting, daemon)
            capture(setting, lines_file(bench))
            accepted = quiet(setting, daemon)
        with setting.daemon() as daemon:
            restarted = quiet(setting, daemon)
            status, queue = times(setting, "status"), times(setting, "queue")
        status_file, queue_file = times(setting, "status"), times(setting, "queue")
    most = max(median(values) for values in (status, queue, status_file, queue_file))
    return [
        Row(f"memory of the idle daemon, {LINES:,} entries waiting",
            f"anonymous {mebibytes(accepted)}, after a restart {mebibytes(restarted)}", "that with none + 1 MiB",
            f"with none {mebibytes(none)}", max(accepted, restarted) <= none + MEBIBYTE),
        Row(f"`prsnlctl status` and `queue`, {LINES:,} entries waiting",
            f"{median(status):.1f} and {median(queue):.1f} ms from the daemon, "
            f"{median(status_file):.1f} and {median(queue_file):.1f} ms from the file", "≤ 30 ms each",
            f"slowest of 21: {max(status):.1f}, {max(queue):.1f}, {max(status_file):.1f}, {max(queue_file):.1f} ms",
            most <= 30)]


ALL = {"enqueue": enqueue, "bulk": bulk, "tags": tags, "alone": alone, "replay": replay, "pace": pace, "waiting": waiting}
