package import PRSNLCore

extension StoreReader {
    /// The changes after a place of items that a query finds, as they were before the change or as they were after it: so that
    /// leaving what it finds is a change, too. Looked for are title, summary, tags and address, and not the texts.
    ///
    /// A row has only what has changed. So what an item was is found by going back from what it is. Of a value of more than 16 KiB, a row
    /// has the hash: its words are those of the file, where that still has it.
    package func changes(after place: ChangePlace, matching query: SearchQuery) throws(UserFacingError) -> Set<Int64> {
        try readTogether {
            try connection.registerTextMark()
            connection.removeDeadline()
            let current = try connection.prepare(ChangeLog.shown)
            let patch = try connection.prepare("SELECT json_patch(?, ?)")
            let states = try ItemStates(query, of: connection)
            let change = try connection.prepare("SELECT kind, was FROM \(ChangeLog.rows) WHERE seq = ?")
            // One item after the other, so that one state is kept, and not that of each.
            var (id, after): (ByteText?, String?) = (nil, nil)
            try connection.prepare(
                "SELECT seq, item_id FROM \(ChangeLog.rows) WHERE seq > ? ORDER BY item_id, seq DESC"
            ).bind(Int(place.seq)).rows { row in
                guard let text = row.text(1) else { return }
                if id != ByteText(text) {
                    id = ByteText(text)
                    after = try current.bind(text).first { $0.text(0) } ?? nil
                }
                let (kind, was) = try change.bind(row.int(0)).first { ($0.text(0), $0.text(1)) } ?? (nil, nil)
                if ["deleted", "identified"].contains(kind) { after = nil }
                let before: String? =
                    switch kind {
                    case "added", "restored": nil
                    case "deleted", "identified": was
                    case "edited": try patch.bind(after ?? "{}").bind(was ?? "{}").first { $0.text(0) } ?? nil
                    default: after
                    }
                try states.add([before, after].compactMap(\.self), of: row.int64(0), text)
                after = before
            }
            return try states.take()
        }
    }
}

/// Items as they were, in a database in memory, so that a query is about them what it is about the copy.
final class ItemStates {
    private let memory: Connection
    private let query: SearchQuery
    private let file: Connection
    private var waiting: [(seq: Int64, texts: [String: String])] = []
    private var found: Set<Int64> = []
    /// Bytes of long values among those that wait.
    private var size = 0

    static let atOnce = 200
    private static let mostBytes = 4 << 20

    /// - Parameter file: which has the long values.
    init(_ query: SearchQuery, of file: Connection) throws {
        (self.query, self.file) = (query, file)
        memory = try Connection(path: ":memory:", mode: .readWrite)
        try memory.registerSearch()
        try memory.registerTokenizer()
        try Schema.current.apply(to: memory)
        try memory.execute("CREATE VIRTUAL TABLE words USING \(StoreReader.fts5), content='')")
    }

    func add(_ states: [String], of seq: Int64, _ id: String) throws {
        for state in states {
            var texts = try ChangeNotes.texts(state)
            for (name, mark) in texts where mark.hasPrefix(#"{"bytes":"#) {
                guard let whole = try whole(name, id, mark) else { continue }
                texts[name] = whole
                size += whole.utf8.count
            }
            waiting.append((seq, texts))
        }
        if waiting.count >= Self.atOnce || size > Self.mostBytes { try look() }
    }

    /// The value that a mark stands for, where the file still has it.
    private func whole(_ name: String, _ id: String, _ mark: String) throws -> String? {
        guard ChangeLog.names.contains(name) else { return nil }
        let shown = "\(Views.serverRow(of: "?1")) UNION ALL \(Views.creationRow(of: "?1"))"
        let values = "SELECT \(name) AS value FROM item WHERE id = ?1 UNION ALL SELECT \(name) FROM (\(shown))"
        return try file.cached("SELECT value FROM (\(values)) WHERE text_mark(value, NULL) = ?2").bind(id).bind(mark)
            .first { $0.text(0) } ?? nil
    }

    /// Those of which a state was found since the last time.
    func take() throws -> Set<Int64> {
        try look()
        return exchange(&found, with: [])
    }

    private func look() throws {
        guard !waiting.isEmpty else { return }
        try memory.execute("DELETE FROM item; DELETE FROM local_edit; INSERT INTO words (words) VALUES ('delete-all')")
        let names = ChangeLog.names.filter { $0 != "pending" && $0 != "duration" }
        let item = try memory.cached(
            """
            INSERT OR IGNORE INTO item (rowid, id, \(names.joined(separator: ", ")))
            VALUES (?1, ?1, \(names.indices.map { "?\($0 + 2)" }.joined(separator: ", ")))
            """)
        let edit = try memory.cached("INSERT INTO local_edit (item_id) VALUES (?)")
        let words = try memory.cached(
            "INSERT INTO words (rowid, title, summary, tags, url) SELECT rowid, title, summary, tags, url FROM item")
        for (number, state) in waiting.enumerated() {
            item.bind(number)
            for name in names { item.bind(state.texts[name]) }
            try item.run()
            if state.texts["pending"] != nil { try edit.bind(number).run() }
        }
        try words.run()
        for branch in query.branches {
            let condition = branch.filter.condition()
            let rows = try memory.prepare("SELECT item.rowid FROM (SELECT 1) \(ShownRow.all) WHERE 1\(condition.sql)")
            var numbers = Set(try rows.bind(condition.values).all { $0.int(0) })
            let match = try memory.prepare("SELECT rowid FROM words WHERE words MATCH ?")
            if !branch.isWithoutOnly {
                numbers.formIntersection(try match.bind(branch.match()).all { $0.int(0) })
            } else if !branch.unwanted.isEmpty {
                numbers.subtract(try match.bind(branch.unwantedMatch).all { $0.int(0) })
            }
            found.formUnion(numbers.map { waiting[$0].seq })
        }
        (waiting, size) = ([], 0)
    }
}
