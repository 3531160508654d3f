"""`make test-server SERVER=… API_KEY_FILE=…`: looks at a real server without writing to it (GET only), then pulls its
timeline into a scratch file and says how that went."""

import base64
import http.client
import json
import os
import shutil
import ssl
import stat
import subprocess
import sys
import tempfile
import time
import urllib.parse

import tour
from tour import Failed

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def is_login_token(key):
    """A JWT: three base64url parts, of which the first is a JSON header."""
    parts = key.split(".")
    if len(parts) != 3 or not all(parts):
        return False
    try:
        header = json.loads(base64.urlsafe_b64decode(parts[0] + "=" * (-len(parts[0]) % 4)))
    except ValueError:
        return False
    return isinstance(header, dict)


def read_key(path):
    if not path:
        return None
    if stat.S_IMODE(os.stat(path).st_mode) & 0o077:
        raise Failed(f"{path} can be read by others: chmod 600 {path}")
    with open(path) as file:
        return file.read().strip() or None


class Server:
    """GET requests over one kept-alive connection; nothing else, and no redirect is followed with credentials."""

    def __init__(self, url, key):
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise Failed(f"SERVER is not an address like https://prsnl.example.org: {url}")
        if parts.scheme == "http" and parts.hostname not in LOOPBACK and not os.environ.get("ALLOW_INSECURE_HTTP"):
            raise Failed("http:// to another machine shows the key to everybody in between; ALLOW_INSECURE_HTTP=1 allows it")
        self.prefix = parts.path.rstrip("/")
        self.headers = {"User-Agent": "prsnld test-server", "Accept": "application/json"}
        if key:
            # Never a key as Bearer unasked: dialect C would take it for a bad login and show a test user's items.
            self.headers |= {"Authorization": f"Bearer {key}"} if is_login_token(key) else {"X-API-Key": key}
        secure = parts.scheme == "https"
        make = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        options = {"context": ssl.create_default_context(cafile=os.environ.get("CA_FILE"))} if secure else {}
        self.connection = make(parts.hostname, parts.port, timeout=60, **options)

    def get(self, path, credentials=True):
        headers = self.headers if credentials else {
            name: value for name, value in self.headers.items() if name in ("User-Agent", "Accept")
        }
        for attempt in (1, 2):
            try:
                begin = time.monotonic()
                self.connection.request("GET", self.prefix + path, headers=headers)
                answer = self.connection.getresponse()
                body = answer.read()
                break
            except (http.client.HTTPException, OSError) as error:
                # Servers close connections that were idle for 5 s.
                self.connection.close()
                if attempt == 2:
                    raise Failed(f"GET {path}: {error}") from None
        try:
            value = json.loads(body)
        except ValueError:
            value = None
        return Answer(answer.status, dict((k.lower(), v) for k, v in answer.getheaders()), value, len(body),
                      time.monotonic() - begin)


class Answer:
    def __init__(self, status, headers, value, size, seconds):
        self.status, self.headers, self.value, self.size, self.seconds = status, headers, value, size, seconds

    @property
    def items(self):
        return self.value.get("items", []) if isinstance(self.value, dict) else []


def say(name, text):
    print(f"{name:<18} {text}")


def dialect_of(answer):
    value = answer.value
    if not isinstance(value, dict) or not isinstance(value.get("items"), list):
        return None
    if "next_cursor" in value:
        return "C"
    if "totalResults" in value:
        return "E"
    return "P" if "total" in value else None


def created(item):
    return item.get("createdAt") or item.get("created_at")


def look_at_cursor_quirks(server):
    refused = server.get("/api/timeline?limit=101")
    say("limit=101", "422, as known" if refused.status == 422 else f"{refused.status}: not as known")
    first, second = server.get("/api/timeline?limit=2"), server.get("/api/timeline?limit=2&page=2")
    ignored = [item.get("id") for item in first.items] == [item.get("id") for item in second.items]
    say("page=2", "ignored, as known" if ignored else "is another page: not as known")
    slash = server.get("/api/timeline/?limit=1")
    say("trailing slash", f"{slash.status}" + (", as known" if slash.status == 307 else ""))
    me = server.get("/api/auth/me")
    if me.status == 200 and isinstance(me.value, dict):
        say("account", f"{me.value.get('id')} (GET /api/auth/me)")
    else:
        say("account", f"GET /api/auth/me answers {me.status}")


def look_at_ties(server):
    """Reads at most 20 pages, and says where pages end inside a group of equal times."""
    cursor, times, items, borders = None, [], 0, 0
    for _ in range(20):
        query = "?limit=100" + (f"&cursor={urllib.parse.quote(cursor, safe='')}" if cursor else "")
        page = server.get("/api/timeline" + query)
        if page.status != 200:
            say("paging", f"stopped with {page.status}")
            return
        times.append(page.seconds)
        items += len(page.items)
        cursor = page.value.get("next_cursor")
        if not cursor:
            break
        at = [created(item) for item in page.items]
        borders += len(at) > 1 and at.count(at[-1]) > 1
    times.sort()
    say("paging", f"{items} items on {len(times)} pages, median {times[len(times) // 2] * 1e3:.0f} ms a page"
        + ("" if cursor is None else " (the newest only)"))
    say("ties", f"{borders} pages end in a group of equal times")


def look_at_page_quirks(server, dialect):
    first = server.get("/api/timeline?page=1&limit=20")
    second = server.get("/api/timeline?page=2&limit=20")
    same = first.items and [i.get("id") for i in first.items] == [i.get("id") for i in second.items]
    say("page=2", "IGNORED: the same items again" if same else f"{len(second.items)} other items")
    say("total", str(first.value.get("totalResults" if dialect == "E" else "total")))
    say("ETag", first.headers.get("etag") or "none")


def pull(url, key_file, directory):
    keys = {"allow_insecure_http": "yes"} if os.environ.get("ALLOW_INSECURE_HTTP") else {}
    if os.environ.get("CA_FILE"):
        keys["ca_file"] = os.path.realpath(os.environ["CA_FILE"])
    if not key_file:
        keys["anonymous"] = "yes"
    setting = tour.Setting(directory, url, key_file, **keys)
    begin = time.monotonic()
    code = subprocess.run([tour.DAEMON, "--config", setting.path, "--once"], stdin=subprocess.DEVNULL,
                          env=tour.clean_environment()).returncode
    seconds = time.monotonic() - begin
    say("prsnld --once", f"exit code {code} after {seconds:.1f} s")
    if code not in (0, 4):
        return code
    report = setting.status()
    live = report["copy"]["live"]
    say("pulled", f"{live:,} items, {live / seconds:,.0f} a second, {report['file']['size'] / 1e6:.1f} MB")
    _, text, complaint = setting.control("history")
    print(f"\n{text}{complaint}")
    _, text, complaint = setting.control("status")
    print(f"{text}{complaint}")
    return code


def run():
    url, key_file = os.environ.get("SERVER", "").rstrip("/"), os.environ.get("API_KEY_FILE", "")
    if not url:
        raise Failed("say which server: make test-server SERVER=https://… API_KEY_FILE=…")
    key_file = os.path.realpath(key_file) if key_file else None
    try:
        key = read_key(key_file)
    except OSError as error:
        raise Failed(f"API_KEY_FILE: {error}") from None
    server = Server(url, key)
    say("credentials", "none" if not key else "a login token" if is_login_token(key) else "an API key")

    health = server.get("/api/health", credentials=False)
    healthy = health.status == 200 and isinstance(health.value, dict)
    say("health", f"{health.status} {json.dumps(health.value)[:100] if healthy else '(not the JSON of a PRSNL server)'}")
    first = server.get("/api/timeline?limit=2")
    if first.status == 401 and "X-API-Key" in server.headers:
        say("X-API-Key", "refused with 401; once more as Authorization: Bearer")
        server.headers["Authorization"] = f"Bearer {server.headers.pop('X-API-Key')}"
        first = server.get("/api/timeline?limit=2")
    dialect = dialect_of(first)
    say("timeline", f"{first.status}, {first.size} bytes, {first.seconds * 1e3:.0f} ms")
    if not dialect:
        raise Failed("GET /api/timeline?limit=2 is no timeline in a known form")
    say("dialect", {"C": "C (cursor)", "P": "P (pages)", "E": "E (small server)"}[dialect])
    if first.items:
        say("fields", ", ".join(sorted(first.items[0])))
    if dialect == "C":
        look_at_cursor_quirks(server)
        look_at_ties(server)
    else:
        look_at_page_quirks(server, dialect)

    directory = tempfile.mkdtemp(prefix="prsnl-test-server-")
    try:
        return pull(url, key_file, directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(tour.main(run))
