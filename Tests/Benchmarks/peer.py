"""The peer: what one writes in an afternoon. peer.py SERVER_URL DATABASE [TOKEN_FILE [PAGES [texts]]]"""

import json
import sys
import time

import requests
import sqlite_utils

server, database, token_file, pages, texts = (sys.argv[1:] + [None, None, None])[:5]
session = requests.Session()
if token_file:
    session.headers["Authorization"] = "Bearer " + open(token_file).read().strip()
db = sqlite_utils.Database(database)
db.enable_wal()
cursor, read = None, 0
while not read or (cursor and read != int(pages or 0)):
    answer = session.get(f"{server}/api/timeline", params={"limit": 100, "cursor": cursor})
    answer.raise_for_status()
    page = answer.json()
    db["item"].upsert_all(page["items"], pk="id")
    db["item"].create_index(["createdAt"], if_not_exists=True)
    cursor, read = page["next_cursor"], read + 1
begin, ids = time.perf_counter(), [row["id"] for row in db.query("SELECT id FROM item")] if texts else []
for id in ids:
    answer = session.get(f"{server}/api/items/{id}")
    answer.raise_for_status()
    item = answer.json()
    text = {"id": id, "content": item["content"], "metadata": json.dumps(item["metadata"]), "version": item["updated_at"]}
    db["item_text"].upsert(text, pk="id")
print(json.dumps({"pages": read, "rows_written": db.conn.total_changes, "texts": len(ids),
                  "texts_seconds": time.perf_counter() - begin}))
