/// A page of dialect C's timeline, or an empty one of any, that contradicts the API, or what the server has said before, and still looks like one.
package enum PageLie: String, Sendable, CaseIterable {
    /// No items, and the right page's cursor.
    case emptyWithCursor
    /// The newer half of the page, with the whole page's cursor.
    case halfWithCursor
    /// The right items, and a cursor that is an hour older than the last of them.
    case olderCursor
    /// The right items, and a cursor that is newer than the last of them.
    case newerCursor
    /// A full page without a cursor.
    case withoutCursor
    /// A well-formed end of the list: no items, no cursor. Of dialects P and E too: no items, and a total of 0.
    case emptyEnd
    /// A well-formed page that begins too far down: the newer half of the right one is not on it.
    case beginsTooLow

    /// What breaks the form of a page by itself, without a look at the pages before it.
    package static let malformed: [PageLie] = [
        .emptyWithCursor, .halfWithCursor, .olderCursor, .newerCursor, .withoutCursor,
    ]
    /// What only contradicts other pages.
    package static let wellFormed: [PageLie] = [.emptyEnd, .beginsTooLow]
}

extension ServerState {
    /// Turns the right page into the one that the script asks for.
    mutating func falsify(
        _ slots: inout [Int32], _ cursor: inout Int64?, limit: Int, _ timeline: Timeline
    ) {
        guard let lie = pageLie else { return }
        pageLie = nil
        let middle = slots.count / 2
        switch lie {
        case .emptyWithCursor:
            cursor = slots.last.map(time(of:))
            slots = []
        case .halfWithCursor:
            cursor = slots.last.map(time(of:))
            slots = Array(slots.prefix(middle))
        case .olderCursor: cursor = slots.last.map { time(of: $0) - 3_600_000_000 }
        case .newerCursor: cursor = slots.dropLast().first.map { time(of: $0) + 1 }
        case .withoutCursor: cursor = nil
        case .emptyEnd:
            slots = []
            cursor = nil
        case .beginsTooLow:
            guard !slots.isEmpty else { return }
            slots = timeline.page(before: time(of: slots[middle]), limit: limit, choice: quirks.tieChoice)
            cursor = slots.count == limit ? slots.last.map(time(of:)) : nil
        }
    }

    func time(of slot: Int32) -> Int64 { items.item(slot: slot)?.createdAt.microseconds ?? 0 }
}
