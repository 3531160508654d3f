package import PRSNLCore

/// What a person looks for: words that all have to be there, and conditions. Whatever they type, it is never the syntax of
/// SQLite's full text search by accident.
///
/// `"exact words"`, `-without`, `begin*`, `title:word`, `tag:later`, `type:video`, `after:2026-01-01`.
package struct SearchQuery: Sendable, Equatable {
    /// Where a word has to be.
    package enum Field: String, Sendable, CaseIterable {
        case title, summary, text, url

        var columns: String { self == .text ? "{content transcription}" : rawValue }
    }

    struct Term: Sendable, Equatable {
        var text: String
        var field: Field?
        var isPrefix = false

        /// A string of SQLite's full text search, in which nothing has a meaning (https://sqlite.org/fts5.html, 3.1).
        var match: String {
            // By bytes: a quotation mark with an accent is one Character, and still ends a string of SQLite's. NUL ends it, too.
            let bytes = (SearchText.indexed(text) ?? "").utf8.map { $0 == UInt8(ascii: "\"") || $0 == 0 ? 0x20 : $0 }
            let quoted = "\"" + String(decoding: bytes, as: UTF8.self) + "\""
            return (field.map { "\($0.columns) : " } ?? "") + quoted + (isPrefix ? " *" : "")
        }
    }

    var wanted: [Term] = []
    var unwanted: [Term] = []
    package var filter = ItemFilter()
    /// Parts without a letter, a digit or a symbol, in which there is nothing to look for.
    package private(set) var ignored: [String] = []
    /// `word:` of which there is none.
    package private(set) var unknownFields: [String] = []
    /// All that there are, as they are typed.
    package static let fields = QueryParts.fields.sorted().map { $0 + ":" }
    /// Whether there is nothing to look for.
    package var isEmpty: Bool { wanted.isEmpty && unwanted.isEmpty && filter.isEmpty }
    /// Whether no word is given that an item has to have.
    var isWithoutOnly: Bool { wanted.isEmpty }

    /// - Parameter now: for `after:7d`.
    /// - Throws: `usage`, where what stands behind `after:` or `before:` is no time.
    package init(_ text: String, now: Timestamp) throws(UserFacingError) {
        var parts = QueryParts(text)
        var count = 0
        while let part = parts.next() {
            count += 1
            guard count <= Self.mostParts else {
                throw UserFacingError(
                    .usage, "This asks for more than \(Self.mostParts) words and conditions.",
                    recoverySuggestion: "Search for fewer of them, or for \"exact words\", which count as one.")
            }
            try add(part, now: now)
        }
    }

    /// Each is looked up by itself.
    private static let mostParts = 200

    private mutating func add(_ part: QueryParts.Part, now: Timestamp) throws(UserFacingError) {
        if let name = part.field {
            switch name {
            case "tag": part.isNegated ? filter.withoutTags.append(part.text) : filter.tags.append(part.text)
            case "type": part.isNegated ? filter.withoutTypes.append(part.text) : filter.types.append(part.text)
            case "platform":
                part.isNegated ? filter.withoutPlatforms.append(part.text) : filter.platforms.append(part.text)
            case "after" where !part.isNegated, "since" where !part.isNegated:
                filter.since = try TimeWord.parse(part.text, now: now, option: "\(name):")
            case "before" where !part.isNegated:
                filter.before = try TimeWord.parse(part.text, now: now, option: "before:")
            case "site": filter.clauses.append(.init(.site(part.text), isNegated: part.isNegated))
            case "author": filter.clauses.append(.init(.author(part.text), isNegated: part.isNegated))
            case "is":
                guard let state = ItemFilter.State(rawValue: part.text.lowercased()) else {
                    let states = ItemFilter.State.allCases.map { "is:\($0.rawValue)" }.joined(separator: ", ")
                    throw UserFacingError(
                        .usage, "There is no \(SafeText.harmless(String(part.whole.prefix(40)))); there are \(states).")
                }
                filter.clauses.append(.init(.state(state), isNegated: part.isNegated))
            default: add(Term(text: part.text, field: Field(rawValue: name), isPrefix: part.isPrefix), part)
            }
            return
        }
        if let name = part.unknownField, !unknownFields.contains(name) { unknownFields.append(name) }
        add(Term(text: part.text, isPrefix: part.isPrefix), part)
    }

    private mutating func add(_ term: Term, _ part: QueryParts.Part) {
        guard SearchText.hasWord(term.text) else { return ignored.append(part.whole) }
        if part.isNegated {
            if !unwanted.contains(term) { unwanted.append(term) }
        } else if !wanted.contains(term) {
            wanted.append(term)
        }
    }

    /// - Parameter columns: where all that is wanted has to be.
    func match(in columns: String? = nil) -> String {
        let all = wanted.map(\.match).joined(separator: " AND ")
        let found = columns.map { "\($0) : (\(all))" } ?? all
        return unwanted.isEmpty ? found : "(\(found)) NOT (\(unwantedMatch))"
    }

    var unwantedMatch: String { unwanted.map(\.match).joined(separator: " OR ") }
}

/// A query in its parts.
private struct QueryParts {
    struct Part {
        var whole: String
        var text: String
        var field: String?
        var isNegated: Bool
        var isPrefix: Bool

        /// `author:` of `author:ada`. What stands before two slashes is of an address.
        var unknownField: String? {
            guard field == nil, let colon = text.firstIndex(of: ":"), !whole.contains("\"") else { return nil }
            let (name, value) = (text[..<colon], text[colon...].dropFirst())
            guard name.count > 1, name.allSatisfy({ $0.isASCII && $0.isLetter }), let first = value.first,
                first.isLetter
            else { return nil }
            return name.lowercased() + ":"
        }
    }

    static let fields: Set<String> =
        Set(SearchQuery.Field.allCases.map(\.rawValue)).union([
            "tag", "type", "platform", "after", "since", "before", "site", "author", "is",
        ])

    private var rest: Substring

    init(_ text: String) { rest = text[...] }

    mutating func next() -> Part? {
        rest = rest.drop { $0.isWhitespace }
        guard !rest.isEmpty else { return nil }
        let start = rest
        let isNegated = rest.first == "-" && rest.dropFirst().first.map { !$0.isWhitespace && $0 != "-" } == true
        if isNegated { rest.removeFirst() }
        let field = takeField()
        var isPrefix = false
        let text: String
        if rest.first == "\"", let end = rest.dropFirst().firstIndex(of: "\"") {
            text = String(rest[rest.index(after: rest.startIndex)..<end])
            rest = rest[rest.index(after: end)...]
            if rest.first == "*" {
                isPrefix = true
                rest.removeFirst()
            }
        } else {
            let word = rest.prefix { !$0.isWhitespace }
            rest = rest[word.endIndex...]
            isPrefix = word.count > 1 && word.last == "*"
            text = String(isPrefix ? word.dropLast() : word)
        }
        return Part(
            whole: String(start[..<rest.startIndex]), text: text, field: field, isNegated: isNegated, isPrefix: isPrefix
        )
    }

    /// `title:`, where something follows.
    private mutating func takeField() -> String? {
        guard let colon = rest.prefix(while: { !$0.isWhitespace && $0 != "\"" }).firstIndex(of: ":") else { return nil }
        let name = rest[..<colon].lowercased()
        let after = rest[rest.index(after: colon)...]
        guard Self.fields.contains(name), let first = after.first, !first.isWhitespace else { return nil }
        rest = after
        return name
    }
}

/// A point in time as people give it: `2026`, `2026-11`, `2026-11-22`, `2026-11-22T08:00:00Z`, or an age: `7d`.
package enum TimeWord {
    /// - Parameter option: what it was given for, to be named in the error.
    /// - Throws: `usage`.
    package static func parse(_ text: String, now: Timestamp, option: String) throws(UserFacingError) -> Timestamp {
        if let age = age(text) { return now.advanced(by: .zero - age) }
        if let day = day(text, now) { return day }
        let isDate = text.utf8.allSatisfy { (48...57).contains($0) || $0 == UInt8(ascii: "-") }
        let whole =
            switch (text.utf8.count, isDate) {
            case (4, true): text + "-01-01T00:00:00Z"
            case (7, true): text + "-01T00:00:00Z"
            case (10, true): text + "T00:00:00Z"
            default: text
            }
        if let time = Timestamp(whole) { return time }
        throw UserFacingError(
            .usage, "\(option) \(SafeText.harmless(String(text.prefix(40)))) is no time.",
            recoverySuggestion:
                "Give a date in UTC (2026, 2026-11, 2026-11-22), a time (2026-11-22T08:00:00Z), an age (12h, 7d, 3w), today, yesterday, or \"this week\"."
        )
    }

    /// The beginning of a day in UTC, or of a week, which begins on Monday.
    private static func day(_ text: String, _ now: Timestamp) -> Timestamp? {
        let length: Int64 = 86_400_000_000
        let days = (now.microseconds - (now.microseconds % length + length) % length) / length
        switch text.lowercased() {
        case "today": return Timestamp(microseconds: days * length)
        case "yesterday": return Timestamp(microseconds: (days - 1) * length)
        // The first day of 1970 was a Thursday.
        case "this week", "thisweek": return Timestamp(microseconds: (days - ((days + 3) % 7 + 7) % 7) * length)
        default: return nil
        }
    }

    private static func age(_ text: String) -> Duration? {
        let units: [Character: Int64] = ["h": 3_600, "d": 86_400, "w": 604_800]
        guard let unit = text.last.flatMap({ units[$0] }), let count = Int64(text.dropLast()),
            (0...1_000_000).contains(count), text.first != "+"
        else { return nil }
        return .seconds(count * unit)
    }
}

/// Which items are meant, besides their words.
package struct ItemFilter: Sendable, Equatable {
    /// All of them.
    package var tags: [String] = []
    /// Any of them.
    package var types: [String] = []
    package var platforms: [String] = []
    package var withoutTags: [String] = []
    package var withoutTypes: [String] = []
    package var withoutPlatforms: [String] = []
    /// Created at this time or later.
    package var since: Timestamp?
    /// Created earlier than this.
    package var before: Timestamp?
    /// Of several sites or authors, any; of several that are negated, none.
    package var clauses: [Clause] = []

    package enum State: String, Sendable, CaseIterable {
        case untagged
        /// Something of it is not on the server yet.
        case pending
    }

    package struct Clause: Sendable, Equatable {
        package enum What: Sendable, Equatable {
            /// A host, or the end of one: `example.org` is `www.example.org` too.
            case site(String)
            /// A part of the author's name.
            case author(String)
            case state(State)
        }

        package var what: What
        package var isNegated: Bool

        package init(_ what: What, isNegated: Bool = false) {
            self.what = what
            self.isNegated = isNegated
        }

        fileprivate var sql: String {
            switch what {
            case .site:
                let rest = "substr(\(ShownRow.url), instr(\(ShownRow.url), '://') + 3)"
                let host = "substr(\(rest), 1, instr(\(rest) || '/', '/') - 1)"
                return "coalesce('.' || substr(\(host), 1, instr(\(host) || ':', ':') - 1), '') LIKE ? ESCAPE '\\'"
            case .author:
                return "EXISTS (SELECT 1 FROM item_text WHERE item_id = \(ShownRow.id) AND author LIKE ? ESCAPE '\\')"
            case .state(.untagged): return "coalesce(\(ShownRow.tags), '[]') = '[]'"
            case .state(.pending): return "\(ShownRow.pending) IS NOT NULL"
            }
        }

        fileprivate var value: String? {
            func escaped(_ text: String) -> String {
                text.map { "%_\\".contains($0) ? "\\\($0)" : String($0) }.joined()
            }
            return switch what {
            case .site(let host): "%.\(escaped(host))"
            case .author(let name): "%\(escaped(name))%"
            case .state: nil
            }
        }
    }

    package init() {}

    package var isEmpty: Bool { self == ItemFilter() }
}

extension ItemFilter {
    /// A condition on a `ShownRow`.
    struct Condition {
        var sql: String
        var values: [String]
    }

    func condition() -> Condition {
        var parts: [String] = []
        var values: [String] = []
        func add(_ part: String, _ value: String) {
            parts.append(part)
            values.append(value)
        }
        // What is no JSON has no tags. That is no error.
        let tagList = "iif(json_valid(\(ShownRow.tags)), \(ShownRow.tags), NULL)"
        let hasTag = "EXISTS (SELECT 1 FROM json_each(\(tagList)) WHERE value IN (SELECT value FROM json_each(?)))"
        for tag in tags { add(hasTag, Self.spellings([tag])) }
        if !withoutTags.isEmpty { add("NOT " + hasTag, Self.spellings(withoutTags)) }
        let isAny = "IN (SELECT value FROM json_each(?))"
        if !types.isEmpty { add("\(ShownRow.type) \(isAny)", Self.spellings(types)) }
        if !withoutTypes.isEmpty { add("coalesce(\(ShownRow.type), '') NOT \(isAny)", Self.spellings(withoutTypes)) }
        if !platforms.isEmpty { add("item.platform \(isAny)", Self.spellings(platforms)) }
        if !withoutPlatforms.isEmpty {
            add("coalesce(item.platform, '') NOT \(isAny)", Self.spellings(withoutPlatforms))
        }
        if let since { add("\(ShownRow.createdAt) >= ?", since.description) }
        if let before { add("\(ShownRow.createdAt) < ?", before.description) }
        for clause in clauses where clause.isNegated || clause.value == nil {
            parts.append((clause.isNegated ? "NOT " : "") + "(\(clause.sql))")
            if let value = clause.value { values.append(value) }
        }
        for any in [clauses.filter(\.isOfSite), clauses.filter(\.isOfAuthor)] where !any.isEmpty {
            parts.append("(" + any.map(\.sql).joined(separator: " OR ") + ")")
            values += any.compactMap(\.value)
        }
        return Condition(sql: parts.map { " AND " + $0 }.joined(), values: values)
    }

    /// The main server's tags and types are in lower case, and people type capitals. Each once.
    static func spellings(of words: [String]) -> [String] {
        Set(words.flatMap { [ByteText($0), ByteText($0.lowercased())] }).sorted().map(\.text)
    }

    private static func spellings(_ words: [String]) -> String { JSONText.array(spellings(of: words)) }
}

extension Statement {
    @discardableResult
    func bind(_ values: [String]) -> Statement {
        for value in values { bind(value) }
        return self
    }
}

extension ItemFilter.Clause {
    fileprivate var isOfSite: Bool { if case .site = what { !isNegated } else { false } }
    fileprivate var isOfAuthor: Bool { if case .author = what { !isNegated } else { false } }
}
