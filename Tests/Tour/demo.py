"""`make demo`: the tour of `make run` without a keyboard. Each step checks what it shows; the first that does not hold
ends the tour with exit code 1."""

import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

import cable
import tour
from tour import Failed, wait_until

ITEMS = 5_000
# Ties, so that the pages' borders fall into groups of equal times. Edits work: releases of the main server are in use that
# answer each of them with 500.
OPTIONS = ["--items", str(ITEMS), "--dialect", "C", "--seed", "7", "--ties", "7", "--patch-works", "--texts", "1K-8K"]
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


def typed(words, code, text, complaint=""):
    """What a person would have typed, and seen."""
    print(f"   $ {shlex.join(words)}")
    show(text + complaint)
    return code, text


def control(setting, *words):
    return typed(["prsnlctl", *words], *setting.control(*words))


def read(setting, sql):
    """The file, by the sqlite3 of the system."""
    words = ["sqlite3", "-readonly", os.path.basename(setting.database), sql]
    done = subprocess.run(
        words, cwd=os.path.dirname(setting.database), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    return typed(words, done.returncode, done.stdout, done.stderr)


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


def text_of(server, id):
    return server.get(f"/__dev/text?id={id}").decode()


def read_texts(steps, server, setting):
    """The daemon fetches texts by itself, newest first. Here a person waits."""
    steps.start("Fetch what the items say, and read one")
    [(newest,)] = setting.query("SELECT id FROM timeline WHERE type = 'article' LIMIT 1")
    code, text = control(setting, "sync", "--texts", "--wait")
    steps.check(code == 0 and text.startswith("Complete"), "sync --texts --wait ends with 0")
    steps.check(setting.status()["copy"]["texts"]["complete"], f"status: the texts of all {ITEMS:,} items are here")
    code, text, _ = setting.control("show", short(newest))
    show("\n".join(text.splitlines()[:9] + ["..."]))
    code, raw, _ = setting.control("show", "--raw", short(newest))
    steps.check(code == 0 and raw == text_of(server, newest), "show --raw prints the server's text, byte for byte")
    [added] = server.post("/__dev/add")["ids"]
    steps.check(control(setting, "sync", "--wait")[0] == 0, "a new item is pulled")
    wait_until(lambda: setting.query("SELECT 1 FROM item_text WHERE item_id = ?", added), "its text", 60)
    stored = setting.query("SELECT content FROM item_text WHERE item_id = ?", added)[0][0]
    steps.check(stored == text_of(server, added), "its text follows by itself")
    server.post("/__dev/delete", id=added)
    steps.check(control(setting, "sync", "--full", "--wait")[0] == 0, "the item is deleted again")


def write_offline(steps, server, setting):
    """Three creations, an edit and a deletion, while no server is there.

    Returns the items that were edited and deleted, by id."""
    steps.start("Stop the server, and go on reading and writing")
    [(id, content)] = setting.query("SELECT item_id, item_text.content FROM item_text JOIN timeline ON id = item_id LIMIT 1")
    server.end()
    code, text, _ = setting.control("show", "--raw", short(id))
    steps.check(code == 0 and text == content, "show prints a text with the server gone")
    (edited, _), (deleted, _) = items = setting.query("SELECT id, title FROM timeline LIMIT 2")
    commands = [
        ("capture", "https://example.org/a-long-read", "--title", "For the train", "--tag", "later"),
        ("capture", "https://example.net/", "--note", "They have a new front page"),
        ("note", "Milk, bread, coffee", "--tag", "shopping"),
        ("edit", short(edited), "--title", "A better title"),
        ("delete", short(deleted)),
    ]
    for number, words in enumerate(commands, start=1):
        code, text = control(setting, *words)
        steps.check(code == 0 and text.startswith(f"queued #{number} "), f"#{number} is on the disk")
    wait_until(lambda: setting.status()["daemon"]["connectivity"]["state"] == "unreachable", "the daemon to notice")
    code, text = control(setting, "status")
    steps.check(code == 0 and setting.status()["outbox"]["waiting"] == len(commands), "status says that five writes wait")
    control(setting, "queue")
    queue = json.loads(setting.control("queue", "--json")[1])
    steps.check(
        [entry["state"] for entry in queue["entries"]] == ["queued"] * len(commands), "queue lists them, all of them queued")
    read(setting, "SELECT pending, type, title, url FROM timeline WHERE pending IS NOT NULL")
    pending = setting.query("SELECT pending FROM timeline WHERE pending IS NOT NULL ORDER BY pending")
    steps.check(
        pending == [("creation",)] * 3 + [("edit",)], "the timeline shows what was made and edited here, marked as pending")
    steps.check(
        setting.query("SELECT 1 FROM timeline WHERE id = ?", deleted) == [], "and no more what was deleted here")
    return dict(items)


def files_of(folder):
    """Every file below a folder: its name, what it is, and when it was changed."""
    found = {}
    for path, _, names in os.walk(folder):
        for name in names:
            status = os.stat(os.path.join(path, name))
            found[os.path.join(path, name)] = (status.st_ino, status.st_size, status.st_mtime_ns)
    return found


def find_and_export(steps, setting, directory):
    """The server is still gone."""
    steps.start("Find items by their words, and take them along as files")
    wait_until(lambda: setting.status()["copy"]["search"]["not_indexed"] == 0, "the index", 60)
    [(id, content)] = setting.query("SELECT item_id, content FROM item_text WHERE content LIKE '%gardens kernels%' LIMIT 1")
    start = content.lower().index("gardens kernels")
    words = " ".join(content[start:].replace(".", " ").split()[:6])
    code, text = control(setting, "search", f'"{words}"', "--limit", "3")
    found = setting.control("search", f'"{words}"', "--ids", "--limit", "1000")[1].split()
    steps.check(code == 0 and id in found, "search finds a text by six of its words")
    code, text = control(setting, "search", "coffee", "milk")
    steps.check(code == 0 and "(not confirmed yet)" in text, "and a note that still waits to be sent")
    code, text, _ = setting.control("search", "C++", '"', "AND", "*")
    steps.check(code == 0, "whatever is typed is only searched for")
    _, _, complaint = setting.control("search", "cofee")
    show(complaint)
    steps.check('Did you mean "coffee"?' in complaint, "a misspelt word is offered as it is spelt")
    code, text = control(setting, "tag", "+read", "-later", short(id))
    steps.check(code == 0 and text.startswith("queued #6"), "tag changes tags, and leaves others alone")
    code, text = control(setting, "undo")
    steps.check(code == 0 and text.startswith("taken back: #6 edit +read -later"), "undo takes that back")
    code, text = control(setting, "list", "--tag", "later", "--limit", "3")
    steps.check(code == 0 and "For the train" in text, "list --tag lists what was tagged a moment ago")
    read(setting, "SELECT title FROM item_search WHERE words MATCH 'gardens AND kernels' ORDER BY rank LIMIT 2")
    folder = os.path.join(directory, "vault")
    code, text = control(setting, "export", folder)
    live = setting.query("SELECT count(*) FROM timeline")[0][0]
    notes = [name for name in os.listdir(folder) if name.endswith(".md")]
    steps.check(code == 0 and len(notes) == live, f"export writes {live:,} Markdown files")
    before = files_of(folder)
    code, text = control(setting, "export", folder)
    steps.check(code == 0 and files_of(folder) == before, "a second export touches no file")
    read(setting, "SELECT count(*) AS due FROM search_due")


def short(id):
    return id[:8]


def deliver(steps, server, setting, touched):
    edited, deleted = touched
    steps.start("Start the server: they arrive, each once")
    code, _ = control(setting, "retry-queue")
    steps.check(code == 0, "retry-queue: try now, not when the daemon would next look whether the server is back")
    left = 5

    def is_empty():
        nonlocal left
        count = setting.query("SELECT waiting FROM sync_state")[0][0]
        if count != left:
            print(f"   {count} left")
        left = count
        return count == 0

    wait_until(is_empty, "the queue to be empty", 60)
    control(setting, "queue", "--all")
    writes = server.writes()
    steps.check(
        writes == {"created": 3, "updated": 1, "deleted": 1}, "the server has applied 3 creations, 1 edit, 1 deletion")
    steps.check(
        sorted(item["url"] or item["content"] for item in server.captures())
        == ["Milk, bread, coffee", "https://example.net/", "https://example.org/a-long-read"], "of the three that were made")
    titles = {item["id"]: item["title"] for item in server.items()}
    steps.check(titles.get(edited) == "A better title" and deleted not in titles, "and of the two that it had")
    code, text = control(setting, "note", "And one that goes straight through", "--wait=30s")
    steps.check(code == 0 and text.startswith("delivered #7 "), "with --wait it is told when the server has it")
    code, text = control(setting, "restore", short(deleted), "--wait=30s")
    steps.check(code == 0 and text.startswith("delivered #8 "), "restore captures again what was deleted")
    # The server works on what is new for some seconds, and changes it.
    server.post("/__dev/settle")
    code, text = control(setting, "sync", "--full", "--wait")
    steps.check(code == 0, "`prsnlctl sync --full --wait` ends with 0")
    # The server has put the page's title in the place of the one that was asked for.
    wait_until(is_empty, "the titles that follow", 60)
    steps.check("For the train" in [item["title"] for item in server.items()], "the title that was asked for has followed")
    code, text = control(setting, "sync", "--full", "--wait")
    steps.check(code == 0, "and is in the copy after another sync")
    pending = setting.query("SELECT id FROM timeline WHERE pending IS NOT NULL")
    steps.check(pending == [], "nothing is marked as pending any more")
    compare(steps, server, setting, "every id and every field is as in the server's own list")


def find_changes(steps, server, setting):
    items = server.items()
    edited, deleted = items[len(items) // 3]["id"], items[len(items) // 2]["id"]
    title = "Edited unseen"
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


def follow_and_verify(steps, server, setting):
    steps.start("Follow what changes, and compare the copy with the server")
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 1))
    control(setting, "changes", "--since", now, "--cursor", "demo")
    item = server.items()[0]["id"]
    server.post("/__dev/edit", id=item, title="Followed")
    setting.control("sync", "--wait")
    code, text = control(setting, "changes", "--cursor", "demo", "--json")
    # The daemon fetches texts at its own pace, and a text that comes just now is a change too.
    rows = [row for row in map(json.loads, text.splitlines()[1:]) if row["kind"] != "text"]
    steps.check(
        code == 0 and [(row["item_id"], row["kind"], row["new"].get("title")) for row in rows] == [(item, "edited", "Followed")],
        "the edit is one line, with the old title and the new one")
    code, text = control(setting, "verify")
    steps.check(code == 0, "verify finds the copy equal")
    digest = control(setting, "verify", "--digest")[1].split()[0]
    with contextlib.closing(sqlite3.connect(setting.database)) as file, file:
        file.execute("UPDATE item SET title = 'Planted' WHERE id = (SELECT id FROM item ORDER BY created_at LIMIT 1)")
    print("   A title is changed in the file, behind the daemon's back.")
    code, text = control(setting, "verify")
    steps.check(code == 4 and text.startswith("* ") and "title" in text, "verify finds it, and ends with 4")
    steps.check(control(setting, "verify", "--digest")[1].split()[0] != digest, "the digest is another one")
    setting.control("sync", "--full", "--wait")
    code, text = control(setting, "verify")
    steps.check(code == 0, "a sweep has repaired it")
    steps.check(control(setting, "verify", "--digest")[1].split()[0] == digest, "the digest is as it was")


def take_the_advice(steps, server, setting):
    steps.start("Mistype an option, then let a write be parked, and type what is advised")
    _, _, complaint = setting.control("capture", "--stdn")
    show(complaint)
    [meant] = re.findall(r"did you mean (--\w+)\?", complaint)
    code, text = typed(["prsnlctl", "capture", meant], *setting.control("capture", meant, input="https://example.org/meant\n"))
    steps.check(code == 0, f"{meant} is what was meant")
    # An old one: a pull of the newest, such as the one after the delivery, would show it before the edit.
    item = server.items()[-20]["id"]
    server.post("/__dev/edit", id=item, title="Edited elsewhere")
    code, text = control(setting, "edit", short(item), "--title", "Edited here", "--wait=30s")
    steps.check(code == 4 and text.startswith("parked "), "what was changed elsewhere is not overwritten unasked")
    code, text = control(setting, "queue", "--state", "parked")
    [retry] = re.findall(r"`(prsnlctl [^`\n]* retry-queue \d+)`", text)
    steps.check(code == 0, "queue says what can be done, in commands that stand on one line each")
    print(f"   $ {retry}")
    code, text, complaint = setting.shell(retry)
    show(text + complaint)
    wait_until(lambda: "Edited here" in [item["title"] for item in server.items()], "the title on the server", 30)
    steps.check(code == 0, "the one that overwrites it, typed as it is printed, does")
    wait_until(lambda: setting.query("SELECT waiting FROM sync_state") == [(0,)], "the queue to be empty", 60)


@contextlib.contextmanager
def way(directory):
    """A server, a setting, and how the way between them is lost and found again: by a cable between two networks for root,
    else by stopping the server."""
    problem = cable.obstacle()
    if problem and os.environ.get("CI"):
        raise Failed(f"no networks of our own, which CI must have: {problem}")
    options = ["--items", "200", "--dialect", "C", "--seed", "3"]
    if problem is None:
        with cable.Cable() as between, tour.DevServer(
                directory, *options, "--address", between.SERVER, name="far", network=between.far) as server:
            setting = tour.Setting(
                directory, server.url, server.token_file, name="far", network=between.near, allow_insecure_http="yes",
                proxy="none")
            yield setting, lambda: server, between.pull, between.plug, "offline"
        return
    print(f"   No networks of our own here ({problem}): the server is stopped in place of the network.")
    with contextlib.ExitStack() as servers:
        running = [servers.enter_context(tour.DevServer(directory, *options, name="far"))]
        port = running[0].port

        def start():
            running.append(servers.enter_context(tour.DevServer(directory, *options, "--port", port, name="far")))

        setting = tour.Setting(directory, running[0].url, running[0].token_file, name="far")
        yield setting, lambda: running[-1], lambda: running[-1].end(), start, "unreachable"


def lose_the_network(steps, directory):
    steps.start("Another machine: its network goes away, and comes back")
    os.mkdir(directory)
    with way(directory) as (setting, server, leave, come_back, state), setting.daemon():
        def connectivity():
            return setting.status()["daemon"]["connectivity"]

        wait_until(lambda: setting.live() == 200 and connectivity()["state"] == "online", "a copy", 40)
        left = tour.now()
        leave()
        code, text = control(setting, "note", "Written on the train")
        steps.check(code == 0 and text.startswith("queued #1 "), "what is written now is on the disk")
        wait_until(lambda: connectivity()["state"] == state, f"the daemon to be {state}", 40)
        code, text = control(setting, "status")
        away = connectivity()
        error, why = {"offline": ("offline", "carrier lost"), "unreachable": ("connect_failed", "connect")}[state]
        steps.check(
            code == 0 and state in text and left <= away["since"] <= tour.now() and away["reason"]["code"] == error
            and why in away["reason"]["message"], f"status says {state}, since when and why")
        control(setting, "net")
        come_back()
        server().post("/__dev/add", count=1)
        wait_until(lambda: connectivity()["state"] == "online", "the daemon to be online", 40)
        wait_until(lambda: setting.query("SELECT waiting FROM sync_state") == [(0,)], "the queue to be empty", 40)
        steps.check(
            [item["content"] for item in server().captures()] == ["Written on the train"], "the server has the note, once")
        wait_until(lambda: setting.live() == 202, "the new item", 40)
        steps.check(True, "and the copy has what is new there, long before the next poll")
        code, text = control(setting, "net")
        came, went = json.loads(setting.control("net", "--json")[1])["transitions"][:2]
        steps.check(
            code == 0 and state in text and "online" in text and (came["state"], came["code"]) == ("online", None)
            and (went["state"], went["code"], went["at"]) == (state, error, away["since"]) and went["at"] < came["at"],
            "net shows the network, and what came and went")


def ask_the_doctor(steps, server, setting):
    """What the machine is like (its disk, its systemd) is not ours to promise."""
    steps.start("Ask the doctor, with the server there and without")

    def found():
        code, text, _ = setting.control("doctor", "--json")
        report = json.loads(text)
        # The exit code is the worst that was found.
        steps.check({"ok": 0, "warning": 4, "failed": 1}[report["result"]] == code, f"doctor ends with {code}: {report['result']}")
        return report["findings"]

    control(setting, "doctor")
    wrong = [finding for finding in found() if finding["level"] in ("warning", "failed") and finding["group"] != "machine"]
    steps.check(not wrong, "of configuration, credentials, server, copy, file and service, nothing is wrong")
    server.end()
    control(setting, "sync", "--wait")
    levels = {finding["check"]: finding["level"] for finding in found()}
    steps.check(
        levels["connect"] == "failed" and levels["integrity"] == "ok" and levels["daemon"] == "ok",
        "without the server, it says at which step the connection fails, and still checks the rest")
    code, text = control(setting, "errors")
    errors = json.loads(setting.control("errors", "--json")[1])["errors"]
    steps.check(
        code == 0 and "connect_failed" in text and any(
            error["code"] == "connect_failed" and error["count"] >= 1 and not error["is_over"] for error in errors),
        "errors lists what goes on, how often it came, and what to do")


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
        with contextlib.ExitStack() as children:
            server = children.enter_context(tour.DevServer(directory, *OPTIONS, *PAGE_COST))
            print(f"The server: {server.url}, the file: {directory}/prsnl.sqlite")
            setting = tour.Setting(directory, server.url, server.token_file)
            log = setting.log
            kept = kill_half_way(steps, server, setting)
            daemon = children.enter_context(setting.daemon())
            resume(steps, server, setting, daemon, kept)
            steps.start("Compare the copy with the server's own list")
            compare(steps, server, setting, f"{ITEMS:,} items: every id and every field is the same")
            read_texts(steps, server, setting)
            touched = write_offline(steps, server, setting)
            find_and_export(steps, setting, directory)
            # Its items are made up, and so the same again.
            again = children.enter_context(tour.DevServer(directory, *OPTIONS, "--port", server.port))
            deliver(steps, again, setting, touched)
            find_changes(steps, again, setting)
            follow_and_verify(steps, again, setting)
            take_the_advice(steps, again, setting)
            lose_the_network(steps, os.path.join(directory, "far"))
            ask_the_doctor(steps, again, setting)
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
