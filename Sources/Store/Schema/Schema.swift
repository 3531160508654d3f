/// The file's schema. docs/schema.md describes the public part, which only grows within a major version.
struct Schema {
    /// "PRSN" in ASCII, in the header at offset 68 (https://sqlite.org/fileformat2.html#application_id).
    static let applicationID: UInt32 = 0x5052_534E

    static let current = Schema(
        steps: [
            Tables.all + Views.all, TextTables.all, SearchTables.all, KnownItems.all, TextTables.claims,
            SearchTables.inPieces, CopyMarks.all, WishTables.all,
        ].map { $0.joined(separator: "\n") })

    /// The first with texts.
    static let versionWithTexts = 2
    /// The first with an index of words as it is searched now.
    static let versionWithSearch = 6

    /// Step N takes a file from `user_version` N - 1 to N. The first makes an empty file a copy. A released step is never
    /// changed: a change of the schema is a step of its own.
    let steps: [String]

    var version: Int { steps.count }

    /// Takes the steps that the file lacks. Each is one transaction with its `user_version`, so that a kill leaves the file
    /// at one version or the next.
    func apply(to connection: Connection) throws(SQLiteFailure) {
        let found = Int(try connection.integer("PRAGMA user_version"))
        for (index, step) in steps.enumerated().dropFirst(found) {
            try connection.transaction { () throws(SQLiteFailure) in
                try connection.execute(step)
                try connection.execute("PRAGMA application_id = \(Self.applicationID)")
                try connection.execute("PRAGMA user_version = \(index + 1)")
            }
        }
    }
}
