package import PRSNLCore

/// What the file says in one line.
package struct CopyCounts: Sendable, Equatable {
    package var live = 0
    /// Writes that wait to be sent.
    package var waiting = 0
    /// Writes that wait for a person.
    package var parked = 0
    /// More deletions at once than are believed.
    package var deletionsHeld = 0
    /// Nothing is known to be missing.
    package var isComplete = false

    package init() {}
}

extension Store {
    /// Cheap for a file of any size: the counters are maintained, and lists are only tested for a first row.
    package func counts() throws(UserFacingError) -> CopyCounts {
        let isCovered = coverage.isComplete
        return try read { connection throws(SQLiteFailure) in
            try connection.cached(
                """
                SELECT live, waiting, parked, deletions_held,
                    EXISTS (SELECT 1 FROM crowded_instant), EXISTS (SELECT 1 FROM rejected_item)
                FROM copy
                """
            ).first { row in
                var counts = CopyCounts()
                counts.live = row.int(0)
                counts.waiting = row.int(1)
                counts.parked = row.int(2)
                counts.deletionsHeld = row.int(3)
                counts.isComplete = isCovered && row.int(4) == 0 && row.int(5) == 0
                return counts
            } ?? CopyCounts()
        }
    }
}

/// Changes of the maintained counters, written once per transaction.
struct CounterDeltas {
    var live = 0
    var deleted = 0
    var waiting = 0
    var unknown = 0
    var parked = 0
    /// Sends that were begun: the file's mark follows them.
    var sends = 0

    func save(_ connection: Connection) throws(SQLiteFailure) {
        guard live != 0 || deleted != 0 || waiting != 0 || unknown != 0 || parked != 0 || sends != 0 else { return }
        try connection.cached(
            """
            UPDATE copy SET live = live + ?, deleted = deleted + ?, waiting = waiting + ?, unknown = unknown + ?,
                parked = parked + ?, sends = sends + ?
            """
        ).bind(live).bind(deleted).bind(waiting).bind(unknown).bind(parked).bind(sends).run()
    }
}
