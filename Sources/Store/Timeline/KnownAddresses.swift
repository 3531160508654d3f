package import PRSNLCore

/// Which of some addresses the copy has, or a write asks for, and which keys of an importing command are in use.
package struct KnownAddresses: Sendable {
    /// As `URLCheck.comparable` makes them.
    package private(set) var addresses: Set<ByteText> = []
    /// Of writes that were not given up.
    package private(set) var keys: Set<String> = []
    /// Of those that were.
    package private(set) var droppedKeys: Set<String> = []

    fileprivate mutating func add(_ row: Statement, _ wanted: Set<ByteText>) {
        let isDropped = row.text(2) == OutboxEntry.State.dropped.rawValue
        if let key = row.text(1) {
            if isDropped { droppedKeys.insert(key) } else { keys.insert(key) }
        }
        guard !isDropped, let url = row.text(0) else { return }
        let address = URLCheck.comparable(url)
        if wanted.contains(address) { addresses.insert(address) }
    }
}

extension StoreReader {
    /// Reads the copy once, and keeps no more of it than is wanted. Items that were deleted in the last 30 days are known too: what
    /// a person deleted does not come back with an import.
    ///
    /// - Parameter prefix: of the keys.
    package func known(
        among wanted: Set<ByteText>, keysWith prefix: String
    ) throws(UserFacingError) -> KnownAddresses {
        try readTogether {
            connection.extendDeadline(to: .seconds(600))
            var known = KnownAddresses()
            try connection.prepare("SELECT url, NULL, NULL FROM item WHERE url IS NOT NULL").rows {
                known.add($0, wanted)
            }
            try connection.prepare(
                """
                SELECT url, iif(substr(request_key, 1, ?1) = ?2, request_key, NULL), state FROM outbox
                WHERE kind IN ('capture', 'note')
                """
            ).bind(prefix.utf8.count).bind(prefix).rows { known.add($0, wanted) }
            return known
        }
    }
}
