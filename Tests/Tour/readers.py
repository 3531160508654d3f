"""Reads what `prsnlctl export` writes with the programs that people have: epubcheck, xmllint, and a browser without a window.
In that browser, the button of the extension captures a page.

The items are those of the development server. The copy then gets titles, texts and tags that no good server has.
"""
import contextlib
import fcntl
import http.server
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile
import threading

import tour
from demo import Steps

ATTACK = "document.title='run'"
TITLES = [
    f"<script>{ATTACK}</script><img src=x onerror=\"{ATTACK}\">", f"\"]);{ATTACK};prsnl([\"</script>", "]]> & &amp; \x01\ufffe",
    "\u202eright to left", "x" * 500, "<!--", "'\"`${1}",
]
TEXTS = [
    f"<div onclick=\"{ATTACK}\"><script>{ATTACK}</script><a href=\"javascript:{ATTACK}\">x</a><iframe src=x></iframe>"
    "<img src='https://example.org/x.png' alt='gone'><style>@import 'https://example.org/x.css'</style>zebrafish</div>",
    "<div><p>a<b>b<i>c</b>d</i></p><ul>e<li>f<ul><li>g</ul></ul><table><td>h<tr><td>i</table><a href='https://example.org/a b?x=[1]|2&y=%zz'>j</a></div>",
    "# A\n\n- b\n\n| c | d |\n|---|---|\n| 1 | `2` |\n\n<div onclick=x>raw</div>\n\n![e](https://example.org/x.png) [f](javascript:x)",
    "</ul></ul><li>a</li>after<p>x<blockquote><li>z</blockquote><dl><dt>t<dd>d</dl><h1>a<h2>b", "\x01 control \ufffe \x0b end",
    "<div>" + "<b>" * 400 + "deep" + "</i>" * 400, "<p>a<pre>\n  x</pre><hr><ol></ol><table></table><q>q<p>in q</q>", "plain\nlines\n\nhere",
]


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=300, check=False)


def browser(folder, page):
    """The page as it is when its scripts have run."""
    # As root, and in a container, Chromium has no sandbox of its own.
    ended = run("chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile",
                "--virtual-time-budget=10000", "--dump-dom", page)
    if ended.returncode != 0 or "<html" not in ended.stdout:
        raise tour.Failed(f"the browser did not show {page}: {ended.stderr[-500:]}")
    return ended.stdout


class Driven:
    """A browser that does what it is told by the DevTools protocol, over a pipe: one message of JSON before each NUL."""

    def __init__(self, home, profile):
        ours, theirs = os.pipe(), os.pipe()
        # Their ends become 3 and 4, which may be taken by now.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (ours[0], theirs[1])]

        def place():
            for number, end in enumerate(ends, 3):
                os.dup2(end, number)

        self.process = subprocess.Popen(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
             "--enable-unsafe-extension-debugging", f"--user-data-dir={profile}", "about:blank"],
            env=tour.clean_environment() | {"HOME": home}, close_fds=False, preexec_fn=place,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for end in (*ends, ours[0], theirs[1]):
            os.close(end)
        self.input, self.output = os.fdopen(ours[1], "wb", 0), os.fdopen(theirs[0], "rb", 0)
        self.number, self.left = 0, b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError, tour.Failed):
            self.call("Browser.close")
        self.process.wait(60)
        self.input.close()
        self.output.close()

    def call(self, method, session=None, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters} | ({"sessionId": session} if session else {})
        self.input.write(json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.left:
                part = self.output.read(1 << 16)
                if not part:
                    raise tour.Failed(f"the browser ended before {method}")
                self.left += part
            answer, _, self.left = self.left.partition(b"\0")
            answer = json.loads(answer)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise tour.Failed(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def target(self, kind, address):
        """Its id, once the browser has it."""
        def find():
            targets = self.call("Target.getTargets", filter=[{"type": kind}])["targetInfos"]
            return next((target["targetId"] for target in targets if target["url"] == address), None)

        return tour.wait_until(find, f"{kind} {address}")

    def await_value(self, target, expression, wanted):
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        tour.wait_until(
            lambda: self.call("Runtime.evaluate", session, expression=expression, awaitPromise=True)["result"].get("value") == wanted,
            expression)


class Page(http.server.BaseHTTPRequestHandler):
    text = "<title>A page</title><body onload='getSelection().selectAllChildren(document.body)'>chosen words"

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(self.text.encode())

    def log_message(self, *_):
        pass


def press(folder, setting):
    """Presses the extension's button on a page with marked words; gives what is in the queue then."""
    home = f"{folder}/home"
    profile = f"{home}/.config/chromium"
    os.makedirs(profile)
    code, _, complaint = setting.control("browser-host", "--install", HOME=home)
    if code != 0:
        raise tour.Failed(complaint)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server, Driven(home, profile) as driven:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/"
        extension = driven.call("Extensions.loadUnpacked", path=f"{tour.ROOT}/Tools/browser")["id"]
        worker = driven.target("service_worker", f"chrome-extension://{extension}/background.js")
        driven.await_value(worker, "chrome.action.onClicked.hasListeners()", True)
        driven.call("Target.createTarget", url=address)
        tab = driven.target("tab", address)
        driven.await_value(driven.target("page", address), "String(getSelection())", "chosen words")
        driven.call("Extensions.triggerAction", id=extension, targetId=tab)
        rows = tour.wait_until(lambda: setting.query("SELECT payload FROM outbox"), "the capture")
        server.shutdown()
    return [json.loads(row[0]) for row in rows], address


def spoil(path):
    """Gives items of the copy what attackers and broken programs write."""
    with contextlib.closing(sqlite3.connect(path)) as copy:
        items = [row[0] for row in copy.execute("SELECT id FROM item WHERE id IN (SELECT item_id FROM item_body) ORDER BY id")]
        for item, title in zip(items, TITLES):
            copy.execute("UPDATE item SET title = ?, tags = ? WHERE id = ?", (title, '["<b>tag</b>", "a&b"]', item))
        for item, text in zip(items[len(TITLES):], TEXTS):
            copy.execute("UPDATE item_body SET content = ? WHERE item_id = ?", (text, item))
        copy.commit()


def read():
    steps = Steps()
    with tempfile.TemporaryDirectory(prefix="prsnl-readers-") as folder:
        with tour.DevServer(folder, "--items", "300", "--texts", "100-8K") as server:
            setting = tour.Setting(folder, server.url, server.token_file)
            setting.once()
        spoil(setting.database)

        def export(form, name):
            code, _, complaint = setting.control("export", "--format", form, f"{folder}/{name}")
            steps.check(code == 0, f"export --format {form}{complaint and ': ' + complaint}")

        steps.start("A book")
        export("epub", "book.epub")
        ended = run("java", "-jar", "/usr/bin/epubcheck", f"{folder}/book.epub")
        said = ended.stdout + ended.stderr
        steps.check("0 fatals / 0 errors / 0 warnings" in said, f"epubcheck finds nothing{'' if ended.returncode == 0 else ': ' + said}")

        steps.start("A feed")
        export("atom", "feed.atom")
        ended = run("xmllint", "--noout", "--relaxng", f"{tour.ROOT}/Tests/Tour/atom.rng", f"{folder}/feed.atom")
        steps.check(ended.returncode == 0, f"it is as RFC 4287 has it{'' if ended.returncode == 0 else ': ' + ended.stderr[:500]}")

        steps.start("Pages")
        export("html", "pages")
        index = f"file://{folder}/pages/index.html"
        found = browser(folder, f"{index}#zebrafish").split('id="found"')[1].split("</ul>")[0]
        steps.check(found.count("<li>") == 1, "the search finds the one item that has a word")
        page = found.split('href="')[1].split('"')[0]
        steps.check("zebrafish" in browser(folder, f"file://{folder}/pages/{page}"), "its link leads to the text")
        pages = sorted(pathlib.Path(folder, "pages").rglob("*.html"))
        shown = [browser(folder, f"file://{path}") for path in pages
                 if ATTACK in path.read_text() or path.name.startswith(("month", "index"))]
        steps.check(not any("<title>run" in text for text in shown), f"no script of an item runs, on {len(shown)} pages")
        loaded = re.compile(r"""<(img|iframe|link|script)[^>]*(src|href)=["']?(https?:)?//""")
        steps.check(not any(loaded.search(path.read_text()) for path in pages), f"nothing is loaded from elsewhere, in {len(pages)} pages")

        steps.start("A button in the browser")
        queued, address = press(folder, setting)
        wanted = {"url": address, "title": "A page", "note": "chosen words"}
        steps.check([{key: item.get(key) for key in wanted} for item in queued] == [wanted],
                    "the page is in the queue, once, with its title and the marked words")
    return 0


if __name__ == "__main__":
    sys.exit(tour.main(read))
