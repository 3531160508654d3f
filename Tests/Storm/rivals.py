"""Other clients of the same account, straight at the server: they create, retitle, tag and delete the same URLs and notes."""

import http.client
import json
import threading
import urllib.parse

# Of what is on the timeline, what people and other clients have made.
MADE_HERE = "SELECT id, tags FROM item WHERE deleted_at IS NULL AND (url LIKE 'https://storm.example/%' OR type = 'note') " \
    "ORDER BY created_at DESC LIMIT 40"
ANY = "SELECT id, tags FROM item WHERE deleted_at IS NULL ORDER BY random() LIMIT 1"


class OtherClient(threading.Thread):
    def __init__(self, world, ledger, random, gate):
        super().__init__(name="other", daemon=True)
        self.world, self.ledger, self.random, self.gate = world, ledger, random, gate
        self.count = 0
        self.done = {"created": 0, "edited": 0, "deleted": 0}

    def run(self):
        while self.gate.enter():
            try:
                self.world.show_due()
                self.act()
            except (OSError, http.client.HTTPException):
                pass  # the server was killed, or a fault: what it did stands in its journal
            except Exception as error:
                self.world.accident(f"other client: {type(error).__name__}: {error}")
            finally:
                self.gate.leave()
            self.gate.pause(self.random.uniform(0.1, 0.6))

    def act(self):
        self.count += 1
        if self.random.random() < 0.5:
            self.create()
            return
        rows = self.world.setting.query(MADE_HERE if self.random.random() < 0.6 else ANY)
        if not rows:
            return
        id, tags = self.random.choice(rows)
        if id not in self.world.failing:
            self.change(id, json.loads(tags or "[]"))

    def create(self):
        body = {"title": f"Other {self.count}", "tags": ["elsewhere"]}
        recent = self.ledger.recent("note", "capture")
        draw = self.random.random()
        if recent and draw < 0.5:
            # Exactly what a user of prsnlctl has just asked for, with other tags.
            fields = self.random.choice(recent).fields
            body |= {"url": fields["url"]} if "url" in fields else {"content": fields["note"]}
        elif draw < 0.8:
            # What a user may delete and capture.
            body["url"] = f"https://storm.example/mkzx{self.count:06}z"
        else:
            body["content"] = f"Written elsewhere, number {self.count}"
        is_express = self.world.dialect == "E"
        body["itemType" if is_express else "content_type"] = "link" if "url" in body else "note"
        status, answer = self.world.request("POST", "/api/items" if is_express else "/api/capture", body)
        self.done["created"] += 1
        if status == 201 and self.random.random() < 0.3:
            # In `processing` for seconds.
            self.world.hide(json.loads(answer)["id"], self.random.uniform(0.5, 5))

    def change(self, id, tags):
        path = f"/api/items/{id}"
        verb = "PUT" if self.world.dialect == "E" else "PATCH"
        draw = self.random.random()
        if draw < 0.25:
            text = f"Changed text {self.count}\n" + "naïve 日本語 " * self.random.choice([0, 3, 200])
            self.world.request("POST", "/__dev/edit?" + urllib.parse.urlencode({"id": id, "content": text}))
        elif draw < 0.5:
            self.world.request(verb, path, {"title": f"Elsewhere {self.count}"})
        elif draw < 0.7:
            self.world.request(verb, path, {"tags": [*tags, f"rival {self.count % 7}"]})
        else:
            self.world.request("DELETE", path)
            self.done["deleted"] += 1
            return
        self.done["edited"] += 1
