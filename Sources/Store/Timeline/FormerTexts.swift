package import PRSNLCore

/// Texts that the server has replaced since: people lose what they wrote by other clients, too.
enum FormerTexts {
    /// A part of step 10. `size`: bytes. Short columns stand first: the long ones are not read for them.
    static let table = """
        CREATE TABLE former_text (
            item_id TEXT NOT NULL,
            replaced_at TEXT NOT NULL,
            size INTEGER NOT NULL,
            version TEXT,
            content TEXT,
            transcription TEXT
        ) STRICT;
        CREATE INDEX former_text_of_item ON former_text (item_id, replaced_at);
        """

    /// Of one item.
    static let most = 3

    /// Fetched, or as small servers send it with the timeline.
    private static let present = """
        FROM (SELECT version, content, transcription FROM item_body WHERE item_id = ?1 UNION ALL
            SELECT updated_at, content, NULL FROM item WHERE id = ?1 AND content IS NOT NULL) LIMIT 1
        """

    /// Keeps the text of an item that another is about to replace.
    ///
    /// - Parameter limit: bytes that all of them may have together. The oldest go first.
    static func keep(
        _ item: String, replacedBy text: ItemText, at now: Timestamp, limit: Int, _ connection: Connection
    ) throws {
        let former = try connection.cached("SELECT content, transcription \(present)").bind(item)
            .first { ($0.text(0), $0.text(1)) }
        guard let former,
            former.0.map(ByteText.init) != text.content.map(ByteText.init)
                || former.1.map(ByteText.init) != text.transcription.map(ByteText.init)
        else { return }
        let size = (former.0?.utf8.count ?? 0) + (former.1?.utf8.count ?? 0)
        guard size > 0, size <= limit else { return }
        try connection.cached(
            """
            INSERT INTO former_text (item_id, replaced_at, size, version, content, transcription)
            SELECT ?1, ?2, ?3, version, content, transcription \(present)
            """
        ).bind(item).bind(now).bind(size).run()
        try connection.cached(
            """
            DELETE FROM former_text WHERE item_id = ?1 AND rowid NOT IN
                (SELECT rowid FROM former_text WHERE item_id = ?1 ORDER BY replaced_at DESC, rowid DESC LIMIT \(most))
            """
        ).bind(item).run()
        try connection.cached(
            """
            DELETE FROM former_text WHERE rowid IN (SELECT rowid FROM
                (SELECT rowid, sum(size) OVER (ORDER BY replaced_at DESC, rowid DESC) AS total FROM former_text)
                WHERE total > ?)
            """
        ).bind(limit).run()
    }
}

package struct FormerText: Sendable, Equatable, Codable {
    package var replacedAt: Timestamp
    /// The server's time of the version that it was of.
    @Nullable package var version: Timestamp? = nil
    /// Bytes.
    package var size: Int
}

extension StoreReader {
    /// Those of an item, the latest first; three at most.
    package func formerTexts(of item: String) throws(UserFacingError) -> [FormerText] {
        try read {
            try connection.prepare(
                "SELECT replaced_at, version, size FROM former_text WHERE item_id = ? ORDER BY replaced_at DESC, rowid DESC"
            ).bind(item).all { row -> FormerText? in
                row.timestamp(0).map { FormerText(replacedAt: $0, version: row.timestamp(1), size: row.int(2)) }
            }
        }
    }

    /// - Parameter number: from 1, the latest.
    package func formerText(_ number: Int, of item: String) throws(UserFacingError) -> ItemText? {
        try read {
            try connection.prepare(
                """
                SELECT content, transcription, version FROM former_text WHERE item_id = ?
                ORDER BY replaced_at DESC, rowid DESC LIMIT 1 OFFSET ?
                """
            ).bind(item).bind(number - 1).first { row -> ItemText? in
                var text = ItemText(id: item)
                (text.content, text.transcription) = (row.text(0), row.text(1))
                text.updatedAt = row.timestamp(2)
                return text
            }
        }
    }
}
