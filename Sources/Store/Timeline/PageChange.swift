package import PRSNLCore

/// One page of the timeline, and what it proves.
package struct PageChange: Sendable, Equatable {
    package var items: [TimelineItem]
    package var rejected: [RejectedItem]
    /// The interval of createdAt that the page shows whole: what the copy has there and the page lacks, the server lacks.
    package var proven: ClosedRange<Timestamp>?
    /// The interval to count as covered.
    package var coverage: Coverage.Interval?
    /// An instant with at least as many items as fit on a page.
    package var collision: TimestampCollision?
    /// How many writes had been delivered when the page was asked for (`Store.deliveries`): what it says of items that were
    /// written to since is out of date.
    package var asOf = Int.max
    /// About how much memory it takes.
    package var bytes = 0

    package init(
        items: [TimelineItem], rejected: [RejectedItem] = [], proven: ClosedRange<Timestamp>? = nil,
        coverage: Coverage.Interval? = nil, collision: TimestampCollision? = nil
    ) {
        self.items = items
        self.rejected = rejected
        self.proven = proven
        self.coverage = coverage
        self.collision = collision
    }
}

/// An item of the copy by its place on the timeline.
package struct KnownItem: Sendable, Equatable {
    package var id: String
    package var createdAt: Timestamp

    package init(id: String, createdAt: Timestamp) {
        self.id = id
        self.createdAt = createdAt
    }
}

/// What a group of pages would do to the copy.
package enum Novelty: Sendable, Equatable {
    /// It only repeats what the copy holds, and so proves that it comes from the copy's account.
    case repeats
    /// It says nothing new, but nothing known either: an empty list looks the same for every account.
    case unproven
    /// It would change the copy.
    case news
}

/// What a commit changed.
package struct ChangeCounts: Sendable, Equatable {
    package var added = 0
    package var changed = 0
    /// Items that had been missing or deleted and are back.
    package var restored = 0
    package var suspects = 0
    package var rejected = 0

    package init() {}

    package var isEmpty: Bool { self == ChangeCounts() }

    package static func += (left: inout ChangeCounts, right: ChangeCounts) {
        left.added += right.added
        left.changed += right.changed
        left.restored += right.restored
        left.suspects += right.suspects
        left.rejected += right.rejected
    }
}

/// An instant of which the server may have more items than it shows.
package struct TimestampCollision: Sendable, Equatable {
    package var at: Timestamp
    /// How many of them could be reached.
    package var seen: Int

    package init(at: Timestamp, seen: Int) {
        self.at = at
        self.seen = seen
    }
}

extension TimestampCollision {
    /// Their instants, newest first.
    static func all(_ connection: Connection) throws(SQLiteFailure) -> [Timestamp] {
        try connection.prepare("SELECT at FROM crowded_instant ORDER BY at DESC").all { $0.timestamp(0) }
    }
}

extension Store {
    /// Instants of which the server may have more items than it shows, newest first.
    package func timestampCollisions() throws(UserFacingError) -> [Timestamp] {
        try read { connection throws(SQLiteFailure) in try TimestampCollision.all(connection) }
    }

    static func isKnown(
        _ collision: TimestampCollision?, provenIn proven: ClosedRange<Timestamp>?, _ connection: Connection
    ) throws(SQLiteFailure) -> Bool {
        if let proven {
            let isResolved = try connection.prepare("SELECT 1 FROM crowded_instant WHERE at BETWEEN ? AND ?")
                .bind(proven.lowerBound).bind(proven.upperBound).hasRow()
            if isResolved { return false }
        }
        guard let collision else { return true }
        return try connection.prepare("SELECT 1 FROM crowded_instant WHERE at = ? AND seen = ?")
            .bind(collision.at).bind(collision.seen).hasRow()
    }

    static func note(
        _ collision: TimestampCollision?, provenIn proven: ClosedRange<Timestamp>?, now: Timestamp,
        _ connection: Connection
    ) throws(SQLiteFailure) {
        if let proven {
            try connection.prepare("DELETE FROM crowded_instant WHERE at BETWEEN ? AND ?")
                .bind(proven.lowerBound).bind(proven.upperBound).run()
        }
        if let collision {
            try connection.prepare(
                """
                INSERT INTO crowded_instant (at, seen, read_at) VALUES (?1, ?2, ?3)
                ON CONFLICT (at) DO UPDATE SET seen = ?2, read_at = ?3
                """
            ).bind(collision.at).bind(collision.seen).bind(now).run()
        }
    }
}
