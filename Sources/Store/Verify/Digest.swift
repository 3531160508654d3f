package import PRSNLCore

/// One line for what the timeline says: equal on two machines if, and only if, their timelines are.
package struct TimelineDigest: Sendable, Equatable, Codable {
    package var schemaVersion = 1
    /// 32 hexadecimal digits: FNV-1a with 128 bits (`Fingerprint`). It tells copies apart, and proves nothing against forgers.
    package var digest: String
    package var items: Int
    /// When the file was read; edits and deletions are known as of `edits_as_of`.
    package var readAt: Timestamp
    @Nullable package var editsAsOf: Timestamp? = nil
}

extension StoreReader {
    /// A digest over the items in the order of their ids: of each, its id, its `updated_at` and a hash of all that the
    /// timeline shows of it, without what waits in the queue. Texts of their own are not among it: each copy fetches them when
    /// it can.
    ///
    /// Reads the whole timeline, in one transaction.
    package func digest(at now: Timestamp) throws(UserFacingError) -> TimelineDigest {
        try readTogether {
            connection.removeDeadline()
            var (all, items) = (Fingerprint(), 0)
            // SQLite gives 15 digits of a number by itself, and it may have 17.
            let columns = ItemColumn.all.map {
                $0.name == "duration" ? "iif(duration IS NULL, NULL, printf('%!.17g', duration))" : $0.name
            }
            try connection.prepare(
                "SELECT updated_at, \(columns.joined(separator: ", ")) FROM item WHERE deleted_at IS NULL ORDER BY id"
            ).rows { row in
                var fields = Fingerprint()
                for column in columns.indices { fields.add(field: row.bytes(Int32(column) + 1)) }
                all.add(field: row.bytes(1))
                all.add(field: row.bytes(0))
                var hash = fields.hexadecimal
                hash.withUTF8 { all.add(field: $0) }
                items += 1
            }
            let editsAsOf = try connection.prepare("SELECT edits_as_of FROM copy").first { $0.timestamp(0) } ?? nil
            return TimelineDigest(digest: all.hexadecimal, items: items, readAt: now, editsAsOf: editsAsOf)
        }
    }

    package func stamp(at now: Timestamp) throws(UserFacingError) -> (digest: String, epoch: String) {
        (try digest(at: now).digest, try changePlace(at: .latest).epoch)
    }
}
