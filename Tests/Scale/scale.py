"""`make scale`: what docs/scale.md says of PostgreSQL, of NATS and of copies of the file, tried with the real servers while
everything is killed again and again. Judged are the rows against the copy's, and each change against the copy's own log."""

import argparse
import base64
import contextlib
import json
import os
import random
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import servers
from servers import tour

SCRIPTS = os.path.join(tour.ROOT, "docs", "scale")
# A longer value is in a change as its size and hash.
LONGEST_VALUE = 16 << 10
TITLES = ["a\0b", "\0", "x" * 16_384, "é" * 8_193, "y" * 40_000, "controls \x01\x1f\x7f\u2028 \"\\ {}%s%%",
          "e\u0301 é 日本語 \U0001f600", "{\"bytes\":1}"]

# What was done to the rows, in the order of the commits. Rows that are there after a rollback are not in it.
LOG = """
CREATE TABLE applied (n bigserial PRIMARY KEY, account text, what text, item text);
CREATE TABLE place_seen (account text, epoch text, seq bigint, UNIQUE (account, epoch, seq));
CREATE FUNCTION note_row() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO applied (account, what, item) SELECT coalesce(new.account, old.account), tg_op, coalesce(new.id, old.id);
    RETURN NULL; END $$;
CREATE FUNCTION note_place() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO place_seen VALUES (new.account, new.epoch, new.seq); RETURN NULL; END $$;
CREATE TRIGGER note_row AFTER INSERT OR UPDATE OR DELETE ON prsnl_item FOR EACH ROW EXECUTE FUNCTION note_row();
CREATE TRIGGER note_place AFTER UPDATE ON prsnl_place FOR EACH ROW
    WHEN ((old.epoch, old.seq) IS DISTINCT FROM (new.epoch, new.seq)) EXECUTE FUNCTION note_place();
"""
OPERATIONS = {"added": "INSERT", "restored": "INSERT", "edited": "UPDATE", "deleted": "DELETE"}


class Account:
    """A server with its daemon, and those who read the copy's changes."""

    def __init__(self, run, name, items):
        self.run, self.name = run, name
        self.folder = os.path.join(run.folder, name)
        os.mkdir(self.folder)
        self.server = run.stack.enter_context(tour.DevServer(
            self.folder, "--items", str(items), "--seed", str(run.random.randrange(1_000_000)), "--patch-works", "--settle", "0.3",
            "--capture-limit", "0"))
        self.setting = tour.Setting(
            self.folder, self.server.url, self.server.token_file, poll_interval="1s", sweep_interval="3s", lookup_interval="2s")
        self.control_words = [tour.CONTROL, "--config", self.setting.path]
        # Where places are kept.
        self.environment = tour.clean_environment() | {"HOME": self.folder, "XDG_STATE_HOME": self.folder}
        self.daemon = self.postgres = self.nats = None
        self.problems = []
        run.stack.callback(self.end)

    # What runs

    def start_daemon(self):
        self.daemon = self.setting.daemon()

    def start(self, words, log):
        """In a group of its own, so that what it has started goes with it."""
        return tour.Child(words, log=os.path.join(self.folder, log), env=self.environment, start_new_session=True)

    def start_postgres(self):
        script = os.path.join(SCRIPTS, "prsnl_to_postgres.py")
        self.postgres = self.start([sys.executable, script, self.name, self.run.postgres.dsn, *self.control_words], "postgres.log")

    def start_nats(self):
        script = os.path.join(SCRIPTS, "prsnl_to_nats.py")
        self.nats = self.start(
            [*self.control_words, "changes", "--follow", "--cursor", "nats", "--batch", "20", "--", sys.executable, script,
             f"prsnl.{self.name}", self.run.nats.address], "nats.log")

    def stop(self, child):
        """As a person does, or systemd."""
        if child is not None and child.is_running:
            if child.end(signal.SIGTERM, 20)[0] not in (0, -signal.SIGTERM):
                self.problems.append(f"{child.name} did not end cleanly: {child.last_words(3)}")
        self.end_group(child)

    def end_group(self, child):
        if child is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.process.wait()

    def end(self):
        self.end_group(self.postgres)
        self.end_group(self.nats)
        if self.daemon is not None:
            self.daemon.process.kill()
            self.daemon.process.wait()

    def control(self, *words):
        return subprocess.run(
            [*self.control_words, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
            env=self.environment)

    # What happens

    def mutate(self, random):
        """Something on the server, or here."""
        draw = random.random()
        if draw < 0.25:
            self.server.post("/__dev/add", count=random.randint(1, 4))
        elif draw < 0.5:
            title = random.choice(TITLES) + str(random.randrange(1_000))
            self.server.post("/__dev/edit", index=random.randrange(30), title=title)
        elif draw < 0.6:
            self.server.post("/__dev/delete", index=random.randrange(30), count=random.randint(1, 2))
        elif draw < 0.75:
            self.control("note", random.choice(["Buy milk", "naïve, 日本語"]) + f" {random.random()}", "--tag", "scale")
        elif draw < 0.85:
            self.control("capture", f"https://scale.example/{random.randrange(40)}")
        else:
            ids = [row[0] for row in self.setting.query("SELECT id FROM timeline LIMIT 30") or []]
            if ids:
                id = random.choice(ids)
                self.control(*(["delete", id] if draw < 0.9 else ["edit", id, "--title", f"Edited {random.random()}"]))

    def kill(self, random):
        """One of what belongs to the account; its name."""
        what = random.choice(["script", "prsnlctl", "daemon"] + ["publisher", "prsnlctl of NATS"] * (self.nats is not None))
        if what == "script":
            before = self.postgres
            before.process.kill()
            before.process.wait()
            self.start_postgres()
            # Its prsnlctl lives until it has something to say.
            time.sleep(random.uniform(0, 0.3))
            self.end_group(before)
        elif what == "prsnlctl":
            for pid in servers.children(self.postgres.pid):
                servers.kill(pid)
        elif what == "daemon":
            self.daemon.process.kill()
            self.daemon.process.wait()
            self.start_daemon()
        elif what == "publisher":
            for pid in servers.children(self.nats.pid):
                servers.kill(pid)
        else:
            self.end_group(self.nats)
            self.start_nats()
        return what

    # Judging

    def newest(self):
        """The place at the end of the copy's changes."""
        return tuple(self.setting.query("SELECT epoch, coalesce((SELECT max(seq) FROM change_log), 0) FROM change_state")[0])

    def place(self):
        rows = self.run.postgres.query("SELECT epoch, seq FROM prsnl_place WHERE account = %s", self.name)
        return rows[0] if rows else None

    def come_to_rest(self):
        """The daemon has written and read everything, and has ended; the script has taken it."""
        self.settle()
        self.stop(self.daemon)
        tour.wait_until(lambda: self.place() == self.newest(), f"{self.name}: PostgreSQL at the newest change", 60, 0.05)

    def settle(self):
        def is_settled():
            # An edit of what the server has deleted waits for a decision, and others behind it.
            parked = [str(row[0]) for row in self.setting.query("SELECT id FROM pending_write WHERE state = 'parked'") or []]
            if parked:
                self.control("queue", "drop", "--yes", *parked)
            done = self.control("sync", "--full", "--wait", "--accept-deletions")
            return done.returncode == 0 and self.setting.query("SELECT waiting + unknown FROM sync_state") == [(0,)]

        tour.wait_until(is_settled, f"{self.name}: all that waits is sent", 90, 0.2)

    def compare(self):
        """The two views, row by row and in their order."""
        columns = [row[0] for row in self.setting.query("SELECT name FROM pragma_table_info('timeline') WHERE name != 'content'")]
        names = ", ".join(columns)
        here = self.setting.query(f"SELECT {names} FROM timeline")
        there = self.run.postgres.query(f"SELECT {names} FROM prsnl_timeline WHERE account = %s", self.name)
        if [row[0] for row in here] != [row[0] for row in there]:
            self.problems.append(f"{self.name}: {len(here)} items here and {len(there)} in PostgreSQL, or in another order")
        rows = {row[0]: row for row in there}
        for row in here:
            for name, expected, found in zip(columns, row, rows.get(row[0], row)):
                if not is_same(expected, found):
                    self.problems.append(
                        f"{self.name}: {row[0]}: {name} is {expected!r:.200} here and {found!r:.200} in PostgreSQL")
        self.run.compared += len(here)

    def judge_applied(self, since):
        """What was done to the rows since a place is what the copy's log has behind it: each once, and in its order."""
        present = {id for id, in self.setting.query("SELECT id FROM item WHERE rowid <= (SELECT items_before FROM change_state)")}
        expected = []
        for seq, kind, id, other in self.setting.query("SELECT seq, kind, item_id, json_extract(new, '$.id') FROM change"):
            steps = [(OPERATIONS[kind], id)] if kind in OPERATIONS else []
            if kind == "identified":
                # It is another row, unless that is there.
                steps = [("DELETE", id)] + ([("INSERT", other)] if other and other not in present else [])
            for what, item in steps:
                {"INSERT": present.add, "DELETE": present.discard}.get(what, bool)(item)
            expected += steps if seq > since[1] else []
        found = self.run.postgres.query("SELECT what, item FROM applied WHERE account = %s ORDER BY n", self.name)
        if expected != found:
            at = next((n for n, pair in enumerate(zip(expected, found)) if pair[0] != pair[1]), min(len(expected), len(found)))
            self.problems.append(
                f"{self.name}: {len(found)} changes were applied and {len(expected)} are in the log; the first difference is"
                f" {found[at:at + 1]} in place of {expected[at:at + 1]}")
        self.run.applied += len(found)

    def rereads(self):
        with open(os.path.join(self.folder, "postgres.log"), errors="replace") as log:
            return [line.strip() for line in log if "everything is read again" in line]


def is_same(expected, found):
    if isinstance(expected, str) and len(expected.encode()) > LONGEST_VALUE:
        with contextlib.suppress(ValueError, TypeError, KeyError):
            return json.loads(found)["bytes"] == len(expected.encode())
        return False
    return (expected.replace("\0", "\ufffd") if isinstance(expected, str) else expected) == found


class Run:
    def __init__(self, options, folder, stack):
        self.options, self.folder, self.stack = options, folder, stack
        self.random = random.Random(options.seed)
        self.kills, self.figures = {}, {}
        self.compared = self.applied = self.published = self.mutations = 0
        self.problems = []
        self.postgres, self.nats = servers.Postgres(folder), servers.NatsServer(folder)
        for server in (self.postgres, self.nats):
            stack.callback(server.end)
            server.start()
        self.nats.make_stream()
        self.accounts = [Account(self, name, options.items) for name in ("home", "work")]

    def step(self, text):
        print(f"{time.monotonic() - self.options.began:6.1f} s  {text}", flush=True)

    def judge(self, condition, text):
        if not condition:
            self.problems.append(text)

    def all(self):
        self.begin()
        self.kill_everything()
        self.check_stream()
        home, work = self.accounts
        self.kill_rereadings(home)
        self.put_back(home)
        self.put_back_unnoticed(work)
        self.leave_a_gap(home)
        self.copy_the_file(work)

    def begin(self):
        """The scripts come first, so that there are copies to be waited for."""
        for account in self.accounts:
            account.start_postgres()
        time.sleep(0.3)
        for account in self.accounts:
            account.start_daemon()
        for account in self.accounts:
            account.come_to_rest()
            account.compare()
            self.judge(1 <= len(account.rereads()) <= 2, f"{account.name}: {account.rereads()} with the first pull")
        self.postgres.query(LOG)
        # A second reader of an account waits.
        first = self.accounts[0].postgres
        self.accounts[0].start_postgres()
        second, self.accounts[0].postgres = self.accounts[0].postgres, first
        time.sleep(0.5)
        self.judge(second.is_running and not servers.children(second.pid), "a second script of an account does not wait")
        self.accounts[0].stop(second)
        self.step("two accounts are in one database")

    def kill_everything(self):
        since = {account: account.newest() for account in self.accounts}
        rereads = {account: account.rereads() for account in self.accounts}
        is_over = threading.Event()

        def mutate(account, random):
            while not is_over.wait(random.uniform(0, 0.2)):
                try:
                    account.mutate(random)
                    self.mutations += 1
                except Exception as error:  # a harness that fails must not pass for a quiet one
                    self.problems.append(f"{account.name}: {type(error).__name__}: {error}")

        for account in self.accounts:
            account.start_daemon()
            account.start_nats()
        threads = [threading.Thread(target=mutate, args=(account, random.Random(self.random.random())))
                   for account in self.accounts]
        for thread in threads:
            thread.start()
        try:
            for _ in range(self.options.kills):
                time.sleep(self.random.uniform(0.05, 1.0))
                draw = self.random.random()
                if draw < 0.25:
                    self.postgres.kill(self.random)
                    what = "PostgreSQL"
                elif draw < 0.35:
                    self.nats.kill()
                    what = "nats-server"
                else:
                    what = self.random.choice(self.accounts).kill(self.random)
                self.kills[what] = self.kills.get(what, 0) + 1
        finally:
            is_over.set()
            for thread in threads:
                thread.join()
        self.step("the kills are over")
        for account in self.accounts:
            account.come_to_rest()
            account.compare()
            account.judge_applied(since[account])
            self.judge(account.rereads() == rereads[account], f"{account.name}: {account.rereads()}, and nothing was missed")

    def check_stream(self):
        """Each line of each account once and in order."""
        for account in self.accounts:
            lines = account.control("changes", "--json").stdout.splitlines()[1:]
            cursor = os.path.join(account.folder, "prsnld", "cursors", "nats")

            def is_at_the_end():
                with contextlib.suppress(OSError), open(cursor) as file:
                    return file.readline().strip() == "{}:{}".format(*account.newest())

            tour.wait_until(is_at_the_end, f"{account.name}: NATS at the newest change", 120, 0.1)
            account.stop(account.nats)
            account.nats = None
            failed = account.control("changes", "--failed", "--cursor", "nats").stdout
            self.judge(not failed, f"{account.name}: set aside: {failed:.400}")
            found = [text for subject, text in self.messages() if subject == f"prsnl.{account.name}"]
            at = next((n for n, pair in enumerate(zip(lines, found)) if pair[0] != pair[1]), min(len(lines), len(found)))
            self.judge(lines == found, f"{account.name}: {len(lines)} changes, {len(found)} messages; they differ from {at} on: "
                       f"{lines[at:at + 1]!r:.300} {found[at:at + 1]!r:.300}")
            self.published += len(found)

    def kill_rereadings(self, account):
        """Others see all rows of the account, those of before or the new ones, and never a part of them."""
        live = account.setting.live()
        for _ in range(max(5, self.options.kills // 10)):
            account.end_group(account.postgres)
            self.postgres.query("DELETE FROM prsnl_place WHERE account = %s", account.name)
            account.start_postgres()
            end = time.monotonic() + self.random.uniform(0.1, 0.5)
            while time.monotonic() < end:
                count = self.postgres.query("SELECT count(*) FROM prsnl_timeline WHERE account = %s", account.name)[0][0]
                self.judge(count == live, f"{account.name}: {count} of {live} items during a rereading")
            for pid in servers.children(account.postgres.pid) if self.random.random() < 0.5 else [account.postgres.pid]:
                servers.kill(pid)
        account.end_group(account.postgres)
        account.start_postgres()
        tour.wait_until(lambda: account.place() == account.newest(), "PostgreSQL at the newest change")
        account.compare()
        self.step("rereadings were killed")

    def messages(self):
        with servers.prsnl_to_nats.Nats(self.nats.address) as nats:
            last = nats.request("$JS.API.STREAM.INFO.prsnl", b"")["state"]["last_seq"]
            for seq in range(1, last + 1):
                message = nats.request("$JS.API.STREAM.MSG.GET.prsnl", json.dumps({"seq": seq}).encode())["message"]
                yield message["subject"], base64.b64decode(message["data"]).decode()

    # Places that mean nothing any more

    def change_something(self, account, count, sends=True):
        """`sends`: here, or on the server alone."""
        account.start_daemon()
        tour.wait_until(lambda: account.control("status").returncode in (0, 4), "the daemon")
        before = account.newest()[1]
        for number in range(count):
            if sends:
                account.control("note", f"after {number} {self.random.random()}")
            else:
                account.server.post("/__dev/add", count=1)
        account.settle()
        account.stop(account.daemon)
        self.judge(account.newest()[1] >= before + count, f"{account.name}: {count} new items left fewer changes")

    def expect_reread(self, account, word, act):
        before = len(account.rereads())
        act()
        account.come_to_rest()
        account.compare()
        after = account.rereads()[before:]
        self.judge(len(after) == 1 and word in after[0], f"{account.name}: expected a rereading for `{word}`, and not {after}")

    def back_up(self, account):
        backup = os.path.join(account.folder, "backup")
        account.setting.query("VACUUM INTO ?", backup)
        return backup

    def restore(self, account, backup):
        for entry in ("", "-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.remove(account.setting.database + entry)
        shutil.move(backup, account.setting.database)

    def put_back(self, account):
        """An earlier file. What was sent since then tells the daemon."""
        backup = self.back_up(account)
        self.change_something(account, 3)
        tour.wait_until(lambda: account.place() == account.newest(), "PostgreSQL at the newest change")

        def act():
            self.restore(account, backup)
            account.start_daemon()

        self.expect_reread(account, "other_epoch", act)
        self.step("a restored backup is read again")

    def put_back_unnoticed(self, account):
        """The same where nothing was sent, so that the daemon does not notice: the numbers are given once more."""
        backup = self.back_up(account)
        self.change_something(account, 3, sends=False)
        tour.wait_until(lambda: account.place() == account.newest(), "PostgreSQL at the newest change")
        account.stop(account.postgres)

        def act():
            self.restore(account, backup)
            self.change_something(account, 9, sends=False)
            self.judge(account.newest()[0] == account.place()[0], "the daemon has noticed that its file was put back")
            account.start_daemon()
            account.start_postgres()

        self.expect_reread(account, "is another one", act)
        self.step("a file that was put back is read again")

    def leave_a_gap(self, account):
        account.stop(account.postgres)
        self.change_something(account, 5)
        with contextlib.closing(sqlite3.connect(account.setting.database)) as connection, connection:
            connection.execute("DELETE FROM change_log WHERE seq < (SELECT max(seq) FROM change_log)")

        def act():
            account.start_daemon()
            account.start_postgres()

        self.expect_reread(account, "gap", act)
        self.step("a gap is read again")

    def copy_the_file(self, account):
        """`VACUUM INTO` while the daemon works, and a folder for an object store."""
        store = os.path.join(account.folder, "store")
        os.mkdir(store)
        account.start_daemon()
        tour.wait_until(lambda: account.control("status").returncode in (0, 4), "the daemon")
        for number in range(5):
            account.control("note", f"before copy {number}")
            new = os.path.join(store, "new")
            subprocess.run(["sqlite3", "-readonly", account.setting.database, f"VACUUM INTO '{new}'"], check=True)
            os.rename(new, os.path.join(store, "prsnl.sqlite"))
            with contextlib.closing(sqlite3.connect(f"file:{store}/prsnl.sqlite?mode=ro", uri=True)) as copy:
                self.judge(copy.execute("PRAGMA integrity_check").fetchall() == [("ok",)], "a copy is damaged")
                self.judge(
                    copy.execute("SELECT count(*) FROM timeline WHERE title LIKE 'before copy%' OR content LIKE 'before copy%'")
                    .fetchone()[0] > number, "a copy is older than its command")
            listed = account.control("--database", os.path.join(store, "prsnl.sqlite"), "list", "--json", "--limit", "3")
            self.judge(listed.returncode == 0 and json.loads(listed.stdout), f"list of a copy: {listed.stderr}")
        account.stop(account.daemon)
        self.judge(not set(os.listdir(store)) - {"prsnl.sqlite"}, f"the store has {os.listdir(store)}")
        self.step("copies of the file can be read")


def measure(run):
    """The figures of docs/scale.md."""
    run.begin()
    run.postgres.query("DROP TRIGGER note_row ON prsnl_item; DROP TRIGGER note_place ON prsnl_place")
    account = run.accounts[0]

    def seconds_to_the_end():
        began = time.monotonic()
        account.start_postgres()
        tour.wait_until(lambda: account.place() == account.newest(), "PostgreSQL at the newest change", 300, 0.005)
        return time.monotonic() - began

    account.stop(account.postgres)
    run.postgres.query("DELETE FROM prsnl_place WHERE account = %s", account.name)
    items, seconds = account.setting.live(), seconds_to_the_end()
    run.figures[f"reading {items} items again, s"] = round(seconds, 2)
    run.figures["of these in a second"] = round(items / seconds)
    account.stop(account.postgres)
    before = account.newest()[1]
    account.server.post("/__dev/add", count=5_000)
    account.start_daemon()
    account.settle()
    account.stop(account.daemon)
    changes, seconds = account.newest()[1] - before, seconds_to_the_end()
    run.figures["changes a second, of " + str(changes)] = round(changes / seconds)
    run.figures["memory of the script behind it, MiB"] = memory(account.postgres.pid)
    run.figures["memory of its prsnlctl, MiB"] = memory(servers.children(account.postgres.pid)[0])
    account.start_daemon()
    tour.wait_until(lambda: account.control("status").returncode in (0, 4), "the daemon")
    # So that the reader is woken by this daemon.
    time.sleep(2)
    latencies = sorted(latency(run, account, number) for number in range(50))
    run.figures["from the commit to the row, median of 50, ms"] = round(statistics.median(latencies), 1)
    run.figures["the longest of these, ms"] = round(latencies[-1], 1)
    account.stop(account.daemon)
    for count in (1, 100, 10_000):
        lines = [b'{"seq":%d,"at":"%d","item_id":"%032x","kind":"added","origin":"server","old":null,"new":{"title":"%s"}}\n'
                 % (number, count, number, b"t" * 600) for number in range(count)]
        began = time.monotonic()
        subprocess.run([sys.executable, os.path.join(SCRIPTS, "prsnl_to_nats.py"), "prsnl.rate", run.nats.address],
                       input=b"".join(lines), check=True)
        run.figures[f"a run of the NATS script with {count} changes, ms"] = round((time.monotonic() - began) * 1_000)
    began = time.monotonic()
    copy = os.path.join(account.folder, "copy")
    account.setting.query("VACUUM INTO ?", copy)
    run.figures["VACUUM INTO, ms"] = round((time.monotonic() - began) * 1_000)
    run.figures["of MiB"] = round(os.path.getsize(copy) / (1 << 20), 1)


def latency(run, account, number):
    """Of a new item, in milliseconds."""
    with contextlib.closing(servers.psycopg2.connect(run.postgres.dsn)) as connection, connection.cursor() as cursor:
        connection.autocommit = True
        # At rest.
        time.sleep(0.3)
        account.control("note", f"measured {number}")

        def row():
            cursor.execute(
                "SELECT extract(epoch FROM clock_timestamp()) FROM prsnl_item WHERE account = %s AND title LIKE %s",
                (account.name, f"measured {number}%"))
            return cursor.fetchone()

        arrived = float(tour.wait_until(row, "the row", 30, 0.001)[0])
        at = account.setting.query(
            "SELECT (julianday(at) - 2440587.5) * 86400 FROM change WHERE kind = 'added' AND new LIKE ? ORDER BY seq LIMIT 1",
            f"%measured {number}%")
        return (arrived - at[0][0]) * 1_000


def memory(pid):
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return next(round(int(line.split()[1]) / 1024, 1) for line in file if line.startswith("Pss:"))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000))
    parser.add_argument("--items", type=int, default=60, help="of each account")
    parser.add_argument("--measure", action="store_true", help="the figures of docs/scale.md instead, with 10000 items")
    parser.add_argument("--keep", action="store_true", help="leave the files there")
    options = parser.parse_args()
    options.began = time.monotonic()
    print(f"seed {options.seed}", flush=True)
    if options.measure:
        options.items = 10_000
    with contextlib.ExitStack() as stack:
        # Not below the check-out, which the user of PostgreSQL may not enter.
        folder = tempfile.mkdtemp(prefix="prsnl-scale-")
        if not options.keep:
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
        run = Run(options, folder, stack)
        try:
            (measure if options.measure else Run.all)(run)
        except tour.Failed:
            for account in run.accounts:
                for child in (account.postgres, account.nats, account.daemon):
                    print(f"{account.name}, {child.name}: {child.last_words()}" if child else "", end="")
            raise
        problems = run.problems + [problem for account in run.accounts for problem in account.problems]
        figures = {f"kills of {name}": count for name, count in sorted(run.kills.items())} | run.figures
        if not options.measure:
            figures |= {"changes on the servers and here": run.mutations, "changes applied, each once and in order": run.applied,
                        "messages, each once and in order": run.published, "rows compared": run.compared}
        for name, value in figures.items():
            print(f"{name:52}{value:>12,}")
        for problem in problems[:10]:
            print(f"FOUND: {problem[:4_000]}")
        return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(tour.main(main))
