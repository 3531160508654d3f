"""The judge: what was accepted, what the server has, what the copy claims. It knows the first from prsnlctl's own answers,
the second from the server's journal, the third from the file as any reader sees it, and nothing from the product's code.

Times are real ones. The copy's times are of the daemon's machine, and items have those of the server; both clocks are set in a
storm, and the judge knows what they showed when.

What it takes for granted: an INSERT comes less than `lookup_interval` after its request, and an item is shown less than
that after its INSERT. A server that takes longer cannot be told from one that never got the request."""

import bisect
import collections
import itertools
import json

from index import IndexJudge
from reader import Copy, Entry, marker_of, microseconds
from texts import TextJudge
from wishes import WishJudge

# How long a look takes at the most: microseconds.
LOOK = 1_000_000
# Why a write may be parked: another client changed or deleted the item, or the write's item is unknown.
FAIR_PARKS = {"outcome_undecidable", "edit_conflict", "item_gone"}


class Judge:
    def __init__(self, world, history, ledger):
        self.world, self.history, self.ledger = world, history, ledger
        self.findings = {}
        self.claims_checked = self.fields_compared = 0
        self.parked = collections.Counter()
        self.delivered = self.lost_answers = self.entries_seen = 0
        self.texts = TextJudge(world, history, self.find)
        self.index = IndexJudge(self.find, str(world.setting.database))
        self.wishes = WishJudge(history, ledger, self.find)

    def find(self, kind, about, text):
        """Each finding once, however often it is seen."""
        self.findings.setdefault((kind, str(about)), text)

    def moment(self, text):
        """When it really was what the copy says."""
        shown = microseconds(text)
        return None if shown is None else self.world.clock.moment(shown)

    # MARK: When everything has settled

    def settled(self, failing=frozenset()):
        """`failing`: items whose text is kept back on purpose."""
        with Copy(self.world.setting.database) as copy:
            state, texts = copy.state, self.texts.look(copy)
            items = {row["id"]: row for row in copy.rows("SELECT * FROM item")}
            attempts = self.read_outbox(copy)
            self.tombstones = copy.rows("SELECT id, deleted_at FROM item WHERE deleted_at IS NOT NULL")
            self.check_file(copy)
            self.index.check(copy)
        self.history.read()
        self.by_key = {entry.key: entry for entry in self.entries.values()}
        self.by_item = collections.defaultdict(list)
        for entry in self.entries.values():
            self.by_item[entry.item_id].append(entry)
        self.by_local = collections.defaultdict(list)
        for entry in self.entries.values():
            if entry.is_creation and entry.local_id:
                self.by_local[entry.local_id].append(entry)
        self.note_beginnings()
        self.count(attempts)
        self.check_accepted()
        self.check_waiting()
        self.check_doubled()
        self.check_bindings()
        self.check_removals()
        self.check_edits()
        self.wishes.check(self.entries, self.began)
        self.check_tombstones()
        self.texts.settled(items, texts)
        self.texts.check_equal(state, items, texts, failing)

    def read_outbox(self, copy):
        self.entries = {row["id"]: Entry(row) for row in copy.rows("SELECT * FROM outbox")}
        return copy.rows("SELECT * FROM outbox_attempt")

    def note_beginnings(self):
        """When each write was asked for. An entry was not accepted before one with a lower number was asked for."""
        known = sorted((write.entry, write.began) for write in list(self.ledger.writes)
                       if write.outcome == "accepted" and write.entry is not None)
        self.numbers = [number for number, _ in known]
        self.beginnings = list(itertools.accumulate((began for _, began in known), max))

    def began(self, number):
        """The earliest that this entry can have been accepted."""
        index = bisect.bisect_right(self.numbers, number)
        return self.beginnings[index - 1] if index else 0

    def count(self, attempts):
        applied = collections.defaultdict(set)
        for table in (self.history.changes, self.history.removals):
            for key, lines in table.items():
                applied[key] |= {line["request"] for _, line in lines}
        for key, rows in self.history.inserts.items():
            applied[key] |= {row.inserted["request"] for row in rows}
        answered = collections.Counter(
            attempt["entry_id"] for attempt in attempts
            if attempt["purpose"] == "send" and attempt["verdict"] == "delivered")
        self.lost_answers = sum(
            max(0, len(requests) - answered[self.by_key[key].id]) for key, requests in applied.items() if key in self.by_key)
        self.delivered = sum(entry.state == "delivered" for entry in self.entries.values())
        self.entries_seen = len(self.entries)
        self.parked = collections.Counter(
            f"{entry.kind}: {entry.error_code}" for entry in self.entries.values() if entry.state == "parked")

    def check_accepted(self):
        """Each accepted write has an entry of its own, and none has more than were asked for."""
        asked = collections.Counter()
        accepted = collections.Counter()
        numbers = {}
        for write in list(self.ledger.writes):
            creates = write.kind in ("note", "capture")
            if creates:
                asked[write.marker] += 1
                accepted[write.marker] += write.outcome == "accepted"
            if write.outcome != "accepted" or write.entry is None:
                continue
            entry = self.entries.get(write.entry)
            if entry is None:
                self.find("lost", write.marker, f"{write.kind} {write.marker}: accepted as #{write.entry}, which is not there")
                continue
            if creates and entry.marker != write.marker:
                self.find("lost", write.marker, f"{write.marker} was accepted as #{entry.id}, which is {entry.marker}: {entry}")
            if creates and write.entry in numbers:
                self.find("lost", write.marker, f"#{entry.id} was the answer to two writes: {entry}")
            numbers[write.entry] = write
        # An edit of what was not sent yet makes another entry of the creation; the older one is superseded by it.
        made = collections.Counter(
            entry.marker for entry in self.entries.values()
            if entry.is_creation and not self.is_replaced_creation(entry))
        for marker in asked.keys() | made.keys():
            if made[marker] < accepted[marker]:
                self.find("lost", marker, f"{marker}: {accepted[marker]} accepted, {made[marker]} in the outbox")
            if made[marker] > asked[marker]:
                self.find("doubled", marker, f"{marker}: {asked[marker]} asked for, {made[marker]} in the outbox")

    def is_replaced_creation(self, entry):
        successor = self.entries.get(entry.superseded_by)
        return entry.state == "superseded" and successor is not None and successor.is_creation

    def check_waiting(self):
        for entry in self.entries.values():
            if entry.state == "parked" and entry.error_code not in FAIR_PARKS:
                self.find("unfairly parked", entry.id, f"{entry}: {entry.error_message}")
            if entry.is_open and not self.may_wait(entry):
                self.find("stuck", entry.id, f"{entry}: {entry.error_message}")
            if entry.is_creation and entry.state == "superseded" and not self.is_replaced_creation(entry):
                successor = self.entries.get(entry.superseded_by)
                if successor is None or successor.kind != "delete":
                    self.find("lost", entry.marker, f"superseded by nothing that deletes it: {entry}")

    def may_wait(self, entry):
        """Behind a parked one of its item, before a parked deletion, or up to an hour (docs/outbox.md) for a server that never
        finishes the item, or has lost it before a pull brought it."""
        if any(other.state == "parked" and other.item_id == entry.item_id and (other.id < entry.id or other.kind == "delete")
               for other in self.entries.values()):
            return True
        row = self.history.rows.get(entry.item_id)
        if row is None:
            return False
        if row.now is None:
            return entry.awaits_item == 1 and row.was_taken_by(row.removed)
        return row.now["status"] == "pending"

    def check_doubled(self):
        for key, rows in self.history.inserts.items():
            entry = self.by_key.get(key)
            if entry is None:
                self.find("doubled", key, f"inserted for no entry: {rows[0].inserted}")
            # What another client, or a backup, has taken away or rewritten before its lost answer was looked up cannot be found.
            elif any(not row.was_taken_by(following.inserted_at)
                     and (self.world.dialect == "E" or not row.was_rewritten_by(following.inserted_at))
                     for row, following in zip(rows, rows[1:])):
                times = [(row.id, row.inserted_at, row.inserted["request"]) for row in rows]
                self.find("doubled", key, f"{entry} was inserted {len(rows)} times: {times}")
        for line in self.history.unkeyed:
            self.find("doubled", line["id"], f"changed by a request without a key: {line}")

    def inserted_by_us(self, entry):
        return self.history.inserts.get(entry.key, [])

    def check_bindings(self):
        bound = collections.defaultdict(list)
        for entry in self.entries.values():
            if not entry.is_creation or entry.state != "delivered":
                continue
            row = self.history.rows.get(entry.item_id)
            if row is None:
                if not self.was_refused_for_a_hidden_one(entry):
                    self.find("lost", entry.marker, f"delivered, and the server never had it: {entry}")
                continue
            bound[entry.item_id].append(entry)
            theirs = row.inserted
            marker = marker_of(theirs["url"], theirs["hidden_content"], theirs["content"])
            own = self.inserted_by_us(entry)
            if marker != entry.marker:
                self.find("misbound", entry.id, f"{entry} is bound to {marker}: {theirs}")
            elif (own and row not in own and not self.is_swapped(entry, row, own)
                  and not self.is_replaced(entry, row, own)):
                self.find("misbound", entry.id,
                          f"{entry} is bound to an item of {theirs['client']}, its own is {[each.id for each in own]}: {theirs}")
            # An equal note that another client made after the command cannot be told from our own.
            elif (row not in own and row.inserted_at < self.began(entry.id) and not self.was_there(entry)
                  and not self.is_swapped(entry, row, own)):
                self.find("misbound", entry.id, f"{entry} is bound to an item of {row.inserted_at}, from before it was asked "
                          f"for at {self.began(entry.id)} or later: {theirs}")
            self.check_order(entry, row)
        for id, entries in bound.items():
            row = self.history.rows[id]
            if row.inserted["url"] is None and len(entries) > 1:
                self.find("lost", entries[-1].marker, f"{len(entries)} notes are bound to one item {id}: "
                          + "; ".join(map(str, entries)))

    @staticmethod
    def was_there(entry):
        """The server refused it, because it had the URL."""
        return (entry.remark or "").startswith("was already there")

    def check_order(self, entry, row):
        """A capture after a deletion is another item than the one that was deleted."""
        if row.now is None and row.removals[-1]["client"] == "http":
            deletion = self.by_key.get(row.removals[-1]["key"])
            if deletion is not None and deletion.id < entry.id:
                self.find("lost", entry.marker, f"{entry} was asked for after {deletion}, and is bound to what that removed")

    def was_refused_for_a_hidden_one(self, entry):
        """The server said that it had the URL, and hid the item while it worked on it: no id could be found."""
        return self.was_there(entry) and any(
            row.inserted["url"] == entry.payload.get("url") for row in self.history.rows.values())

    def is_swapped(self, entry, row, own):
        """Two equal writes of ours may have each other's item: there is no telling them apart, and no harm."""
        other = self.by_key.get(row.inserted["key"])
        if other is None or other.marker != entry.marker:
            return False
        # A URL that is there already is refused, and bound to the item of the first.
        return other.item_id != row.id or entry.kind == "capture"

    def is_replaced(self, entry, row, own):
        """A backup, or another client, has taken away what it made, and another client then captured the URL, or the backup has
        brought an older item of it back. Nothing tells them apart on dialect P, which does not say under which id it has a URL.
        Dialect C says it: there, only what a backup brought back can be taken for the capture's."""
        there_since = max(row.inserted_at, row.returned or 0)
        may_confuse = self.world.dialect == "P" or self.world.dialect == "C" and row.returned is not None
        return (may_confuse and entry.kind == "capture"
                and all(each.was_taken_by(there_since) for each in own))

    def check_removals(self):
        asked = collections.defaultdict(list)
        for write in list(self.ledger.writes):
            if write.kind == "delete":
                asked[write.target].append(write)
                for entry in self.by_local.get(write.target, []):
                    asked[entry.item_id].append(write)
        for key, removals in self.history.removals.items():
            for row, line in removals:
                entry = self.by_key.get(key)
                if entry is None or entry.kind != "delete":
                    self.find("wrong deletion", row.id, f"{row.id} was removed for {entry}: {line}")
                    continue
                if row.id not in asked:
                    self.find("wrong deletion", row.id, f"{row.id} was removed by {entry}, and no one asked for it")
                elif all(self.meant_another(write, row) for write in asked[row.id]):
                    self.find("wrong deletion", row.id, f"{row.id} was there before the capture that {entry} was to take "
                              f"back: {row.inserted}")
        for write in list(self.ledger.writes):
            if write.kind != "delete" or write.outcome != "accepted" or write.entry not in self.entries:
                continue
            entry = self.entries[write.entry]
            row = self.history.rows.get(entry.item_id)
            # Of one that a backup brought back, it was delivered.
            if entry.state == "delivered" and row is not None and not row.removals:
                self.find("lost", write.marker, f"a deletion that was delivered, and the item is still there: {entry}")

    def meant_another(self, write, row):
        """A deletion of a capture that was under way means what the capture makes, and nothing that was there before."""
        creations = self.by_local.get(write.target, [])
        return bool(creations) and write.ended is not None and all(
            row.inserted_at < self.began(creation.id)
            and (creation.ended_at is None or self.moment(creation.ended_at) > write.ended) for creation in creations)

    # MARK: Edits

    def check_edits(self):
        for entry in self.entries.values():
            if entry.kind != "edit" or entry.state != "delivered":
                continue
            row = self.history.rows.get(entry.item_id)
            if row is None:
                self.find("edit lost", entry.id, f"delivered to an item that never was: {entry}")
                continue
            for name in ("title", "summary", "tags"):
                if entry.payload.get(name) is not None:
                    self.check_edit(entry, row, name)
            self.check_tags(entry, row)

    def is_wish(self, entry, names):
        """It went along with others of its item, in one request. Of an edit that went with the creation, and of a field that a later
        one sets or has set, the end counts: `WishJudge` looks at that."""
        return any(other.id != entry.id and other.ended_at is not None
                   and (other.is_creation and other.ended_at == entry.ended_at
                        or other.state == "delivered" and other.ended_at <= entry.ended_at and other.place > entry.place
                        and any(other.payload.get(name) for name in names))
                   for other in self.by_item[entry.item_id])

    def check_tags(self, entry, row):
        """Tags that an edit added or removed: it was applied, or it was so already."""
        if self.is_wish(entry, ("tags", "add_tags", "remove_tags")):
            return
        add, remove = (set(entry.payload.get(name) or []) for name in ("add_tags", "remove_tags"))
        states = [(at, line) for at, line in row.states if line is not None]
        ends = [at for at, _ in states[1:]] + [None]
        if not any(line["key"] == entry.key or add <= set(line["tags"]) and not remove & set(line["tags"])
                   and (end is None or end >= self.began(entry.id)) for (_, line), end in zip(states, ends)):
            self.find("edit lost", entry.id, f"delivered, and the tags were never so: {entry}")

    def check_edit(self, entry, row, name):
        if self.is_wish(entry, ("tags", "add_tags", "remove_tags") if name == "tags" else (name,)):
            return
        wanted = self.value(entry.payload, name)
        accepted = self.began(entry.id)
        states = [(at, line) for at, line in row.states if line is not None]
        applied = [at for at, line in states if line["key"] == entry.key]
        clients = [line["client"] for _, line in states]

        def is_processed_again(index):
            """A backup brought it back, and that is no answer to the edit."""
            return clients[index] == "restore" and [each for each in clients[index:] if each != "restore"][:1] == ["server"]
        had = [at for index, (at, line) in enumerate(states)
               if self.value(line, name) == wanted and not is_processed_again(index)
               and (index + 1 == len(states) or states[index + 1][0] >= accepted)]
        if not applied and not had:
            self.find("edit lost", entry.id, f"delivered, and {name} was never {wanted!r}: {entry}")
            return
        since = max(applied + had)
        before = wanted
        for at, line in states:
            if at <= since:
                continue
            if line["client"] == "restore":
                return  # a backup says what was before
            value = self.value(line, name)
            if value != before and line["client"] == "server":
                self.find("edit lost", entry.id,
                          f"{name} {before!r} was overwritten by the server's own processing {at - since} µs later: {entry}")
                return
            if value != before:
                return  # a later word, of ours or of another client
            before = value

    @staticmethod
    def value(fields, name):
        value = fields.get(name)
        return sorted(set(value)) if isinstance(value, list) else value

    # MARK: The copy

    def check_tombstones(self):
        for tombstone in self.tombstones:
            row = self.history.rows.get(tombstone["id"])
            if row is not None and row.removed is None:
                self.find("false tombstone", row.id, f"deleted at {tombstone['deleted_at']}, and the server has it: {row.now}")

    def check_file(self, copy):
        for row in copy.connection.execute("PRAGMA integrity_check"):
            if row[0] != "ok":
                self.find("damaged", row[0], row[0])
        state = copy.state
        counts = {
            "live": "SELECT count(*) FROM item WHERE deleted_at IS NULL",
            "deleted": "SELECT count(*) FROM item WHERE deleted_at IS NOT NULL",
            "waiting": "SELECT count(*) FROM outbox WHERE state IN ('queued', 'sending', 'unknown')",
            "unknown": "SELECT count(*) FROM outbox WHERE state = 'unknown'",
            "parked": "SELECT count(*) FROM outbox WHERE state = 'parked'",
        }
        for name, sql in counts.items():
            counted = copy.connection.execute(sql).fetchone()[0]
            if counted != state[name]:
                self.find("damaged", name, f"{name} is {state[name]}, and {counted} were counted")

    def claims(self):
        """What the copy says of itself at this moment, against what the server had."""
        with Copy(self.world.setting.database) as copy:
            state = copy.state
            items = {row["id"]: row for row in copy.rows("SELECT * FROM item")}
            # Made here and delivered: shown under the server's id until a pull brings the server's own row.
            made = {row["id"] for row in copy.rows("SELECT id FROM local_item")}
            held = state["deletions_held"]
            texts = self.texts.look(copy)
            self.index.check(copy)
        self.history.read()
        self.texts.claims(state, items, texts)
        new_as_of, edits_as_of = self.moment(state["new_as_of"]), self.moment(state["edits_as_of"])
        if state["complete"] and new_as_of is not None:
            self.claims_checked += 1
            for row in list(self.history.rows.values()):
                # What a backup brought back is no new item: the sweep finds it.
                as_of = new_as_of if row.returned is None else min(new_as_of, edits_as_of or 0)
                # One that is hidden while the look goes on, which begins at that time, may not be on it.
                shown = row.visible_at(as_of) and row.was_shown(new_as_of, new_as_of + LOOK)
                if row.removed is None and row.inserted_at < as_of and shown:
                    item = items.get(row.id)
                    if item is None and row.id not in made:
                        self.find("false claim", row.id,
                                  f"complete, new items as of {state['new_as_of']} ({as_of}), and {row.id} of "
                                  f"{row.inserted_at} is not there: {row.inserted}")
        if edits_as_of is not None:
            self.claims_checked += 1
            for id, item in items.items():
                row = self.history.rows.get(id)
                if item["deleted_at"] is None and row is not None:
                    self.check_freshness(item, row, edits_as_of, held, state)

    def check_freshness(self, item, row, edits_as_of, held, state):
        if row.removed is not None and row.removed < edits_as_of:
            if not held and item["missing_since"] is None:
                self.find("false claim", row.id, f"edits and deletions as of {state['edits_as_of']} ({edits_as_of}), and {row.id} was removed at "
                          f"{row.removed}: {dict(item)}")
            return
        if item["missing_since"] is not None and (row.at(edits_as_of) is None or row.removed is not None):
            return  # it was gone then, or since, and the copy doubts it; a backup may have brought it back
        states = row.since(edits_as_of)
        self.fields_compared += 1
        # Small servers have the text in the timeline.
        names = ["title", "url", "summary", "type", "status", "tags"] + ["content"] * (self.world.dialect == "E")
        for name in names:
            has = sorted(set(json.loads(item["tags"] or "[]"))) if name == "tags" else item[name]
            if all(self.value(line, name) != has for line in states):
                self.find("false claim", f"{row.id} {name}",
                          f"edits as of {state['edits_as_of']} ({edits_as_of}), and {name} of {row.id} is {has!r}, since then it was "
                          f"{[self.value(line, name) for line in states]}")
