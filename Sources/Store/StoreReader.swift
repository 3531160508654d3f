package import PRSNLCore

/// A read-only look at the file, by any process, at any time, whether the daemon runs or not. It never reads the file but
/// through SQLite, so it is safe in the daemon's own process too.
package final class StoreReader {
    let path: String
    /// As the caller has named the file, whatever links lead there: so it is shown.
    let givenPath: String
    let connection: Connection
    /// SQLite may open what stands beside the file at any time.
    private let owner: FolderOwner
    /// `nil` for a file of the present schema.
    private(set) var former: FormerSchema?

    /// - Parameters:
    ///   - leavingNoTrace: makes nothing beside the file, where there is nothing yet. For a look while no daemon runs.
    ///   - patience: For everything that is read except by `damage`. Afterwards it throws `database_unreadable`.
    /// - Throws: `UserFacingError` with `no_database`, `other_application`, `newer_schema`, `not_a_database`,
    ///   `database_damaged`, `database_unreadable`.
    package init(
        path: String, leavingNoTrace: Bool = false, patience: Duration = StoreReader.patience
    ) throws(UserFacingError) {
        givenPath = path
        // SQLite, too, looks for the log beside the file itself.
        let path = RealPath.of(path)
        let owner = FolderOwner(path)
        self.owner = owner
        self.path = path
        connection = try owner.run { () throws(UserFacingError) in
            guard try FileIdentity.isRegularFile(path: path) else {
                throw UserFacingError(.noDatabase, "There is no copy yet at \(path).")
            }
            try FileIdentity.checkBeside(path: path)
            // What a log holds is a part of the database. Without one, the database is all there is.
            let isImmutable = leavingNoTrace && FileIdentity.size(path: path + "-wal") == 0
            do {
                return try Connection(path: path, mode: isImmutable ? .immutable : .readOnly)
            } catch {
                throw error.userFacing(path: path, isWriter: false)
            }
        }
        try read {
            try connection.bound(to: patience, fileSize: FileIdentity.diskSize(path: path))
            try connection.registerSearch()
        }
        try checkHeader()
    }

    /// A healthy file of a million items answers in some milliseconds.
    package static let patience: Duration = .seconds(10)

    /// What readers take for a table. A view in its place could be anything, and so could a generated column: no deadline ends the
    /// one call of a function that it may be.
    private static let tables = [
        "copy", "coverage", "crowded_instant", "item", "local_edit", "local_item", "outbox", "outbox_attempt", "pull",
        "recurring_error", "rejected_item", "connectivity_transition", "item_body", "text_problem", "search_document",
        "search_piece", "search_due", "search_state", "search_tag", "change_log", "change_state", "written_here",
    ]

    /// In one transaction, because a daemon may be making the file: it is empty first, and then has its whole schema.
    private func checkHeader() throws(UserFacingError) {
        var foreign: String?
        let header = try readTogether { () -> DatabaseHeader? in
            if try connection.integer("PRAGMA page_count") == 0 { return nil }
            foreign = try connection.text(
                """
                SELECT name FROM sqlite_schema AS made
                WHERE name IN (\(Self.tables.map { "'\($0)'" }.joined(separator: ", ")))
                    AND (type != 'table' OR sql NOT LIKE 'CREATE TABLE%' OR EXISTS
                        (SELECT 1 FROM pragma_table_xinfo(made.name) WHERE hidden != 0))
                """)
            return DatabaseHeader(
                applicationID: UInt32(truncatingIfNeeded: try connection.integer("PRAGMA application_id")),
                userVersion: UInt32(truncatingIfNeeded: try connection.integer("PRAGMA user_version")))
        }
        guard let header else { throw UserFacingError(.noDatabase, "There is no copy yet at \(path).") }
        try header.check(path: path)
        if let foreign {
            throw UserFacingError(
                .otherApplication, "\(path) is not a prsnld database: \(foreign) is not a table.")
        }
        former = try readTogether { try FormerSchema(of: connection) }
    }

    /// Whether the file is of a schema before this table, or `table.column`.
    func lacks(_ part: String) -> Bool { former?.lacks(part) ?? false }

    /// What SQLite's `quick_check` finds (https://sqlite.org/pragma.html#pragma_quick_check). Empty when all is well.
    /// Reads the whole file, which has no deadline here: it takes minutes for a large one.
    package func damage() throws(UserFacingError) -> [String] {
        try read {
            connection.removeDeadline()
            return try connection.prepare("PRAGMA quick_check(10)").all { $0.text(0) }.filter { $0 != "ok" }
        }
    }

    /// The same of a file that is open elsewhere in this process: on a thread of its own, beside the writer.
    package static func damage(path: String) async throws(UserFacingError) -> [String] {
        try await WorkerThread.result(of: "check") {
            Result { () throws(UserFacingError) in try StoreReader(path: path).damage() }
        }.get()
    }

    func read<Result>(_ body: () throws -> Result) throws(UserFacingError) -> Result {
        try owner.run { () throws(UserFacingError) in
            do {
                try noteSteps()
                return try body()
            } catch {
                throw error.userFacing(path: path, isWriter: false)
            }
        }
    }

    /// Several reads in one transaction, so that they are of one moment.
    func readTogether<Result>(_ body: () throws -> Result) throws(UserFacingError) -> Result {
        try read {
            try connection.reading {
                try noteSteps()
                return try body()
            }
        }
    }

    /// A daemon that starts brings a former file up to date, and what it has then must not be hidden.
    private func noteSteps() throws {
        guard let former, try connection.integer("PRAGMA user_version") != former.version else { return }
        try former.remove(from: connection)
        self.former = nil
        self.former = try FormerSchema(of: connection)
    }
}
