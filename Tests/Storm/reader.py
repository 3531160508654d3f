"""The copy as any reader sees it: the file, and what the rows of its outbox say."""

import calendar
import json
import re
import sqlite3
import time

MARKER = re.compile(r"mk[a-z]+x\d{6}z")


def marker_of(*texts):
    for text in texts:
        found = MARKER.search(text or "")
        if found:
            return found.group(0)
    return None


def microseconds(text):
    """Of a time as the copy writes it."""
    if text is None:
        return None
    whole, _, fraction = text.rstrip("Z").partition(".")
    return calendar.timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) * 1_000_000 + int(f"{fraction:0<6}")


class Copy:
    """The file at one moment."""

    def __init__(self, path):
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10, isolation_level=None)
        connection.row_factory = sqlite3.Row
        self.connection = connection
        connection.execute("BEGIN")
        self.state = dict(connection.execute("SELECT * FROM sync_state").fetchone())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()

    def rows(self, sql):
        return [dict(row) for row in self.connection.execute(sql)]


class Entry:
    """A row of the outbox."""

    def __init__(self, row):
        self.__dict__.update(row)
        self.payload = json.loads(row["payload"])
        self.key = row["idempotency_key"]
        # What follows a write by itself counts as asked for with it.
        self.place = row["follows"] or row["id"]
        self.is_creation = self.kind in ("note", "capture")
        self.marker = marker_of(self.payload.get("url"), self.payload.get("note"))

    @property
    def is_open(self):
        return self.state in ("queued", "sending", "unknown")

    def __str__(self):
        return (f"#{self.id} {self.kind} {self.state} item={self.item_id} attempts={self.attempts} "
                f"next={self.next_attempt_at} {self.error_code or ''} {self.remark or ''}")
