import PRSNLCore

/// Finds the item that a person means by the beginning of its id.
struct ItemPrefix {
    let connection: Connection
    /// What it means that there is no such item.
    var consequence: String? = "Nothing was queued."
    /// A deletion means what its person has captured, and never an item that the server had before that.
    var isForDeletion = false

    /// Less of an id names no item: what people type by mistake is shorter, a number of the queue above all.
    private static let shortest = 4

    /// At most so many items are named to choose from.
    private static let named = 5

    /// - Returns: The whole id of the one live item that begins so.
    /// - Throws: `item_unknown`, `item_ambiguous`.
    func resolve(_ prefix: String) throws -> String {
        guard !prefix.isEmpty else { throw UserFacingError(.itemUnknown, "An empty id names no item.") }
        if try exists(prefix) { return prefix }
        if let bound = try boundID(of: prefix) { return bound }
        guard prefix.utf8.count >= Self.shortest else {
            throw UserFacingError(
                .itemUnknown,
                "\(prefix) is not the id of an item, and too short for the beginning of one: give \(Self.shortest) characters or more.",
                consequence: consequence, recoverySuggestion: Self.queueHint(prefix))
        }
        let found = try candidates(prefix)
        guard let first = found.first else {
            if try wasDeleted(prefix) {
                throw UserFacingError(
                    .itemUnknown, "The item \(Self.short(prefix)) was deleted.", consequence: consequence,
                    recoverySuggestion: "There is nothing left to change.")
            }
            throw UserFacingError(
                .itemUnknown, "The copy has no item with the id \(Self.short(prefix)).",
                consequence: consequence, recoverySuggestion: Self.queueHint(prefix))
        }
        guard found.count == 1 else {
            throw UserFacingError(
                .itemAmbiguous,
                "\(found.count > Self.named ? "More than \(Self.named)" : "\(found.count)") items have ids that begin "
                    + "with \(Self.short(prefix)): \(found.prefix(Self.named).joined(separator: ", ")).",
                consequence: consequence)
        }
        return first
    }

    /// What looks like the number of a write.
    private static func queueHint(_ text: String) -> Advice? {
        let digits = text.hasPrefix("#") ? text.dropFirst() : text[...]
        guard !digits.isEmpty, digits.utf8.count <= 9, digits.utf8.allSatisfy({ (48...57).contains($0) }) else {
            return nil
        }
        return
            "If the write #\(digits) is meant: `prsnlctl queue show \(digits)`, or `prsnlctl queue drop \(digits)` to give it up."
    }

    private static func short(_ text: String) -> String { text.count > 80 ? text.prefix(80) + "…" : text }

    private func exists(_ id: String) throws(SQLiteFailure) -> Bool {
        try connection.cached(
            """
            SELECT 1 FROM item WHERE id = ?1 AND deleted_at IS NULL
            UNION ALL SELECT 1 FROM local_item WHERE id = ?1 LIMIT 1
            """
        ).bind(id).hasRow()
    }

    private func wasDeleted(_ id: String) throws(SQLiteFailure) -> Bool {
        try connection.cached("SELECT 1 FROM item WHERE id = ? AND deleted_at IS NOT NULL").bind(id).hasRow()
    }

    /// Who kept the local id of an item may go on using it when the server's is known.
    private func boundID(of local: String) throws -> String? {
        guard local.hasPrefix(LocalID.prefix) else { return nil }
        // A creation has a `base` where its item was there before.
        let bound = try connection.prepare(
            """
            SELECT item_id, base IS NOT NULL FROM outbox
            WHERE local_id = ? AND state = 'delivered' AND item_id != local_id
            """
        ).bind(local).first { ($0.text(0), $0.int(1) == 1) }
        guard case (let id?, let wasThere)? = bound, try exists(id) else { return nil }
        guard isForDeletion, wasThere else { return id }
        throw UserFacingError(
            .itemUnknown, "The URL of \(local) was on the server before you captured it.", consequence: consequence,
            recoverySuggestion: "To delete that older item: `prsnlctl delete \(id)`.")
    }

    /// Ids are compared by bytes, so that those with a prefix lie between it and its successor.
    private func candidates(_ prefix: String) throws(SQLiteFailure) -> [String] {
        try connection.prepare(
            """
            SELECT id FROM item WHERE id >= ?1 AND id < ?2 AND deleted_at IS NULL
            UNION SELECT id FROM local_item WHERE id >= ?1 AND id < ?2
            ORDER BY id LIMIT \(Self.named + 1)
            """
        ).bind(prefix).bind(prefix + "\u{10FFFF}").all { $0.text(0) }
    }
}

/// Ids of items that were made here, until the server gives them its own.
package enum LocalID {
    static let prefix = "local-"

    /// Whether the server has given the item no id yet, as far as is known here.
    package static func isLocal(_ id: String) -> Bool { id.hasPrefix(prefix) }

    static func make(at now: Timestamp) -> String { prefix + TimedUUID.make(at: now) }
}
