package import PRSNLCore

/// What a person looks for: words that all have to be there, and conditions. Whatever they type, it is never the syntax of
/// SQLite's full text search by accident.
///
/// `"exact words"`, `-without`, `begin*`, `title:word`, `tag:later`, `after:2026-01-01`, `this OR that`, `-(these words)`.
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

    /// What an item has to have all of.
    struct Branch: Sendable, Equatable {
        /// Of each, one.
        var wanted: [[Term]] = []
        var unwanted: [Term] = []
        var filter = ItemFilter()

        var isEmpty: Bool { self == Branch() }
        /// Whether no word is given that an item has to have.
        var isWithoutOnly: Bool { wanted.isEmpty }
        var isOfWords: Bool { !wanted.isEmpty || !unwanted.isEmpty }
        var hasPrefix: Bool { wanted.joined().contains(where: \.isPrefix) }
        /// Of one letter, half of all words begin so: SQLite reads what it has of each of them.
        fileprivate var prefixCost: Int {
            (wanted.joined() + unwanted).reduce(0) { sum, term in
                let bytes = (SearchText.indexed(term.text) ?? "").utf8.count
                return sum + (term.isPrefix ? bytes > 2 ? 1 : bytes > 1 ? 4 : 20 : 0)
            }
        }

        static func match(_ terms: [Term]) -> String {
            terms.count == 1 ? terms[0].match : "(\(terms.map(\.match).joined(separator: " OR ")))"
        }

        /// - Parameter columns: where all that is wanted has to be.
        func match(in columns: String? = nil) -> String {
            let all = wanted.map(Self.match).joined(separator: " AND ")
            let found = columns.map { "\($0) : (\(all))" } ?? all
            return unwanted.isEmpty ? found : "(\(found)) NOT (\(unwantedMatch))"
        }

        var unwantedMatch: String { Self.match(unwanted) }

        fileprivate func and(_ other: Branch) -> Branch {
            var both = self
            both.wanted += other.wanted.filter { !wanted.contains($0) }
            both.unwanted += other.unwanted.filter { !unwanted.contains($0) }
            both.filter.groups += other.filter.groups.filter { !filter.groups.contains($0) }
            return both
        }

        /// `nil` for what is more than one word, or one condition.
        fileprivate var word: [Term]? { wanted.count == 1 && self == Branch(wanted: wanted) ? wanted[0] : nil }
        fileprivate var condition: [ItemFilter.Condition]? {
            filter.groups.count == 1 && !filter.isOfDeleted && self == Branch(filter: filter) ? filter.groups[0] : nil
        }
    }

    /// An item has to be of one of them.
    private(set) var branches: [Branch] = []
    /// Parts without searchable characters: without a letter, a digit or a symbol.
    package private(set) var ignored: [String] = []
    /// `word:` that is not a field.
    package private(set) var unknownFields: [String] = []
    /// All that there are, as they are typed.
    package static let fields = QueryParts.fields.sorted().map { $0 + ":" }
    /// What items are to have by name. That of deleted items is not counted anywhere.
    package var names: [(kind: ItemFilter.Named, name: String)] {
        branches.filter { !$0.filter.isOfDeleted }.flatMap(\.filter.names)
    }
    package var isEmpty: Bool { branches.allSatisfy(\.isEmpty) }
    /// For all branches. Empty where no words are looked for.
    package var match: String {
        branches.filter { !$0.isWithoutOnly }.map { "(\($0.match()))" }.joined(separator: " OR ")
    }

    /// Each is looked up by itself.
    private static let mostParts = 200, mostBranches = 32
    /// Over all branches. It is about two seconds with 100,000 articles.
    private static let mostPrefixCost = 60

    /// The query that `@name` stands for.
    package typealias Saved = (_ name: String) throws(UserFacingError) -> String

    /// - Parameters:
    ///   - now: for `after:7d`.
    ///   - saved: `nil` where `@name` is a word like any other.
    /// - Throws: `usage`, where `after:` or `before:` is not followed by a time, or where there is too much; what `saved` throws.
    package init(_ text: String, now: Timestamp, saved: Saved? = nil) throws(UserFacingError) {
        var parts = QueryParts(text)
        branches = try group(&parts, now, saved, isInside: false, isNegated: false) ?? [Branch()]
        if isEmpty, ignored.isEmpty { ignored = [text] }
        guard branches.reduce(0, { $0 + $1.prefixCost }) <= Self.mostPrefixCost else {
            throw UserFacingError(
                .usage, "This looks up too many beginnings of words.",
                recoverySuggestion: "Give three letters or more before each *, or fewer such words.")
        }
    }

    /// Whether a saved search may have this name.
    package static func isName(_ text: String) -> Bool {
        !text.isEmpty && text.allSatisfy { $0.isLetter || $0.isNumber || "-_.".contains($0) }
    }

    /// Adds conditions that hold beside the query.
    package mutating func require(_ filter: ItemFilter) {
        branches = branches.map { $0.and(Branch(filter: filter)) }
    }

    /// Up to a closing bracket, or the end. `OR` joins the two beside it, before the others are joined. What is not true of all of
    /// them is true of one of them, and the other way about.
    ///
    /// - Returns: `nil` where there is nothing in it.
    private mutating func group(
        _ parts: inout QueryParts, _ now: Timestamp, _ saved: Saved?, isInside: Bool, isNegated: Bool
    ) throws(UserFacingError) -> [Branch]? {
        // What is joined by OR; and its field, if several of the kind stand for any of them.
        var operands: [(alternatives: [[Branch]], field: String?)] = []
        // An OR that has nothing behind it is a word.
        var or: QueryParts.Part?
        var isAfterNothing = false
        func add(_ branches: [Branch]?, of part: QueryParts.Part? = nil) {
            guard let branches else {
                isAfterNothing = operands.isEmpty
                return
            }
            if or != nil {
                operands[operands.count - 1].alternatives.append(branches)
                operands[operands.count - 1].field = nil
            } else {
                operands.append(([branches], part?.anyField))
            }
            or = nil
        }
        loop: while let token = parts.next(isInside: isInside) {
            guard parts.count <= Self.mostParts else { throw Self.tooMuch("\(Self.mostParts) words and conditions") }
            switch token {
            case .open(let isWithout):
                add(try group(&parts, now, saved, isInside: true, isNegated: isNegated != isWithout))
            case .close: break loop
            case .part(let part) where part.whole == "OR" && or == nil && (!operands.isEmpty || isAfterNothing):
                // Ignore OR next to a part without searchable characters.
                if !operands.isEmpty { or = part }
            case .part(let part):
                if let saved, let name = part.savedName {
                    var inner = QueryParts(try saved(name), after: parts.count, named: parts.names + [name])
                    if parts.names.contains(name) {
                        throw UserFacingError(.usage, "The saved search @\(name) names itself.")
                    }
                    add(try group(&inner, now, saved, isInside: false, isNegated: isNegated != part.isNegated))
                    parts.count = inner.count
                } else {
                    add(try branch(part, now, isNegated: isNegated != part.isNegated).map { [$0] }, of: part)
                }
            }
        }
        if let word = or {
            or = nil
            add(try branch(word, now, isNegated: isNegated).map { [$0] })
        }
        var joined: [[Branch]] = []
        for (index, operand) in operands.enumerated() {
            let same = operands.indices.filter {
                $0 == index || operand.field != nil && operands[$0].field == operand.field
            }
            guard same[0] == index else { continue }
            let alternatives = same.flatMap { operands[$0].alternatives }
            joined.append(try isNegated ? Self.all(alternatives) : Self.any(alternatives))
        }
        return joined.isEmpty ? nil : try isNegated ? Self.any(joined) : Self.all(joined)
    }

    private static func any(_ operands: [[Branch]]) throws(UserFacingError) -> [Branch] {
        let words = operands.compactMap { $0.count == 1 ? $0[0].word : nil }
        // SQLite ranks what has several of them.
        if words.count == operands.count { return [Branch(wanted: [Array(words.joined())])] }
        let conditions = operands.compactMap { $0.count == 1 ? $0[0].condition : nil }
        return conditions.count == operands.count
            ? [Branch(filter: ItemFilter(any: Array(conditions.joined())))] : try bounded(Array(operands.joined()))
    }

    private static func all(_ operands: [[Branch]]) throws(UserFacingError) -> [Branch] {
        var result = [Branch()]
        for operand in operands {
            result = try bounded(result.flatMap { left in operand.map { left.and($0) } })
        }
        return result
    }

    private static func bounded(_ branches: [Branch]) throws(UserFacingError) -> [Branch] {
        guard branches.count <= mostBranches else { throw tooMuch("\(mostBranches) alternatives") }
        return branches
    }

    private static func tooMuch(_ what: String) -> UserFacingError {
        UserFacingError(
            .usage, "This asks for more than \(what).",
            recoverySuggestion: "Search for fewer of them, or for \"exact words\", which count as one.")
    }

    private mutating func branch(
        _ part: QueryParts.Part, _ now: Timestamp, isNegated: Bool
    ) throws(UserFacingError) -> Branch? {
        func condition(_ what: ItemFilter.Condition.What, _ isNegated: Bool = isNegated) -> Branch {
            Branch(filter: ItemFilter(any: [ItemFilter.Condition(what: what, isNegated: isNegated)]))
        }
        if let kind = part.field.flatMap(ItemFilter.Named.init) { return condition(.named(kind, [part.text])) }
        switch part.field {
        case "site"?: return condition(.site(part.text.filter { $0 != "[" && $0 != "]" }))
        case "author"?: return condition(.author(part.text))
        case let name? where ["after", "since", "before"].contains(name):
            let time = try TimeWord.parse(part.text, now: now, option: "\(name):")
            return condition(.since(time), (name == "before") != isNegated)
        case "is"?:
            guard let state = ItemFilter.State(rawValue: part.text.lowercased()) else {
                let states = ItemFilter.State.allCases.map { "is:\($0.rawValue)" }.joined(separator: ", ")
                throw UserFacingError(
                    .usage, "\"\(SafeText.harmless(String(part.whole.prefix(40))))\" is no condition. Use \(states).")
            }
            return condition(.state(state))
        default:
            if let name = part.unknownField, !unknownFields.contains(name) { unknownFields.append(name) }
            guard SearchText.hasWord(part.text) else {
                ignored.append(part.whole)
                return nil
            }
            let term = Term(text: part.text, field: part.field.flatMap(Field.init), isPrefix: part.isPrefix)
            return isNegated ? Branch(unwanted: [term]) : Branch(wanted: [[term]])
        }
    }
}

private struct QueryParts {
    enum Token {
        case open(isNegated: Bool)
        case close
        case part(Part)
    }

    struct Part {
        var whole: String
        var text: String
        var field: String?
        var isNegated: Bool
        var isPrefix: Bool

        /// `name` of `@name`.
        var savedName: String? {
            // A name may begin with a mark, which is one Character with the sign before it.
            let name = String(text.unicodeScalars.dropFirst())
            let isReference = field == nil && text.unicodeScalars.first == "@" && !isPrefix && !whole.contains("\"")
            return isReference && SearchQuery.isName(name) ? name : nil
        }

        var anyField: String? {
            isNegated ? nil : field.flatMap { ["type", "platform", "site", "author"].contains($0) ? $0 : nil }
        }

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
    /// Those that were given.
    var count: Int
    /// Saved searches that this is a part of.
    let names: [String]

    init(_ text: String, after count: Int = 0, named names: [String] = []) {
        (rest, self.count, self.names) = (text[...], count, names)
    }

    /// - Parameter isInside: Whether a bracket is open. Else nothing closes one.
    mutating func next(isInside: Bool) -> Token? {
        rest = rest.drop { $0.isWhitespace || !isInside && $0 == ")" }
        guard !rest.isEmpty else { return nil }
        count += 1
        let start = rest
        if take(")") { return .close }
        let isNegated = rest.first == "-" && rest.dropFirst().first.map { !$0.isWhitespace && $0 != "-" } == true
        if isNegated { rest.removeFirst() }
        if take("(") { return .open(isNegated: isNegated) }
        let field = takeField()
        var isPrefix = false
        let text: String
        if rest.first == "\"", let end = rest.dropFirst().firstIndex(of: "\"") {
            text = String(rest[rest.index(after: rest.startIndex)..<end])
            rest = rest[rest.index(after: end)...]
            isPrefix = take("*")
        } else {
            let word = takeWord(isInside: isInside)
            isPrefix = word.count > 1 && word.last == "*"
            text = String(isPrefix ? word.dropLast() : word)
        }
        return .part(
            Part(
                whole: String(start[..<rest.startIndex]), text: text, field: field, isNegated: isNegated,
                isPrefix: isPrefix))
    }

    private mutating func take(_ sign: Character) -> Bool {
        guard rest.first == sign else { return false }
        rest.removeFirst()
        return true
    }

    /// Without a bracket that closes what was opened before: that of `f(x)` is a part of it.
    private mutating func takeWord(isInside: Bool) -> Substring {
        var word = rest.prefix { !$0.isWhitespace }
        var surplus = isInside ? word.reduce(0) { $0 + ($1 == ")" ? 1 : $1 == "(" ? -1 : 0) } : 0
        while surplus > 0, word.last == ")" {
            word.removeLast()
            surplus -= 1
        }
        rest = rest[word.endIndex...]
        return word
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

/// A point in time as people give it: `2026`, `2026-11`, `2026-11-22`, `2026-11-22T08:00`, or an age: `7d`. By the clock on the wall,
/// unless a zone is given.
package enum TimeWord {
    package static let forms =
        "2025, 2025-11, 2025-11-22, 2025-11-22T08:00, 12h, 30d, 3w, 6mo, 1y, today, yesterday or \"this week\""

    /// - Parameter option: what it was given for, to be named in the error.
    /// - Throws: `usage`.
    package static func parse(
        _ text: String, now: Timestamp, option: String, zone: @escaping LocalZone = LocalTime.system
    ) throws(UserFacingError) -> Timestamp {
        if let time = age(text, now, zone) ?? day(text, now, zone) ?? date(text, zone) { return time }
        throw UserFacingError(
            .usage, "\(option) \"\(SafeText.harmless(String(text.prefix(40))))\" is not a date or time.",
            recoverySuggestion: "Use \(forms).")
    }

    private static func date(_ text: String, _ zone: @escaping LocalZone) -> Timestamp? {
        let rest = [4, 7, 10, 16].contains(text.utf8.count) ? "0000-01-01T00:00:00".dropFirst(text.utf8.count) : ""
        guard let time = Timestamp(text + rest) else { return nil }
        return text.dropFirst(10).contains { "Zz+-".contains($0) } ? time : LocalTime.instant(showing: time, zone)
    }

    /// The beginning of a day, or of a week, which begins on Monday.
    private static func day(_ text: String, _ now: Timestamp, _ zone: @escaping LocalZone) -> Timestamp? {
        let local = LocalTime(now, zone)
        return switch text.lowercased() {
        case "today": local.midnight()
        case "yesterday": local.midnight(daysBefore: 1)
        case "this week", "thisweek": local.midnight(daysBefore: local.dayOfWeek)
        default: nil
        }
    }

    private static func age(_ text: String, _ now: Timestamp, _ zone: @escaping LocalZone) -> Timestamp? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let count = Int64(digits), count <= 1_000_000 else { return nil }
        return switch text.dropFirst(digits.count) {
        case "h": now.advanced(by: .seconds(-count * 3_600))
        case "d": now.advanced(by: .seconds(-count * 86_400))
        case "w": now.advanced(by: .seconds(-count * 604_800))
        case "mo": LocalTime(now, zone).earlier(months: count)
        case "y": LocalTime(now, zone).earlier(months: count * 12)
        default: nil
        }
    }
}
