#!/usr/bin/python3
"""Keeps the timeline of a copy in PostgreSQL, each change exactly once. Several copies, as accounts, may share a database.

    prsnl_to_postgres.py ACCOUNT DSN [PRSNLCTL [OPTION]...]

The rows of a batch and the place behind them are one transaction. So whatever is killed, the place says what is there. Needs
psycopg2 (Debian: python3-psycopg2)."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time

import psycopg2
import psycopg2.extras

NAMES = ["created_at", "updated_at", "type", "title", "url", "summary", "tags", "platform", "category", "thumbnail_url",
         "duration", "file_path", "status", "permalink", "extra", "pending"]
# Text as it is in the copy, compared by its bytes: so nothing that a server says can be refused. Cast where you need to.
SCHEMA = f"""
CREATE TABLE prsnl_place (account text PRIMARY KEY, epoch text NOT NULL, seq bigint NOT NULL, at text);
CREATE TABLE prsnl_item (
    account text, id text COLLATE "C",
    {", ".join(name + (' double precision' if name == "duration" else ' text COLLATE "C"') for name in NAMES)},
    PRIMARY KEY (account, id));
CREATE INDEX prsnl_item_created_at ON prsnl_item (account, created_at, id);
"""
VIEW = """CREATE OR REPLACE VIEW prsnl_timeline AS SELECT {} FROM prsnl_item ORDER BY account, created_at DESC, id DESC"""
LONGEST_WAIT = 60


class Reread(Exception):
    """What is in PostgreSQL cannot be brought up to date: the text says why."""


class ReaderFailed(Exception):
    """prsnlctl has failed, or was killed."""


@contextlib.contextmanager
def reader(control, *options):
    """`prsnlctl changes --json`: batches of the lines that have come. An error is one of them."""
    process = subprocess.Popen([*control, "changes", "--json", *options], stdout=subprocess.PIPE)

    def batches():
        rest = b""
        while chunk := os.read(process.stdout.fileno(), 1 << 16):
            *lines, rest = (rest + chunk).split(b"\n")
            batch = [json.loads(line) for line in lines]
            for line in batch:
                if "error" in line:
                    raise ReaderFailed(line["error"]["message"])
            yield batch
        if process.wait() != 0:
            raise ReaderFailed(f"{control[0]} ended with {process.returncode}")

    try:
        yield batches()
    finally:
        process.terminate()
        process.stdout.close()
        process.wait()


def fit(value):
    """PostgreSQL has no U+0000 in a text."""
    return value.replace("\0", "\ufffd") if isinstance(value, str) else value


def learn(cursor, changes):
    """Makes columns for what a later prsnld says of an item."""
    for name in sorted({name for change in changes for name in change["new"] or {}} - {*NAMES, "id"}):
        cursor.execute(f'ALTER TABLE prsnl_item ADD COLUMN IF NOT EXISTS {name} text COLLATE "C"')
        make_view(cursor)


def make_view(cursor):
    """Of the columns that there are, in their order: the reader of another account may have made some."""
    cursor.execute("SELECT * FROM prsnl_item LIMIT 0")
    NAMES[:] = [column.name for column in cursor.description if column.name not in ("account", "id")]
    cursor.execute(VIEW.format(", ".join(["account", "id", *NAMES])))


def insert(cursor, account, changes):
    learn(cursor, changes)
    if changes:
        rows = [[account, each["item_id"], *(fit(each["new"].get(name)) for name in NAMES)] for each in changes]
        psycopg2.extras.execute_values(
            cursor, f"INSERT INTO prsnl_item ({', '.join(['account', 'id', *NAMES])}) VALUES %s ON CONFLICT DO NOTHING", rows,
            page_size=len(rows))


def apply(cursor, account, change):
    kind, key = change["kind"], (account, change["item_id"])
    if kind == "pulled":
        raise Reread("the first pull has ended")
    elif kind in ("added", "restored"):
        insert(cursor, account, [change])
    elif kind == "edited":
        learn(cursor, [change])
        names = list(change["new"])
        values = [fit(change["new"][name]) for name in names]
        sets = ", ".join(f"{name} = %s" for name in names)
        cursor.execute(f"UPDATE prsnl_item SET {sets} WHERE account = %s AND id = %s", (*values, *key))
    elif kind in ("deleted", "identified"):
        cursor.execute(f"DELETE FROM prsnl_item WHERE account = %s AND id = %s RETURNING {', '.join(NAMES)}", key)
        row = cursor.fetchone()
        if kind == "identified" and row and change["new"]:
            # What it is from now on may be there already.
            insert(cursor, account, [{"item_id": change["new"]["id"], "new": dict(zip(NAMES, row))}])
            return
    else:
        return
    if cursor.rowcount != 1:
        raise Reread(f"change {change['seq']} ({kind}) does not go with what is there")


def move(cursor, account, epoch, seq, at):
    cursor.execute(
        "INSERT INTO prsnl_place VALUES (%s, %s, %s, %s) ON CONFLICT (account)"
        " DO UPDATE SET (epoch, seq, at) = (excluded.epoch, excluded.seq, excluded.at)", (account, epoch, seq, at))


def reread(db, account, control):
    """All items of the account again, in one transaction: others see those of before until it ends."""
    with db, db.cursor() as cursor, reader(control, "--reread") as batches:
        cursor.execute("DELETE FROM prsnl_item WHERE account = %s", (account,))
        epoch = None
        for batch in batches:
            if epoch is None and batch:
                header = batch.pop(0)
                epoch, seq, at = header["epoch"], header["from"], None
            insert(cursor, account, [line for line in batch if line["kind"] == "present"])
            # What was committed meanwhile comes behind them.
            for change in batch:
                if change["kind"] != "present":
                    apply(cursor, account, change)
                    seq, at = change["seq"], change["at"]
        move(cursor, account, epoch, seq, at)


def follow(db, account, control, done):
    """From the stored place on, until something ends. `done` is called after each transaction."""
    with db, db.cursor() as cursor:
        cursor.execute("SELECT epoch, seq, at FROM prsnl_place WHERE account = %s", (account,))
        place = cursor.fetchone()
    if place is None:
        raise Reread("the database has nothing of it")
    epoch, seq, at = place
    # From the change before the place: in a file that was put back to an earlier state, that number may be another change.
    with reader(control, "--follow", "--since", f"{epoch}:{seq - 1 if at else seq}") as batches:
        for batch in batches:
            with db, db.cursor() as cursor:
                for line in batch:
                    if "missed" in line:
                        raise Reread(f"changes may have been missed ({line['missed']})")
                    if line.get("seq", 0) > seq:
                        apply(cursor, account, line)
                        seq, at = line["seq"], line["at"]
                    elif line.get("seq") == seq and line["at"] != at:
                        raise Reread(f"change {seq} is another one than it was")
                move(cursor, account, epoch, seq, at)
            done()


def connect(dsn, account):
    """A connection that has the account for itself while it lives. Another reader of the account waits here."""
    db = psycopg2.connect(dsn, connect_timeout=10)
    is_mine = False
    while not is_mine:
        with db, db.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_lock(hashtext('prsnl'), hashtext(%s))", (account,))
            is_mine = cursor.fetchone()[0]
        time.sleep(0 if is_mine else 1)
    with db, db.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext('prsnl'))")
        cursor.execute("SELECT to_regclass('prsnl_place')")
        if cursor.fetchone()[0] is None:
            cursor.execute(SCHEMA)
        make_view(cursor)
    return db


def main(account, dsn, *control):
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))
    control = control or ("prsnlctl",)
    pause, is_stale = 0, False

    def done():
        nonlocal pause
        pause = 0

    while True:
        try:
            with contextlib.closing(connect(dsn, account)) as db:
                if is_stale:
                    reread(db, account, control)
                is_stale = False
                follow(db, account, control, done)
        except Reread as reason:
            is_stale = True
            print(f"{account}: everything is read again: {reason}", file=sys.stderr, flush=True)
        except (psycopg2.Error, ReaderFailed) as error:
            print(f"{account}: {str(error).strip()}", file=sys.stderr, flush=True)
        time.sleep(pause)
        pause = min(2 * pause + 1, LONGEST_WAIT)


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) > 2 else sys.exit(__doc__)
