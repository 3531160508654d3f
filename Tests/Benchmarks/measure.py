"""What a process costs, as the kernel and the file itself say it."""

import math
import os
import platform
import re
import sqlite3
import statistics
import struct
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Tour"))
import tour
from tour import Failed

MEBIBYTE = 1 << 20


class Run:
    """A process from its start to its end: wall and CPU seconds, bytes that it had the kernel write (getrusage(2))."""

    def __init__(self, arguments, watch=False, expected=(0,), input=subprocess.DEVNULL, output=subprocess.DEVNULL):
        begin = time.perf_counter()
        process = subprocess.Popen(
            arguments, stdin=input, stdout=output, stderr=subprocess.PIPE, env=tour.clean_environment())
        # A full pipe would stop the process.
        complaint = []
        drain = threading.Thread(target=lambda: complaint.append(process.stderr.read()))
        drain.start()
        memory = MemoryWatch(process.pid) if watch else None
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            raise
        self.wall = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        drain.join()
        process.stderr.close()
        self.output = process.stdout.read() if process.stdout else b""
        if process.stdout:
            process.stdout.close()
        self.cpu = usage.ru_utime + usage.ru_stime
        self.written = usage.ru_oublock * 512
        self.memory = memory.end() if memory else None
        if process.returncode not in expected:
            words = b"".join(complaint).decode(errors="replace")[-1500:]
            raise Failed(f"{' '.join(arguments)} ended with {process.returncode}:\n{words}")


def duration(*arguments, expected=(0,)):
    """Milliseconds of a whole command, from exec to exit. `subprocess` would add two or three of its own."""
    quiet = [(os.POSIX_SPAWN_OPEN, output, os.devnull, os.O_WRONLY, 0) for output in (1, 2)]
    environment = tour.clean_environment()
    begin = time.perf_counter()
    pid = os.posix_spawn(arguments[0], arguments, environment, file_actions=quiet)
    _, status = os.waitpid(pid, 0)
    took = (time.perf_counter() - begin) * 1e3
    if os.waitstatus_to_exitcode(status) not in expected:
        raise Failed(f"{' '.join(arguments)} ended with {os.waitstatus_to_exitcode(status)}")
    return took


class MemoryWatch:
    """Reads /proc/PID/status every 2 ms: the most RssAnon seen, and VmHWM, which the kernel keeps itself."""

    def __init__(self, pid):
        self.pid, self.anonymous, self.resident, self.samples = pid, 0, 0, 0
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()

    def watch(self):
        while not self.is_over.wait(0.002):
            values = status_of(self.pid)
            if "RssAnon" not in values:
                continue
            self.anonymous = max(self.anonymous, values["RssAnon"])
            self.resident = max(self.resident, values["VmHWM"])
            self.samples += 1

    def end(self):
        self.is_over.set()
        self.thread.join()
        return self


def status_of(pid):
    """Numbers of /proc/PID/status, sizes in bytes; empty when the process is gone."""
    try:
        with open(f"/proc/{pid}/status") as file:
            text = file.read()
    except (FileNotFoundError, ProcessLookupError):
        return {}
    values = {}
    for name, number, unit in re.findall(r"^(\w+):\s+(\d+)( kB)?$", text, re.MULTILINE):
        values[name] = int(number) * (1024 if unit else 1)
    return values


def wake_ups(pid):
    """How often its threads went to sleep so far, each of which ends in a wake-up, by thread."""
    counts = {}
    for thread in os.listdir(f"/proc/{pid}/task"):
        values = status_of(f"{pid}/task/{thread}")
        if values:
            counts[thread] = values["voluntary_ctxt_switches"]
    return counts


def bytes_written(pid):
    """Bytes that the process had the kernel write to storage (proc(5), write_bytes)."""
    with open(f"/proc/{pid}/io") as file:
        return int(re.search(r"^write_bytes: (\d+)", file.read(), re.MULTILINE).group(1))


class FileWatch:
    """What others do to an SQLite file between two looks: commits, and the pages of each table in the WAL.

    The WAL is read as a file, by its documented format (https://sqlite.org/fileformat2.html#the_write_ahead_log), because
    SQLite itself does not say what another process wrote."""

    def __init__(self, path):
        self.path = path
        self.connection = sqlite3.connect(f"file:{tour.quoted(path)}?mode=ro", uri=True, isolation_level=None)
        self.version = self.data_version()
        self.salt, self.frames = self.wal()
        self.stamps = self.stamp()

    def data_version(self):
        return self.connection.execute("PRAGMA data_version").fetchone()[0]

    def stamp(self):
        return [(os.stat(p).st_size, os.stat(p).st_mtime_ns) for p in (self.path, self.path + "-wal") if os.path.exists(p)]

    def wal(self):
        """The salt of the current generation, and the page number of each of its frames."""
        try:
            with open(self.path + "-wal", "rb") as file:
                data = file.read()
        except FileNotFoundError:
            return None, []
        if len(data) < 32:
            return None, []
        page_size, salt = struct.unpack(">I", data[8:12])[0], data[16:24]
        pages = []
        for offset in range(32, len(data) - page_size - 23, page_size + 24):
            if data[offset + 8:offset + 16] != salt:
                break
            pages.append(struct.unpack(">I", data[offset:offset + 4])[0])
        return salt, pages

    def changes(self):
        """Whether anything was committed or the files were touched, and the pages written since the first look, by name
        of table or index. The files are looked at first: reading through SQLite leaves its marks in neither."""
        touched = self.stamp() != self.stamps
        committed = self.data_version() != self.version
        salt, frames = self.wal()
        new = frames[len(self.frames):] if salt == self.salt else frames
        names = dict(self.connection.execute("SELECT pageno, name FROM dbstat")) if new else {}
        written = {}
        for page in new:
            name = names.get(page, "free")
            written[name] = written.get(name, 0) + 1
        return touched, committed, written

    def close(self):
        self.connection.close()


def median(values):
    return statistics.median(values)


def percentile(values, share):
    """The smallest value that so large a share of all does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def mebibytes(value):
    return f"{value / MEBIBYTE:.1f} MiB"


def machine():
    """The machine and the parts that the figures depend on, as lines of text."""
    def first(path, pattern):
        with open(path) as file:
            match = re.search(pattern, file.read(), re.MULTILINE)
        return match.group(1) if match else "?"

    def said(*arguments):
        try:
            return subprocess.run(arguments, capture_output=True, text=True, cwd=tour.ROOT).stdout.strip()
        except FileNotFoundError:
            return ""

    system = first("/etc/os-release", r'^PRETTY_NAME="?([^"\n]+)')
    if os.path.exists("/etc/debian_version"):
        with open("/etc/debian_version") as file:
            system += f" ({file.read().strip()})"
    memory = int(first("/proc/meminfo", r"^MemTotal:\s+(\d+)")) / (1 << 20)
    swift = re.search(r"Swift version \S+", said(os.environ.get("SWIFT") or "swift", "--version"))
    return [
        f"{first('/proc/cpuinfo', r'^model name[^:]*: (.+)')}, {os.cpu_count()} cores, {memory:.0f} GiB",
        f"{system}, Linux {platform.release()}, file system {said('findmnt', '-no', 'FSTYPE', '-T', tour.ROOT)}",
        ", ".join(filter(None, [
            swift.group(0) if swift else "", f"libcurl {said('curl-config', '--version').removeprefix('libcurl ')}",
            f"SQLite {sqlite3.sqlite_version}", f"Python {platform.python_version()}",
            f"commit {said('git', 'rev-parse', '--short', 'HEAD')}"])),
        f"load before the run: {', '.join(f'{load:.2f}' for load in os.getloadavg())}",
    ]
