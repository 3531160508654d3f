"""The judge's part about what people asked for, which is a fold: an item ends with the last title asked for, in the order of
acceptance over all captures and edits of it, and with the tags of all captures. An edit's tags replace those before it, or it adds and removes some."""

import collections

from reader import marker_of


class Ask:
    """What one accepted command said of an item."""

    def __init__(self, entry, began, title, tags, replaces, add=(), remove=()):
        # The number of its entry, and when the command was started.
        self.order = (entry, began)
        self.began = began
        self.title, self.tags, self.replaces = title, tags, replaces
        self.add, self.remove = set(add or ()), set(remove or ())


class Wish:
    """What all of them come to."""

    def __init__(self, asks):
        self.title = self.tags = None
        self.title_began = self.tags_began = None
        # An edit has said which tags there are.
        self.is_exact = False
        # Tags that were taken away, whatever others there are.
        self.gone = set()
        for ask in sorted(asks, key=lambda each: each.order):
            if ask.title:
                self.title, self.title_began = ask.title, ask.began
            if ask.add or ask.remove:
                if self.tags is None:
                    self.tags, self.tags_began = set(), ask.began
                self.tags = (self.tags - ask.remove) | ask.add
                self.gone = (self.gone | ask.remove) - ask.add
            if ask.tags is None or not (ask.tags or ask.replaces):
                continue
            if ask.replaces or self.tags is None:
                self.tags, self.tags_began = set(ask.tags), ask.began
                self.is_exact = ask.replaces
            else:
                self.tags |= set(ask.tags)
            self.gone = set() if ask.replaces else self.gone - set(ask.tags)


class WishJudge:
    def __init__(self, history, ledger, find):
        self.history, self.ledger, self.find = history, ledger, find
        self.checked = 0

    def check(self, entries, began):
        """`entries`: the outbox by number. `began`: the earliest that a number can have been accepted."""
        self.entries, self.began = entries, began
        asks = self.asks()
        behind = collections.defaultdict(list)
        for entry in entries.values():
            if entry.state not in ("superseded", "delivered"):
                behind[self.resolve(entry.item_id)].append(entry)
        for id, its in asks.items():
            row = self.history.rows.get(id)
            # What is removed, never finished, or still to be sent or decided about, has no end yet.
            if row is None or row.now is None or row.now["status"] == "pending" or behind[id]:
                continue
            self.compare(row, Wish(its))

    def resolve(self, id):
        return self.server_ids.get(id, id)

    def asks(self):
        """By item. Follow-ups are the daemon's own, and no wish of a person."""
        asks = collections.defaultdict(list)
        self.server_ids = {entry.local_id: entry.item_id for entry in self.entries.values()
                           if entry.is_creation and entry.local_id and entry.state == "delivered"}
        # A creation that took another one's place, by that one: an edit has changed what was not sent yet.
        earlier = {entry.superseded_by: entry for entry in self.entries.values()
                   if entry.is_creation and entry.state == "superseded"}
        # By the first of such a row: the last of its edits that said which tags the new item has, and those that added and removed.
        changed, deltas = {}, collections.defaultdict(list)
        for write in list(self.ledger.writes):
            if write.kind != "edit" or (number := self.number(write)) is None:
                continue
            entry, tags = self.entries.get(number), write.fields.get("tags")
            add, remove = write.fields.get("add"), write.fields.get("remove")
            # A list for an item that was only here has become a change of what was seen.
            if tags is not None and entry is not None and not entry.is_creation and "tags" not in entry.payload:
                tags, add, remove = None, entry.payload.get("add_tags"), entry.payload.get("remove_tags")
            ask = Ask(number, write.began, write.fields.get("title"), tags, True, add, remove)
            asks[self.resolve(write.target)].append(ask)
            if entry is None or not entry.is_creation:
                continue
            first = entry
            while first.id in earlier:
                first = earlier[first.id]
            if tags is None:
                deltas[first.id].append(ask)
                continue
            # Where the server had the URL, its tags are added to.
            ask.replaces = False
            other = changed.setdefault(first.id, ask)
            if other.order < ask.order:
                other.tags, changed[first.id] = None, ask
            elif other is not ask:
                ask.tags = None
        # Which tags it has was said later: what had been added and removed before is gone with the row that it had changed.
        for first, last in changed.items():
            for ask in deltas[first]:
                if ask.order < last.order:
                    ask.add, ask.remove = set(), set()
        for entry in self.entries.values():
            if entry.is_creation and entry.id not in earlier:
                tags = None if entry.id in changed else entry.payload.get("tags")
                asks[self.resolve(entry.local_id)].append(
                    Ask(entry.id, self.began(entry.id), entry.payload.get("title"), tags, False))
        return asks

    def number(self, write):
        """The entry of an edit, also of one whose command was killed; None where it was not accepted."""
        if write.outcome == "accepted" and write.entry is not None:
            return write.entry
        if write.outcome == "refused":
            return None
        # What it said may stand beside the words of the creation that it has changed.
        return min((entry.id for entry in self.entries.values()
                    if write.marker in map(marker_of, [entry.payload.get("title"), *(entry.payload.get("tags") or []),
                                                       *(entry.payload.get("add_tags") or [])])),
                   default=None)

    def compare(self, row, wish):
        if wish.title is not None and not self.is_foreign(row, "title", wish.title_began) \
                and not row.was_set_back(wish.title_began):
            self.checked += 1
            if row.now["title"] != wish.title:
                self.tell(row, "title", wish.title)
        if wish.tags is not None and not any(at >= wish.tags_began for at in row.foreign_changes("tags")) \
                and not row.was_set_back(wish.tags_began):
            self.checked += 1
            has = set(row.now["tags"])
            if has != wish.tags if wish.is_exact else not wish.tags <= has or wish.gone & has:
                self.tell(row, "tags", [*sorted(wish.tags), *(f"-{tag}" for tag in sorted(wish.gone))])

    @staticmethod
    def is_foreign(row, name, began):
        """Whether another client's word is the last one."""
        at, line = row.last_change(name)
        return at >= began and line["client"] == "other"

    def tell(self, row, name, wanted):
        numbers = [f"#{entry.id} {entry.kind} {entry.state} {entry.remark or ''}" for entry in self.entries.values()
                   if self.resolve(entry.item_id) == row.id]
        self.find("wish lost", f"{row.id} {name}",
                  f"{name} {wanted!r} was asked for, and {row.id} has {row.now[name]!r}: {'; '.join(numbers)}")
