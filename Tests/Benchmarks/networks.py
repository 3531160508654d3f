"""The rows about the network: each is a function of the bench that returns one or more `Row`s, as in rows.py."""

import contextlib
import errno
import json
import os
import random
import re
import socket
import struct
import subprocess
import threading
import time
from datetime import datetime

import cable
import tour
from measure import Run, percentile, wake_ups
from rows import ITEMS, Row, cpu_of, is_idle, thread_names
from tour import Failed, wait_until
from writes import ControlSocket

FLAPS = int(os.environ.get("FLAPS") or 100)
COPY = max(100, ITEMS // 100)
# include/uapi/asm-generic/socket.h; Python has no name for it.
SO_TIMESTAMPNS = 35
# RTMGRP_LINK, _IPV4_IFADDR, _IPV4_ROUTE, _IPV6_IFADDR, _IPV6_ROUTE of linux/rtnetlink.h.
GROUPS = 0x1 | 0x10 | 0x40 | 0x100 | 0x400
# The smallest that the kernel gives (socket(7)): one or two events.
SMALL_BUFFER = "2048"
FLOOD_SECONDS = 10
# A machine that makes fewer has not measured what is promised of 1,000.
FLOOD_RATE = 950
# The default of poll_interval, in minutes.
POLL_MINUTES = 5


def needs_networks(what, must):
    """The row of a machine where there are none; `None` where there are."""
    problem = cable.obstacle()
    return [Row(what, f"not measured: {problem}", must)] if problem else None


@contextlib.contextmanager
def joined(bench, environment=None, **keys):
    """A daemon that is online and idle, and its server, in networks of their own. `keys`: of its configuration."""
    directory = bench.fresh()
    with contextlib.ExitStack() as stack:
        between = stack.enter_context(cable.Cable())
        options = ["--items", str(COPY), "--dialect", "C", "--settle", "0.001", "--capture-limit", "0"]
        server = stack.enter_context(
            tour.DevServer(directory, *options, "--address", between.SERVER, network=between.far))
        setting = tour.Setting(
            directory, server.url, server.token_file, network=between.near, allow_insecure_http="yes", proxy="none",
            **keys)
        setting.environment = environment or {}
        daemon = stack.enter_context(setting.daemon())
        wait_until(lambda: setting.live() == COPY and is_idle(setting), "the end of the pull", 60)
        yield between, server, setting, daemon


class Wire:
    """What arrives at the far end of the cable, with the kernel's own time for each packet (packet(7), socket(7))."""

    def __init__(self, between):
        everything = socket.ntohs(0x0003)
        self.socket = between.far.perform(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, everything))
        self.socket.bind(("w0", 0))
        self.socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.socket.settimeout(60)

    def receive(self):
        """The next packet; `None` where the link went down meanwhile, which each socket is told once (packet(7))."""
        try:
            return self.socket.recvmsg(65_536, 256)
        except OSError as failure:
            if failure.errno != errno.ENETDOWN:
                raise
            return None

    def drain(self):
        self.socket.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                self.receive()
        self.socket.settimeout(60)

    def time_of(self, text):
        """When a packet with these bytes came, in seconds since 1970."""
        while True:
            received = self.receive()
            if received and text in received[0]:
                return next(
                    seconds + nanoseconds / 1e9 for level, kind, data in received[1]
                    if level == socket.SOL_SOCKET and kind == SO_TIMESTAMPNS
                    for seconds, nanoseconds in [struct.unpack("qq", data)])

    def close(self):
        self.socket.close()


def connectivity(control):
    return control.ask(b'{"command":"status"}\n')["status"]["daemon"]["connectivity"]


def flap(bench):
    """The carrier goes and comes; in between a write is queued."""
    what, must = f"link up → first replayed request on the wire, {FLAPS} flaps", "p50 ≤ 100 ms, p99 ≤ 500 ms"
    if row := needs_networks(what, must):
        return row
    times, outages = [], random.Random(1)
    with joined(bench) as (between, server, setting, _), ControlSocket(setting.socket) as control:
        with contextlib.closing(Wire(between)) as wire:
            for number in range(FLAPS):
                # The last packets of before are acknowledged after up to 200 ms. What is sent after the carrier is lost, by
                # whomever, makes the kernel ask for the neighbour in vain, and try again a second later.
                end = time.monotonic() + 0.3
                wait_until(lambda: time.monotonic() > end, "a quiet moment")
                between.pull()
                wait_until(lambda: connectivity(control)["state"] == "offline", "the daemon to be offline", 30)
                # Without a title, which the server would replace: an edit would follow.
                write = {"action": "create", "url": f"https://example.org/{number}"}
                control.ask(json.dumps({"command": "write", "writes": [write]}).encode() + b"\n")
                # As long as it may be; the kernel's own tries for the neighbour's address fall into it.
                end = time.monotonic() + outages.uniform(0.1, 2)
                wait_until(lambda: time.monotonic() > end, "the outage")
                wire.drain()
                # Before the command, so that it counts too.
                begin = time.time()
                between.plug()
                times.append((wire.time_of(b"POST /api/capture") - begin) * 1e3)
                wait_until(lambda: setting.query("SELECT waiting FROM sync_state") == [(0,)], "the queue to be empty", 30)
                wait_until(lambda: is_idle(setting), "the pull that follows", 30)
        created = server.writes()["created"]
    if created != FLAPS:
        raise Failed(f"{created} writes were applied where {FLAPS} were made")
    p50, p99 = percentile(times, 0.5), percentile(times, 0.99)
    return [Row(what, f"p50 {p50:.0f} ms, p99 {p99:.0f} ms", must, f"slowest {max(times):.0f} ms; each write applied once",
                p50 <= 100 and p99 <= 500)]


def end_of_request(control, entry):
    """When the entry's newest request ended; `None` while it runs."""
    request = control.ask(json.dumps({"command": "entry", "entry": entry}).encode() + b"\n")["entry"]["requests"][-1]
    return request["ended_at"] and datetime.fromisoformat(request["ended_at"]).timestamp()


class WaitingSync(threading.Thread):
    """A user who asks for a pull, and learns how it ended, and when. A head pull that reads nothing leaves no trace in the
    file."""

    def __init__(self, setting):
        super().__init__()
        self.setting, self.ended, self.problem = setting, None, None
        self.start()

    def run(self):
        with ControlSocket(self.setting.socket) as control:
            answer = control.ask(b'{"command":"sync","full":false,"wait":true,"accept_deletions":false}\n')
            while answer["type"] == "progress":
                answer = json.loads(control.lines.readline())
        self.problem, self.ended = answer["sync"]["problem"], time.time()


def cancel(bench):
    """The carrier goes while the server takes its time for a page and for a write."""
    # Each gives two times, and takes five seconds until the write has been looked for and is sent again.
    rounds = max(1, FLAPS // 2)
    what, must = f"link down → running pull and write are cancelled, {rounds} times", "p99 ≤ 200 ms"
    if row := needs_networks(what, must):
        return row
    times = []
    # A write that was cancelled is looked for before it is sent again.
    with joined(bench, lookup_interval="1s") as (between, server, setting, _), ControlSocket(setting.socket) as control:
        with contextlib.closing(Wire(between)) as wire:
            for number in range(rounds):
                for path in ("/api/timeline", "/api/capture"):
                    server.post("/__dev/fault", kind="delay", ms=600_000, path=path)
                wire.drain()
                pull = WaitingSync(setting)
                wire.time_of(b"GET /api/timeline")
                write = {"action": "create", "url": f"https://example.org/held/{number}"}
                answer = control.ask(json.dumps({"command": "write", "writes": [write]}).encode() + b"\n")
                wire.time_of(b"POST /api/capture")
                # Before the command, so that it counts too.
                begin = time.time()
                between.pull()
                entry = answer["write"]["writes"][0]["entry"]
                write_ended = wait_until(lambda: end_of_request(control, entry), "the write's end", 30)
                wait_until(lambda: pull.ended, "the pull's end", 30)
                times += [(end - begin) * 1e3 for end in (pull.ended, write_ended)]
                if connectivity(control)["state"] != "offline":
                    raise Failed(f"they ended, and not because the daemon is offline: {pull.problem}")
                between.plug()
                wait_until(lambda: setting.query("SELECT waiting FROM sync_state") == [(0,)], "the queue to be empty", 60)
                wait_until(lambda: is_idle(setting), "the pull that follows", 30)
        created = server.writes()["created"]
    if created != rounds or min(times) < 0:
        raise Failed(f"{created} writes were applied where {rounds} were made; the quickest end {min(times):.1f} ms")
    p50, p99 = percentile(times, 0.5), percentile(times, 0.99)
    return [Row(what, f"p50 {p50:.0f} ms, p99 {p99:.0f} ms", must, f"slowest {max(times):.0f} ms; each write applied once",
                p99 <= 200)]


class EventCount:
    """How many messages the kernel has for a listener with room enough."""

    def __init__(self, network):
        def make():
            counter = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
            counter.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
            counter.bind((0, GROUPS))
            return counter

        self.socket, self.count = network.perform(make), 0
        self.socket.settimeout(0.2)
        self.is_over = False
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        while True:
            try:
                self.socket.recv(65_536)
                self.count += 1
            except socket.timeout:
                if self.is_over:
                    return

    def end(self):
        self.is_over = True
        self.thread.join()
        self.socket.close()
        return self.count


def pour(network):
    """Some 1,000 events a second of addresses and routes, then the end of the default route. Returns when that was."""
    batch = network.perform(lambda: subprocess.Popen(["ip", "-batch", "-"], stdin=subprocess.PIPE, text=True))
    begin, cycles = time.monotonic(), FLOOD_SECONDS * 167
    for cycle in range(cycles):
        # Six events: an address brings a route of its own with it.
        address, route = f"10.1.{cycle // 250}.{cycle % 250 + 1}/32", f"10.2.{cycle // 250}.{cycle % 250}/32"
        for verb in ("add", "delete"):
            batch.stdin.write(f"address {verb} {address} dev v0\nroute {verb} {route} via {cable.Cable.GATEWAY}\n")
        batch.stdin.flush()
        time.sleep(max(0.0, begin + cycle / 167 - time.monotonic()))
    batch.stdin.write("route delete default\n")
    batch.stdin.close()
    if batch.wait(30) != 0:
        raise Failed("ip -batch did not take everything")
    return time.time(), time.monotonic() - begin


def flood(bench):
    what, must = "flood of address and route events, smallest receive buffer", "right state ≤ 1 s after the last, < 5 % of one core each"
    program = os.path.join(tour.BINARIES, "prsnl-watch-network")
    if row := needs_networks(what, must):
        return row
    with joined(bench) as (between, _, setting, daemon), tour.Child(
            [program, SMALL_BUFFER], network=between.near, stdout=subprocess.PIPE) as watch:
        seen = []
        reader = threading.Thread(target=lambda: seen.extend(json.loads(line) for line in watch.process.stdout))
        reader.start()
        wait_until(lambda: seen, "the first look")
        count = EventCount(between.near)
        before = cpu_of(watch.pid), cpu_of(daemon.pid)
        last, took = pour(between.near)
        wait_until(lambda: not seen[-1]["default"], "the right state", 30)
        at = next(event["at"] for event in seen if not event["default"])
        own, whole = ((cpu_of(pid) - cpu) / took for pid, cpu in zip((watch.pid, daemon.pid), before))
        events = count.end()
        wait_until(lambda: setting.status()["daemon"]["connectivity"]["state"] == "offline", "the daemon to be offline", 30)
        watch.end()
        reader.join()
    rate = events / took
    if rate < FLOOD_RATE:
        return [Row(what, f"not measured: no more than {rate:,.0f} events a second", must)]
    late = max(0.0, at / 1e6 - last)
    lost = sum(event["lost"] for event in seen)
    if len([event for event in seen if event["default"] and event["addresses"] > 3]) == 0 and lost == 0:
        raise Failed("nothing of the flood was seen")
    return [Row(
        f"{what}, {rate:,.0f} events a second for {took:.0f} s",
        f"right state {late * 1e3:.0f} ms after the last, {own * 100:.1f} % of one core; the whole daemon, "
        f"with its own buffer, {whole * 100:.1f} %", must, f"{len(seen)} looks, {lost} of them after lost events",
        late <= 1 and own < 0.05 and whole < 0.05)]


def back(bench):
    """The engine's own probes against a clock that is not the wall's."""
    program = os.path.join(tour.BINARIES, "prsnl-simulate-return")
    figures = json.loads(Run([program], output=subprocess.PIPE).output.splitlines()[-1])
    slowest, most = figures["slowest"], figures["most_probes"]
    return [Row(
        f"server comes back after {figures['outage'] / 60:.0f} min, no link event (virtual time)",
        f"{slowest:.1f} s at most, {most} probes at most", "≤ 61 s, ≤ 12 probes",
        f"{figures['runs']} runs: {figures['mean']:.0f} s on average, at least {figures['fewest_probes']} probes",
        slowest <= 61 and most <= 12)]


class Trace:
    """What a daemon says to the kernel and the server, by strace(1)."""

    # Not by the name of what is asked for, which not every strace knows.
    DUMP = re.compile(r"\bsend(to|msg|mmsg)?\(.*\bnlmsg_type=")

    def __init__(self, directory, daemon):
        self.log = os.path.join(directory, "strace")
        self.child = tour.Child(["strace", "-f", "-q", "-e", "trace=network", "-o", self.log, "-p", str(daemon.pid)])

    def lines(self):
        if not os.path.exists(self.log):
            return []
        with open(self.log) as file:
            return file.read().splitlines()

    def dumps(self):
        return sum(bool(self.DUMP.search(line)) for line in self.lines())

    def prove(self, between):
        """Makes the daemon look at the network: where that is not seen, nothing that was not seen means anything."""
        before = self.dumps()
        between.near.ip("address", "add", "192.0.2.77/24", "dev", "v0")
        wait_until(lambda: self.dumps() > before, "strace to see a dump that was made", 10)
        if not self.child.is_running:
            raise Failed("strace did not stay")


class Stretch:
    """How often the threads of a daemon wake up, and what its server is asked, from now on."""

    def __init__(self, daemon, server):
        self.daemon, self.server = daemon, server
        self.requests, self.before = server.requests(), wake_ups(daemon.pid)
        self.last, self.is_awake, self.times = self.before, False, 0

    def sample(self):
        """Counts how often all of it comes out of rest, where called some ten times a second: one poll wakes many threads."""
        now = wake_ups(self.daemon.pid)
        self.times += now != self.last and not self.is_awake
        self.is_awake, self.last = now != self.last, now

    def asked(self):
        return {name: count - self.requests.get(name, 0) for name, count in self.server.requests().items()
                if count != self.requests.get(name, 0)}

    def woken(self):
        """By the thread's name."""
        after, names = wake_ups(self.daemon.pid), thread_names(self.daemon.pid)
        counts = {}
        for thread, count in after.items():
            if more := count - self.before.get(thread, 0):
                counts[names.get(thread, thread)] = counts.get(names.get(thread, thread), 0) + more
        return counts


class Systemd:
    """What listens to a daemon as systemd does (sd_notify(3)), and has it fed a watchdog."""

    def __init__(self, directory):
        self.path = os.path.join(directory, "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self.socket.bind(self.path)

    def environment(self, seconds):
        return {"NOTIFY_SOCKET": self.path, "WATCHDOG_USEC": str(int(seconds * 1_000_000))}

    def heard(self):
        """The lines since the last time."""
        lines = []
        with contextlib.suppress(BlockingIOError):
            while True:
                lines += self.socket.recv(4096).decode().split("\n")
        return lines


def quiet(bench):
    """The same minute of three daemons that are online and have nothing to do: one that is left alone, one that polls every
    20 s, and one that strace(1) looks at, each stop of which would count as a wake-up. All are watched by a systemd, with
    the unit's WatchdogSec=; for the second it is so short that each poll feeds the watchdog, as each does in earnest."""
    what, must = "online and idle for 60 s, polls included", "0 probes, 0 netlink dumps, ≤ 1 wake-up"
    if row := needs_networks(what, must):
        return row
    systemds = [Systemd(bench.fresh()) for _ in range(3)]
    with contextlib.ExitStack() as stack:
        alone, polling, watched = (
            stack.enter_context(joined(bench, environment=systemd.environment(seconds), **keys))
            for systemd, seconds, keys in zip(systemds, (1_200, 200, 1_200), ({}, {"poll_interval": "20s"}, {})))
        trace = Trace(bench.fresh(), watched[3])
        stack.enter_context(trace.child)
        # What the pull and the question for the status left behind, kept-alive connections too, is over within ten seconds.
        wait_until(lambda mark=time.monotonic() + 12: time.monotonic() > mark, "twelve quiet seconds")
        idle, polls, seen = (Stretch(daemon, server) for _, server, _, daemon in (alone, polling, watched))
        calls, dumps = len(trace.lines()), trace.dumps()
        for systemd in systemds:
            systemd.heard()
        wait_until(lambda mark=time.monotonic() + 60: polls.sample() or time.monotonic() > mark, "the minute", 70, 0.1)
        woken, probes = idle.woken(), sum(idle.asked().values()) + sum(seen.asked().values())
        per_poll, asked = polls.woken(), polls.asked()
        calls, dumps = len(trace.lines()) - calls, trace.dumps() - dumps
        trace.prove(watched[0])
        meals = systemds[1].heard().count("WATCHDOG=1")
    count = asked.pop("GET /api/timeline", 0)
    if count == 0:
        raise Failed("no poll fell into the minute")
    if meals == 0:
        raise Failed("no poll fed the watchdog")
    probes += sum(asked.values())
    # What wakes up in the minute anyway is counted with the polls too: never too few.
    each = sum(per_poll.values()) / count
    whole = sum(woken.values()) + each / POLL_MINUTES
    # What costs power is leaving rest. The threads that then hand the work to each other are counted beside it.
    rests = polls.times / count / POLL_MINUTES
    return [Row(
        what, f"{probes} probes, {dumps} netlink dumps, {rests:.1f} wake-ups", must,
        f"switches of threads {whole:.1f}, without a poll {sum(woken.values())}" + "".join(f", {name} {times}×" for name, times in woken.items())
        + f"; a poll every {POLL_MINUTES} min costs {each:.1f}: "
        + ", ".join(f"{name} {times / count:.1f}×" for name, times in sorted(per_poll.items()))
        + f"; {calls} calls of the network's kind; {meals} of {count} polls fed the watchdog",
        probes == 0 and dumps == 0 and rests <= 1 and sum(woken.values()) <= 1)]


ALL = {"flap": flap, "cancel": cancel, "flood": flood, "back": back, "quiet": quiet}
