"""Rows about what readers follow, and about the comparison with the server."""

import contextlib
import datetime
import json
import select
import struct
import sqlite3
import subprocess
import time

from measure import MEBIBYTE, MemoryWatch, duration, mebibytes, median
import tour
from rows import ITEMS, Row, cpu_of, daemon_on_copy
from tour import Failed

EDITS = 50


def frames(database):
    """The pages in the write-ahead log, in order, that belong to it (https://sqlite.org/fileformat2.html#walformat)."""
    with open(database + "-wal", "rb") as file:
        log = file.read()
    if len(log) < 32:
        return b"", []
    size, salt = struct.unpack(">I", log[8:12])[0], log[16:24]
    pages = []
    for place in range(32, len(log) - size - 23, size + 24):
        if log[place + 8:place + 16] != salt:
            break
        pages.append(struct.unpack(">I", log[place:place + 4])[0])
    return salt, pages


def pages_of(database, table):
    with contextlib.closing(sqlite3.connect(f"file:{tour.quoted(database)}?mode=ro", uri=True)) as file:
        return {page for page, in file.execute("SELECT pageno FROM dbstat WHERE name = ?", (table,))}


def changes(bench):
    """Edits one by one: how soon each is a printed line, and what its row costs in its commit."""
    with contextlib.ExitStack() as stack:
        server, setting, _ = stack.enter_context(daemon_on_copy(bench, ITEMS // 10))
        item = server.items()[0]["id"]
        # The first change of a copy makes the table's first page.
        edit(server, setting, item, "first")
        # While a reader holds an earlier state, the log is not begun again.
        reader = stack.enter_context(contextlib.closing(
            sqlite3.connect(f"file:{tour.quoted(setting.database)}?mode=ro", uri=True, isolation_level=None)))
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM change").fetchone()
        salt, before = frames(setting.database)
        follower = stack.enter_context(subprocess.Popen(
            [tour.CONTROL, "--config", setting.path, "changes", "--follow", "--json", "--since",
             datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")],
            # Without a buffer: select(2) does not see what is in one.
            stdout=subprocess.PIPE, bufsize=0, env=tour.clean_environment()))
        stack.callback(follower.kill)
        if b"epoch" not in follower.stdout.readline():
            raise Failed("the first line has no epoch")
        took = []
        for number in range(EDITS):
            edit(server, setting, item, f"title {number}")
            while True:
                if not select.select([follower.stdout], [], [], 10)[0]:
                    raise Failed(f"edit {number} was not printed")
                row = json.loads(follower.stdout.readline())
                now = time.time()
                if (row["new"] or {}).get("title") == f"title {number}":
                    break
            committed = datetime.datetime.fromisoformat(row["at"].replace("Z", "+00:00")).timestamp()
            took.append((now - committed) * 1e3)
        again, after = frames(setting.database)
        if again != salt:
            raise Failed("the log was begun again while it was measured")
        log = pages_of(setting.database, "change_log")
        written = after[len(before):]
        ratio = len(written) / sum(page not in log for page in written)
    return [
        Row("a change, from its row to the printed line", f"{median(took):.1f} ms", "≤ 50 ms",
            f"median of {EDITS}; the slowest {max(took):.1f} ms", median(took) <= 50),
        Row("an edit's commit with its change row", f"{ratio:.2f} ×", "≤ 1.15 ×",
            f"pages in the log with those of `change_log`, and without; {len(written) / EDITS:.1f} pages an edit",
            ratio <= 1.15),
    ]


def edit(server, setting, item, title):
    server.post("/__dev/edit", id=item, title=title)
    setting.control("sync", "--wait")


def verify(bench):
    items = 10_000
    with daemon_on_copy(bench, items) as (_, setting, daemon):
        watch, cpu, begin = MemoryWatch(daemon.pid), cpu_of(daemon.pid), time.monotonic()
        code, text, complaint = setting.control("verify", "--json")
        wall, cpu, anonymous = time.monotonic() - begin, cpu_of(daemon.pid) - cpu, watch.end().anonymous
        if code != 0:
            raise Failed(f"verify ended with {code}: {text[-500:]}{complaint}")
        report = json.loads(text)
        scrape = median([duration(tour.CONTROL, "--config", setting.path, "metrics", expected=(0,)) for _ in range(21)])
    return [
        Row(f"`prsnlctl verify` on {items:,} items", f"{report['requests']} requests", "≤ 110",
            f"{wall:.1f} s, {cpu:.2f} s of the daemon's CPU", report["requests"] <= 110),
        Row("memory of the daemon meanwhile", f"anonymous {mebibytes(anonymous)} at peak", "≤ 16 MiB, as a pull",
            reached=anonymous <= 16 * MEBIBYTE),
        Row("`prsnlctl metrics`", f"{scrape:.1f} ms", "≤ 20 ms", "from exec to exit", scrape <= 20),
    ]


ALL = {"changes": changes, "verify": verify}
