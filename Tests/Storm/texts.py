"""The judge's part about texts. It knows what text the server had for an item in each version: from the journal, and from the
server itself where a text is made up. It knows nothing from the product's code."""

import hashlib
import time

from reader import microseconds

# Small, so that some of the server's texts are larger.
TEXT_SIZES, TEXT_LIMIT = "100-200K", 128 << 10
# Shorter than it takes until the daemon looks at an item again, so that few answers are of an older version.
ITEM_CACHE_SECONDS = 1

DUE = ("text_for IS NOT coalesce(updated_at, created_at) AND status IS NOT 'pending' AND deleted_at IS NULL "
       "AND missing_since IS NULL")


def digest(text):
    return hashlib.sha256(text.encode()).digest() if text is not None else None


def version_of(item):
    return item["updated_at"] or item["created_at"]


class Texts:
    """The texts of a copy at one moment: versions and digests."""

    def __init__(self, copy, known):
        """`known`: the digests of texts that were read before, by item, version and time; it grows."""
        rows = copy.rows("SELECT item_id, version, fetched_at FROM item_body")
        self.versions = {row["item_id"]: row["version"] for row in rows}
        self.keys = {row["item_id"]: (row["item_id"], row["version"], row["fetched_at"]) for row in rows}
        for id, key in self.keys.items():
            if key not in known:
                known[key] = self.digests(copy, id)
        self.large = {row["item_id"]: row["row_version"]
                      for row in copy.rows("SELECT item_id, row_version FROM text_problem WHERE kind = 'too_large'")}

    @staticmethod
    def digests(copy, id):
        row = copy.connection.execute("SELECT content, transcription FROM item_text WHERE item_id = ?", (id,)).fetchone()
        return digest(row[0]), digest(row[1])


class TextJudge:
    def __init__(self, world, history, find):
        self.world, self.history, self.find = world, history, find
        self.known = {}
        self.judged = set()
        self.made_up = {}
        self.compared = self.claims_checked = 0
        # Who was called too large while a claim was checked: (id, the row's version).
        self.called_large = set()

    def look(self, copy):
        return Texts(copy, self.known)

    # MARK: What the server had

    def states(self, id, version):
        """The item's rows on the server in this version (microseconds); in any, where an answer did not say which it was."""
        row = self.history.rows.get(id)
        return [line for _, line in row.states
                if line is not None and version in (None, line["updated"])] if row else []

    def truth(self, line):
        """What the server says of a row: digests of content and transcription, and the size of the longer one."""
        content, spoken = line["content"], line["transcription"]
        if line["status"] == "pending" or line["hidden_content"] is not None:
            content = spoken = None
        elif content is None and line["type"] == "video" and spoken is not None:
            content = spoken
        elif content is None:
            made, size = self.made(line["id"], line["updated"])
            is_video = line["type"] == "video"
            return (made, made if is_video and spoken is None else digest(spoken)), size
        size = max(len(text.encode()) if text is not None else 0 for text in (content, spoken))
        return (digest(content), digest(spoken)), size

    def made(self, id, version):
        if (id, version) not in self.made_up:
            status, text = self.world.request("GET", f"/__dev/text?id={id}&version={version}")
            if status not in (200, 204):
                raise RuntimeError(f"/__dev/text answered {status}")
            found = (hashlib.sha256(text).digest(), len(text)) if status == 200 else (None, 0)
            self.made_up[id, version] = found
        return self.made_up[id, version]

    def lacks(self, id):
        """Whether the server has the item no more, or hides it."""
        row = self.history.rows.get(id)
        return row is not None and (row.now is None or row.now["hidden"])

    # MARK: What the copy claims

    def claims(self, state, items, texts):
        if self.world.dialect == "E":
            return
        if state["texts_complete"]:
            self.claims_checked += 1
            for item in items.values():
                self.check_complete(item, texts, state)
        as_of = microseconds(state["texts_as_of"])
        as_of = None if as_of is None else self.world.clock.moment(as_of)
        if as_of is not None:
            self.claims_checked += 1
            for row in list(self.history.rows.values()):
                self.check_fresh(row, items.get(row.id), texts, as_of, state)

    def check_complete(self, item, texts, state):
        if item["deleted_at"] is not None or item["status"] == "pending":
            return
        if item["missing_since"] is not None and self.lacks(item["id"]):
            return
        has = texts.versions.get(item["id"])
        row = self.history.rows.get(item["id"])
        if item["id"] in texts.versions and has is None:
            return  # of an answer that did not say of which version it was
        if has is None or row is not None and row.is_older(microseconds(has), microseconds(version_of(item))):
            self.find("false claim", f"{item['id']} texts_complete",
                      f"texts_complete, and the text of {item['id']} is of {has}, its row of {version_of(item)}, missing since "
                      f"{item['missing_since']}: {state}")

    def check_fresh(self, row, item, texts, as_of, state):
        """What the server had at T3 is here, or something that it had since."""
        had = row.at(as_of)
        if had is None or had["hidden"] or had["status"] == "pending" or row.removed is not None:
            return
        # That it is here at all, and not deleted, is said by other claims.
        if item is None or item["deleted_at"] is not None:
            return
        if texts.large.get(row.id) == version_of(item):
            self.called_large.add((row.id, version_of(item)))
            return
        has, lines = microseconds(texts.versions.get(row.id)), row.since(as_of)
        if row.id in texts.versions and has is None:
            is_fresh = any(self.known[texts.keys[row.id]] == self.truth(line)[0] for line in lines)
        else:
            is_fresh = has in {line["updated"] for line in lines}
        if not is_fresh:
            self.find("false claim", f"{row.id} texts_as_of",
                      f"texts as of {state['texts_as_of']} ({as_of}), and the text of {row.id} is of {texts.versions.get(row.id)}; then "
                      f"the server had {had}; the copy has {dict(item)}")

    # MARK: When everything has settled

    def settled(self, items, texts):
        if self.world.dialect == "E":
            return
        self.check_contents()
        self.check_large(texts)
        for item in items.values():
            row = self.history.rows.get(item["id"])
            if item["missing_since"] is not None and row is not None and not self.lacks(row.id):
                self.find("false suspect", row.id,
                          f"missing since {item['missing_since']}, and the server has it"
                          f"{self.why_failing(row.id)}: {row.now}")

    def why_failing(self, id):
        return f" (asking for its text is answered with {self.world.failing[id]})" if id in self.world.failing else ""

    def check_contents(self):
        """Each text that was ever seen in the copy is one that the server had for the item in that version."""
        for key in self.known.keys() - self.judged:
            id, version, _ = key
            self.judged.add(key)
            self.compared += 1
            truths = [self.truth(line)[0] for line in self.states(id, microseconds(version))]
            if self.known[key] not in truths:
                self.find("text wrong", f"{id} {version}",
                          f"the text of {id} in the version {version}, fetched at {key[2]}, is none of the {len(truths)} that "
                          f"the server had")

    def check_large(self, texts):
        for id, version in self.called_large | set(texts.large.items()):
            row = self.history.rows.get(id)
            lines = row.lines_from(microseconds(version)) if row else []
            if lines and all(self.truth(line)[1] <= TEXT_LIMIT for line in lines):
                self.find("text missing", f"{id} {version}", f"{id} of {version} is called too large: {lines}")

    def check_equal(self, state, items, texts, failing):
        """After the quiet end: every text is the server's, but for those that are too large, and those that fail on purpose."""
        if self.world.dialect == "E":
            return
        left = 0
        for row in list(self.history.rows.values()):
            line = row.now
            if line is None or line["hidden"] or line["status"] == "pending":
                continue
            truth, size = self.truth(line)
            key = texts.keys.get(row.id)
            self.compared += 1
            if key is not None and self.known[key] == truth and microseconds(key[1]) in (None, line["updated"]):
                continue
            left += 1
            if size <= TEXT_LIMIT and row.id not in failing:
                item = items.get(row.id)
                self.find("text missing", row.id,
                          f"{row.id} has a text of {size} bytes, of {line['updated']}; the copy's is of "
                          f"{texts.versions.get(row.id)}; its row: {dict(item) if item else None}")
        if not failing and state["texts_missing"] != left:
            self.find("text missing", "texts_missing", f"{state['texts_missing']} are said to be missing, {left} are: {state}")
        if not failing and state["complete"] and state["texts_as_of"] is None:
            self.find("text missing", "texts_as_of", f"all texts are here, and T3 is NULL: {state}")


# MARK: Fetching what waits


def fetch_all(world, end):
    while time.monotonic() < end and fetch_round(world):
        pass


def fetch_round(world):
    """Lets the daemon fetch what there is. A text that failed waits for a minute or more: a person may ask for it by its id.

    Returns whether there was one."""
    if world.dialect == "E":
        time.sleep(0.3)
        return False
    world.request("POST", "/__dev/clear-cache")
    world.control("sync", "--texts", "--wait", seconds=120)
    rows = world.setting.query(
        "SELECT id FROM item LEFT JOIN text_problem ON item_id = id AND row_version = coalesce(updated_at, created_at) "
        f"WHERE {DUE} AND kind IS NOT 'too_large' LIMIT 200")
    waiting = [row[0] for row in rows or [] if row[0] not in world.failing]
    for id in waiting:
        world.control("sync", "--text", id)
    return bool(waiting)
