"""The rows about the texts of items."""

import json
import os
import shutil
import sqlite3
import subprocess
import time
import urllib.request

import tour
from measure import MEBIBYTE, MemoryWatch, Run, duration, mebibytes, median, wake_ups
from rows import HERE, ITEMS, ROUNDS, Row, is_idle, once
from tour import wait_until

SOME = max(200, ITEMS // 10)
ITEM = "GET /api/items/{id}"


def server_of(bench, items, texts, *options):
    return bench.enter_context(
        tour.DevServer(bench.fresh(), "--items", str(items), "--dialect", "C", "--seed", "1", "--texts", texts, *options))


def setting_of(bench, server, **keys):
    return tour.Setting(bench.fresh(), server.url, server.token_file, **{"texts": "yes", **keys})


def pulls(setting, kind):
    """Seconds and requests of the pulls of a kind, as the history has them."""
    rows = setting.query(
        "SELECT sum((julianday(ended_at) - julianday(started_at)) * 86400), sum(requests), sum(added) FROM pull"
        " WHERE kind = ?", kind)
    return rows[0]


def requests(bench):
    server = server_of(bench, SOME, "1K-8K")
    setting = setting_of(bench, server)
    once(setting, SOME)
    first = server.requests()[ITEM]
    once(setting, SOME)
    again = server.requests()[ITEM] - first
    for index in (5, 50):
        server.post("/__dev/edit", index=str(index))
    with setting.daemon():
        wait_until(lambda: is_idle(setting), "an idle daemon", 60)
        setting.control("sync", "--full", "--texts", "--wait", seconds=300)
    changed = server.requests()[ITEM] - first - again
    most = SOME + SOME // 200
    return [Row(
        f"requests for the texts of {SOME:,} settled items", f"{first:,}; afterwards {again}, for 2 changed items {changed}",
        f"≤ {most:,}; 0; 1 each", "", first <= most and again == 0 and changed == 2)]


def share(bench):
    """How much time the server spends on texts while no user waits, by the daemon's own clock of its requests."""
    items = SOME // 5
    server = server_of(bench, items, "4K-4K")
    setting = setting_of(bench, server)
    with setting.daemon():
        wait_until(lambda: missing(setting) == 0, "the texts", 600, 0.2)
        report = setting.status()
    asked = next(r for r in report["daemon"]["requests"] if r["endpoint"] == ITEM)
    busy = asked["requests"] * asked["mean_duration"] / 1e3
    wall = setting.query(
        "SELECT (julianday(max(fetched_at)) - julianday(min(fetched_at))) * 86400 FROM item_body")[0][0]
    return [Row(f"share of time that the server is busy with texts ({items:,} of 4 KB)", f"{100 * busy / wall:.1f} %",
                "≤ 10 %", f"{asked['mean_duration']:.2f} ms a request, {wall:.0f} s in all", busy <= 0.1 * wall)]


def missing(setting):
    rows = setting.query("SELECT CASE WHEN complete THEN texts_missing ELSE -1 END FROM sync_state")
    return rows[0][0] if rows else -1


def full_pull(bench):
    return pull_ratio(bench, "texts", "texts", {})


def pull_ratio(bench, name, key, others):
    """The daemon's first pull until the timeline is complete, with a key of the configuration on and off, in turn."""
    server = server_of(bench, ITEMS, "4K-4K")
    times = {"yes": [], "no": []}
    for round in range(ROUNDS):
        for value in ("yes", "no") if round % 2 else ("no", "yes"):
            setting = setting_of(bench, server, **others, **{key: value})
            begin = time.perf_counter()
            with setting.daemon():
                wait_until(lambda: is_complete(setting), "a complete timeline", 600, 0.005)
                times[value].append(time.perf_counter() - begin)
            shutil.rmtree(os.path.dirname(setting.path))
    ratio = median([a / b for a, b in zip(times["yes"], times["no"])])
    return [Row(f"full pull of {ITEMS:,} until complete, {name} on / off", f"{ratio:.2f}", "≤ 1.03",
                f"{median(times['yes']):.2f} s and {median(times['no']):.2f} s", ratio <= 1.03)]


def is_complete(setting):
    rows = setting.query("SELECT complete FROM copy")
    return bool(rows and rows[0][0])


def memory(bench):
    items = 300
    server = server_of(bench, items, "100-8M")
    setting = setting_of(bench, server)
    run = once(setting, items, watch=True)
    largest = 0
    for (id,) in setting.query("SELECT item_id FROM item_text WHERE length(content) > 1000000"):
        request = urllib.request.Request(
            f"{server.url}/api/items/{id}", headers={"Authorization": "Bearer " + open(server.token_file).read().strip()})
        with urllib.request.urlopen(request) as answer:
            largest = max(largest, len(answer.read()))
    limit = 16 * MEBIBYTE + 3 * largest
    large = setting.query("SELECT count(*) FROM text_problem WHERE kind = 'too_large'")[0][0]
    return [Row(f"memory of `prsnld --once`, {items} texts of 100 bytes to 8 MB",
                f"anonymous {mebibytes(run.memory.anonymous)} at peak",
                f"≤ 16 MiB + 3 × the largest answer ({mebibytes(limit)})",
                f"largest answer {mebibytes(largest)}, {large} too large, RSS {mebibytes(run.memory.resident)}",
                run.memory.anonymous <= limit)]


def size(bench):
    result = []
    for texts, must in (("100-100K", True), ("4K-4K", None)):
        server = server_of(bench, SOME, texts)
        without, with_texts = (setting_of(bench, server, texts=wanted, search_index="no") for wanted in ("no", "yes"))
        once(without, SOME)
        once(with_texts, SOME)
        for setting in (without, with_texts):
            with sqlite3.connect(setting.database) as connection:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        unique = with_texts.query(
            "SELECT sum(coalesce(length(CAST(content AS BLOB)), 0) + coalesce(length(CAST(transcription AS BLOB)), 0)"
            " + coalesce(length(CAST(metadata AS BLOB)), 0)) FROM item_body")[0][0]
        grown = os.path.getsize(with_texts.database) - os.path.getsize(without.database)
        ratio = grown / unique
        result.append(Row(
            f"size of the file for the texts of {SOME:,} items, {texts} each", f"{ratio:.3f} × their unique bytes",
            "≤ 1.1" if must else "-", f"{mebibytes(unique)} of text", ratio <= 1.1 if must else None))
    return result


def floor_of(bench, server, items):
    """The C++ loop fetches the texts into a copy that has the items."""
    setting = setting_of(bench, server, search_index="no", texts="no")
    once(setting, items)
    return Run([bench.floor(), server.url, setting.database, server.token_file, "texts"])


def speed(bench):
    """`prsnld --once`, the C++ loop and the script in turn. The first and the last read the timeline first, which is taken off."""
    items = SOME // 2
    server, peer = server_of(bench, items, "4K-4K"), bench.peer()
    own, others, least = [], [], []
    for _ in range(ROUNDS):
        least.append(items / floor_of(bench, server, items).wall)
        setting = setting_of(bench, server)
        once(setting, items)
        seconds, _, texts = pulls(setting, "texts")
        own.append(texts / seconds)
        run = Run([*peer, server.url, f"{bench.fresh()}/peer.sqlite", server.token_file, "0", "texts"],
                  output=subprocess.PIPE)
        figures = json.loads(run.output)
        others.append(figures["texts"] / figures["texts_seconds"])
    ratio = median([a / b for a, b in zip(own, others)])
    beside = median([a / b for a, b in zip(least, own)])
    return [Row("texts a second when a person waits, 4 KB each",
                f"{median(own):,.0f}: {ratio:.1f} × the peer, {beside:.2f} × the time of the floor", "≥ 3 ×, ≤ 0.6 ×",
                f"peer {median(others):,.0f}, floor {median(least):,.0f}", ratio >= 3 and beside <= 0.6)]


def cost(bench):
    """The same pull with texts and without, in turn; what is left is the texts'."""
    server = server_of(bench, SOME, "4K-4K")
    cpu, written, least = [], [], []
    for _ in range(ROUNDS):
        least.append(floor_of(bench, server, SOME))
        with_texts, without = (
            once(setting_of(bench, server, search_index="no", texts=value), SOME) for value in ("yes", "no"))
        cpu.append((with_texts.cpu - without.cpu) / SOME * 1e6)
        written.append((with_texts.written - without.written) / SOME / 1e3)
    return [Row("a text of 4 KB, without the index", f"{median(cpu):.0f} µs of CPU, {median(written):.1f} KB written",
                "≤ 180 µs, ≤ 13 KB", f"floor {median([run.cpu for run in least]) / SOME * 1e6:.0f} µs, "
                f"{median([run.written for run in least]) / SOME / 1e3:.1f} KB; of {SOME:,} texts", median(cpu) <= 180 and median(written) <= 13)]


def idle(bench):
    """A minute after the last text has arrived."""
    server = server_of(bench, SOME, "1K-8K")
    setting = setting_of(bench, server)
    once(setting, SOME)
    with setting.daemon() as daemon:
        wait_until(lambda: is_idle(setting), "an idle daemon", 60)
        wait_until(lambda mark=time.monotonic() + 2: time.monotonic() > mark, "two quiet seconds")
        before, watch = wake_ups(daemon.pid), MemoryWatch(daemon.pid)
        wait_until(lambda mark=time.monotonic() + 60: time.monotonic() > mark, "the minute", 70, 0.5)
        after, anonymous = wake_ups(daemon.pid), watch.end().anonymous
    woken = sum(count - before.get(thread, 0) for thread, count in after.items())
    times = [duration(tour.CONTROL, "--config", setting.path, "status", expected=(0, 4)) for _ in range(20)]
    return [Row(f"idle for 60 s with the texts of {SOME:,} items", f"anonymous {mebibytes(anonymous)}, {woken} wake-ups",
                "≤ 8 MiB, ≤ 5 wake-ups", f"`prsnlctl status` {median(times):.1f} ms",
                anonymous <= 8 * MEBIBYTE and woken <= 5)]


ALL = {
    "text-requests": requests, "text-share": share, "text-pull": full_pull, "text-memory": memory, "text-size": size,
    "text-speed": speed, "text-cost": cost, "text-idle": idle,
}
