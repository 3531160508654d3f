package import Console
package import PRSNLCore
import Requests
package import Store

/// Items that were searched for or listed: the JSON of `prsnlctl search --json` and `prsnlctl list --json`.
package struct ItemListReport: Sendable, Encodable {
    package var schemaVersion = 1
    package var items: [ListedItem]
    package var more: Bool
    /// How many there are; `null` where they are more than were counted.
    @Nullable package var total: Int?
    /// Items that are not in the full-text index yet, or have changed since.
    package var notIndexed: Int
    /// Parts of the query without searchable characters.
    package var ignored: [String] = []
    /// `word:` that is not a field; it was searched as a word.
    package var unknownFields: [String] = []
    /// Queries that find something, where nothing was found; or ten times as many, by another ending of a word.
    package var suggestions: [String] = []
    /// Where nothing was found: items whose text is not here. At most `CopySummary.Texts.mostCounted`.
    package var missingTexts = 0

    /// For the text: what was searched for; `nil` for a list.
    var words: String?
    /// For the text: said where there is no item.
    var none: Advice
    /// For the text: how many each query with another ending finds; `nil` where they were not counted.
    var otherEndings: [(query: String, items: Int?)] = []
    var isCount = false

    private enum CodingKeys: String, CodingKey {
        case schemaVersion, items, more, total, notIndexed, ignored, unknownFields, suggestions, missingTexts
    }

    /// - Parameter shortIDs: one for each item.
    package init(_ list: ItemList, shortIDs: [String], words: String? = nil) {
        items = list.items
        for index in items.indices {
            items[index].shortID = shortIDs.indices.contains(index) ? shortIDs[index] : items[index].id
        }
        more = list.hasMore
        total = list.total
        notIndexed = list.unindexed
        self.words = words
        none = words == nil ? "No item matches." : "No item was found."
    }

    /// What is to be said besides the items.
    @Listing<Advice> package var remarks: [Advice] {
        if !ignored.isEmpty {
            let parts = ignored.prefix(5).joined(separator: " ")
            "There is nothing to search for in \(parts.allSatisfy(\.isWhitespace) ? "an empty query" : parts)."
        }
        for field in unknownFields {
            let near = EditDistance.allNearest(to: field, among: SearchQuery.fields)
            let names = near.isEmpty ? SearchQuery.fields.joined(separator: " ") : near.joined(separator: " or ")
            let offer = near.isEmpty ? "Fields: \(names)" : "Did you mean \(names)?"
            "\(field) is not a search field, and was searched as a word. \(offer)"
        }
        let typed = words?.split(separator: " ") ?? []
        for (word, advice) in Self.operators
        where typed.contains(word) && (total == 0 || word.allSatisfy(\.isUppercase)) {
            "\"\(word)\" was searched as a word. \(advice)"
        }
        if items.isEmpty, total == 0 {
            let offer = suggestions.map { "\"\($0)\"" }.joined(separator: " or ")
            suggestions.isEmpty || !otherEndings.isEmpty ? none : "\(none) Did you mean \(offer)?"
            for word in typed where SearchQuery.fields.contains(word.lowercased()) {
                "\(word) has nothing behind it, and was searched as a word."
            }
        }
        for (query, items) in otherEndings {
            "\"\(query)\" finds \(items.map { Formatting.count($0, "item") } ?? "many more items")."
        }
        if missingTexts > 0 {
            let their = missingTexts == 1 ? "its" : "their"
            let more = missingTexts < CopySummary.Texts.mostCounted ? "" : "At least "
            "\(more)\(Count.text(missingTexts, "text", "is")) not here yet, so \(their) words cannot be found."
        }
        if notIndexed > 0 {
            let items = "\(Count.text(notIndexed, "new or changed item", "is")) not in the search index yet"
            // The status says nothing of what takes a moment.
            notIndexed > StatusReport.indexedAtOnce ? "\(items): `prsnlctl status`." : "\(items)."
        }
        if more, !isCount { shown }
    }

    /// `20 of 341 shown; -n 100 shows more.`
    private var shown: Advice {
        let next = total.map { $0 <= 100 } ?? false ? "-n 0 shows all" : "-n \(max(100, items.count * 5)) shows more"
        return
            "\(total.map { "\(items.count) of \(Formatting.count($0))" } ?? "The first \(items.count)") shown; \(next)."
    }

    /// What people type that has a meaning elsewhere.
    private static let operators: [(Substring, String)] = [
        ("or", "Write OR between two words."), ("Or", "Write OR between two words."),
        ("AND", "Leave it out: all words have to be there."), ("NOT", "Write -word for items without it."),
    ]
}

extension ItemListReport: Report {
    package func text(_ style: TextStyle) -> String {
        if isCount { return "\(total ?? items.count)\n" }
        let idWidth = items.map { TextLayout.width($0.shortID) }.max() ?? 0
        let typeWidth = min(10, items.map { TextLayout.width($0.type ?? "") }.max() ?? 0)
        return items.flatMap { lines(of: $0, idWidth: idWidth, typeWidth: typeWidth, style) }.map { $0 + "\n" }.joined()
    }

    private func lines(of item: ListedItem, idWidth: Int, typeWidth: Int, _ style: TextStyle) -> [String] {
        let id = style.paint(TextLayout.padRight(style.safe(item.shortID), to: idWidth), .yellow)
        let date = LocalTime(item.createdAt).day
        let type = style.paint(
            TextLayout.padRight(TextLayout.cut(style.safe(item.type ?? ""), to: typeWidth), to: typeWidth), .cyan)
        let front = "\(id)  \(date)  \(type)  "
        let room = max(20, style.rowWidth == .max ? .max : style.rowWidth - idWidth - date.count - typeWidth - 6)
        let line = front + title(of: item, room: room, style)
        // A short note's text is its title.
        guard !item.snippetParts.isEmpty, item.passage != item.title else { return [line] }
        let indent = String(repeating: " ", count: idWidth + 2)
        let width = style.rowWidth == .max ? .max : style.rowWidth - idWidth - 2
        return [line, indent + marked(item.snippetParts, room: width, style)]
    }

    private func title(of item: ListedItem, room: Int, _ style: TextStyle) -> String {
        let name = item.title.flatMap { $0.isEmpty ? nil : $0 } ?? item.url ?? "(no title)"
        let parts = item.titleParts.isEmpty ? [Snippet.Part(text: name, isFound: false)] : item.titleParts
        let used = parts.reduce(0) { $0 + TextLayout.width(style.safe($1.text)) }
        let remark =
            switch item.pending {
            case _ where item.deletion != nil: "(\(item.deletion?.words ?? ""))"
            case "creation" where LocalID.isLocal(item.id): "(not confirmed yet)"
            case "edit": "(edit not sent yet)"
            default: item.tags.isEmpty ? "" : "[" + style.safe(item.tags.joined(separator: ", ")) + "]"
            }
        func text(_ room: Int) -> String { style.link(marked(parts, room: room, style), to: item.url) }
        let colour: TextStyle.Colour = remark.hasPrefix("[") ? .green : .yellow
        guard !remark.isEmpty, room != .max else {
            return text(room) + (remark.isEmpty ? "" : "  " + style.paint(remark, colour))
        }
        // On a narrow terminal both are cut: the remark has half of the room, and what the title leaves.
        let cut = TextLayout.cut(remark, to: max(room - used - 2, room / 2))
        return text(room - 2 - TextLayout.width(cut)) + "  " + style.paint(cut, colour)
    }

    /// In one line, cut at the end of it.
    private func marked(_ parts: [Snippet.Part], room: Int, _ style: TextStyle) -> String {
        var left = room
        var line = ""
        for part in parts where left > 0 {
            let text = style.safe(part.text)
            let cut = room == .max ? text : TextLayout.cut(text, to: left)
            if room != .max { left -= cut == text ? TextLayout.width(text) : left }
            line += part.isFound ? style.paint(cut, .bold) : cut
        }
        return line
    }
}

extension Deletion {
    /// `deleted 2026-11-25 04:05 here (#12)`
    var words: String {
        let number = entry.map { " (#\($0))" } ?? ""
        return at.map { "deleted \(Formatting.time($0)) \(by)\(number)" } ?? "waits to be deleted\(number)"
    }
}

/// Where an item is in the web: the JSON of `prsnlctl open --json`.
package struct AddressReport: Sendable, Equatable, Encodable {
    package var schemaVersion = 1
    package var url: String
}

extension AddressReport: Report {
    package func text(_ style: TextStyle) -> String { style.safe(url) + "\n" }
}

/// The tags of all items: the JSON of `prsnlctl tags --json`.
package struct TagsReport: Sendable, Equatable, Encodable {
    package var schemaVersion = 1
    package var tags: [TagCount]
}

extension TagsReport: Report {
    package func text(_ style: TextStyle) -> String {
        guard !tags.isEmpty else { return "No item has a tag.\n" }
        let width = tags.map { Formatting.count($0.items).count }.max() ?? 0
        return tags.map {
            "\(TextLayout.padLeft(Formatting.count($0.items), to: width))  \(style.paint(style.safe($0.tag), .green))\n"
        }
        .joined()
    }
}
