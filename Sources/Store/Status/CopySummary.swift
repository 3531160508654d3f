package import PRSNLCore

/// What the file says about itself, in one read: the most of `prsnlctl status`. docs/cli.md names the members of its JSON.
package struct CopySummary: Sendable, Equatable {
    package struct Server: Sendable, Equatable, Codable {
        @Nullable package var url: String? = nil
        @Nullable package var dialect: Dialect? = nil
        @Nullable package var accountID: String? = nil
        @Nullable package var accountName: String? = nil
    }

    /// A part of the timeline that the copy lacks. Both ends belong to it; an open end is `nil`.
    package struct Gap: Sendable, Equatable, Codable {
        @Nullable package var from: Timestamp? = nil
        @Nullable package var to: Timestamp? = nil

        package init(from: Timestamp, to: Timestamp) {
            self.from = from <= .earliest ? nil : from
            self.to = to >= .latest ? nil : to
        }
    }

    /// In JSON, the numbers of `CopyCount.all` stand among the other members.
    @dynamicMemberLookup
    package struct Copy: Sendable, Equatable, Codable {
        package var members = Members()
        /// By name; without those that a daemon of an earlier version does not know.
        package var counts = Dictionary(uniqueKeysWithValues: CopyCount.all.map { ($0.name, 0) })

        package init() {}

        package init(from decoder: any Decoder) throws {
            members = try Members(from: decoder)
            let numbers = try decoder.container(keyedBy: NamedKey.self)
            for name in CopyCount.all.map(\.name) {
                counts[name] = try numbers.decodeIfPresent(Int.self, forKey: NamedKey(name))
            }
        }

        package func encode(to encoder: any Encoder) throws {
            try members.encode(to: encoder)
            var numbers = encoder.container(keyedBy: NamedKey.self)
            for name in CopyCount.all.map(\.name) { try numbers.encode(counts[name], forKey: NamedKey(name)) }
        }

        package subscript<Value>(dynamicMember path: WritableKeyPath<Members, Value>) -> Value {
            get { members[keyPath: path] }
            set { members[keyPath: path] = newValue }
        }

        /// One of `CopyCount.all`.
        package subscript(name: String) -> Int {
            get { counts[name] ?? 0 }
            set { counts[name] = newValue }
        }
    }

    package struct Members: Sendable, Equatable, Codable {
        /// Nothing is known to be missing.
        package var complete = false
        /// New items are complete as of this time (T1): the last head read that reached what was already here.
        @Nullable package var newAsOf: Timestamp? = nil
        /// Edits and deletions are complete as of this time (T2): the start of the oldest read that still counts. `nil` while
        /// a part of the timeline was never read.
        @Nullable package var editsAsOf: Timestamp? = nil
        package var live = 0
        package var deleted = 0
        /// More deletions at once than are believed: waiting for `sync --accept-deletions`.
        package var deletionsHeld = 0
        package var gaps: [Gap] = []
        /// Times at which the server has more items than it shows.
        package var possiblyMoreAt: [Timestamp] = []
        /// `nil` for a file of a version that had no texts.
        @Nullable package var texts: Texts? = nil
        /// `nil` for a file that has no full-text index.
        @Nullable package var search: SearchState? = nil
        /// Items that were delivered from here and are gone from the server, though not deleted from here; `nil` where there is none.
        @Nullable package var gone: GoneItems? = nil
        /// `nil` where this copy was never compared with the server.
        @Nullable package var verified: LastVerification? = nil
    }

    /// Writes that have failed at least four times, or were refused, and are still tried.
    package struct Failing: Sendable, Equatable, Codable {
        package var count: Int
        /// Those of them that a person asked for. The others are titles and tags that follow a capture.
        package var ownCount: Int
        /// The first of the former, else of all, and what it failed with last.
        package var entry: Int64
        @Nullable package var error: UserFacingError? = nil

        package init(count: Int, ownCount: Int, entry: Int64, code: String?, message: String?) {
            self.count = count
            self.ownCount = ownCount
            self.entry = entry
            error = code.map { UserFacingError(code: $0, message: message, entry: entry) }
        }
    }

    package struct Outbox: Sendable, Equatable, Codable {
        /// Writes to be sent: `queued`, `sending` and `unknown`.
        package var waiting = 0
        /// Writes that wait for a person.
        package var parked = 0
        /// Of the waiting ones, those that the server may have applied.
        package var unknown = 0
        /// When the oldest waiting write was accepted.
        @Nullable package var oldestWaiting: Timestamp? = nil
        @Nullable package var failing: Failing? = nil
        /// Why nothing is sent though the server can be reached; only a running daemon knows it.
        @Nullable package var problem: UserFacingError? = nil
    }

    package struct File: Sendable, Equatable, Codable {
        package var path = ""
        /// Bytes of the database, and of its write-ahead log beside it.
        package var size: Int64 = 0
        package var walSize: Int64 = 0
        package var schemaVersion = 0
    }

    package var server = Server()
    package var copy = Copy()
    package var outbox = Outbox()
    package var lastError: RecurringError?
    package var file = File()
    /// Whom the login token named when the account was bound.
    package var accountSubject: String?
    package var boundAt: Timestamp?
    /// Whether the last owner of the file closed it, or has it open and has written nothing yet.
    package var wasClosed = true

    /// Made without a login: it holds everyone's items.
    package var isAnonymous: Bool { server.dialect == .cursor && server.accountID == nil }

    package init() {}
}

extension StoreReader {
    package func summary() throws(UserFacingError) -> CopySummary {
        try readTogether { try CopySummary(connection, self) }
    }
}

extension CopySummary {
    fileprivate init(_ connection: Connection, _ reader: StoreReader) throws {
        self.init()
        file.path = reader.givenPath
        file.schemaVersion = Int(try connection.integer("PRAGMA user_version"))
        try readCounters(connection)
        let coverage = try Store.readCoverage(connection)
        copy.gaps = coverage.gaps().map { Gap(from: $0.lowerBound, to: $0.upperBound) }
        copy.possiblyMoreAt = try TimestampCollision.all(connection)
        for count in CopyCount.all { copy[count.name] = Int(try connection.integer(count.query)) }
        copy.complete = coverage.isComplete && copy.possiblyMoreAt.isEmpty && copy["rejected"] == 0
        if !reader.lacks("item_body") {
            var texts = Texts()
            try texts.read(connection, self)
            copy.texts = texts
        }
        if !reader.lacks("search_state.folding") { copy.search = try SearchState(connection) }
        if let epoch = try connection.text("SELECT epoch FROM change_state") {
            copy.verified = LastVerification(beside: reader.path, epoch: epoch)
        }
        outbox.failing = try connection.prepare(
            """
            SELECT id, substr(error_code, 1, 100), substr(error_message, 1, 2000), count(*) OVER (), sum(follows IS NULL) OVER ()
            FROM main.outbox INDEXED BY outbox_failing WHERE \(Tables.isFailing) ORDER BY follows IS NOT NULL, id LIMIT 1
            """
        ).first { row in
            Failing(
                count: row.int(3), ownCount: row.int(4), entry: row.int64(0), code: row.text(1), message: row.text(2))
        }
        copy.gone = try GoneItems(connection)
        lastError = try connection.prepare(
            """
            SELECT \(RecurringError.columns) FROM recurring_error WHERE code != '\(ErrorCode.captureGone.rawValue)'
            ORDER BY last_at DESC LIMIT 1
            """
        ).first { RecurringError($0) }
        file.walSize = Int64(FileIdentity.size(path: reader.path + "-wal"))
        file.size = Int64(FileIdentity.size(path: reader.path))
    }

    /// What stands in the one row of `copy`.
    fileprivate mutating func readCounters(_ connection: Connection) throws {
        try connection.cached(
            """
            SELECT server_url, dialect, account_id, account_name, new_as_of, edits_as_of, deletions_held, live, deleted,
                waiting, unknown, parked, account_subject, bound_at, stopped_cleanly,
                (SELECT accepted_at FROM outbox WHERE ended_at IS NULL AND state != 'parked' ORDER BY id LIMIT 1)
                    AS oldest_waiting
            FROM copy
            """
        ).rows { row in
            server.url = row.text("server_url")
            server.dialect = row.text("dialect").flatMap(Dialect.init)
            server.accountID = row.text("account_id")
            server.accountName = row.text("account_name")
            copy.newAsOf = row.timestamp("new_as_of")
            copy.editsAsOf = row.timestamp("edits_as_of")
            copy.deletionsHeld = row.int("deletions_held")
            copy.live = row.int("live")
            copy.deleted = row.int("deleted")
            outbox.waiting = row.int("waiting")
            outbox.unknown = row.int("unknown")
            outbox.parked = row.int("parked")
            outbox.oldestWaiting = row.timestamp("oldest_waiting")
            accountSubject = row.text("account_subject")
            boundAt = row.timestamp("bound_at")
            wasClosed = row.int("stopped_cleanly") != 0
        }
    }

    package struct Texts: Sendable, Equatable, Codable {
        /// The copy has the text of every item that has one.
        package var complete = false
        /// Texts are complete as of this time (T3), but for those that are too large; `nil` while others are missing.
        @Nullable package var asOf: Timestamp? = nil
        /// Items whose text was fetched; `nil` where more are missing than are counted.
        @Nullable package var present: Int? = 0
        /// Items whose text was not, or not since they changed. At most `mostCounted`.
        package var missing = 0
        package var tooLarge = 0
        /// Items that the server has worked on for longer than a day, and whose text was asked for in vain.
        @Nullable package var unprocessed: Int? = nil
        /// Those that failed when they were asked for last, and what the newest failed with.
        package var failing = 0
        @Nullable package var failure: UserFacingError? = nil
        /// What keeps all of them away, else `failure`. Only a running daemon knows the former.
        @Nullable package var problem: UserFacingError? = nil
        /// Whether the daemon copies them; `nil` where only the file was asked.
        @Nullable package var enabled: Bool? = nil

        package init() {}

        /// More than this are not counted: that would take longer than all else of `prsnlctl status`.
        package static let mostCounted = 5_000
    }
}

extension CopySummary.Texts {
    mutating func read(_ connection: Connection, _ summary: CopySummary) throws {
        let copy = summary.copy
        guard summary.server.dialect != .express else {
            // They come with the timeline.
            (complete, asOf, present) = (copy.complete, copy.editsAsOf, copy.live)
            return
        }
        // What a complete sweep did not see is counted by its own index and taken off. So the other count needs nothing but
        // the entries of `item_text_due`, whose condition is its own: no row is read. An index is one of `main` (`FormerSchema`).
        try connection.prepare(
            """
            WITH gone (count) AS (SELECT count(*) FROM main.item INDEXED BY item_missing
                WHERE missing_since <= (SELECT swept_at FROM copy) AND \(TextTables.isBehind))
            SELECT
                (SELECT count(*) FROM (SELECT 1 FROM main.item INDEXED BY item_text_due WHERE \(TextTables.isBehind)
                    LIMIT \(Self.mostCounted) + (SELECT count FROM gone))) - (SELECT count FROM gone),
                (SELECT count FROM gone), \(Self.problems("problem.kind = 'too_large'")),
                \(Self.problems("problem.kind != 'too_large'")),
                (SELECT count(*) FROM main.item INDEXED BY item_pending WHERE \(TextTables.isPending)),
                (SELECT count(*) \(TextTables.unasked)),
                (SELECT count(*) \(TextTables.unasked) AND \(TextTables.version) < ?)
            """
        ).bind(TimeSource.system.now().advanced(by: .zero - TextTables.patience)).rows { row in
            missing = row.int(0) + row.int(6)
            present = missing < Self.mostCounted ? max(0, copy.live - row.int(1) - row.int(4) - row.int(0)) : nil
            tooLarge = row.int(2)
            failing = row.int(3)
            unprocessed = row.int(4) - row.int(5)
            complete = copy.complete && missing == 0
            asOf = missing == tooLarge ? copy.editsAsOf : nil
        }
        guard failing > 0 else { return }
        failure = try connection.prepare(
            """
            SELECT substr(problem.error_code, 1, 100), substr(problem.error_message, 1, 2000)
            FROM text_problem AS problem CROSS JOIN item ON item.id = problem.item_id
            WHERE problem.kind != 'too_large' AND \(Self.isCurrent) ORDER BY item.created_at DESC LIMIT 1
            """
        ).first { UserFacingError($0.text(0).flatMap(ErrorCode.init) ?? .storeBug, $0.text(1) ?? "") }
        problem = failure
    }

    private static let isCurrent =
        "problem.row_version = coalesce(item.updated_at, item.created_at) AND \(TextTables.isMissing)"

    /// `CROSS JOIN` keeps SQLite from beginning with the items, of which a million may be due.
    private static func problems(_ condition: String) -> String {
        """
        (SELECT count(*) FROM text_problem AS problem CROSS JOIN item ON item.id = problem.item_id
            WHERE \(condition) AND \(isCurrent))
        """
    }
}

extension Store {
    /// The part of the summary that is cheap for a file of any size, for one line: the counters are maintained, and lists are only
    /// tested for a first row.
    package func counters() throws(UserFacingError) -> CopySummary {
        let isCovered = coverage.isComplete
        return try read { connection in
            var summary = CopySummary()
            try summary.readCounters(connection)
            let lacks = "SELECT EXISTS (SELECT 1 FROM crowded_instant) OR EXISTS (SELECT 1 FROM rejected_item)"
            summary.copy.complete = try isCovered && connection.integer(lacks) == 0
            return summary
        }
    }
}

/// How the file uses its space. Bytes.
package struct FileFigures: Sendable, Equatable {
    package var schemaVersion: Int
    package var size: Int64
    /// Of it, pages that are kept for what comes.
    package var freeSize: Int64
    /// Of the write-ahead log beside it.
    package var logSize: Int64
}

extension StoreReader {
    package func figures() throws(UserFacingError) -> FileFigures {
        try readTogether {
            let page = try connection.integer("PRAGMA page_size")
            return FileFigures(
                schemaVersion: Int(try connection.integer("PRAGMA user_version")),
                size: page * (try connection.integer("PRAGMA page_count")),
                freeSize: page * (try connection.integer("PRAGMA freelist_count")),
                logSize: Int64(FileIdentity.size(path: path + "-wal")))
        }
    }
}
