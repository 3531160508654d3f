package import PRSNLCore

/// Which items are meant, besides their words.
package struct ItemFilter: Sendable, Equatable {
    package enum State: String, Sendable, CaseIterable {
        case untagged
        /// Something of it is not on the server yet.
        case pending
        /// In the last 30 days, or it waits to be.
        case deleted
    }

    /// What has a name that may be misspelt.
    package enum Named: String, Sendable { case tag, type, platform }

    struct Condition: Sendable, Equatable {
        enum What: Sendable, Equatable {
            /// One of these.
            case named(Named, [String])
            /// A host, or the end of one: `example.org` is `www.example.org` too.
            case site(String)
            /// A part of the author's name.
            case author(String)
            case state(State)
            /// Created at this time or later.
            case since(Timestamp)
        }

        var what: What
        var isNegated = false

        /// An item has to have one of these.
        var named: (kind: Named, names: [String])? {
            if case .named(let kind, let names) = what, !isNegated { (kind, names) } else { nil }
        }
    }

    /// Of each, one has to be true.
    var groups: [[Condition]] = []

    /// - Parameters:
    ///   - tags: All of them.
    ///   - types: Any of them.
    package init(tags: [String] = [], types: [String] = [], since: Timestamp? = nil, before: Timestamp? = nil) {
        groups = tags.map { [Condition(what: .named(.tag, [$0]))] }
        if !types.isEmpty { groups.append([Condition(what: .named(.type, types))]) }
        if let since { groups.append([Condition(what: .since(since))]) }
        if let before { groups.append([Condition(what: .since(before), isNegated: true)]) }
    }

    /// One of these has to be true. Names of one kind are one condition: an item's tags are read once for all of them.
    init(any conditions: [Condition]) {
        var group: [Condition] = []
        for condition in conditions {
            if let (kind, names) = condition.named, let place = group.firstIndex(where: { $0.named?.kind == kind }) {
                group[place].what = .named(kind, (group[place].named?.names ?? []) + names)
            } else {
                group.append(condition)
            }
        }
        groups = [group]
    }

    package var isEmpty: Bool { groups.isEmpty }
    /// Whether only what was deleted is meant, which no list shows else.
    var isOfDeleted: Bool { groups.contains([Condition(what: .state(.deleted))]) }

    package var names: [(kind: Named, name: String)] {
        groups.joined().compactMap(\.named).flatMap { (kind, names) in names.map { (kind, $0) } }
    }

    /// Each item that is meant has one of these, so that others need not be read. `nil` if that is not certain of any, or of too many.
    func required(_ kind: Named) -> [String]? {
        groups.filter { $0.count == 1 }.compactMap { $0[0].named }
            .first { $0.kind == kind && $0.names.count <= Self.mostRequired }?.names
    }
    /// Each is a part of one statement, in two spellings. SQLite takes 500 parts, and 32,766 values. For speed it need not be lower:
    /// of 50,000 items, those of 32 rare tags are found so in 14 ms, and by reading all items in 83 ms.
    private static let mostRequired = 50

    /// The times between which each item that is meant was created.
    var since: Timestamp? { times(isNegated: false).max() }
    var before: Timestamp? { times(isNegated: true).min() }

    private func times(isNegated: Bool) -> [Timestamp] {
        groups.filter { $0.count == 1 }.compactMap {
            if case .since(let time) = $0[0].what, $0[0].isNegated == isNegated { time } else { nil }
        }
    }

    /// - Returns: A condition on a `ShownRow`, with its values.
    func condition() -> (sql: String, values: [String]) {
        let conditions = groups.map { $0.map(\.sql) }
        let sql = conditions.map { " AND (" + $0.map(\.text).joined(separator: " OR ") + ")" }.joined()
        return (sql, conditions.joined().compactMap(\.value))
    }

    /// The main server's tags and types are in lower case, and people type capitals. Each once.
    static func spellings(of words: [String]) -> [String] {
        Set(words.flatMap { [ByteText($0), ByteText($0.lowercased())] }).sorted().map(\.text)
    }
}

extension ItemFilter.Condition {
    /// About a `ShownRow`, with the value of its parameter. What is NULL is not true.
    fileprivate var sql: (text: String, value: String?) {
        func escaped(_ text: String) -> String {
            text.map { "%_\\".contains($0) ? "\\\($0)" : String($0) }.joined()
        }
        func spellings(_ names: [String]) -> String { JSONText.array(ItemFilter.spellings(of: names)) }
        let (isAny, isLike) = ("IN (SELECT value FROM json_each(?))", "LIKE ? ESCAPE '\\'")
        // What is no JSON has no tags. That is no error.
        let tags = "json_each(iif(json_valid(\(ShownRow.tags)), \(ShownRow.tags), NULL))"
        let text = "(SELECT 1 FROM item_text WHERE item_id = \(ShownRow.id) AND folded(author) \(isLike))"
        let (sql, value): (String, String?) =
            switch what {
            case .named(.tag, let names): ("EXISTS (SELECT 1 FROM \(tags) WHERE value \(isAny))", spellings(names))
            case .named(.type, let names): ("\(ShownRow.type) \(isAny)", spellings(names))
            case .named(.platform, let names): ("item.platform \(isAny)", spellings(names))
            case .site(let host): ("'.' || host(\(ShownRow.url)) \(isLike)", "%.\(escaped(host))")
            case .author(let name): ("EXISTS \(text)", "%\(escaped(SearchText.indexed(name) ?? ""))%")
            case .state(.untagged): ("coalesce(\(ShownRow.tags), '[]') = '[]'", nil)
            case .state(.pending): ("\(ShownRow.pending) IS NOT NULL", nil)
            case .state(.deleted): ("item.deleted_at IS NOT NULL OR coalesce(edit.is_deleted, 0) = 1", nil)
            case .since(let time): ("\(ShownRow.createdAt) >= ?", time.description)
            }
        return (isNegated ? "NOT coalesce(\(sql), 0)" : "(\(sql))", value)
    }
}
