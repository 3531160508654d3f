package import PRSNLCore

/// How one item of the file differs from the server's list.
package struct RowDifference: Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
        case onlyThere, onlyHere
        /// The columns.
        case differs([String])
    }

    package var id: String
    package var kind: Kind
    package var title: String?
    /// On the server; of an item that is only here, in the file.
    package var createdAt: Timestamp
    /// On the server.
    package var updatedAt: Timestamp?

    /// Both say that it was changed last at the same time, so that the copy has read what it should have. A change of tags alone
    /// moves no time on the main server.
    package var isOfOneVersion: Bool {
        guard updatedAt != nil, case .differs(let names) = kind else { return false }
        return names != ["tags"] && !names.contains("updated_at")
    }

    /// Of 10,000 differences, each has its title in memory.
    fileprivate static func title(_ title: String?) -> String? { title.map { String($0.prefix(60)) } }
}

/// The file beside what a server shows, over a connection of its own: as every other reader sees it.
///
/// It compares the rows of `item`. What waits in the queue is not the server's yet, and no difference.
package final class TimelineComparison {
    private let reader: StoreReader
    private let row: Statement
    /// Rows that the server has shown: a bit each, by their number.
    private var shown: [Int64: UInt64] = [:]
    /// The last row when the comparison began. Those after it have come from the server since.
    private let newest: Int64
    /// How many rows the server has shown.
    package private(set) var count = 0

    package init(path: String) throws(UserFacingError) {
        let reader = try StoreReader(path: path)
        self.reader = reader
        (row, newest) = try reader.read {
            let connection = reader.connection
            connection.removeDeadline()
            let lacking = ItemColumn.all.map(\.name).filter { reader.lacks("item.\($0)") }
            let columns = ItemColumn.all.map { $0.value(lacking: lacking) }.joined(separator: ", ")
            let row = try connection.prepare("SELECT \(columns), rowid FROM item WHERE id = ? AND deleted_at IS NULL")
            return (row, try connection.integer("SELECT max(rowid) FROM item"))
        }
    }

    /// Takes note that the server shows these, and compares them with the rows of one moment.
    package func compare(_ items: [TimelineItem]) throws(UserFacingError) -> [RowDifference] {
        try reader.readTogether {
            var differences: [RowDifference] = []
            for item in items {
                var kind: RowDifference.Kind? = .onlyThere
                try row.bind(item.id).rows { row in
                    note(row.int64(Int32(ItemColumn.all.count)))
                    let names = ItemColumn.all.enumerated().filter { !$1.isSame(item, row, Int32($0)) }.map(\.1.name)
                    kind = names.isEmpty ? nil : .differs(names)
                }
                guard let kind else { continue }
                differences.append(
                    RowDifference(
                        id: item.id, kind: kind, title: RowDifference.title(item.title), createdAt: item.createdAt,
                        updatedAt: item.updatedAt))
            }
            return differences
        }
    }

    /// Takes note that the server shows these too, in a form that cannot be compared.
    package func noteShown(_ ids: [String]) throws(UserFacingError) {
        try reader.readTogether {
            for id in ids { try row.bind(id).rows { note($0.int64(Int32(ItemColumn.all.count))) } }
        }
    }

    private func note(_ row: Int64) {
        guard !isShown(row) else { return }
        shown[row >> 6, default: 0] |= 1 << UInt64(row & 63)
        count += 1
    }

    private func isShown(_ row: Int64) -> Bool { shown[row >> 6, default: 0] >> UInt64(row & 63) & 1 == 1 }

    /// The items that the server has not shown, and the file had when the comparison began.
    package func onlyHere(_ body: (RowDifference) -> Void) throws(UserFacingError) {
        try reader.readTogether {
            try reader.connection.prepare("SELECT rowid, id, created_at, title FROM item WHERE deleted_at IS NULL")
                .rows { row in
                    let number = row.int64(0)
                    guard number <= newest, !isShown(number), let id = row.text(1) else { return }
                    // Invalid times sort first.
                    body(
                        RowDifference(
                            id: id, kind: .onlyHere, title: RowDifference.title(row.text(3)),
                            createdAt: row.timestamp(2) ?? .earliest))
                }
        }
    }

    /// Whether the file still has it.
    package func hasItem(_ id: String) throws(UserFacingError) -> Bool {
        try reader.readTogether { try row.bind(id).hasRow() }
    }

    // MARK: Texts

    /// Ids of live items in the order of their bytes: a part of all, which no change of the timeline moves.
    ///
    /// - Parameter part: from 0, of so many.
    package func ids(
        after id: String, part: Int, of parts: Int, limit: Int
    ) throws(UserFacingError) -> (ids: [String], last: String?) {
        try reader.readTogether {
            let all = try reader.connection.cached(
                "SELECT id FROM item WHERE id > ? AND deleted_at IS NULL ORDER BY id LIMIT ?"
            ).bind(id).bind(limit).all { $0.text(0) }
            return (all.filter { Int(Fingerprint($0).value % UInt128(parts)) == part }, all.last)
        }
    }

    package enum TextState: Sendable, Equatable {
        case same, differs
        /// It is no difference, with why not: the copy knows that it does not have it, or it is about to change.
        case inMotion(String)
    }

    /// Compares a text with the file's.
    package func state(of text: ItemText) throws(UserFacingError) -> TextState {
        try reader.readTogether {
            try reader.connection.cached(
                """
                SELECT body.content, body.transcription, body.metadata, item.updated_at, \(TextTables.isBehind),
                    substr(problem.error_message, 1, 500), status IS 'pending'
                FROM item LEFT JOIN item_text AS body ON body.item_id = item.id
                    LEFT JOIN text_problem AS problem ON problem.item_id = item.id
                WHERE item.id = ?
                """
            ).bind(text.id).first { row in
                let transcription = text.transcriptionIsContent ? text.content : text.transcription
                if row.has(text.content, 0), row.has(transcription, 1), row.has(text.metadata, 2) { return .same }
                if let reason = row.text(5) { return .inMotion(reason) }
                if row.int(6) != 0 { return .inMotion("the server still works on the item") }
                if row.int(4) != 0 { return .inMotion("the copy has yet to fetch it") }
                // An older answer is out of a cache, a newer one of a change that the copy has yet to read.
                let isSameVersion = text.updatedAt.flatMap { new in row.timestamp(3).map { new.isSame(as: $0) } }
                return isSameVersion == false ? .inMotion("the answer is of another version than the list's") : .differs
            } ?? .inMotion("the copy does not have the item any more")
        }
    }
}
