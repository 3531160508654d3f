"""The processes of a storm: the daemon, prsnlctl and the server, all of them killed again and again, and the clocks of the two
machines that they run on."""

import json
import os
import random
import re
import select
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Tour"))
import texts
import tour
from clocks import MachineClock

# How long the server may take to show an item. A slow INSERT, and an item's processing, take clearly less: what the server
# inserts or hides for longer than that after its client is gone, no client can tell from what never arrived.
LOOKUP_SECONDS = 2
SLOWEST_INSERT_MS = 700
SETTLE_SECONDS = 0.3
BASE_ITEMS = 250
# What the server answers when it is asked for the text of an item that fails until the end. The list has all of them.
NOT_FOUND = {"kind": "status", "status": 404, "body": '{"detail":"Item not found"}'}
# Seconds that a login's token is valid: some are renewed in each round.
LOGIN_SECONDS = 12
OWNER = "owner@prsnl.example", b"not-a-real-password\n"
FAILURES = [
    NOT_FOUND, {"kind": "status", "status": 500, "body": '{"detail":"Internal server error"}'}, {"kind": "garbage"},
    {"kind": "truncate", "bytes": 60},
]

_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class World:
    """One server with its journal, one copy, and whatever runs on them at the moment."""

    # What another kind of run says besides: options of the server, and keys of the daemon.
    options, keys = [], {}

    def __init__(self, folder, dialect, seed, rate):
        os.makedirs(folder)
        self.folder, self.dialect, self.seed, self.rate = folder, dialect, seed, rate
        self.journal = os.path.join(folder, "server.journal")
        self.token_file = os.path.join(folder, "token")
        self.server = self.daemon = None
        self.port = 0
        self.server_starts = self.daemon_starts = 0
        self.kills = {"daemon": 0, "server": 0, "prsnlctl": 0, "readers": 0}
        self.clock = MachineClock(folder)
        self.counts = {"steps of the daemon's clock": 0, "steps of the server's clock": 0, "backups put back": 0,
                       "logins": 0, "empty lists": 0, "phases in which every edit fails": 0}
        # Of the server: seconds that its clock is ahead, and what a phase makes of it.
        self.server_ahead = 0
        self.quirks = {}
        self.edits_fail = False
        # Sizes of the journal that a backup may be of, as (when, size).
        self.backups = []
        # Items of other clients that are in `processing`, and until when (monotonic).
        self.hidden = {}
        self.accidents = []
        self.server_lock = threading.Lock()
        self.faults_on = True
        # By id: items whose text cannot be had, in one of the FAILURES.
        self.failing = {}
        self.start_server()
        self.keep_texts_back()
        key = self.token_file if dialect == "C" else os.path.join(folder, "key")
        with open(key) as file:
            self.secret = file.read().strip()
        # Dialect C: the daemon has a login, and other clients the token.
        self.setting = tour.Setting(
            folder, self.url, None if dialect == "C" else key, **{
                "poll_interval": "2s", "sweep_interval": "5s", "lookup_interval": f"{LOOKUP_SECONDS}s",
                "text_max_size": texts.TEXT_LIMIT, "connect_timeout": "2s", "stall_timeout": "2s", "request_timeout": "5s",
                "log_level": "info"} | self.keys)
        self.setting.environment = self.clock.environment
        self.log_in()

    # The server

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def start_server(self):
        options = ["--dialect", self.dialect, "--items", str(BASE_ITEMS), "--seed", str(self.seed % 1_000_000),
                   "--ties", "3", "--port", str(self.port), "--state", self.journal, "--settle", str(SETTLE_SECONDS),
                   "--capture-limit", "0", "--patch-works", "--storm-slow", str(SLOWEST_INSERT_MS),
                   "--clock-ahead", str(self.server_ahead), "--login-lifetime", str(LOGIN_SECONDS)]
        if self.dialect != "E":
            options += ["--texts", texts.TEXT_SIZES, "--item-cache", str(texts.ITEM_CACHE_SECONDS)]
        # Some releases hide what they process.
        options += ["--hide-captured"] if self.seed % 3 == 0 else []
        options += ["--token", self.token_file] if self.dialect == "C" else [
            "--api-key-file", os.path.join(self.folder, "key")]
        if self.faults_on and self.server_starts > 0:
            options += ["--storm", str(self.seed * 1_000 + self.server_starts), "--storm-rate", str(self.rate)]
        options += self.options
        self.server_starts += 1
        child = tour.Child(
            [tour.DEVSERVER, *options], log=os.path.join(self.folder, "server.log"), stdout=subprocess.PIPE)
        if not select.select([child.process.stdout], [], [], 60)[0]:
            raise tour.Failed("the server said nothing for 60 s")
        line = child.process.stdout.readline().decode()
        match = re.search(r":(\d+)\s*$", line)
        if not match:
            raise tour.Failed(f"the server did not start: {line}{child.last_words()}")
        self.port = int(match.group(1))
        self.server = child
        self.begin_faults()

    def keep_texts_back(self):
        """Chooses the items whose text fails until the end: four, one, or none.

        Where a text is missing, the copy claims little of its texts. So there have to be storms that keep nothing back."""
        if self.dialect == "E":
            return
        failures = [FAILURES, [NOT_FOUND], []][(self.seed + self.seed // 3) % 3]
        ids = [json.loads(line)["id"] for line in self.request("GET", "/__dev/items")[1].splitlines()]
        self.failing = dict(zip(random.Random(self.seed).sample(ids, len(failures)), failures))
        self.begin_faults()

    def dev(self, name, client="other", **parameters):
        """One of the commands that `prsnl-devserver --help` lists."""
        status, answer = self.request("POST", f"/__dev/{name}?" + urllib.parse.urlencode(parameters), client=client)
        if status not in (200, 404):
            raise RuntimeError(f"/__dev/{name} answered {status}: {answer}")
        return status == 200

    def begin_faults(self):
        """What a server that was just started is to do."""
        for id, failure in self.failing.items():
            self.dev("fault", **failure, path=f"/api/items/{id}", method="GET", times=0)
        if self.edits_fail:
            body = '{"detail":"Failed to update item: column does not exist","code":"INTERNAL_SERVER_ERROR"}'
            self.dev("fault", kind="status", status=500, body=body, path="/api/items/*", times=0,
                     method="PUT" if self.dialect == "E" else "PATCH")
        if self.quirks:
            self.dev("quirks", **self.quirks)

    def give_texts(self):
        """Ends that; and all other faults."""
        with self.server_lock:
            self.failing = {}
            self.dev("clear-faults")

    def kill_server(self, pause):
        with self.server_lock:
            self.server.process.kill()
            self.server.process.wait()
            self.server.process.stdout.close()
            self.kills["server"] += 1
            time.sleep(pause)
            self.start_server()

    def storm(self, on):
        """Begins or ends the server's faults; a killed server begins as the last one was told."""
        with self.server_lock:
            self.faults_on = on
            parameters = {"seed": self.seed * 1_000 + self.server_starts, "slow": SLOWEST_INSERT_MS,
                          "rate": self.rate if on else 0}
            self.dev("storm", **parameters)

    # What a phase makes of the server

    def begin_phase(self, random):
        """A release that fails at every edit, a limit of captures, answers without a version, a cache for long."""
        with self.server_lock:
            self.edits_fail = random.random() < 0.35
            self.counts["phases in which every edit fails"] += self.edits_fail
            # As 30 captures a minute are on the real server, and in a storm's hurry.
            self.quirks = {"capture-limit": random.choice([0, 0, 12]), "capture-window": 4}
            if self.dialect != "E":
                self.quirks |= {"item-cache": random.choice([texts.ITEM_CACHE_SECONDS, 1_800]),
                                "hide-versions": int(random.random() < 0.25)}
            self.begin_faults()

    def end_phase(self):
        with self.server_lock:
            self.edits_fail = False
            self.quirks = {"capture-limit": 0, "capture-window": 4, "item-cache": texts.ITEM_CACHE_SECONDS, "hide-versions": 0}
            self.dev("clear-faults")
            self.begin_faults()
            self.dev("clear-cache")

    def step_server(self, ahead):
        with self.server_lock:
            self.server_ahead = ahead
            self.dev("clock", ahead=ahead)
            self.counts["steps of the server's clock"] += 1

    def note_backup(self):
        self.backups.append((time.monotonic(), os.path.getsize(self.journal)))

    def restore(self, random):
        """Puts a backup of some seconds ago back, younger than the last one that was put back: what was made and taken away
        once does not come back."""
        with self.server_lock:
            young = [size for at, size in self.backups if time.monotonic() - at < 20]
            if not young:
                return
            self.dev("restore", client="restore", size=random.choice(young))
            self.backups = []
            self.counts["backups put back"] += 1

    def lose_list(self):
        """One list that is whole and empty, once."""
        self.dev("fault", kind="lie", lie="emptyEnd", path="/api/timeline", times=1)
        self.counts["empty lists"] += 1

    def hide(self, id, seconds):
        if self.dev("hide", id=id):
            self.hidden[id] = time.monotonic() + seconds

    def show_due(self, ids=None):
        for id in ids or [id for id, end in list(self.hidden.items()) if end < time.monotonic()]:
            self.dev("show", id=id)
            self.hidden.pop(id, None)

    def request(self, method, path, body=None, timeout=20, client="other"):
        """As another client with the same account: status and answer. No fault spares it, as in real life."""
        headers = {"X-Client": client, "Content-Type": "application/json"}
        headers |= {"Authorization": f"Bearer {self.secret}"} if self.dialect == "C" and hasattr(self, "secret") else {}
        headers |= {"X-API-Key": self.secret} if self.dialect != "C" and hasattr(self, "secret") else {}
        data = json.dumps(body).encode() if body is not None else (b"" if method == "POST" else None)
        request = urllib.request.Request(self.url + path, data=data, headers=headers, method=method)
        try:
            with _opener.open(request, timeout=timeout) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    # The daemon

    def start_daemon(self):
        self.daemon = self.setting.daemon()
        self.daemon_starts += 1

    def kill_daemon(self):
        code = self.daemon.process.poll()
        if code is not None:
            self.accident(f"the daemon ended by itself with {code}")
        self.daemon.process.kill()
        self.daemon.process.wait()
        self.kills["daemon"] += 1

    def step_daemon(self, ahead):
        """Sets the clock of its machine, while it does not run: that a clock was set under a running one cannot be shown to it
        so."""
        self.clock.set(ahead)
        self.counts["steps of the daemon's clock"] += 1

    def log_in(self):
        """As a person does where the login is lost: a kill in the moment of its renewal may have cost it."""
        if self.dialect != "C":
            return
        for _ in range(20):
            code, _, complaint = self.control("login", "--email", OWNER[0], "--password-stdin", stdin=OWNER[1])
            if code == 0:
                self.counts["logins"] += 1
                return
            time.sleep(0.2)
        self.accident(f"login ended with {code}: {complaint}")

    def keep_login(self):
        """Logs in again where the daemon says that it has to be done."""
        if self.dialect != "C":
            return
        _, status, _ = self.control("status")
        daemon = (status or {}).get("daemon") or {}
        if (daemon.get("connectivity") or {}).get("state") == "unauthorized":
            self.log_in()

    def daemon_is_there(self):
        """Starts it again where it has ended by itself, which is written down."""
        code = self.daemon.process.poll()
        if code is not None:
            self.accident(f"the daemon ended by itself with {code}")
            self.start_daemon()

    def accident(self, text):
        self.accidents.append(f"{tour.now()} {text}")

    # prsnlctl

    def control(self, *words, kill_after=None, stdin=None, seconds=60):
        """Exit code (None: killed), and what it printed as JSON (None: nothing that can be read)."""
        process = subprocess.Popen(
            [tour.CONTROL, "--config", self.setting.path, words[0], "--json", *words[1:]],
            stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env=tour.clean_environment() | self.clock.environment)
        try:
            out, complaint = process.communicate(stdin, timeout=kill_after if kill_after is not None else seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            out, complaint = process.communicate()
            if kill_after is None:
                self.accident(f"prsnlctl {words[0]} did not end within {seconds} s")
            else:
                self.kills["prsnlctl"] += 1
            if process.returncode == -signal.SIGKILL:
                return None, None, complaint
        if process.returncode < 0:
            self.accident(f"prsnlctl {words[0]} ended by signal {-process.returncode}")
        try:
            return process.returncode, json.loads(out), complaint
        except ValueError:
            return process.returncode, None, complaint

    def end(self):
        for child in (self.daemon, self.server):
            if child is not None and child.process.poll() is None:
                child.process.kill()
                child.process.wait()
