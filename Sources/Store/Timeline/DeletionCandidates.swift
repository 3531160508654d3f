package import PRSNLCore

// Suspects are items that the last complete sweep did not see: which of them are asked for by id and when, which of them a
// person is asked about, and which cannot be asked for.
extension Store {
    /// From `item` and `copy`: deletion candidates, but for those that wait for a person's word.
    private static let candidates = """
        FROM copy, item LEFT JOIN unanswered_suspect AS unanswered ON unanswered.item_id = item.id
        WHERE missing_since IS NOT NULL AND missing_since <= copy.swept_at
            AND item.id NOT IN (SELECT item_id FROM held_deletion)
        """
    /// Those that are due. Parameter 1: one that was found is asked for again only if that was before this time, because
    /// servers cache single items for half an hour. Parameter 2: the time now.
    private static let due = "\(candidates) AND coalesce(\(waitsSince) <= ?1, 1) AND coalesce(next_at <= ?2, 1)"
    /// When a deletion candidate was found last, by itself or as one of many, NULL where it never was.
    private static let waitsSince =
        "coalesce(found_at, CASE WHEN missing_since <= suspects_sampled_at THEN suspects_sampled_at END)"

    /// Items that the last complete sweep did not see, and that are due to be asked for by id.
    ///
    /// - Parameter sampling: some of them, from anywhere, rather than the newest first.
    package func deletionCandidates(
        foundBefore: Timestamp, now: Timestamp = .latest, limit: Int = 1_000, sampling: Bool = false
    ) throws(UserFacingError) -> [String] {
        try read { connection in
            let order = sampling ? "random()" : "item.created_at DESC"
            return try connection.prepare("SELECT item.id \(Self.due) ORDER BY \(order) LIMIT ?3").bind(foundBefore)
                .bind(now).bind(limit).all { $0.text(0) }
        }
    }

    /// How many deletion candidates `suspects` would name without a limit.
    package func deletionCandidateCount(foundBefore: Timestamp, now: Timestamp = .latest) throws(UserFacingError) -> Int
    {
        try integer("SELECT count(*) \(Self.due)", foundBefore, now)
    }

    /// When the next deletion candidate is due: `earliest` for one that never was. `nil` where there is none, or all wait for a person's
    /// word.
    ///
    /// - Parameter wait: from finding one to asking for it again.
    package func deletionCandidatesDue(after wait: Duration) throws(UserFacingError) -> Timestamp? {
        try read { connection in
            try connection.prepare(
                """
                SELECT min(\(Self.waitsSince)), min(next_at), min(\(Self.waitsSince) IS NOT NULL OR next_at IS NOT NULL)
                \(Self.candidates)
                """
            ).first { row in
                guard row.text(2) != nil else { return nil }
                if row.int(2) == 0 { return .earliest }
                let found = row.timestamp(0)?.advanced(by: wait)
                return min(found ?? .latest, row.timestamp(1) ?? .latest)
            }
        }
    }

    /// One of the clocks was set: how long ago deletion candidates were found, and texts came without their version, is not known. What a
    /// cache may have answered then, it may answer still. T1 is by the clock as it was.
    ///
    /// - Parameter ahead: how far the server's clock is ahead of ours now. It is written at once: a process that is killed later
    ///   must not leave times by this clock beside the word of another.
    package func restartWaits(at now: Timestamp, serverAhead ahead: Duration) throws(UserFacingError) {
        try write { connection in
            try connection.prepare(
                "UPDATE item SET found_at = ? WHERE missing_since IS NOT NULL AND found_at IS NOT NULL"
            ).bind(now).run()
            try connection.execute("DELETE FROM text_problem WHERE kind = 'stale'")
            try connection.prepare("UPDATE copy SET new_as_of = NULL, server_ahead = ?")
                .bind(Int(ahead.wholeMicroseconds)).run()
        }
    }

    /// Some of too many deletion candidates were found: the others are asked for when those are.
    package func noteSampled(at now: Timestamp) throws(UserFacingError) {
        try run("UPDATE copy SET suspects_sampled_at = ?", now)
    }

    // MARK: Held back

    /// Keeps the deletion candidates that are due for a person's word.
    package func holdDeletionCandidates(foundBefore: Timestamp, now: Timestamp) throws(UserFacingError) {
        try write { connection in
            try connection.prepare("INSERT INTO held_deletion SELECT item.id \(Self.due)").bind(foundBefore).bind(now)
                .run()
            try Self.countHeld(connection)
        }
    }

    /// Forgets those that are no deletion candidates any more, and all where no more than `few` are left: then they are deletion candidates like
    /// others.
    package func forgetHeld(unlessMoreThan few: Int) throws(UserFacingError) {
        let isStill = "EXISTS (SELECT 1 FROM item WHERE item.id = item_id AND missing_since IS NOT NULL)"
        let (held, left) = try read { connection in
            try connection.prepare("SELECT count(*), total(\(isStill)) FROM held_deletion")
                .first { ($0.int(0), $0.int(1)) } ?? (0, 0)
        }
        guard held > 0, left < held || left <= few else { return }
        try write { connection in
            try connection.execute("DELETE FROM held_deletion" + (left <= few ? "" : " WHERE NOT \(isStill)"))
            try Self.countHeld(connection)
        }
    }

    private static func countHeld(_ connection: Connection) throws {
        try connection.execute("UPDATE copy SET deletions_held = (SELECT count(*) FROM held_deletion)")
    }

    /// These are decided, or were asked for at least. Other deletion candidates waited for that, and are due.
    package func releaseHeld(_ ids: [String]) throws(UserFacingError) {
        try write { connection in
            let release = try connection.prepare("DELETE FROM held_deletion WHERE item_id = ?")
            for id in ids { try release.bind(id).run() }
            try Self.countHeld(connection)
            try connection.execute("UPDATE copy SET suspects_sampled_at = NULL WHERE deletions_held = 0")
        }
    }

    /// Deletions that wait for a person's word and are still suspected.
    package func heldDeletionCandidates(limit: Int) throws(UserFacingError) -> [String] {
        try read { connection in
            try connection.prepare(
                """
                SELECT item_id FROM held_deletion JOIN item ON item.id = item_id WHERE missing_since IS NOT NULL
                ORDER BY created_at DESC LIMIT ?
                """
            ).bind(limit).all { $0.text(0) }
        }
    }

    package func deletionsHeld() throws(UserFacingError) -> Int {
        try integer("SELECT deletions_held FROM copy")
    }

    // MARK: Not to be asked for

    /// Asking for it failed.
    ///
    /// - Parameter next: when it is tried again, by how often it has failed in a row.
    package func noteUnanswered(
        _ id: String, message: String, next: @Sendable (_ failures: Int) -> Timestamp
    ) throws(UserFacingError) {
        try write { connection in
            let known = try connection.prepare("SELECT failures FROM unanswered_suspect WHERE item_id = ?").bind(id)
                .first { $0.int(0) }
            let failures = (known ?? 0) + 1
            try connection.prepare(
                """
                INSERT INTO unanswered_suspect (item_id, failures, next_at, error_message) VALUES (?1, ?2, ?3, ?4)
                ON CONFLICT (item_id) DO UPDATE SET failures = ?2, next_at = ?3, error_message = ?4
                """
            ).bind(id).bind(failures).bind(next(failures)).bind(message).run()
        }
    }

    /// They wait no longer, and as long as they have failed in a row if they fail again.
    package func askUnansweredAgain(at now: Timestamp) throws(UserFacingError) {
        guard try unanswered() != nil else { return }
        try run("UPDATE unanswered_suspect SET next_at = ?1 WHERE next_at > ?1", now)
    }

    /// Forgets those that were answered, or are no deletion candidates any more.
    package func forgetAnswered(_ ids: [String] = []) throws(UserFacingError) {
        guard try hasRow("SELECT 1 FROM unanswered_suspect LIMIT 1") else { return }
        try write { connection in
            for id in ids {
                try connection.prepare("DELETE FROM unanswered_suspect WHERE item_id = ?").bind(id).run()
            }
            try connection.execute(
                """
                DELETE FROM unanswered_suspect WHERE NOT EXISTS
                        (SELECT 1 FROM item WHERE item.id = item_id AND missing_since IS NOT NULL)
                    AND NOT EXISTS (SELECT 1 FROM local_item WHERE local_item.id = item_id)
                """)
        }
    }

    /// How many there are, and the words of the one that failed most often.
    package func unanswered() throws(UserFacingError) -> (count: Int, message: String)? {
        try read { connection in
            try connection.prepare(
                """
                SELECT error_message, (SELECT count(*) FROM unanswered_suspect) FROM unanswered_suspect
                ORDER BY failures DESC, item_id LIMIT 1
                """
            ).first { row in row.text(0).map { (count: row.int(1), message: $0) } }
        }
    }
}
