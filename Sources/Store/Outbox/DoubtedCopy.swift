import PRSNLCore

// A database that was restored from a backup, or copied: what was `queued` then is held for a person's decision.
extension Store {
    static let restored = UserFacingError(
        .databaseRestored,
        "The database was restored from a backup, or copied, and this write may have been sent since.")

    /// Compares the database with its mark, holds what may have been sent elsewhere, and marks it again.
    ///
    /// - Returns: the mark; `nil` where none could be made.
    static func mark(
        _ connection: Connection, _ statements: ItemStatements?, path: String, log: LogHandler
    ) throws -> CopyMark? {
        let known = try connection.prepare("SELECT mark, sends FROM copy").first { ($0.text(0), $0.int(1)) }
        guard let (id, sends) = known else { return nil }
        func missing(_ error: UserFacingError) -> CopyMark? {
            log(.warning, .store, "\(error.message) If this database is restored from a backup, that is not noticed.")
            return nil
        }
        let found: [CopyMark]
        do throws(UserFacingError) { found = try CopyMark.all(beside: path) } catch { return missing(error) }
        let verdict = CopyMark.judge(id: id, sends: sends, found)
        if verdict == .trusted, var mark = found.first {
            _ = mark.follow(sends)
            return mark
        }
        // First of all: a kill after this finds nothing more to hold.
        if verdict == .doubted {
            try ChangeLog.renew(connection)
            try hold(connection, statements, log: log)
        }
        var mark: CopyMark
        do throws(UserFacingError) {
            let id = TimedUUID.make(at: TimeSource.system.now())
            mark = try CopyMark.make(beside: path, id: id, inPlaceOf: found)
        } catch {
            return missing(error)
        }
        // On the disk before the mark is ahead of it.
        try connection.synchronize(durably: true)
        try connection.transaction { () -> Void in
            try connection.prepare("UPDATE copy SET mark = ?, sends = sends + 1").bind(mark.id).run()
        }
        _ = mark.follow(sends + 1)
        return mark
    }

    /// What would go out is parked: `queued`, and `unknown`, which is sent again where it is not found. What is behind a creation
    /// stays there, and is sent, or looked for, after that one's decision. What was delivered is not verified any more, because
    /// newer edits of its item may be those that the backup lacks.
    private static func hold(
        _ connection: Connection, _ statements: ItemStatements?, log: LogHandler
    ) throws {
        let now = TimeSource.system.now()
        var held: [Int64] = []
        try connection.transaction {
            var writer = OutboxWriter(
                connection: connection, statements: statements, now: now, serverNow: nil,
                reachable: try connection.double("SELECT reachable_seconds FROM copy"))
            let queued = try connection.prepare(
                """
                SELECT id, item_id, kind IN ('capture', 'note') FROM outbox
                WHERE state IN ('queued', 'unknown') AND (next_attempt_at IS NOT NULL OR kind = 'edit' AND NOT EXISTS
                    (SELECT 1 FROM outbox AS made WHERE made.item_id = outbox.item_id AND made.ended_at IS NULL
                        AND made.kind IN ('capture', 'note')))
                ORDER BY id
                """
            ).all { row in (id: row.int64(0), item: row.text(1) ?? "", isCreation: row.int(2) == 1) }
            try writer.change(each: try connection.prepare("SELECT id FROM outbox WHERE is_unverified IS 1")) {
                $0.isUnverified = false
            }
            guard !queued.isEmpty else { return }
            let evidence = try newestKnown(connection).json
            for entry in queued {
                try writer.change(entry.id) { standing in
                    // Its other fields may not have been sent. Of one that a person retries they were.
                    if standing.manual == nil { standing.theirs = nil }
                    (standing.state, standing.isMaybeApplied) = (.parked, true)
                    standing.evidence = entry.isCreation ? standing.evidence ?? evidence : nil
                    standing.setError(restored.code.rawValue, restored.message)
                }
                try writer.refreshLocalEdit(entry.item)
            }
            try writer.deltas.save(connection)
            try connection.prepare(
                """
                INSERT INTO recurring_error (code, endpoint, message, first_at, last_at, count) VALUES (?1, 'database', ?2, ?3, ?3, 1)
                ON CONFLICT (code, endpoint) DO UPDATE SET message = ?2, last_at = ?3, count = count + 1, over = 0
                """
            ).bind(restored.code.rawValue)
                .bind("The database was restored from a backup, or copied: what it had to send is held.").bind(now)
                .run()
            held = queued.map(\.id)
        }
        guard !held.isEmpty else { return }
        log(
            .warning, .store,
            "the database was restored from a backup, or copied: \(Count.text(held.count, "write")) may have been sent since "
                + "and wait for your decision. See `prsnlctl queue --state parked`")
    }

    /// What the copy knows to have been on the server before: an older item is no result of these writes.
    private static func newestKnown(_ connection: Connection) throws -> SendEvidence {
        let most = 100
        let place = "CASE (SELECT dialect FROM copy) WHEN 'E' THEN coalesce(updated_at, created_at) ELSE created_at END"
        let newest = try connection.prepare(
            "SELECT id, \(place) FROM item ORDER BY 2 DESC, id DESC LIMIT \(most)"
        ).all { ($0.text(0) ?? "", $0.timestamp(1)) }
        let last = newest.count == most ? newest.last?.1 : nil
        return SendEvidence(knownIDs: newest.map(\.0), knownDownTo: last.map { ServerTime($0) })
    }

    /// After the commit that has begun sends, before their requests.
    func followSends(_ begun: Int) {
        guard begun > 0, let sends = mark?.sends else { return }
        if mark?.follow(sends + begun) == false, !reportedMark {
            reportedMark = true
            log(.warning, .store, "the mark of \(path) cannot be renamed: a restored backup may not be noticed")
        }
    }
}
