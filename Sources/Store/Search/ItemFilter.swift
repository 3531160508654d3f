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

    struct Condition: Sendable, Equatable {
        enum What: Sendable, Equatable {
            case tag(String), type(String), platform(String)
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
        groups = tags.map { [Condition(what: .tag($0))] }
        if !types.isEmpty { groups.append(types.map { Condition(what: .type($0)) }) }
        if let since { groups.append([Condition(what: .since(since))]) }
        if let before { groups.append([Condition(what: .since(before), isNegated: true)]) }
    }

    package var isEmpty: Bool { groups.isEmpty }
    /// Whether only what was deleted is meant, which no list shows else.
    var isOfDeleted: Bool { groups.contains([Condition(what: .state(.deleted))]) }

    /// What has a name that may be misspelt.
    package enum Named: String, Sendable { case tag, type, platform }

    package var names: [(kind: Named, name: String)] {
        groups.joined().filter { !$0.isNegated }.compactMap { condition in
            switch condition.what {
            case .tag(let name): (.tag, name)
            case .type(let name): (.type, name)
            case .platform(let name): (.platform, name)
            case .site, .author, .state, .since: nil
            }
        }
    }

    /// What is certain of each item that is meant, so that others need not be read.
    var tag: String? {
        certain.lazy.compactMap { if case .tag(let tag) = $0.what, !$0.isNegated { tag } else { nil } }.first
    }
    var types: [String]? {
        groups.lazy.map { $0.compactMap { if case .type(let type) = $0.what, !$0.isNegated { type } else { nil } } }
            .enumerated().first { $1.count == groups[$0].count }?.element
    }
    var since: Timestamp? { times(isNegated: false).max() }
    var before: Timestamp? { times(isNegated: true).min() }

    private var certain: [Condition] { groups.filter { $0.count == 1 }.map { $0[0] } }
    private func times(isNegated: Bool) -> [Timestamp] {
        certain.compactMap { if case .since(let time) = $0.what, $0.isNegated == isNegated { time } else { nil } }
    }
}

extension ItemFilter.Condition {
    /// About a `ShownRow`. What is NULL is not true.
    fileprivate var sql: String {
        let isAny = "IN (SELECT value FROM json_each(?))"
        let sql =
            switch what {
            // What is no JSON has no tags. That is no error.
            case .tag:
                "EXISTS (SELECT 1 FROM json_each(iif(json_valid(\(ShownRow.tags)), \(ShownRow.tags), NULL)) WHERE value \(isAny))"
            case .type: "\(ShownRow.type) \(isAny)"
            case .platform: "item.platform \(isAny)"
            case .site: "'.' || host(\(ShownRow.url)) LIKE ? ESCAPE '\\'"
            case .author:
                "EXISTS (SELECT 1 FROM item_text WHERE item_id = \(ShownRow.id) AND folded(author) LIKE ? ESCAPE '\\')"
            case .state(.untagged): "coalesce(\(ShownRow.tags), '[]') = '[]'"
            case .state(.pending): "\(ShownRow.pending) IS NOT NULL"
            case .state(.deleted): "item.deleted_at IS NOT NULL OR coalesce(edit.is_deleted, 0) = 1"
            case .since: "\(ShownRow.createdAt) >= ?"
            }
        return isNegated ? "NOT coalesce(\(sql), 0)" : "(\(sql))"
    }

    fileprivate var value: String? {
        func escaped(_ text: String) -> String {
            text.map { "%_\\".contains($0) ? "\\\($0)" : String($0) }.joined()
        }
        return switch what {
        case .tag(let word), .type(let word), .platform(let word): JSONText.array(ItemFilter.spellings(of: [word]))
        case .site(let host): "%.\(escaped(host.filter { $0 != "[" && $0 != "]" }))"
        case .author(let name): "%\(escaped(SearchText.indexed(name) ?? ""))%"
        case .state: nil
        case .since(let time): time.description
        }
    }
}

extension ItemFilter {
    /// - Returns: A condition on a `ShownRow`, with its values.
    func condition() -> (sql: String, values: [String]) {
        let sql = groups.map { " AND (" + $0.map(\.sql).joined(separator: " OR ") + ")" }.joined()
        return (sql, groups.joined().compactMap(\.value))
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
