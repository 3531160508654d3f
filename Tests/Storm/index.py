"""The judge's part about the full-text index. What it says is true at every moment, however the daemon ended: an item that is
not due is found by its words as they are, and what is not shown is not found."""

import random
import re

# Words that the index has as they are: no symbols, no script without spaces.
PLAIN = re.compile(r"[A-Za-z0-9 .,:()\n-]+")
SAMPLES = 60


class IndexJudge:
    def __init__(self, find, seed):
        self.find, self.random = find, random.Random(seed)
        self.looked = 0

    def check(self, copy):
        # By the number that the index has for an item: of its row, or, made negative, of its entry.
        ids = {row["number"]: row["id"] for row in copy.rows(
            "SELECT rowid AS number, id FROM item UNION ALL SELECT -entry_id, id FROM local_item"
            " WHERE NOT EXISTS (SELECT 1 FROM item WHERE item.id = local_item.id)")}
        due = {ids.get(row["row"]) for row in copy.rows(
            "SELECT row FROM search_due UNION SELECT row FROM search_document WHERE position IS NOT NULL"
            " UNION SELECT item.rowid FROM item, search_state WHERE item.rowid > coalesce(through, 0)"
            " UNION SELECT -entry_id FROM local_item, search_state WHERE through IS NULL")}
        documents = {ids.get(row["row"]): row["docid"] for row in copy.rows("SELECT row, docid FROM search_document")}
        # Of a row that is gone, or that another one with its id hides.
        documents.pop(None, None)
        shown = {row["id"]: row for row in copy.rows("SELECT id, title FROM timeline")}
        for id in shown.keys() - due - documents.keys():
            self.find("index", id, f"{id} is on the timeline, not due, and not in the index")
        for id in documents.keys() - due - shown.keys():
            self.find("index", id, f"{id} is in the index, not due, and not on the timeline")
        known = sorted((shown.keys() & documents.keys()) - due)
        for id in self.random.sample(known, min(SAMPLES, len(known))):
            row = copy.connection.execute("SELECT content FROM item_text WHERE item_id = ?", (id,)).fetchone()
            self.look(copy, id, documents[id], "title", shown[id]["title"])
            self.look(copy, id, documents[id], "content", row[0] if row else None)

    def look(self, copy, id, document, column, text):
        pieces = [piece for piece in PLAIN.findall(text or "") if len(piece.split()) > 3]
        if not pieces:
            return
        # Without the first and the last word, which may be parts of one.
        words = self.random.choice(pieces).split()[1:-1][:8]
        if not any(word.strip(".,:()-") for word in words):
            return
        self.looked += 1
        query = f'{column} : "{" ".join(words)}"'
        if not copy.connection.execute(
                "SELECT 1 FROM search_index WHERE search_index MATCH ? AND rowid IN "
                "(SELECT ?2 UNION SELECT docid FROM search_piece WHERE document = ?2)", (query, document)).fetchone():
            self.find("index", f"{id} {column}", f"{id} is not due, and is not found by {query}")
