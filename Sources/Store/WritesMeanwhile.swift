import PRSNLCore

/// What a page under way must not undo, and what it may bring that is known here under another id.
struct WritesMeanwhile: Sendable {
    /// Delivered writes, counted.
    private(set) var deliveries = 0
    /// By item: the count at its last delivery. Only kept while a pull runs, because only then are pages under way.
    private var deliveredAt: [String: Int] = [:]
    private var isPulling = false
    /// Creations that are being sent, or whose outcome is not known.
    private var unsettled: [Int64: NewItem] = [:]

    init(_ connection: Connection) throws(SQLiteFailure) {
        let rows = try connection.prepare(
            "SELECT id, kind, payload FROM outbox WHERE state = 'unknown' AND kind IN ('capture', 'note')")
        while try rows.step() {
            if let kind = rows.text(1).flatMap(OutboxEntry.Kind.init),
                let payload = rows.text(2).flatMap({ OutboxEntry.Payload(kind: kind, json: $0) })
            {
                noteUnsettled(rows.int64(0), payload)
            }
        }
    }

    mutating func setPulling(_ isPulling: Bool) {
        self.isPulling = isPulling
        deliveredAt = [:]
    }

    mutating func noteDelivered(_ item: String) {
        deliveries += 1
        if isPulling { deliveredAt[item] = deliveries }
    }

    /// Items that were written to after that many deliveries.
    func writtenSince(_ count: Int) -> Set<String> {
        guard count < deliveries, !deliveredAt.isEmpty else { return [] }
        return Set(deliveredAt.lazy.filter { $0.value > count }.map(\.key))
    }

    mutating func noteUnsettled(_ entry: Int64, _ payload: OutboxEntry.Payload) {
        if case .create(let item) = payload { unsettled[entry] = item }
    }

    mutating func noteSettled(_ entry: Int64) { unsettled[entry] = nil }

    var expectsUnsettled: Bool { !unsettled.isEmpty }

    /// The creation that a new item of the server may be.
    func possibleCreation(of item: TimelineItem) -> Int64? {
        unsettled.first { $0.value.mayHaveBecome(item) }?.key
    }
}

extension NewItem {
    /// Whether this is perhaps what the server made of it. Wide rather than narrow: an item that is held back is shown a
    /// moment later, one that is not is shown twice.
    func mayHaveBecome(_ item: TimelineItem) -> Bool {
        if let url { return item.url == url || item.url == url + "/" }
        guard (item.url ?? "").isEmpty else { return false }
        let theirs = Set(TagList.parse(item.tags) ?? [])
        guard tags.allSatisfy(theirs.contains) else { return false }
        let note = note ?? ""
        guard let theirTitle = item.title else { return true }
        return theirTitle == title || NoteTitle.isDerived(theirTitle, from: note)
            || item.content?.trimmingWhiteSpace() == note.trimmingWhiteSpace()
    }
}

extension Store {
    /// How many writes have been delivered. Ask before a request whose answer is to be committed (`PageChange.asOf`).
    public var deliveries: Int { meanwhile.deliveries }

    /// Between these two, deliveries are remembered item by item. One pull at a time.
    public func beginPull() { meanwhile.setPulling(true) }
    public func endPull() {
        HangPoint.store.block()
        meanwhile.setPulling(false)
    }

    func noteSending(_ task: OutboxTask) {
        meanwhile.noteUnsettled(task.entry.id, task.entry.payload)
    }

    func noteSettled(_ settlement: Settlement, item: String?) {
        switch settlement.outcome {
        case .unknown: return
        case .delivered: if let item { meanwhile.noteDelivered(item) }
        case .queued, .parked: break
        }
        meanwhile.noteSettled(settlement.entry)
    }

    static func expectsCreations(_ connection: Connection) throws(SQLiteFailure) -> Bool {
        try connection.integer("SELECT EXISTS (SELECT 1 FROM local_item WHERE delivered_at IS NOT NULL)") == 1
    }

    /// A new item of the server: it may be one that was created here.
    func noteArrival(_ item: TimelineItem, _ connection: Connection) throws(SQLiteFailure) {
        if expectsCreations {
            try connection.cached("DELETE FROM local_item WHERE id = ?").bind(item.id).run()
        }
        if meanwhile.expectsUnsettled, let entry = meanwhile.possibleCreation(of: item) {
            try connection.cached("INSERT OR IGNORE INTO held_item (item_id, entry_id) VALUES (?, ?)")
                .bind(item.id).bind(Int(entry)).run()
        }
    }
}
