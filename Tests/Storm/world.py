"""The processes of a storm: the daemon, prsnlctl and the server, all of them killed again and again."""

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

# How long the server may take to show an item. A slow INSERT, and an item's processing, take clearly less: what the server
# inserts or hides for longer than that after its client is gone, no client can tell from what never arrived.
LOOKUP_SECONDS = 2
SLOWEST_INSERT_MS = 700
SETTLE_SECONDS = 0.3
BASE_ITEMS = 250
# What the server answers when it is asked for the text of an item that fails until the end. The list has all of them.
NOT_FOUND = {"kind": "status", "status": 404, "body": '{"detail":"Item not found"}'}
FAILURES = [
    NOT_FOUND, {"kind": "status", "status": 500, "body": '{"detail":"Internal server error"}'}, {"kind": "garbage"},
    {"kind": "truncate", "bytes": 60},
]

_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class World:
    """One server with its journal, one copy, and whatever runs on them at the moment."""

    def __init__(self, folder, dialect, seed, rate):
        os.makedirs(folder)
        self.folder, self.dialect, self.seed, self.rate = folder, dialect, seed, rate
        self.journal = os.path.join(folder, "server.journal")
        self.token_file = os.path.join(folder, "token")
        self.server = self.daemon = None
        self.port = 0
        self.server_starts = self.daemon_starts = 0
        self.kills = {"daemon": 0, "server": 0, "prsnlctl": 0}
        self.accidents = []
        self.server_lock = threading.Lock()
        self.faults_on = True
        # By id: items whose text cannot be had, in one of the FAILURES.
        self.failing = {}
        self.start_server()
        self.keep_texts_back()
        key = {"C": self.token_file}.get(dialect, os.path.join(folder, "key"))
        self.setting = tour.Setting(
            folder, self.url, key, poll_interval="2s", sweep_interval="5s", lookup_interval=f"{LOOKUP_SECONDS}s",
            text_max_size=texts.TEXT_LIMIT, connect_timeout="2s", stall_timeout="2s", request_timeout="5s", log_level="info")
        with open(self.token_file if dialect == "C" else key) as file:
            self.secret = file.read().strip()

    # The server

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def start_server(self):
        options = ["--dialect", self.dialect, "--items", str(BASE_ITEMS), "--seed", str(self.seed % 1_000_000),
                   "--ties", "3", "--port", str(self.port), "--state", self.journal, "--settle", str(SETTLE_SECONDS),
                   "--capture-limit", "0", "--patch-works", "--storm-slow", str(SLOWEST_INSERT_MS)]
        if self.dialect != "E":
            options += ["--texts", texts.TEXT_SIZES, "--item-cache", str(texts.ITEM_CACHE_SECONDS)]
        # Some releases hide what they process.
        options += ["--hide-captured"] if self.seed % 3 == 0 else []
        options += ["--token", self.token_file] if self.dialect == "C" else [
            "--api-key-file", os.path.join(self.folder, "key")]
        if self.faults_on and self.server_starts > 0:
            options += ["--storm", str(self.seed * 1_000 + self.server_starts), "--storm-rate", str(self.rate)]
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
        self.fail_texts()

    def keep_texts_back(self):
        """Chooses the items whose text fails until the end: four, one, or none.

        Where a text is missing, the copy claims little of its texts. So there have to be storms that keep nothing back."""
        if self.dialect == "E":
            return
        failures = [FAILURES, [NOT_FOUND], []][(self.seed + self.seed // 3) % 3]
        ids = [json.loads(line)["id"] for line in self.request("GET", "/__dev/items")[1].splitlines()]
        self.failing = dict(zip(random.Random(self.seed).sample(ids, len(failures)), failures))
        self.fail_texts()

    def fail_texts(self):
        for id, failure in self.failing.items():
            parameters = failure | {"path": f"/api/items/{id}", "method": "GET", "times": 0}
            self.request("POST", "/__dev/fault?" + urllib.parse.urlencode(parameters))

    def give_texts(self):
        """Ends that; and all other faults."""
        with self.server_lock:
            self.failing = {}
            self.request("POST", "/__dev/clear-faults")

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
            self.request("POST", "/__dev/storm?" + urllib.parse.urlencode(parameters))

    def request(self, method, path, body=None, timeout=20):
        """As another client with the same account: status and answer. No fault spares it, as in real life."""
        headers = {"X-Client": "other", "Content-Type": "application/json"}
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
            stderr=subprocess.PIPE, env=tour.clean_environment())
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
