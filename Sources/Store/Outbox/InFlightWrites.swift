import PRSNLCore

/// What a page under way must not undo, and what it may bring that is known here under another id.
struct InFlightWrites: Sendable {
    private(set) var deliveries = 0
    /// By item: its writes that were delivered. Only kept while a pull runs, because only then are pages under way.
    private var delivered: [ByteText: DeliveredWrite] = [:]
    private var isPulling = false
    /// Creations that are being sent, or whose outcome is not known.
    private var unsettled: [Int64: NewItem] = [:]
    /// Items that something waits for until the server has processed them.
    private var awaited: Set<ByteText> = []

    init(_ connection: Connection) throws {
        let creations = try connection.prepare(Self.unknownCreations).all { row in
            row.text(1).flatMap(OutboxEntry.Kind.init).flatMap { OutboxEntry.Payload(kind: $0, json: row.text(2)) }
                .map { (row.int64(0), $0) }
        }
        for (entry, payload) in creations { noteUnsettled(entry, payload) }
        let items = try connection.prepare(Self.awaitedItems).all { $0.text(0) }
        awaited = Set(items.map(ByteText.init))
    }

    // By an index of their own: they are asked by each command that writes without a daemon.
    static let unknownCreations = """
        SELECT id, kind, payload FROM outbox WHERE state = 'unknown' AND kind IN ('capture', 'note')
        """
    static let awaitedItems = """
        SELECT item_id FROM outbox WHERE is_unverified IS 1
        UNION SELECT item_id FROM outbox INDEXED BY outbox_awaiting WHERE ended_at IS NULL AND awaits_item IS 1
        """

    mutating func expectProcessing(of items: Set<String>) { for item in items { awaited.insert(ByteText(item)) } }

    mutating func noteProcessed(_ items: [String]) { for item in items { awaited.remove(ByteText(item)) } }

    var awaitsNothing: Bool { awaited.isEmpty }

    /// Whether something waits for the item, and the server has processed it.
    func awaits(_ item: TimelineItem, now: ServerTime?) -> Bool {
        guard awaited.contains(ByteText(item.id)) else { return false }
        return item.status != TimelineItem.pendingStatus
            || ServerTime(item.createdAt) <= (now ?? .earliest).advanced(by: .zero - OutboxWriter.settlingPatience)
    }

    mutating func setPulling(_ isPulling: Bool) {
        self.isPulling = isPulling
        delivered = [:]
    }

    mutating func note(_ write: DeliveredWrite) {
        deliveries += 1
        guard isPulling else { return }
        var write = write
        write.number = deliveries
        let id = ByteText(write.item)
        delivered[id] = delivered[id].map { write.following($0) } ?? write
    }

    /// What was written to items after that many deliveries.
    func writtenSince(_ count: Int) -> [ByteText: DeliveredWrite] {
        guard count < deliveries, !delivered.isEmpty else { return [:] }
        return delivered.filter { $0.value.number > count }
    }

    mutating func noteUnsettled(_ entry: Int64, _ payload: OutboxEntry.Payload) {
        if case .create(let item) = payload { unsettled[entry] = item }
    }

    mutating func noteSettled(_ entry: Int64) { unsettled[entry] = nil }

    /// The creation that a new item of the server may be.
    func possibleCreation(of item: TimelineItem) -> Int64? {
        unsettled.first { $0.value.mayHaveBecome(item) }?.key
    }
}

/// What the server has accepted of an item while pages were under way, which may have been read before or after it.
struct DeliveredWrite: Sendable {
    var item: String
    var fields = ItemEdit()
    /// The server's time of the edit, where it gave one.
    var updatedAt: Timestamp?
    var isDeletion = false
    /// The count of deliveries with it.
    fileprivate(set) var number = 0

    init(_ item: String) { self.item = item }

    fileprivate func following(_ earlier: DeliveredWrite) -> DeliveredWrite {
        var both = self
        both.fields = earlier.fields.overlaid(by: fields)
        both.updatedAt = updatedAt ?? earlier.updatedAt
        return both
    }

    /// The item as it is after the write, by a page that shows it. `nil` where it is gone.
    ///
    /// A page that shows an item that was created here is never older than its creation. Of an edited one it may be: then
    /// the edit's fields are kept, and all others are the page's.
    func applied(to shown: TimelineItem) -> TimelineItem? {
        if isDeletion { return nil }
        if let updatedAt, let shownAt = shown.updatedAt, shownAt > updatedAt { return shown }
        var item = shown
        item.title = fields.title ?? shown.title
        item.summary = fields.summary ?? shown.summary
        item.tags = fields.tags.map(Tags.json) ?? shown.tags
        item.updatedAt = updatedAt ?? shown.updatedAt
        return item
    }
}

extension NewItem {
    /// Whether this is perhaps what the server made of it. Wide rather than narrow: an item that is held back is shown a
    /// moment later, one that is not is shown twice.
    func mayHaveBecome(_ item: TimelineItem) -> Bool {
        if let url { return item.url.map { ServerText.isSameAddress($0, url) } ?? false }
        guard (item.url ?? "").isEmpty else { return false }
        let note = note ?? ""
        return ServerText.isPlaceholder(item.title) || item.title == title
            || NoteTitle.isDerived(item.title ?? "", from: note) || ServerText.isSame(item.content, note)
    }
}

extension Store {
    /// How many writes have been delivered. Ask before a request whose answer will be committed (`PageChange.asOf`).
    package var deliveries: Int { inFlight.deliveries }

    /// Between these two, deliveries are remembered item by item. One pull at a time.
    package func beginPull() { inFlight.setPulling(true) }
    package func endPull() {
        HangPoint.store.block()
        inFlight.setPulling(false)
    }

    func noteSending(_ task: OutboxTask) {
        inFlight.noteUnsettled(task.entry.id, task.entry.payload)
    }

    func noteRecorded(_ record: WriteRecord, _ write: DeliveredWrite?) {
        if record.outcome.isUnknown { return }
        if let write { inFlight.note(write) }
        inFlight.noteSettled(record.entry)
    }

    static func expectsCreations(_ connection: Connection) throws -> Bool {
        try connection.integer("SELECT EXISTS (SELECT 1 FROM local_item WHERE delivered_at IS NOT NULL)") == 1
    }

    /// A new item of the server: it may be one that was created here.
    func noteArrival(_ item: TimelineItem, _ connection: Connection) throws {
        // What an entry is known to have made is not what another has become.
        if expectsCreations, try connection.cached("DELETE FROM local_item WHERE id = ?").bind(item.id).run() > 0 {
            return
        }
        if let entry = inFlight.possibleCreation(of: item) {
            try connection.cached("INSERT OR IGNORE INTO held_item (item_id, entry_id) VALUES (?, ?)")
                .bind(item.id).bind(Int(entry)).run()
        }
    }
}

extension Connection {
    /// The creation that may have made the item, which is hidden until that is known.
    func creationHiding(_ item: String) throws -> Int64? {
        try cached("SELECT entry_id FROM held_item WHERE item_id = ?").bind(item).first { $0.int64(0) }
    }
}

extension OutboxEntry {
    static func mayHaveMadeIt(_ creation: Int64) -> String {
        "#\(creation) may have made it, and its outcome is not known yet"
    }
}
