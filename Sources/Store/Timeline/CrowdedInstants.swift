package import PRSNLCore

/// An instant of which the server may have more items than it shows.
package struct CrowdedInstant: Sendable, Equatable {
    package var at: Timestamp
    /// How many of them could be reached.
    package var seen: Int

    package init(at: Timestamp, seen: Int) {
        self.at = at
        self.seen = seen
    }
}

extension Store {
    /// Instants of which the server may have more items than it shows, newest first.
    package func crowdedInstants() throws(UserFacingError) -> [Timestamp] {
        try read { connection throws(SQLiteFailure) in
            let rows = try connection.prepare("SELECT at FROM crowded_instant ORDER BY at DESC")
            var instants: [Timestamp] = []
            while try rows.step() {
                if let at = rows.timestamp(0) { instants.append(at) }
            }
            return instants
        }
    }

    static func isKnown(
        _ crowded: CrowdedInstant?, provenIn proven: ClosedRange<Timestamp>?, _ connection: Connection
    ) throws(SQLiteFailure) -> Bool {
        if let proven {
            let resolved = try connection.prepare("SELECT 1 FROM crowded_instant WHERE at BETWEEN ? AND ?")
            if try resolved.bind(proven.lowerBound).bind(proven.upperBound).step() { return false }
        }
        guard let crowded else { return true }
        return try connection.prepare("SELECT 1 FROM crowded_instant WHERE at = ? AND seen = ?")
            .bind(crowded.at).bind(crowded.seen).step()
    }

    static func note(
        _ crowded: CrowdedInstant?, provenIn proven: ClosedRange<Timestamp>?, now: Timestamp,
        _ connection: Connection
    ) throws(SQLiteFailure) {
        if let proven {
            try connection.prepare("DELETE FROM crowded_instant WHERE at BETWEEN ? AND ?")
                .bind(proven.lowerBound).bind(proven.upperBound).run()
        }
        if let crowded {
            try connection.prepare(
                """
                INSERT INTO crowded_instant (at, seen, read_at) VALUES (?1, ?2, ?3)
                ON CONFLICT (at) DO UPDATE SET seen = ?2, read_at = ?3
                """
            ).bind(crowded.at).bind(crowded.seen).bind(now).run()
        }
    }
}
