"""Reads what `prsnlctl export` writes with the programs that people have: epubcheck, xmllint, and a browser without a window.

The items are those of the development server. The copy then gets titles, texts and tags that no good server has.
"""
import contextlib
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile

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
        steps.check(run("xmllint", "--noout", f"{folder}/feed.atom").returncode == 0, "xmllint finds nothing")

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
    return 0


if __name__ == "__main__":
    sys.exit(tour.main(read))
