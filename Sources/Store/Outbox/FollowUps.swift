import PRSNLCore

// What was asked for and the server does not have: it follows as an edit, once the server has processed the item.
//
// The main server gives a link the title of its page and a note the title of its first line, not the one that was asked for, and may
// insert an item without its tags. So what was asked for (`Wish`) is compared with the processed item, as a pull shows it.
extension OutboxWriter {
    /// An item that the server still works on after this long is taken as it is: such items stay `pending` for good.
    static let settlingPatience: Duration = .seconds(3_600)

    /// Whether the server still works on the item, as far as the copy knows. It counts as if it did where no pull has brought
    /// the item yet, and where the server's time is not known. What was made here within the hour is not old because the server's
    /// clock has leapt.
    func isUnsettled(_ item: String) throws(SQLiteFailure) -> Bool {
        try connection.cached(
            """
            SELECT 1 FROM item WHERE id = ?1 AND status = 'pending' AND deleted_at IS NULL
                AND (created_at > ?2 OR EXISTS (SELECT 1 FROM outbox WHERE item_id = ?1 AND kind IN ('capture', 'note')
                    AND state = 'delivered' AND ended_at BETWEEN ?3 AND ?4))
            UNION ALL SELECT 1 FROM local_item WHERE id = ?1 AND delivered_at IS NOT NULL LIMIT 1
            """
        ).bind(item).bind((serverNow ?? .earliest).advanced(by: .zero - Self.settlingPatience).written)
            .bind(now.advanced(by: .zero - Self.settlingPatience)).bind(now).hasRow()
    }

    /// Whether no pull has shown the item as processed, however old it is. Its row may be as old as that.
    func isPending(_ item: String) throws(SQLiteFailure) -> Bool {
        try connection.cached(
            """
            SELECT 1 FROM item WHERE id = ?1 AND status = 'pending' AND deleted_at IS NULL
            UNION ALL SELECT 1 FROM local_item WHERE id = ?1 LIMIT 1
            """
        ).bind(item).hasRow()
    }

    /// After a write was delivered: whether the server has all that it asked for is still to be seen.
    ///
    /// - Parameters:
    ///   - there: of a creation whose item was there before: what the server had in its fields.
    ///   - isMaking: Of an edit that went along with the creation of its item.
    mutating func noteUnverified(
        _ entry: Int64, _ payload: OutboxEntry.Payload, there: ItemEdit?, item: String, isMaking: Bool = false
    ) throws(SQLiteFailure) {
        var isUnverified = false
        switch payload {
        case .create(let asked):
            let hasRemark = there != nil && asked.url != nil && asked.note != nil
            isUnverified = asked.title != nil || !asked.tags.isEmpty || hasRemark
        // Processing, which is not over, may replace what it has set.
        case .edit(let edit):
            if isMaking {
                isUnverified = true
            } else if edit.title != nil || edit.summary != nil {
                isUnverified = try isPending(item)
            }
        case .delete: return
        }
        if isUnverified { try setUnverified(true, entry) }
        guard let there else { return }
        try change(entry) { $0.base = there.fields.json }
    }

    private mutating func setUnverified(_ isUnverified: Bool, _ entry: Int64) throws(SQLiteFailure) {
        try change(entry) { $0.isUnverified = isUnverified }
    }

    /// What a delivered creation asked for and the server lacks is not asked for any more.
    ///
    /// - Returns: The edits that were to bring it, and are over.
    mutating func withdrawFollowUp(of creation: OutboxEntry) throws(SQLiteFailure) -> [Int64] {
        let item = creation.itemID
        guard
            try connection.cached("SELECT 1 FROM outbox WHERE id = ? AND is_unverified IS 1").bind(Int(creation.id))
                .hasRow()
        else { return [] }
        let before = try open(item).filter { $0.follows != nil && ($0.state == .queued || $0.state == .parked) }
        try change(creation.id) { ($0.isUnverified, $0.isWithdrawn) = (false, true) }
        // What other captures asked for follows anew.
        for old in before { try move(old.id, from: old.state, to: .dropped, remark: "taken back") }
        try followUp(item)
        try refreshLocalEdit(item)
        try advance(item)
        return before.map(\.id)
    }

    /// The server has processed the item, as the copy has it now: its edits may go.
    mutating func settled(_ item: String) throws(SQLiteFailure) {
        for entry in try open(item) where entry.state == .queued {
            try change(entry.id) { if $0.awaitsItem { ($0.dueAt, $0.awaitsItem) = (nil, false) } }
        }
        try followUp(item, isProcessed: true)
        try refreshLocalEdit(item)
        try advance(item)
    }

    /// What was said of an item, and is still wanted.
    private func wish(_ item: String) throws(SQLiteFailure) -> Wish {
        let words = try connection.cached(
            """
            SELECT id, kind, payload, state = 'delivered', is_unverified, base IS NOT NULL FROM outbox
            WHERE item_id = ? AND follows IS NULL AND is_withdrawn = 0 AND (ended_at IS NULL OR state = 'delivered')
            ORDER BY id
            """
        ).bind(item).all { row -> Wish.Word? in
            guard let kind = row.text(1).flatMap(OutboxEntry.Kind.init) else { return nil }
            let said: ItemEdit
            switch OutboxEntry.Payload(kind: kind, json: row.text(2)) {
            case .create(let item):
                let remark = item.url != nil && row.int(5) == 1 ? item.note : nil
                said = ItemEdit(title: item.title, summary: remark, tags: item.tags)
            case .edit(let edit): said = edit
            case .delete?, nil: return nil
            }
            let standing: Wish.Word.Standing = row.int(3) == 0 ? .open : row.int(4) == 1 ? .unverified : .delivered
            return Wish.Word(entry: row.int64(0), isCreation: kind.isCreation, standing: standing, said: said)
        }
        return Wish(words: words)
    }

    /// The server's own fields, without what waits here.
    func serverFields(_ item: String) throws(SQLiteFailure) -> ItemEdit? {
        try connection.cached("SELECT title, summary, tags FROM item WHERE id = ? AND deleted_at IS NULL")
            .bind(item).first { ItemEdit(title: $0.text(0), summary: $0.text(1), tags: Tags.parse($0.text(2))) }
    }

    /// The tags of an item, without those that wait. `nil` where it has none that can be read.
    func shownTags(_ item: String) throws(SQLiteFailure) -> [String]? {
        try connection.cached(
            """
            SELECT tags FROM item WHERE id = ?1 AND deleted_at IS NULL
            UNION ALL SELECT tags FROM local_item WHERE id = ?1 LIMIT 1
            """
        ).bind(item).first { Tags.parse($0.text(0)) }
    }

    /// Makes the item's one follow-up what its wish and the server's fields say now. It goes after the edits that wait, so that
    /// it holds up none of them.
    ///
    /// - Parameters:
    ///   - seen: What is known of the server's fields besides the item's row.
    ///   - isProcessed: A page has just shown the item, and the server works on it no more.
    ///   - isOfOldItem: A capture was delivered whose item was there before.
    /// - Returns: `title and tags follow as #3`. `nil` where nothing new follows.
    @discardableResult
    mutating func followUp(
        _ item: String, seen: ItemEdit? = nil, isProcessed: Bool = false, isOfOldItem: Bool = false
    ) throws(SQLiteFailure) -> String? {
        let wish = try wish(item)
        let open = try open(item)
        let old = open.first { $0.follows != nil }
        guard old != nil || wish.words.contains(where: { $0.standing == .unverified }) else { return nil }
        let isRowOld = isProcessed ? false : seen == nil ? try isPending(item) : try isUnsettled(item)
        if isRowOld {
            awaited.insert(item)
            // What was there before is shown as waiting at once. What the server makes of it is not known yet.
            guard isOfOldItem, old == nil, let seen else { return nil }
            return try insertFollowUp(wish.lacking(in: seen), item, base: nil).map(\.remark)
        }
        // What is on its way comes back here with its answer.
        if let old, old.state == .sending || old.state == .unknown { return nil }
        guard !open.contains(where: { $0.kind == .delete && $0.state.isWaiting }), var theirs = try serverFields(item)
        else { return nil }
        theirs = theirs.overlaid(by: seen ?? ItemEdit())
        for entry in wish.settled(in: theirs) { try setUnverified(false, entry) }
        let lacking = wish.lacking(in: theirs)
        let edits = open.filter { $0.kind == .edit && $0.follows == nil && $0.state.isWaiting }
        // Edits after it go along with it, but for a list of tags, which would take the place of what it adds.
        let staysTrue = old.map { old in !edits.contains { $0.id > old.id && $0.edit?.tags != nil } } ?? false
        if staysTrue, old?.edit == lacking.edit { return nil }
        let made = try insertFollowUp(lacking, item, base: base(of: lacking.edit, old, edits, theirs))
        if let old {
            let replacement = made?.entry ?? edits.last { $0.id > old.id }?.id
            try move(
                old.id, from: old.state, to: .superseded, supersededBy: replacement,
                remark: replacement == nil ? "not needed any more: the server has it" : nil)
        }
        return made?.remark
    }

    private mutating func insertFollowUp(
        _ lacking: Wish.FollowUp, _ item: String, base: ItemEdit?
    ) throws(SQLiteFailure) -> (entry: Int64, remark: String)? {
        guard !lacking.isEmpty else { return nil }
        let edit = lacking.edit
        let entry = try insert(
            .edit, item: item, payload: .edit(edit), base: base, dueAt: nil, follows: lacking.entries.max())
        return (entry, "\(edit.fieldNames) \(edit.isOneWord ? "follows" : "follow") as #\(entry)")
    }

    /// What the fields are before the follow-up. What an earlier one was to replace stays so: a change made elsewhere since is a
    /// conflict. Tags are only added, and need no base.
    private func base(
        of edit: ItemEdit, _ old: Open?, _ before: [Open], _ theirs: ItemEdit
    ) -> ItemEdit {
        var base = before.reduce(theirs) { fields, open in fields.overlaid(by: open.edit ?? ItemEdit()) }
        if let old, old.edit?.title == edit.title { base.title = old.base?.title ?? base.title }
        // A remark becomes the summary of an item that has none. One that is there is not replaced unasked.
        return ItemEdit(title: edit.title == nil ? nil : base.title)
    }

    /// A deletion takes the place of edits that the server does not have: also of one that was under way when the deletion was
    /// accepted, and of those that were made under another id of the item.
    mutating func giveWayToDeletion(_ item: String) throws(SQLiteFailure) {
        let open = try open(item)
        guard let deletion = open.last(where: { $0.kind == .delete && $0.state == .queued }) else { return }
        for edit in open where edit.kind == .edit && edit.id < deletion.id {
            guard edit.state == .queued || edit.state == .parked else { continue }
            try move(edit.id, from: edit.state, to: .superseded, supersededBy: deletion.id)
        }
    }

    // MARK: A server that fails at every edit

    /// When the next follow-up is tried, where the server failed at the last one.
    func followUpsDueAt() throws(SQLiteFailure) -> Timestamp? {
        try connection.cached(
            """
            SELECT max(next_attempt_at) FROM outbox
            WHERE follows IS NOT NULL AND ended_at IS NULL AND state = 'queued' AND failures > 0 AND awaits_item = 0
            """
        ).first { $0.timestamp(0) }
    }

    /// Releases are in use that fail at every edit: one follow-up is tried now and then, for all of them.
    mutating func holdFollowUps(
        until at: Timestamp, after record: WriteRecord, failures: Int
    ) throws(SQLiteFailure) {
        let others = try connection.cached(
            "SELECT id FROM outbox WHERE \(Self.isTimedFollowUp) AND id != ?"
        ).bind(Int(record.entry))
        try change(each: others) { other in
            other.dueAt = max(other.dueAt ?? at, at)
            other.failures = max(other.failures, failures)
            other.setError(record.error?.code.rawValue, record.error?.message)
        }
    }

    /// The server takes edits: all follow-ups may go.
    mutating func releaseFollowUps() throws(SQLiteFailure) {
        let now = now
        let held = try connection.cached(
            "SELECT id FROM outbox WHERE \(Self.isTimedFollowUp) AND failures > 0 AND next_attempt_at > ?"
        ).bind(now)
        try change(each: held) { held in
            (held.dueAt, held.failures) = (now, 0)
            held.setError(nil, nil)
        }
    }

    private static let isTimedFollowUp = """
        follows IS NOT NULL AND ended_at IS NULL AND state = 'queued' AND awaits_item = 0 AND next_attempt_at IS NOT NULL
        """
}

extension ItemEdit {
    fileprivate var isOneWord: Bool { tagChange.isEmpty && (title == nil || summary == nil) }

    /// `title and tags`
    fileprivate var fieldNames: String {
        let names = [title.map { _ in "title" }, tagChange.isEmpty ? nil : "tags", summary.map { _ in "remark" }]
            .compactMap(\.self)
        guard let last = names.last, names.count > 1 else { return names.joined() }
        return names.dropLast().joined(separator: ", ") + " and " + last
    }
}

/// What people asked for of one item: a fold over all captures and edits of it, in the order in which they were accepted.
///
/// The last title counts. A capture adds its tags, and an edit adds and removes some, or takes the place of what came before it.
/// In which order the server took the writes does not matter.
struct Wish: Equatable {
    /// What one entry said.
    struct Word: Equatable {
        enum Standing: Equatable {
            /// An edit that is still to be sent, or that a person decides.
            case open
            /// The server had it. What others have changed since is not undone.
            case delivered
            /// It was delivered, and the server may lack some of it.
            case unverified
        }

        var entry: Int64
        var isCreation: Bool
        var standing: Standing
        /// `summary` of a creation: its remark, where the item was there before.
        var said: ItemEdit
    }

    struct FollowUp: Equatable {
        var edit = ItemEdit()
        /// Whose words these are.
        var entries: Set<Int64> = []

        var isEmpty: Bool { edit.isEmpty }
    }

    /// In the order of acceptance.
    var words: [Word]

    /// What the server lacks once the open edits are delivered.
    ///
    /// - Parameter theirs: What it has now.
    func lacking(in theirs: ItemEdit) -> FollowUp {
        var lacking = FollowUp()
        if let last = words.last(where: { $0.said.title != nil }), last.standing == .unverified,
            !ServerText.isSame(last.said.title, theirs.title)
        {
            lacking.edit.title = last.said.title
            lacking.entries.insert(last.entry)
        }
        // A remark is no edit of a summary.
        let summaries = words.filter { $0.said.summary != nil }
        if let last = summaries.last(where: { !$0.isCreation }) ?? summaries.last, last.standing == .unverified,
            !ServerText.isSame(last.said.summary, theirs.summary)
        {
            lacking.edit.summary = last.said.summary
            lacking.entries.insert(last.entry)
        }
        let replacing = words.lastIndex { !$0.isCreation && $0.said.tags != nil }
        var there = Tags.set(theirs.tags ?? [])
        if let replacing, words[replacing].standing == .open { there = Tags.set(words[replacing].said.tags ?? []) }
        /// By whom each was asked for.
        var missing: [ByteText: Set<Int64>] = [:]
        for word in words[(replacing ?? 0)...] {
            let change = word.said.tagChange
            for tag in Tags.set(change.added + change.removed) { missing[tag] = nil }
            if word.standing == .unverified {
                for tag in Tags.set((word.said.tags ?? []) + change.added) where !there.contains(tag) {
                    missing[tag, default: []].insert(word.entry)
                }
            }
            guard word.standing == .open, !word.isCreation else { continue }
            there.subtract(Tags.set(change.removed))
            there.formUnion(Tags.set(change.added))
        }
        for entries in missing.values { lacking.entries.formUnion(entries) }
        lacking.edit.tagChange.added = missing.keys.sorted().map(\.text)
        return lacking
    }

    /// Of the words that the server may lack, those that it has, or that a later delivered word has replaced. An open edit can
    /// still be dropped, and then an earlier word counts again.
    func settled(in theirs: ItemEdit) -> [Int64] {
        let needed = lacking(in: theirs).entries
            .union(Wish(words: words.filter { $0.standing != .open }).lacking(in: theirs).entries)
        return words.filter { $0.standing == .unverified && !needed.contains($0.entry) }.map(\.entry)
    }
}
