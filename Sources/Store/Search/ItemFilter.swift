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
            case named(Named, String)
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
    }

    /// Of each, one has to be true.
    var groups: [[Condition]] = []

    /// - Parameters:
    ///   - tags: All of them.
    ///   - types: Any of them.
    package init(tags: [String] = [], types: [String] = [], since: Timestamp? = nil, before: Timestamp? = nil) {
        groups = tags.map { [Condition(what: .named(.tag, $0))] }
        if !types.isEmpty { groups.append(types.map { Condition(what: .named(.type, $0)) }) }
        if let since { groups.append([Condition(what: .since(since))]) }
        if let before { groups.append([Condition(what: .since(before), isNegated: true)]) }
    }

    package var isEmpty: Bool { groups.isEmpty }
    /// Whether only what was deleted is meant, which no list shows else.
    var isOfDeleted: Bool { groups.contains([Condition(what: .state(.deleted))]) }

    package var names: [(kind: Named, name: String)] {
        groups.joined().compactMap {
            if case .named(let kind, let name) = $0.what, !$0.isNegated { (kind, name) } else { nil }
        }
    }

    /// Each item that is meant has one of these, so that others need not be read. `nil` if that is not certain of any, or of too many.
    func required(_ kind: Named) -> [String]? {
        let names = groups.map { group in
            group.compactMap { if case .named(kind, let name) = $0.what, !$0.isNegated { name } else { nil } }
        }
        return zip(groups, names).first { $0.count == $1.count && $1.count <= Self.mostRequired }?.1
    }
    /// Each is a part of one statement, in two spellings. SQLite takes 500 parts, and 32,766 values.
    private static let mostRequired = 50

    /// The times between which each item that is meant was created.
    var since: Timestamp? { times(isNegated: false).max() }
    var before: Timestamp? { times(isNegated: true).min() }

    private func times(isNegated: Bool) -> [Timestamp] {
        groups.filter { $0.count == 1 }.compactMap {
            if case .since(let time) = $0[0].what, $0[0].isNegated == isNegated { time } else { nil }
        }
    }
}

extension ItemFilter.Condition {
    /// About a `ShownRow`, with the value of its parameter. What is NULL is not true.
    fileprivate var sql: (text: String, value: String?) {
        func escaped(_ text: String) -> String {
            text.map { "%_\\".contains($0) ? "\\\($0)" : String($0) }.joined()
        }
        func spellings(_ name: String) -> String { JSONText.array(ItemFilter.spellings(of: [name])) }
        let (isAny, isLike) = ("IN (SELECT value FROM json_each(?))", "LIKE ? ESCAPE '\\'")
        // What is no JSON has no tags. That is no error.
        let tags = "json_each(iif(json_valid(\(ShownRow.tags)), \(ShownRow.tags), NULL))"
        let text = "(SELECT 1 FROM item_text WHERE item_id = \(ShownRow.id) AND folded(author) \(isLike))"
        let (sql, value): (String, String?) =
            switch what {
            case .named(.tag, let name): ("EXISTS (SELECT 1 FROM \(tags) WHERE value \(isAny))", spellings(name))
            case .named(.type, let name): ("\(ShownRow.type) \(isAny)", spellings(name))
            case .named(.platform, let name): ("item.platform \(isAny)", spellings(name))
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

extension ItemFilter {
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

extension Statement {
    @discardableResult
    func bind(_ values: [String]) -> Statement {
        for value in values { bind(value) }
        return self
    }
}
