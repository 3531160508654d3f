"""The rows about the service: each is a function of the bench that returns one or more `Row`s, as in rows.py."""

import contextlib
import os
import re
import shutil
import subprocess
import time
from statistics import median

import tour
from measure import wake_ups
from networks import Systemd
from rows import ITEMS, Row, is_idle
from tour import Failed, wait_until

UNITS = ("prsnld.service", "prsnld@.service")
STOPS = int(os.environ.get("STOPS") or 20)
# Polls and watchdog of a quiet day, in a minute instead of an hour: their ratio is what counts.
SHORTER = 60
QUIET_POLL_MINUTES = 15


def watchdog_seconds():
    """What the unit says."""
    with open(os.path.join(tour.ROOT, "systemd", UNITS[0])) as file:
        found = re.search(r"^WatchdogSec=(\d+)min$", file.read(), re.MULTILINE)
    if not found:
        raise Failed("systemd/prsnld.service has no WatchdogSec= in minutes")
    return int(found.group(1)) * 60


def exposure(_):
    what, must = "exposure by `systemd-analyze security`", "≤ 1.1"
    if not shutil.which("systemd-analyze"):
        return [Row(what, "not measured: there is no systemd-analyze", must)]
    figures = {}
    for unit in UNITS:
        done = subprocess.run(
            ["systemd-analyze", "security", "--offline=true", "--no-pager", os.path.join(tour.ROOT, "systemd", unit)],
            capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
        found = re.search(r"Overall exposure level for \S+: ([\d.]+)", done.stdout)
        if not found:
            raise Failed(f"systemd-analyze said of {unit}: {(done.stdout + done.stderr)[-300:]}")
        figures[unit] = float(found.group(1))
    return [Row(
        what, ", ".join(f"{unit} {figure}" for unit, figure in figures.items()), must,
        "0 is best, 10 worst; an unhardened unit has 9.6", max(figures.values()) <= 1.1)]


def stop(bench):
    """SIGTERM in the midst of a first pull, and the start after it."""
    server = bench.server(ITEMS * 10)
    took, ready = [], []
    for _ in range(STOPS):
        directory = bench.fresh()
        setting, systemd = tour.Setting(directory, server.url, server.token_file), Systemd(directory)
        setting.environment = systemd.environment(3600)
        with setting.daemon() as daemon:
            wait_until(lambda: setting.live() > 1_000, "the pull", 60, 0.002)
            code, seconds = daemon.end()
            if code != 0:
                raise Failed(f"the daemon ended with {code}\n{daemon.last_words()}")
            took.append(seconds * 1e3)
            if "STOPPING=1" not in systemd.heard():
                raise Failed("the daemon did not say that it stops")
        begin = time.monotonic()
        with setting.daemon():
            wait_until(lambda: "READY=1" in systemd.heard(), "READY=1", 30, 0.0005)
            ready.append((time.monotonic() - begin) * 1e3)
    return [Row(
        f"SIGTERM in the midst of a pull → the process has ended, {STOPS} times",
        f"p50 {median(took):.0f} ms, slowest {max(took):.0f} ms", "< 2,000 ms",
        f"start on that copy → READY=1: p50 {median(ready):.0f} ms, slowest {max(ready):.0f} ms", max(took) < 2_000)]


def watched(bench):
    """A daemon that systemd watches beside one that it does not, both polling; an hour of a quiet day in a minute."""
    server = bench.server(max(100, ITEMS // 100))
    seconds = watchdog_seconds() / SHORTER
    poll = f"{QUIET_POLL_MINUTES * 60 / SHORTER:.0f}s"
    items = max(100, ITEMS // 100)
    with contextlib.ExitStack() as stack:
        directories = [bench.fresh(), bench.fresh()]
        settings = [tour.Setting(each, server.url, server.token_file, poll_interval=poll) for each in directories]
        systemd = Systemd(directories[0])
        settings[0].environment = systemd.environment(seconds)
        daemons = [stack.enter_context(setting.daemon()) for setting in settings]
        for setting in settings:
            wait_until(lambda setting=setting: setting.live() == items and is_idle(setting), "the end of the pull", 60)
        wait_until(lambda mark=time.monotonic() + 5: time.monotonic() > mark, "five quiet seconds")
        systemd.heard()
        last = [wake_ups(each.pid) for each in daemons]
        begun, rests, awake = [dict(each) for each in last], [0, 0], [False, False]

        def sample():
            for index, daemon in enumerate(daemons):
                now = wake_ups(daemon.pid)
                rests[index] += now != last[index] and not awake[index]
                awake[index], last[index] = now != last[index], now

        wait_until(lambda mark=time.monotonic() + 90: sample() or time.monotonic() > mark, "90 s", 100, 0.1)
        fed = systemd.heard().count("WATCHDOG=1")
        switches = [sum(now.values()) - sum(before.values()) for now, before in zip(last, begun)]
        alive = all(daemon.is_running for daemon in daemons)
    needed = int(90 / seconds)
    more = rests[0] - rests[1]
    return [Row(
        f"wake-ups for the watchdog ({watchdog_seconds() // 60} min), in 90 min of polls every {QUIET_POLL_MINUTES} min, "
        f"{SHORTER} times as fast", f"{more:+d}", "no wake-ups of its own, fed in time",
        f"fed {fed}×, needed {needed}×; out of rest {rests[0]}×, unwatched {rests[1]}×; "
        f"switches of threads {switches[0]} and {switches[1]}", more <= 1 and fed >= needed and alive)]


ALL = {"exposure": exposure, "stop": stop, "watched": watched}
