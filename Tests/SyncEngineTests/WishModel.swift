import PRSNLCore

@testable import Store

/// What a person has asked for, and from it what the server has to have in the end. A URL is one item until it is
/// deleted. Each note is an item of its own, and on the small server each capture of a URL too.
struct WishModel {
    /// What was said of one item, in the order of acceptance.
    struct Item {
        /// The URL, or the note's text.
        var text: String
        /// Whether a capture of the same text is of the same item.
        var isOnePerText: Bool
        var words: [Word] = []
    }

    struct Word {
        var entry: Int64
        var title: String?
        var tags: [String]?
        var change = TagChange()
        var isCapture: Bool
    }

    let dialect: Dialect
    var items: [Item] = []

    // MARK: What was asked

    mutating func captured(_ new: NewItem, as entry: Int64) {
        let word = Word(entry: entry, title: new.title, tags: new.tags, isCapture: true)
        let text = new.url ?? new.note ?? ""
        if let index = items.firstIndex(where: { $0.isOnePerText && $0.text == text }) {
            items[index].words.append(word)
        } else {
            items.append(Item(text: text, isOnePerText: new.url != nil && dialect == .cursor, words: [word]))
        }
    }

    mutating func edited(_ index: Int, _ edit: ItemEdit, as entry: Int64) {
        items[index].words.append(
            Word(entry: entry, title: edit.title, tags: edit.tags, change: edit.tagChange, isCapture: false))
    }

    /// - Parameter kept: entries of other rows of the URL, which stay.
    mutating func deleted(_ index: Int, keeping kept: Set<Int64>) {
        items[index].words.removeAll { !kept.contains($0.entry) }
        if items[index].words.isEmpty { items.remove(at: index) }
    }

    mutating func dropped(_ entries: Set<Int64>) {
        for index in items.indices { items[index].words.removeAll { entries.contains($0.entry) } }
        items.removeAll(where: \.words.isEmpty)
    }

    /// What a capture of a known URL asked for besides, and the server did not have yet.
    mutating func withdrawn(_ entry: Int64) {
        for item in items.indices {
            for word in items[item].words.indices where items[item].words[word].entry == entry {
                (items[item].words[word].title, items[item].words[word].tags) = (nil, [])
            }
        }
    }

    // MARK: What has to be

    /// A line for each thing that is not as it was asked for.
    func judge(_ entries: [OutboxEntry], there: [(text: String, title: String, tags: Set<String>)]) -> [String] {
        var failures: [String] = []
        let undecidedItems = Set(entries.filter(isUndecidable).map(\.itemID))
        for entry in entries where entry.state != .delivered && entry.state != .superseded {
            if entry.state == .dropped || undecidedItems.contains(entry.itemID) { continue }
            failures.append("#\(entry.id) \(entry.kind) is \(entry.state): \(entry.errorMessage ?? "-")")
        }
        // A person decides whether such an item is there.
        let undecided = Set(entries.filter(isUndecidable).map(\.text))
        let texts = Set(items.map(\.text)).union(there.map(\.text)).subtracting(undecided)
        for text in texts.sorted() {
            var left = there.filter { $0.text == text }
            let asked = items.filter { $0.text == text }
            for item in asked.sorted(by: { ($0.title != nil) && ($1.title == nil) }) {
                let match = left.firstIndex { $0.tags == item.tags && (item.title == nil || $0.title == item.title) }
                if let match {
                    left.remove(at: match)
                } else {
                    failures.append(
                        "\(text.prefix(30)): no item with \(item.title ?? "any title"), \(item.tags.sorted())")
                }
            }
            for item in left {
                failures.append("\(text.prefix(30)): \(item.title), \(item.tags.sorted()) was not asked for")
            }
        }
        return failures
    }

    /// A URL on the main server can always be decided.
    private func isUndecidable(_ entry: OutboxEntry) -> Bool {
        entry.state == .parked && entry.errorCode == ErrorCode.outcomeUndecidable.rawValue
            && (entry.kind == .note || dialect == .express)
    }
}

extension WishModel.Item {
    var title: String? { words.last { $0.title != nil }?.title }

    /// A capture adds, an edit replaces, or adds and removes.
    var tags: Set<String> {
        words.reduce(into: []) { tags, word in
            if word.isCapture { tags.formUnion(word.tags ?? []) } else if let new = word.tags { tags = Set(new) }
            tags = tags.subtracting(word.change.removed).union(word.change.added)
        }
    }
}

extension OutboxEntry {
    fileprivate var text: String {
        if case .create(let item) = payload { item.url ?? item.note ?? "" } else { "" }
    }
}
