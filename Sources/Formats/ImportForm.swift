package import PRSNLCore

/// A link or a note of another service.
package struct ImportedItem: Sendable, Equatable {
    package enum State: String, Sendable, CaseIterable {
        case unread, archived, starred
        /// It came from a feed, and its person has not chosen it.
        case feed
    }

    /// Where it stands in its file (`Record.position`).
    package var position: Int
    package var url: String?
    package var title: String?
    /// A note's text; with a URL, a remark.
    package var note: String?
    package var tags: [String] = []
    package var savedAt: Timestamp?
    /// It has a time that is none.
    package var hasBadTime = false
    package var states: Set<State> = []
    /// It has marked passages or a text, for which a capture has no place.
    package var hasHighlights = false
    package var hasText = false
    /// Of a line of `capture --stdin`.
    package var type: String?
}

/// How a service writes what it exports: a table of names, so that a form that comes later is one more row.
///
/// The first form whose marks a file all has is its form. So those with more marks stand first.
package struct ImportForm: Sendable {
    package enum Syntax: Sendable { case csv, json, bookmarks }
    /// How tags are parted in one value. Values that are lists already have one tag each.
    enum Parting: Sendable { case comma, bar, semicolon, blank, list }
    struct Flag: Sendable {
        let state: ImportedItem.State, name: String
        /// In lower case.
        let values: [String]
    }

    package let name: String
    let syntax: Syntax
    /// Names of its columns or members that tell it from others.
    let marks: [String]
    var url = ["url"]
    var title = ["title"]
    var note: [String] = []
    var tags = ["tags"]
    var parting = Parting.list
    var time: [String] = []
    var flags: [Flag] = []
    /// Folders become tags, but for those that every account has.
    var folder: String?
    var highlights: [String] = []
    var text: String?
    /// How an address begins that leads to nothing.
    var noAddress: String?

    /// Of a JSON file: the arrays that have entries.
    static let arrays: Set<String> = ["", "bookmarks", "collections.links"]

    package static let all: [ImportForm] = [
        // `cursor` may stand before `tags`, and older files lack `status`.
        ImportForm(
            name: "Pocket", syntax: .csv, marks: ["title", "url", "time_added", "tags"], parting: .bar,
            time: ["time_added"], flags: [.unread("status", "unread"), .archived("status", "archive")]),
        ImportForm(
            name: "Readwise Reader", syntax: .csv, marks: ["url", "document tags", "saved date", "location"],
            tags: ["document tags"], time: ["saved date"],
            flags: [
                .unread("location", "new", "later", "shortlist"), .archived("location", "archive"),
                Flag(state: .feed, name: "location", values: ["feed"]),
            ]),
        ImportForm(
            name: "Instapaper", syntax: .csv, marks: ["url", "title", "selection", "folder"], note: ["selection"],
            time: ["timestamp"],
            flags: [.unread("folder", "unread"), .archived("folder", "archive"), .starred("folder", "starred")],
            folder: "folder"),
        ImportForm(
            name: "Raindrop", syntax: .csv, marks: ["url", "folder", "created", "favorite"], note: ["note"],
            parting: .comma, time: ["created"], flags: [.starred("favorite", "true")], folder: "folder",
            highlights: ["highlights"]),
        // It has no time at which an item was saved.
        ImportForm(
            name: "Matter", syntax: .csv, marks: ["url", "publisher", "file id"], parting: .semicolon,
            flags: [.unread("in queue", "true"), .archived("read", "true"), .starred("favorited", "true")],
            highlights: ["highlight count", "highlight_count"]),
        ImportForm(name: "CSV", syntax: .csv, marks: ["url"], note: ["note"], parting: .comma, time: times),
        ImportForm(
            name: "Omnivore", syntax: .json, marks: ["slug", "url", "savedat"], tags: ["labels", "labels.name"],
            time: ["savedat"], flags: [.unread("state", "active", "succeeded"), .archived("state", "archived")],
            noAddress: "https://omnivore.app/no_url"),
        ImportForm(
            name: "Karakeep", syntax: .json, marks: ["@bookmarks", "createdat"], url: ["content.url"],
            note: ["note", "content.text"], time: ["createdat"], flags: [.archived("archived", "true")]),
        ImportForm(
            name: "Linkwarden", syntax: .json, marks: ["@collections.links", "url"], title: ["name"],
            note: ["description"], tags: ["tags.name"], time: ["importdate", "createdat"], text: "textcontent"),
        ImportForm(
            name: "wallabag", syntax: .json, marks: ["url", "is_archived"], tags: ["tags", "tags.label"],
            time: ["created_at"],
            flags: [
                .unread("is_archived", "0", "false"), .archived("is_archived", "1", "true"),
                .starred("is_starred", "1", "true"),
            ], highlights: ["annotations.quote"], text: "content"),
        ImportForm(
            name: "Pinboard", syntax: .json, marks: ["href", "extended", "toread"], url: ["href"],
            title: ["description"], note: ["extended"], parting: .blank, time: ["time"],
            flags: [.unread("toread", "yes")]),
        ImportForm(
            name: "JSON", syntax: .json, marks: ["url"], note: ["note"], tags: ["tags", "tags.name"], time: times),
        ImportForm(
            name: "Pocket", syntax: .bookmarks, marks: ["href", "time_added"], url: ["href"], parting: .comma,
            time: ["time_added"],
            flags: [.unread("heading", "unread"), .archived("heading", "read archive")]),
        ImportForm(
            name: "a bookmark file", syntax: .bookmarks, marks: ["href"], url: ["href"], note: ["remark"],
            parting: .comma, time: ["add_date"], flags: [.unread("toread", "1")], folder: "folder"),
    ]

    private static let times = ["created_at", "createdat", "time_added", "saved", "date", "created", "time"]

    /// - Parameter names: those of its columns, or of its first entry, in lower case.
    package static func of(_ syntax: Syntax, names: Set<String>) -> ImportForm? {
        all.first { $0.syntax == syntax && names.isSuperset(of: $0.marks) }
    }

    /// Every account has these.
    private static let plainFolders: Set<String> = [
        "unread", "archive", "starred", "unsorted", "bookmarks bar", "bookmarks toolbar", "bookmarks menu",
        "favorites bar",
        "other bookmarks", "mobile bookmarks", "imported",
    ]

    // MARK: Reading an entry

    package func item(_ record: Record) -> ImportedItem {
        var item = ImportedItem(position: record.position)
        item.url = record.first(of: url).flatMap { url in noAddress.map(url.hasPrefix) == true ? nil : url }
        item.title = record.first(of: title)
        // Several services write the address where a page has no title.
        if item.title == item.url { item.title = nil }
        item.note = record.first(of: note)
        let written = record.first(of: time)
        item.savedAt = written.flatMap(Self.time)
        item.hasBadTime = item.savedAt == nil && written.map { $0 != "0" } ?? false
        item.tags = tags.flatMap { record[$0] }.flatMap(split)
        if let folder {
            let folders = record[folder].flatMap { $0.split(separator: " / ") }.map { String($0).trimmingWhiteSpace() }
            item.tags += folders.filter { !Self.plainFolders.contains($0.lowercased()) }
        }
        for flag in flags where record[flag.name].contains(where: { flag.values.contains($0.lowercased()) }) {
            item.states.insert(flag.state)
        }
        item.hasHighlights = record.first(of: highlights).map { $0 != "0" } ?? false
        item.hasText = text.map { !record[$0].isEmpty } ?? false
        return item
    }

    private func split(_ value: String) -> [String] {
        let separators: [Parting: Character] = [.comma: ",", .bar: "|", .semicolon: ";", .blank: " "]
        guard let separator = separators[parting] else { return Self.list(value) }
        return value.split(separator: separator).map { String($0).trimmingWhiteSpace() }.filter { !$0.isEmpty }
    }

    /// A list inside one value of CSV: of JSON, or of Python, where a text has quotation marks of either kind. A tag in brackets
    /// has none.
    private static func list(_ value: String) -> [String] {
        guard value.hasPrefix("["), value.hasSuffix("]") else { return [value] }
        var texts: [String] = []
        var mark: Character?
        var text = ""
        for character in value {
            if character == mark {
                texts.append(text)
                (mark, text) = (nil, "")
            } else if mark != nil {
                text.append(character)
            } else if character == "'" || character == "\"" {
                mark = character
            }
        }
        if texts.isEmpty, value != "[]" { return [value] }
        return texts.map { $0.trimmingWhiteSpace() }.filter { !$0.isEmpty }
    }

    /// Seconds since 1970, or a date of RFC 3339. Some programs write milliseconds or microseconds, and wallabag writes an offset
    /// without its colon.
    private static func time(_ text: String) -> Timestamp? {
        guard let number = Int64(text) else {
            let offset = text.suffix(5)
            let isBare = offset.dropFirst().allSatisfy(\.isNumber) && offset.first.map("+-".contains) == true
            return Timestamp(isBare ? "\(text.dropLast(2)):\(text.suffix(2))" : text) ?? Timestamp("\(text)T00:00:00Z")
        }
        guard number > 0 else { return nil }
        let factor: Int64 = number < 100_000_000_000 ? 1_000_000 : number < 100_000_000_000_000 ? 1_000 : 1
        let time = Timestamp(microseconds: number * factor)
        return time <= .latest ? time : nil
    }
}

extension ImportForm.Flag {
    fileprivate static func unread(_ name: String, _ values: String...) -> Self {
        Self(state: .unread, name: name, values: values)
    }
    fileprivate static func archived(_ name: String, _ values: String...) -> Self {
        Self(state: .archived, name: name, values: values)
    }
    fileprivate static func starred(_ name: String, _ values: String...) -> Self {
        Self(state: .starred, name: name, values: values)
    }
}
