"""What the tours and the benchmarks share: the binaries as child processes, the copy as any reader sees it, and waiting
for conditions in place of sleeping."""

import datetime
import json
import os
import re
import select
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.parse
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BINARIES = os.path.join(ROOT, os.environ.get("BINARIES", ".build/release"))
DAEMON = os.path.join(BINARIES, "prsnld")
CONTROL = os.path.join(BINARIES, "prsnlctl")
DEVSERVER = os.path.join(BINARIES, "prsnl-devserver")

# Loopback needs no proxy, and the environment may name one that cannot reach it.
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Failed(Exception):
    """A step did not do what it should; the text says which and how."""


def wait_until(condition, what, seconds=30.0, pause=0.01):
    """Returns the first truthy value of `condition()`. Fails after the deadline, naming `what`."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise Failed(f"waited {seconds:g} s for: {what}")
        time.sleep(pause)


def clean_environment():
    """The environment without what would change the programs' configuration behind the tour's back."""
    dropped = ("STATE_DIRECTORY", "RUNTIME_DIRECTORY", "CREDENTIALS_DIRECTORY", "JOURNAL_STREAM", "NOTIFY_SOCKET",
               "WATCHDOG_USEC", "WATCHDOG_PID")
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PRSNL_") and name not in dropped and not name.lower().endswith("_proxy")
    }


class Child:
    """A process that is ended with the `with` block, whatever happens."""

    def __init__(self, arguments, log=None, network=None, **options):
        """`network`: where it runs (cable.Network)."""
        def start():
            return subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stderr=output, **options)

        self.name = os.path.basename(arguments[0])
        self.log_path = log
        output = open(log, "ab") if log else subprocess.DEVNULL
        options.setdefault("stdout", output)
        options.setdefault("env", clean_environment())
        try:
            self.process = network.perform(start) if network else start()
        finally:
            if log:
                output.close()
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()

    @property
    def is_running(self):
        return self.process.poll() is None

    def end(self, number=signal.SIGTERM, seconds=10.0):
        """Sends the signal and returns the exit code (negative: by which signal) and how long it took."""
        begin = time.monotonic()
        self.process.send_signal(number)
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Failed(f"{self.name} still runs {seconds:g} s after signal {int(number)}") from None
        return code, time.monotonic() - begin

    def last_words(self, lines=15):
        if not self.log_path or not os.path.exists(self.log_path):
            return ""
        with open(self.log_path, errors="replace") as file:
            return "".join(file.readlines()[-lines:])


class DevServer(Child):
    """The development server on a free port, with a login token in `token_file`."""

    def __init__(self, directory, *options, name="devserver", network=None):
        self.network = network
        self.token_file = os.path.join(directory, "token")
        super().__init__(
            [DEVSERVER, "--port", "0", "--token", self.token_file, *options],
            log=os.path.join(directory, f"{name}.log"), network=network, stdout=subprocess.PIPE)
        # A million items take a while to make.
        if not select.select([self.process.stdout], [], [], 120)[0]:
            self.process.kill()
            raise Failed("the development server said nothing for 120 s")
        line = self.process.stdout.readline().decode()
        match = re.search(r"https?://\S+", line)
        if not match:
            self.process.kill()
            raise Failed(f"the development server did not start: {line.strip()}\n{self.last_words()}")
        self.url = match.group(0)

    def get(self, path):
        return self.ask(self.url + path)

    def ask(self, url, data=None):
        def send():
            with _opener.open(url, data=data, timeout=120) as answer:
                return answer.read()

        return self.network.perform(send) if self.network else send()

    def post(self, path, /, **parameters):
        """One of the commands that `prsnl-devserver --help` lists; its JSON answer."""
        query = urllib.parse.urlencode(parameters)
        return json.loads(self.ask(f"{self.url}{path}?{query}", data=b""))

    def items(self):
        """The server's own list, newest first."""
        return [json.loads(line) for line in self.get("/__dev/items").splitlines()]

    def requests(self):
        """How many requests were answered so far, by "METHOD /path"; what the tours ask themselves is not counted."""
        return json.loads(self.get("/__dev/requests"))["endpoints"]

    @property
    def port(self):
        return str(urllib.parse.urlsplit(self.url).port)

    def writes(self):
        """How many writes it applied, by kind, answered or not."""
        return json.loads(self.get("/__dev/writes"))

    def captures(self):
        """What was captured, as it came in."""
        return [json.loads(line) for line in self.get("/__dev/captures").splitlines()]

    def settled(self, endpoint):
        """How many requests to it were answered, once what was sent last by a program that is dead has arrived."""
        count = None
        while count != (count := self.requests().get(endpoint, 0)):
            time.sleep(0.003)
        return count

    def timeline_requests(self):
        return self.requests().get("GET /api/timeline", 0)


class Setting:
    """A configuration file, and where it puts things."""

    # Keys of every configuration that does not say otherwise.
    defaults = {}

    def __init__(self, directory, server_url, token_file=None, name="prsnl", network=None, **keys):
        self.network = network
        # What the daemon is given besides its configuration.
        self.environment = {}
        self.database = os.path.join(directory, f"{name}.sqlite")
        self.path = os.path.join(directory, f"{name}.conf")
        self.log = os.path.join(directory, f"{name}.log")
        self.socket = os.path.join(directory, f"{name}.sock")
        values = {
            "server_url": server_url,
            "api_key_file": token_file,
            "database": self.database,
            "control_socket": self.socket,
            **self.defaults,
            **keys,
        }
        with open(self.path, "w") as file:
            file.writelines(f"{key} = {value}\n" for key, value in values.items() if value is not None)

    def daemon(self, *options):
        return Child([DAEMON, "--config", self.path, *options], log=self.log, network=self.network,
                     env=clean_environment() | self.environment)

    def once(self, *options, seconds=600):
        """`prsnld --once`: exit code."""
        with self.daemon("--once", *options) as child:
            return child.process.wait(seconds)

    def control(self, *arguments, seconds=120, input="", **environment):
        """A command of prsnlctl: exit code, what it printed, and what it complained about."""
        return self._run([CONTROL, "--config", self.path, *arguments], seconds, input, environment)

    def shell(self, line, seconds=120):
        """A line as a person types it: the same."""
        return self._run(["sh", "-c", line], seconds)

    def _run(self, words, seconds, input="", more=None):
        # The places of readers are kept beside the database, not among those of the person who runs the tour.
        environment = clean_environment() | {
            "XDG_STATE_HOME": os.path.dirname(self.path), "PATH": f"{BINARIES}:{os.environ['PATH']}"} | (more or {})
        done = subprocess.run(words, input=input, capture_output=True, text=True, timeout=seconds, env=environment)
        return done.returncode, done.stdout, done.stderr

    def status(self):
        code, text, complaint = self.control("status", "--json")
        if code not in (0, 4):
            raise Failed(f"prsnlctl status ended with {code}: {complaint.strip()}")
        return json.loads(text)

    def query(self, sql, *values):
        """Rows as another process reads them; `None` while there is no readable file."""
        try:
            connection = sqlite3.connect(f"file:{quoted(self.database)}?mode=ro", uri=True, timeout=5)
        except sqlite3.OperationalError:
            return None
        try:
            return connection.execute(sql, values).fetchall()
        except sqlite3.OperationalError:
            return None
        finally:
            connection.close()

    def live(self):
        rows = self.query("SELECT live FROM sync_state")
        return rows[0][0] if rows else 0


def quoted(path):
    return urllib.parse.quote(path)


# Columns of the view `timeline` that dialect C calls otherwise, and those that it does not send.
RENAMED = {"created_at": "createdAt", "updated_at": "updatedAt"}
NOT_SENT = {"content", "extra", "pending"}


def now():
    """As the programs write times, so that texts can be compared."""
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def fixed_time(text):
    """A time as the copy writes it: 27 characters, UTC, microseconds."""
    if text is None:
        return None
    whole, _, fraction = re.sub(r"(Z|\+00:00)$", "", text).partition(".")
    return f"{whole}.{fraction:0<6}Z"


def as_row(item, columns):
    """An item of the server's list as the copy should hold it."""
    row = {column: item.get(RENAMED.get(column, column)) for column in columns}
    row["created_at"] = fixed_time(row["created_at"])
    row["updated_at"] = fixed_time(row["updated_at"])
    if row["tags"] is not None:
        tags = sorted(set(row["tags"]), key=str.encode)
        row["tags"] = json.dumps(tags, ensure_ascii=False, separators=(",", ":"))
    return row


def differences(server_items, setting):
    """What the copy has otherwise than the server: lines for people, at most ten."""
    names = setting.query("SELECT name FROM pragma_table_info('timeline')") or []
    columns = [name for (name,) in names if name not in NOT_SENT]
    expected = {item["id"]: as_row(item, columns) for item in server_items}
    rows = setting.query(f"SELECT {', '.join(columns)} FROM timeline")
    if rows is None:
        return ["the copy cannot be read"]
    found = {row[0]: dict(zip(columns, row)) for row in rows}
    lines = [f"{id}: on the server, not in the copy" for id in expected.keys() - found.keys()]
    lines += [f"{id}: in the copy, not on the server" for id in found.keys() - expected.keys()]
    for id in expected.keys() & found.keys():
        lines += [
            f"{id}: {column} is {found[id][column]!r} in the copy and {value!r} on the server"
            for column, value in expected[id].items()
            if found[id][column] != value
        ]
    if len(rows) != len(found):
        lines.append(f"{len(rows) - len(found)} ids stand in the copy twice")
    return lines[:10]


def end_on_signals():
    """SIGTERM and SIGHUP unwind the `with` blocks too, as Ctrl-C does."""
    def stop(number, _):
        raise KeyboardInterrupt(number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)


def main(run):
    """Runs a tour; its exit code is 0 only when every step held."""
    end_on_signals()
    # The output may go to a pipe.
    sys.stdout.reconfigure(line_buffering=True)
    for program in (DAEMON, CONTROL, DEVSERVER):
        if not os.access(program, os.X_OK):
            sys.exit(f"{program} is not there: run `make build` first")
    try:
        return run()
    except Failed as failure:
        print(f"FAILED: {failure}")
        return 1
    except KeyboardInterrupt:
        print("stopped")
        return 130
