"""The rows about finding and reading: the full-text index, the commands that use it, and the export."""

import json
import os
import random
import re
import sqlite3
import threading
import time
from itertools import accumulate

import tour
from measure import Run, bytes_written, duration, mebibytes, median
from rows import ITEMS, ROUNDS, Row, is_idle, megabytes, once
from texts import pull_ratio, server_of, setting_of
from tour import Failed, wait_until
from writes import ControlSocket

TEXT = 4_000
QUERIES = 1_000
PREFIXES = 200
# Compared with a scan of all texts, word by word.
COMPARED = 100
VOCABULARY = 60_000
# Seconds that the daemon waits after a commit, so that what comes together is indexed together.
COLLECTING = 2


class Words:
    """A language: some words are in every text, and most in few (Zipf's law)."""

    def __init__(self, seed=1):
        self.random = random.Random(seed)
        known = set()
        while len(known) < VOCABULARY:
            length = max(1, round(self.random.gauss(2 + len(known) ** 0.12, 0.8)))
            known.add("".join(self.random.choice("bcdfghklmnprst") + self.random.choice("aeiou") for _ in range(length)))
        self.words = list(known)
        self.random.shuffle(self.words)
        self.weights = list(accumulate(1 / (rank + 2.7) for rank in range(VOCABULARY)))
        self.pool = self.some(2_000_000)

    def some(self, count):
        return self.random.choices(self.words, cum_weights=self.weights, k=count)

    def text(self):
        start = self.random.randrange(len(self.pool) - TEXT)
        return " ".join(self.pool[start : start + TEXT // 3])[:TEXT].rpartition(" ")[0]

    def query(self, text):
        """One to four words of one text."""
        words = text.split()
        return [self.random.choice(words) for _ in range(self.random.randint(1, 4))]


def copy_with_texts(bench, words):
    """A complete copy whose items have texts of a language, and no server. As in a file of a release without an index, which is
    opened for the first time, nothing is indexed."""
    server = server_of(bench, ITEMS, "1-1")
    setting = setting_of(bench, server, texts="no", search_index="no")
    once(setting, ITEMS)
    server.end()
    connection = sqlite3.connect(setting.database)
    with connection:
        # The daemon fetches the newest first.
        ids = [id for (id,) in connection.execute("SELECT id FROM item ORDER BY created_at DESC")]
        connection.executemany(
            "INSERT INTO item_body (item_id, version, fetched_at, content) VALUES (?, NULL, '2026-01-01T00:00:00.000000Z', ?)",
            ((id, words.text()) for id in ids))
        connection.execute("DELETE FROM search_due")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    index(setting)
    return setting


def index(setting):
    """From its next start on, the daemon keeps an index."""
    with open(setting.path) as file:
        lines = file.read()
    with open(setting.path, "w") as file:
        file.write(lines.replace("search_index = no", "search_index = yes"))


def due(setting):
    return setting.query(
        "SELECT (SELECT count(*) FROM search_due) + (SELECT count(*) FROM search_document WHERE position IS NOT NULL)"
        " + (SELECT max(rowid) FROM item) - coalesce(through, 0) FROM search_state")[0][0]


class Writer:
    """Queues a note again and again while something else goes on, and keeps how long each took until it was on the disk."""

    def __init__(self, setting):
        self.times, self.is_over = [], threading.Event()
        self.thread = threading.Thread(target=self.write, args=(setting.socket,))
        self.thread.start()

    def write(self, path):
        with ControlSocket(path) as daemon:
            while not self.is_over.wait(0.05):
                note = {"action": "create", "note": f"kept {len(self.times)}"}
                line = json.dumps({"command": "write", "writes": [note]}, separators=(",", ":")).encode() + b"\n"
                begin = time.perf_counter()
                answer = daemon.ask(line)
                if answer.get("type") != "write" or answer["write"]["writes"][0]["outcome"] != "accepted":
                    raise Failed(f"a note was not accepted: {json.dumps(answer)[:500]}")
                self.times.append((time.perf_counter() - begin) * 1e3)

    def end(self):
        self.is_over.set()
        self.thread.join()
        return sorted(self.times)


def build(setting):
    """The index of everything, by the daemon; and once more, while notes are queued. The server is gone: only the index has work
    to do."""
    text = setting.query("SELECT sum(length(CAST(content AS BLOB))) FROM item_body")[0][0]
    with setting.daemon() as daemon:
        wait_until(lambda: os.path.exists(setting.socket), "the control socket", 60)
        begin = time.perf_counter()
        wait_until(lambda: due(setting) == 0, "the index", 600, 0.02)
        # The daemon collects for two seconds before it begins.
        took = time.perf_counter() - begin - COLLECTING
        written = settled(daemon)
        # Its exit code says that the server cannot be reached.
        _, _, complaint = setting.control("doctor", "--rebuild-index")
        if "built again" not in complaint:
            raise Failed(f"the index is not built again: {complaint}")
        writer = Writer(setting)
        wait_until(lambda: due(setting) == 0, "the index, built again", 600, 0.02)
        busy = writer.end()
        # What a note takes on this disk by itself.
        writer = Writer(setting)
        wait_until(lambda: len(writer.times) == len(busy), "as many notes", 600)
        idle = writer.end()
        # Where something is due, the commands that follow do not take the index's word.
        wait_until(lambda: due(setting) == 0, "the notes' place in the index", 60)
    speed = text / took / 1e6
    with sqlite3.connect(setting.database) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    size = setting.query("SELECT sum(pgsize) FROM dbstat WHERE name LIKE 'search_%'")[0][0]
    return [
        Row(f"index of {ITEMS:,} texts of 4 KB, built", f"{speed:.1f} MB of text a second", "≥ 15", f"{took:.1f} s",
            speed >= 15),
        Row("a note is on the disk, while the index is built again",
            f"slowest of {len(busy)}: {busy[-1]:.1f} ms; with nothing else to do: {idle[-1]:.1f} ms", "≤ 50 ms more",
            f"{told(busy)}; with nothing else to do: {told(idle)}", busy[-1] - idle[-1] <= 50),
        Row("written for the index of these texts", f"{written / text:.1f} × the text", "≤ 3 ×", megabytes(written),
            written <= 3 * text),
        Row("size of the index", f"{size / text:.2f} × the text", "≤ 0.8 ×", f"{mebibytes(size)} for {mebibytes(text)}",
            size <= 0.8 * text),
    ]


def settled(daemon):
    """Bytes that it has written, once it writes no more: the last merge follows the last document."""
    seen = []

    def is_over():
        seen.append(bytes_written(daemon.process.pid))
        return len(seen) > 2 and seen[-1] == seen[-3]

    wait_until(is_over, "the end of the merges", 60, 0.5)
    return seen[-1]


def told(times):
    return f"p99 {times[int(len(times) * 0.99)]:.1f} ms, median {median(times):.1f} ms"


def queries(setting, words):
    """Whole commands; then some of them are compared with a scan of all items."""
    texts = setting.query("SELECT content FROM item_body ORDER BY random() LIMIT ?", QUERIES)
    asked = [words.query(text) for (text,) in texts]
    times = sorted(
        duration(tour.CONTROL, "--config", setting.path, "search", "--", *query) for query in asked)
    compared = asked[:COMPARED]
    scanned = scan(setting, compared)
    wrong = 0
    for query, expected in zip(compared, scanned):
        code, found, complaint = setting.control("search", "--ids", "--limit", "1000000", "--", *query)
        wrong += set(found.split()) != expected
    p99 = times[int(len(times) * 0.99)]
    return [Row(
        f"`prsnlctl search`, {len(times):,} queries of 1 to 4 words", f"p99 {p99:.1f} ms; {wrong} of {COMPARED} unlike a scan",
        "p99 ≤ 60 ms; 0", f"p50 {median(times):.1f} ms, slowest {times[-1]:.1f} ms", p99 <= 60 and wrong == 0)]


def prefixes(setting, words):
    """Whole commands, for all words that begin with one to three letters."""
    asked = [word[: 1 + number % 3] + "*" for number, word in enumerate(words.some(PREFIXES))]
    times = sorted(duration(tour.CONTROL, "--config", setting.path, "search", word) for word in asked)
    p99 = times[int(len(times) * 0.99)]
    return [Row(
        f"`prsnlctl search m*`, {PREFIXES} beginnings of 1 to 3 letters", f"p99 {p99:.1f} ms", "≤ 100 ms",
        f"p50 {median(times):.1f} ms, slowest {times[-1]:.1f} ms", p99 <= 100)]


def guesses(setting, words):
    """Whole commands: words of the index with one letter changed, which find nothing; and what is related to an item."""
    known = set(words.words)
    asked = []
    while len(asked) < PREFIXES:
        word = list(words.random.choice(words.words))
        word[words.random.randrange(len(word))] = words.random.choice("bcdfghklmnprstaeiou")
        if len(word) > 4 and "".join(word) not in known:
            asked.append("".join(word))
    times = sorted(duration(tour.CONTROL, "--config", setting.path, "search", word) for word in asked)
    ids = setting.query("SELECT id FROM timeline ORDER BY random() LIMIT ?", PREFIXES)
    related = sorted(duration(tour.CONTROL, "--config", setting.path, "related", id) for (id,) in ids)
    p99, other = times[int(PREFIXES * 0.99)], related[int(PREFIXES * 0.99)]
    return Row(f"`prsnlctl search` of {PREFIXES} misspelt words, `related` of {PREFIXES} items", f"p99 {p99:.1f}, {other:.1f} ms",
               "≤ 100, 60 ms", f"p50 {median(times):.1f}, {median(related):.1f} ms", p99 <= 100 and other <= 60)


def scan(setting, asked):
    """Ids of the items that have all words, by looking at every one."""
    found = [set() for _ in asked]
    wanted = [set(query) for query in asked]
    connection = sqlite3.connect(f"file:{tour.quoted(setting.database)}?mode=ro", uri=True)
    rows = connection.execute(
        "SELECT timeline.id, title, summary, item_text.content, transcription, tags, url FROM timeline"
        " LEFT JOIN item_text ON item_id = id")
    for id, *texts in rows:
        known = set(re.findall(r"[a-z0-9]+", " ".join(text for text in texts if text).lower()))
        for ids, query in zip(found, wanted):
            if query <= known:
                ids.add(id)
    connection.close()
    return found


def commands(setting):
    """Whole commands on the file."""
    id = setting.query("SELECT id FROM timeline LIMIT 1 OFFSET 1000")[0][0]
    kinds = {
        "list": ["list"], "list --tag": ["list", "--tag", "linux", "--type", "article", "--since", "2020-01-01"],
        "show": ["show", id], "tags": ["tags"],
    }
    times = medians(setting, kinds.values())
    rows = [Row(
        f"`list`, `list --tag … --type …`, `show`, `tags` on {ITEMS:,} items", in_words(times), "≤ 30 ms each", "medians of 21",
        max(times) <= 30)]
    with sqlite3.connect(setting.database) as connection:
        connection.execute("UPDATE item SET title = title || '.' WHERE id = ?", (id,))
    if due(setting) != 1:
        raise Failed("the changed item does not wait for the index")
    times = medians(setting, [kinds["list"], kinds["list --tag"], kinds["tags"]])
    return rows + [Row(
        f"`list`, `list --tag … --type …`, `tags` while an item of {ITEMS:,} waits for the index", in_words(times),
        "≤ 30, 30, 40 ms", "medians of 21", max(times[:2]) <= 30 and times[2] <= 40)]


def medians(setting, commands):
    return [
        median([duration(tour.CONTROL, "--config", setting.path, *words) for _ in range(21)]) for words in commands]


def in_words(times):
    return ", ".join(f"{time:.1f}" for time in times) + " ms"


def lists(bench):
    """Without texts: what the index of titles writes; and a list of very many items without any index."""
    rows = []
    for items, name in ((ITEMS, "index"), (10 * ITEMS, "list")):
        server = server_of(bench, items, "1-1")
        setting = setting_of(bench, server, texts="no", search_index="no")
        once(setting, items)
        server.end()
        if name == "list":
            [time] = medians(setting, [["list"]])
            rows.append(Row(
                f"`list` of {items:,} items, `search_index = no`", in_words([time]), "≤ 40 ms", "median of 21", time <= 40))
            continue
        index(setting)
        with setting.daemon() as daemon:
            wait_until(lambda: os.path.exists(setting.socket), "the control socket", 60)
            wait_until(lambda: due(setting) == 0, "the index", 600, 0.1)
            written = settled(daemon)
        rows.append(Row(
            f"written for the index of {items:,} items without texts", megabytes(written), "≤ 5 KB an item",
            f"{written / items / 1e3:.1f} KB an item", written <= 5_000 * items))
    return rows


def search(bench):
    words = Words()
    setting = copy_with_texts(bench, words)
    return build(setting) + queries(setting, words) + prefixes(setting, words) \
        + [guesses(setting, words)] + commands(setting)


def fresh(bench):
    """From the moment at which a reader sees a new item until a search finds it."""
    server = server_of(bench, ITEMS // 10, "1K-4K")
    setting = setting_of(bench, server, texts="no", search_index="yes")
    once(setting, ITEMS // 10)
    times = []
    with setting.daemon():
        wait_until(lambda: is_idle(setting), "an idle daemon", 60)
        for number in range(ROUNDS + 2):
            word = f"fresh{number}word"
            server.post("/__dev/add", count="1")
            server.post("/__dev/edit", index="0", title=f"A {word} title")
            setting.control("sync", "--wait")
            begin = time.perf_counter()
            wait_until(lambda: setting.query("SELECT 1 FROM item_search WHERE words MATCH ?", word), "the new item", 30, 0.01)
            times.append(time.perf_counter() - begin)
    return [Row("a new item is found after its commit", f"slowest of {len(times)}: {max(times):.1f} s", "≤ 5 s", "",
                max(times) <= 5)]


def pull(bench):
    return pull_ratio(bench, "index", "search_index", {"texts": "no"})


def export(bench):
    """Whole commands into an empty folder, and then once more."""
    items = max(200, ITEMS // 10)
    server = server_of(bench, items, "4K-4K")
    setting = setting_of(bench, server)
    once(setting, items)
    first, second, touched = [], [], 0
    for _ in range(ROUNDS):
        folder = os.path.join(bench.fresh(), "vault")
        command = [tour.CONTROL, "--config", setting.path, "export", folder]
        first.append(Run(command).wall)
        before = files(folder)
        second.append(Run(command).wall)
        touched += len(set(before.items()) ^ set(files(folder).items()))
    return [Row(
        f"export of {items:,} items, first and second run",
        f"{median(first):.1f} s, {median(second):.2f} s; {touched} files touched by the second", "≤ 10 s, ≤ 0.2 s; 0",
        f"slowest {max(first):.1f} s, {max(second):.2f} s",
        median(first) <= 10 and median(second) <= 0.2 and touched == 0)]


def files(folder):
    found = {}
    for path, folders, names in os.walk(folder):
        for name in folders + names:
            status = os.stat(os.path.join(path, name))
            found[os.path.join(path, name)] = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return found


ALL = {"search": search, "search-lists": lists, "search-fresh": fresh, "search-pull": pull, "export": export}
