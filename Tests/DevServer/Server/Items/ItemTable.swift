import PRSNLCore

/// All items, found by id and by place on the timelines. An item in `processing` is here but on no timeline.
struct ItemTable: Sendable {
    private struct Entry: Sendable {
        var item: DevItem
        var isHidden: Bool
        /// The item as JSON for the timeline. Empty until it is first asked for.
        var rendered: [UInt8] = []
    }

    private struct OwnedURL: Hashable, Sendable {
        var owner: String
        var url: ByteText
    }

    /// Rendered items are kept up to so many: at 800 bytes, 160 MB.
    private static let renderedLimit = 200_000

    let dialect: Dialect
    private var entries: [Entry?] = []
    private var freeSlots: [Int32] = []
    private var slotByID: [ByteText: Int32] = [:]
    private var slotsByURL: [OwnedURL: [Int32]] = [:]
    private var everyone = Timeline()
    private var byOwner: [String: Timeline] = [:]
    private var renderedCount = 0
    /// Where changes are written down.
    var journal: RowJournal?

    init(dialect: Dialect) {
        self.dialect = dialect
    }

    var count: Int { slotByID.count }

    func item(_ id: String) -> DevItem? { slotByID[ByteText(id)].flatMap { entries[Int($0)]?.item } }

    func isHidden(_ id: String) -> Bool { slotByID[ByteText(id)].flatMap { entries[Int($0)]?.isHidden } ?? false }

    /// Visible items, newest first. Of one account or of all.
    func items(owner: String?) -> [DevItem] {
        timeline(owner: owner).slots.reversed().compactMap { entries[Int($0)]?.item }
    }

    func hiddenItems() -> [DevItem] {
        entries.compactMap { $0?.isHidden == true ? $0?.item : nil }
    }

    /// Visible or not.
    var everyItem: [DevItem] { entries.compactMap { $0?.item } }

    /// - Parameter owner: an account's id. `nil` for everyone's items.
    func timeline(owner: String?) -> Timeline {
        guard let owner else { return everyone }
        return byOwner[owner] ?? Timeline()
    }

    func item(slot: Int32) -> DevItem? { entries[Int(slot)]?.item }

    /// The oldest item of this account with a URL, compared as text, hidden or not.
    func firstItem(url: String, owner: String) -> DevItem? {
        (slotsByURL[OwnedURL(owner: owner, url: ByteText(url))] ?? []).compactMap { entries[Int($0)]?.item }
            .min { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }
    }

    // MARK: Changing

    /// Adds one. An item with the same id is replaced.
    mutating func add(_ item: DevItem, hidden: Bool = false) {
        take(item.id)
        let item = adapted(item)
        journal?.put(item, hidden: hidden)
        let slot = place(Entry(item: item, isHidden: hidden))
        if !hidden { link(item, slot: slot) }
    }

    /// Adds many at once.
    mutating func add(contentsOf items: [DevItem]) {
        if items.count < 64 {
            for item in items { add(item) }
            return
        }
        entries.reserveCapacity(entries.count + items.count)
        slotByID.reserveCapacity(slotByID.count + items.count)
        var all: [(slot: Int32, time: Int64)] = []
        var owned: [String: [(slot: Int32, time: Int64)]] = [:]
        all.reserveCapacity(items.count)
        for item in items {
            take(item.id)
            let item = adapted(item)
            journal?.put(item, hidden: false)
            let placed = (slot: place(Entry(item: item, isHidden: false)), time: time(of: item))
            all.append(placed)
            owned[item.owner, default: []].append(placed)
        }
        // A local copy of the reference: the closure may not read `self` while a timeline of it is being changed.
        let entries = entries
        let idOf = { (slot: Int32) in entries[Int(slot)]?.item.id ?? "" }
        everyone.append(all, idOf: idOf)
        for (owner, placed) in owned { byOwner[owner, default: Timeline()].append(placed, idOf: idOf) }
    }

    /// - Returns: the item that was removed.
    @discardableResult
    mutating func remove(_ id: String) -> DevItem? {
        guard let item = take(id) else { return nil }
        journal?.remove(id)
        return item
    }

    @discardableResult
    private mutating func take(_ id: String) -> DevItem? {
        guard let slot = slotByID.removeValue(forKey: ByteText(id)), let entry = entries[Int(slot)] else { return nil }
        if !entry.isHidden { unlink(entry.item, slot: slot) }
        forgetURL(of: entry.item, slot: slot)
        if !entry.rendered.isEmpty { renderedCount -= 1 }
        entries[Int(slot)] = nil
        freeSlots.append(slot)
        return entry.item
    }

    mutating func removeAll() {
        for id in slotByID.keys { journal?.remove(id.text) }
        let journal = journal
        self = ItemTable(dialect: dialect)
        self.journal = journal
    }

    /// Changes any part of an item in place, its id included.
    @discardableResult
    mutating func change(_ id: String, hidden: Bool? = nil, _ change: (inout DevItem) -> Void = { _ in }) -> DevItem? {
        guard let slot = slotByID[ByteText(id)], let old = entries[Int(slot)] else { return nil }
        var item = old.item
        change(&item)
        let hidden = hidden ?? old.isHidden
        if item.id != id { remove(id) }
        take(id)
        add(item, hidden: hidden)
        return item
    }

    /// Counts a fetch (dialect E), which moves no time that the timeline is sorted by.
    mutating func countAccess(_ id: String, at time: Timestamp) {
        guard let slot = slotByID[ByteText(id)], let hadText = entries[Int(slot)].map({ !$0.rendered.isEmpty }) else {
            return
        }
        entries[Int(slot)]?.item.accessCount += 1
        let accessedAt = adapted(time)
        entries[Int(slot)]?.item.accessedAt = accessedAt
        entries[Int(slot)]?.rendered = []
        if hadText { renderedCount -= 1 }
    }

    // MARK: Rendering

    /// Appends an item as the timeline shows it.
    mutating func render(slot: Int32, into bytes: inout [UInt8], style: ItemStyle) {
        let index = Int(slot)
        guard entries[index] != nil else { return }
        if !style.isCacheable || (renderedCount >= Self.renderedLimit && entries[index]!.rendered.isEmpty) {
            entries[index]!.item.appendTimelineJSON(to: &bytes, style: style)
            return
        }
        if entries[index]!.rendered.isEmpty {
            var text: [UInt8] = []
            text.reserveCapacity(1_024)
            entries[index]!.item.appendTimelineJSON(to: &text, style: style)
            entries[index]!.rendered = text
            renderedCount += 1
        }
        bytes.append(contentsOf: entries[index]!.rendered)
    }

    /// Renders ahead what would be kept anyway.
    mutating func renderAll(style: ItemStyle) {
        var scratch: [UInt8] = []
        for slot in everyone.slots.reversed() where renderedCount < Self.renderedLimit {
            scratch.removeAll(keepingCapacity: true)
            render(slot: slot, into: &scratch, style: style)
        }
    }

    /// After a change of what items look like.
    mutating func forgetRendered() {
        for index in entries.indices where entries[index] != nil { entries[index]!.rendered = [] }
        renderedCount = 0
    }

    // MARK: Pieces

    private func time(of item: DevItem) -> Int64 {
        (dialect == .express ? item.updatedAt : item.createdAt).microseconds
    }

    /// The small server keeps JavaScript dates: milliseconds.
    private func adapted(_ time: Timestamp) -> Timestamp {
        guard dialect == .express else { return time }
        return Timestamp(microseconds: time.microseconds - ((time.microseconds % 1_000) + 1_000) % 1_000)
    }

    private func adapted(_ item: DevItem) -> DevItem {
        guard dialect == .express else { return item }
        var item = item
        item.createdAt = adapted(item.createdAt)
        item.updatedAt = adapted(item.updatedAt)
        item.accessedAt = item.accessedAt.map(adapted)
        return item
    }

    private mutating func place(_ entry: Entry) -> Int32 {
        let slot: Int32
        if let free = freeSlots.popLast() {
            slot = free
            entries[Int(slot)] = entry
        } else {
            slot = Int32(entries.count)
            entries.append(entry)
        }
        slotByID[ByteText(entry.item.id)] = slot
        if let url = entry.item.url {
            slotsByURL[OwnedURL(owner: entry.item.owner, url: ByteText(url)), default: []].append(slot)
        }
        return slot
    }

    private mutating func forgetURL(of item: DevItem, slot: Int32) {
        guard let url = item.url else { return }
        let key = OwnedURL(owner: item.owner, url: ByteText(url))
        slotsByURL[key]?.removeAll { $0 == slot }
        if slotsByURL[key]?.isEmpty == true { slotsByURL[key] = nil }
    }

    private mutating func link(_ item: DevItem, slot: Int32) {
        let entries = entries
        let idOf = { (slot: Int32) in entries[Int(slot)]?.item.id ?? "" }
        let time = time(of: item)
        everyone.insert(slot: slot, time: time, id: item.id, idOf: idOf)
        byOwner[item.owner, default: Timeline()].insert(slot: slot, time: time, id: item.id, idOf: idOf)
    }

    private mutating func unlink(_ item: DevItem, slot: Int32) {
        let time = time(of: item)
        everyone.remove(slot: slot, time: time)
        byOwner[item.owner]?.remove(slot: slot, time: time)
    }
}
