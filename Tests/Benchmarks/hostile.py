"""What a hostile server makes the daemon use: a function of the bench that returns one `Row` for each attack, as in rows.py.

The server is an attacker's, written for this: it says what no PRSNL server says, as large and as often as it is let.
"""

import base64
import gzip
import itertools
import json
import math
import operator
import os
import random
import threading
import time
import typing
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from measure import MEBIBYTE, MemoryWatch, mebibytes
import tour
from rows import Row, cpu_of
from tour import Failed

# Of memory in all, of CPU for an answer that the server could make us read, and for the end after SIGTERM.
MOST_MEMORY, MOST_CPU, MOST_SECONDS = 64 * MEBIBYTE, 2.0, 2.0
# Attacks without an end are watched for so long.
SECONDS = int(os.environ.get("HOSTILE_SECONDS") or 15)
PAGE_LIMIT = 8 * MEBIBYTE
TEXT_LIMIT = 8 * MEBIBYTE
START = 1_750_000_000


def stamp(second):
    return time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime(second))


def item(number, **more):
    return {"id": f"{number:08x}-0000-4000-8000-000000000001", "type": "link", "title": f"Item {number}",
            "createdAt": stamp(START - number), "updatedAt": stamp(START - number), "tags": [], **more}


def page(items, more=True):
    cursor = items[-1]["createdAt"] if items and more else None
    return json.dumps({"items": items, "next_cursor": cursor}).encode()


def filled(front, piece, back=b"", size=PAGE_LIMIT - 64):
    return front + piece * ((size - len(front) - len(back)) // len(piece)) + back


class Attack:
    """What is answered to what; everything else as a server would that is well."""

    def __init__(self, what, page=None, account=None, headers=(), trailers=False, text=None, chunk=None):
        self.what, self.page, self.account, self.headers, self.trailers = what, page, account, headers, trailers
        self.text, self.chunk = text, chunk
        self.answers = 0

    def answer(self, path):
        if path.startswith("/api/auth/me"):
            return self.account or b'{"id":"11111111-0000-4000-8000-000000000001","email":"a@example.org"}'
        if path.startswith("/api/items/") and self.text:
            self.answers += 1
            return json.dumps(item(1, content=self.text)).encode()
        if not path.startswith("/api/timeline"):
            return b'{"status":"healthy"}'
        if not self.text:
            self.answers += 1
        return self.page(first_below(path)) if self.page else page([item(1)], more=False)


def first_below(path):
    """The number of the newest item that is older than the cursor: a list that contradicts itself would be refused at once."""
    cursor = parse_qs(urlsplit(path).query).get("cursor")
    if not cursor:
        return 1
    return math.floor(START - datetime.fromisoformat(cursor[0].replace("Z", "+00:00")).timestamp()) + 1


def endless(count=100, **more):
    return lambda first: page([item(first + place, **more) for place in range(count)])


def joined(words, separator=" "):
    """As many as a text may have; the rest of an answer is small."""
    text = separator.join(itertools.islice(words, TEXT_LIMIT // 4))
    return text[:TEXT_LIMIT - 4_096]


def different():
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    for length in itertools.count(3):
        words = ["".join(word) for word in itertools.product(letters, repeat=length)] if length < 4 else (
            "".join(random.choices(letters, k=length)) for _ in range(1 << 22))
        yield from words


def colliding():
    """Words that share a place in the table in which FTS5 keeps the words of a document: fts5HashKey in fts5_hash.c."""
    letters = b"abcdefghijklmnopqrstuvwxyz0123456789"

    def shifted(value, times=1):
        for _ in range(times):
            value = (value << 3 ^ value) & 0x1FFF
        return value

    heads = {}
    for a, b, c in itertools.product(letters, repeat=3):
        value = shifted(shifted(shifted(shifted(13) ^ a) ^ b) ^ c, 3)
        heads.setdefault(value, []).append(bytes((c, b, a)).decode())
    found = []
    for a, b in itertools.product(letters, repeat=2):
        rest = 0x155 ^ shifted(a, 2) ^ shifted(b) ^ ord("0")
        found += [bytes((b, a)).decode() + head for head in heads.get(rest, ())]
    return itertools.cycle(found)


def nested(inner, times):
    for _ in range(times):
        inner = gzip.compress(inner)
    return inner


# Blocks of DEFLATE with nothing in them.
NOTHING = b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + b"\0\0\0\xff\xff" * (10 << 20)


def attacks():
    yield Attack("a page of 8 MiB of numbers", lambda _: filled(b'{"items":[', b"0,", b"0]}"))
    yield Attack("a page of 8 MiB of objects", lambda _: filled(b'{"items":[', b'{"":0},', b"0]}"))
    yield Attack("a page of 8 MiB of brackets", lambda _: filled(b'{"items":', b"["))
    yield Attack("a page of 8 MiB of escapes in one title", lambda _: page([item(1)]).replace(
        b"Item 1", filled(b"", b"\\u0041", size=PAGE_LIMIT - 1_024)))
    # Each byte that is no UTF-8 becomes three, in each copy that is made of it.
    for name in ("id", "title"):
        yield Attack(f"an item whose {name} has 8 MiB and is no UTF-8", lambda _, name=name: page([item(1)]).replace(
            json.dumps(item(1)[name]).encode(), b'"' + filled(b"", b"\xff", size=PAGE_LIMIT - 1_024) + b'"'))
    yield Attack("a page of 100 items of 80 KiB", endless(summary="x" * 80_000))
    yield Attack("a page of 40 items of 14,000 tags", endless(40, tags=[f"tag {number}" for number in range(14_000)]))
    yield Attack("items with 75 KiB of unknown fields, forever", endless(unknown={"a": ["y" * 1_000] * 75}))
    yield Attack("a cursor that falls by a second, forever", endless())
    yield Attack("a bomb of gzip", lambda _: gzip.compress(b'{"items":["' + b" " * (1 << 28)), headers=[
        ("Content-Encoding", "gzip")])
    yield Attack("gzip in gzip in gzip around nothing", lambda _: nested(NOTHING, 2), headers=[
        ("Content-Encoding", "gzip, gzip, gzip")])
    yield Attack("gzip around nothing, forever", lambda _: NOTHING, headers=[("Content-Encoding", "gzip")], chunk=1 << 16)
    yield Attack("a page of 8 MiB in chunks of one byte", lambda _: filled(b'{"items":[', b"0,", b"0]}"), chunk=1)
    yield Attack("a text of different words", text=joined(different()))
    yield Attack("a text of words that collide", text=joined(colliding()))
    yield Attack("a text that collides at its beginning", text=joined(itertools.chain(itertools.islice(colliding(), 9_000), different())))
    # Each character is a word, and six bytes of the answer.
    yield Attack("a text of Chinese characters as escapes", text="".join(
        chr(random.randrange(0x4E00, 0x9E00)) for _ in range(TEXT_LIMIT // 3 - 4_096)))
    yield Attack("a text of numbers between commas", text=joined((str(random.randrange(10**7)) for _ in itertools.count()), ","))
    yield Attack("a text of hashes", text=joined(f"{random.getrandbits(256):064x}" for _ in itertools.count()))
    yield Attack("a text of one word", text="a" * (TEXT_LIMIT - 4_096))
    yield Attack("an account of 32 MiB of objects", account=filled(b"[", b'{"":0},', b"0]", 32 * MEBIBYTE))
    yield Attack("headers without an end", headers=[("X-Filler", "x" * 60_000)] * 5_000)
    yield Attack("trailers without an end", trailers=True)


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, attack):
        super().__init__(("127.0.0.1", 0), Handler)
        self.attack = attack
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        pass  # the daemon hangs up, as it should

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()

    def __enter__(self):
        return self


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        attack = self.server.attack
        body = attack.answer(self.path)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        hostile = self.path.startswith("/api/timeline")
        if hostile and attack.trailers:
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n")
            line = b"X-Filler: " + b"x" * 60_000 + b"\r\n"
            for _ in range(50_000):
                self.wfile.write(line)
            return
        for name, value in attack.headers if hostile else ():
            self.send_header(name, value)
        if hostile and attack.chunk:
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for start in range(0, len(body), MEBIBYTE):
                part = body[start:start + MEBIBYTE]
                self.wfile.write(b"".join(
                    b"%x\r\n%b\r\n" % (len(part[at:at + attack.chunk]), part[at:at + attack.chunk])
                    for at in range(0, len(part), attack.chunk)))
            self.wfile.write(b"0\r\n\r\n")
            return
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        self.do_GET()

    def log_message(self, *_):
        pass


def token(path):
    def part(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()
    claims = {"sub": "11111111-0000-4000-8000-000000000001", "exp": int(time.time()) + 86_400}
    with open(path, "w", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(f"{part({'alg': 'none'})}.{part(claims)}.ZmFrZQ\n")
    return path


def size_of(setting):
    return sum(os.path.getsize(setting.database + ending) for ending in ("", "-wal", "-shm")
               if os.path.exists(setting.database + ending))


class Suffered(typing.NamedTuple):
    what: str
    memory: int
    cpu: float
    disk: int
    ending: float
    reached: bool


def suffer(bench, attack):
    directory = bench.fresh()
    with Server(attack) as server:
        # Everything that the daemon does with what a server says.
        setting = tour.Setting(
            directory, server.url, token(os.path.join(directory, "key")), texts="yes", search_index="yes")
        with setting.daemon() as daemon:
            watch = MemoryWatch(daemon.process.pid)
            deadline = time.monotonic() + SECONDS
            cpu = 0
            while time.monotonic() < deadline:
                if daemon.process.poll() is not None:
                    raise Failed(f"{attack.what}: the daemon ended with {daemon.process.returncode}")
                cpu = cpu_of(daemon.process.pid)
                time.sleep(0.05)
            began = time.monotonic()
            daemon.process.terminate()
            daemon.process.wait(30)
            ending = time.monotonic() - began
            watch.end()
    each = cpu / max(attack.answers, 1)
    disk = size_of(setting)
    # An attack that was not asked for shows nothing.
    reached = attack.answers > 0 and watch.resident <= MOST_MEMORY and each <= MOST_CPU and ending <= MOST_SECONDS
    print(f"  {attack.what}: RSS {mebibytes(watch.resident)}, CPU {each:.2f} s an answer, {mebibytes(disk)} of disk, "
          f"{attack.answers:,} answers in {SECONDS} s; SIGTERM ended it in {ending:.2f} s", flush=True)
    return Suffered(attack.what, watch.resident, each, disk, ending, reached)


def hostile(bench):
    """One row of the worst, and the names of those that cost too much."""
    results = [suffer(bench, attack) for attack in attacks()]
    memory, cpu, disk = (max(results, key=operator.attrgetter(name)) for name in ("memory", "cpu", "disk"))
    missed = [result.what for result in results if not result.reached]
    return [Row(
        f"a hostile server, the worst of {len(results)} attacks",
        f"RSS {mebibytes(memory.memory)}, CPU {cpu.cpu:.2f} s an answer, {mebibytes(disk.disk)} of disk",
        "≤ 64 MiB, ≤ 2 s, bounded",
        f"{memory.what}; {cpu.what}; {disk.what}. SIGTERM ended it in {max(each.ending for each in results):.2f} s"
        + "".join(f"; **{what}**" for what in missed), not missed)]


def endless_verify(bench):
    """A list that has no end any more when the copy of its three items is compared with it."""
    directory = bench.fresh()
    few = [item(number) for number in (1, 2, 3)]
    attack = Attack("a list without an end", lambda _: page(few, more=False))
    with Server(attack) as server:
        setting = tour.Setting(directory, server.url, token(os.path.join(directory, "key")))
        with setting.daemon() as daemon:
            tour.wait_until(lambda: setting.live() == len(few), "the copy")
            attack.page = endless()
            pages = attack.answers
            watch = MemoryWatch(daemon.process.pid)
            code, _, _ = setting.control("verify", seconds=900)
            watch.end()
    return [Row(
        "`prsnlctl verify` against a list without an end", f"anonymous {mebibytes(watch.anonymous)}", "≤ 24 MiB, and it ends",
        f"RSS {mebibytes(watch.resident)}, {attack.answers - pages:,} pages, exit code {code}",
        code == 1 and watch.anonymous <= 24 * MEBIBYTE)]


ALL = {"hostile": hostile, "verify-endless": endless_verify}
