"""`make demo`: the tour of `make run` without a keyboard. Each step checks what it shows; the first that does not hold
ends the tour with exit code 1."""

import os
import shutil
import signal
import sys
import tempfile
import time

import tour
from tour import Failed, wait_until

ITEMS = 5_000
# Ties, so that the pages' borders fall into groups of equal times.
OPTIONS = ["--items", str(ITEMS), "--dialect", "C", "--seed", "7", "--ties", "7"]
# 50 pages at 60 ms each: slow enough that the kill surely comes half-way.
PAGE_COST = ["--page-cost", "60"]
PAGES = ITEMS // 100


class Steps:
    def __init__(self):
        self.number = 0
        self.began = time.monotonic()

    def start(self, title):
        self.number += 1
        print(f"\n{self.number}. {title}  ({time.monotonic() - self.began:.1f} s)")

    @staticmethod
    def check(holds, text):
        print(f"   {'ok' if holds else 'NO'}  {text}")
        if not holds:
            raise Failed(text)


def show(text):
    print("".join(f"   | {line}\n" for line in text.rstrip().splitlines()), end="")


def compare(steps, server, setting, text):
    lines = tour.differences(server.items(), setting)
    for line in lines:
        print(f"       {line}")
    steps.check(not lines, text)


def kill_half_way(steps, server, setting):
    steps.start(f"Pull {ITEMS:,} items, and kill the daemon half-way")
    with setting.daemon() as daemon:
        wait_until(lambda: setting.live() >= ITEMS * 2 // 5 or not daemon.is_running, "two fifths of the items", 40)
        steps.check(daemon.is_running, "the daemon pulls")
        daemon.end(signal.SIGKILL)
    kept = setting.live()
    steps.check(0 < kept < ITEMS, f"killed with SIGKILL; {kept:,} of {ITEMS:,} items are in the file")
    integrity = setting.query("PRAGMA integrity_check")
    steps.check(integrity == [("ok",)], "integrity_check says ok")
    code, text, _ = setting.control("status")
    show(text)
    steps.check(code == 4, "`prsnlctl status` reads the file without the daemon, says what is missing, and ends with 4")
    steps.check(not setting.status()["copy"]["complete"], "the copy does not call itself complete")
    return kept


def resume(steps, server, setting, daemon, kept):
    steps.start("Start again: it goes on where it stopped")
    before = server.timeline_requests()
    wait_until(lambda: setting.status()["copy"]["complete"], "a complete copy", 40)
    asked = server.timeline_requests() - before
    steps.check(daemon.is_running, "the daemon has pulled the rest")
    missing = PAGES - kept // 100
    steps.check(asked < PAGES, f"{asked} pages asked for where a new start takes {PAGES} ({missing} were missing)")


def find_changes(steps, server, setting):
    items = server.items()
    edited, deleted = items[len(items) // 3]["id"], items[len(items) // 2]["id"]
    title = "Edited while nobody looked"
    server.post("/__dev/edit", id=edited, title=title)
    server.post("/__dev/delete", id=deleted)
    steps.start("Edit one item and delete another on the server, then sweep")
    code, text, complaint = setting.control("sync", "--full", "--wait")
    show(text + complaint)
    steps.check(code == 0, "`prsnlctl sync --full --wait` ends with 0")
    rows = setting.query("SELECT title FROM timeline WHERE id = ?", edited)
    steps.check(rows == [(title,)], "the edit is in the copy")
    rows = setting.query("SELECT title FROM timeline WHERE id = ?", deleted)
    steps.check(rows == [], "the deleted item has left the timeline")
    compare(steps, server, setting, "every id and every field is as in the server's own list")


def status_and_end(steps, setting, daemon):
    steps.start("Ask how things stand, and stop")
    code, text, _ = setting.control("status")
    show(text)
    steps.check(code == 0, "status ends with 0: nothing needs attention")
    code, text, _ = setting.control("history")
    show(text)
    steps.check(code == 0, "history lists the pulls")
    code, seconds = daemon.end()
    steps.check(code == 0 and seconds < 2, f"SIGTERM ends the daemon within 2 s ({seconds:.2f} s), exit code {code}")
    report = setting.status()
    steps.check(report["copy"]["complete"] and report["source"] == "file", "the file says the same without the daemon")


def run():
    steps = Steps()
    directory = tempfile.mkdtemp(prefix="prsnl-demo-")
    log = None
    try:
        with tour.DevServer(directory, *OPTIONS, *PAGE_COST) as server:
            print(f"The server: {server.url}, the file: {directory}/prsnl.sqlite")
            setting = tour.Setting(directory, server.url, server.token_file)
            log = setting.log
            kept = kill_half_way(steps, server, setting)
            with setting.daemon() as daemon:
                resume(steps, server, setting, daemon, kept)
                steps.start("Compare the copy with the server's own list")
                compare(steps, server, setting, f"{ITEMS:,} items: every id and every field is the same")
                find_changes(steps, server, setting)
                status_and_end(steps, setting, daemon)
    except Failed:
        if log and os.path.exists(log):
            print("   The end of the daemon's log:")
            with open(log, errors="replace") as file:
                show("".join(file.readlines()[-20:]))
        raise
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    print(f"\nThe tour is over: {steps.number} steps, {time.monotonic() - steps.began:.1f} s, all as promised.")
    return 0


if __name__ == "__main__":
    sys.exit(tour.main(run))
