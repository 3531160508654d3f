import PRSNLCore

/// What a server has of an item's text.
struct ItemTexts: Sendable, Equatable {
    var content: String?
    var transcription: String?
}

extension DevItem {
    /// The text on dialects C and P: none before the item is processed, or where that failed for a note, and a made-up one
    /// where the item has none.
    func texts(_ plan: DevServer.TextPlan?, whilePending: Bool = false) -> ItemTexts {
        if status == "pending" && !whilePending || hiddenContent != nil { return ItemTexts() }
        if content != nil { return ItemTexts(content: content, transcription: transcription) }
        if type == "video", let transcription {
            return ItemTexts(content: transcription, transcription: transcription)
        }
        let text = plan?.text(of: self)
        return ItemTexts(content: text, transcription: transcription ?? (type == "video" ? text : nil))
    }

    /// As `GET /api/items/{id}` of dialects C and P shows it: other names, other times, always "completed".
    func appendDetailJSON(to bytes: inout [UInt8], texts: ItemTexts, lacksUpdatedAt: Bool = false) {
        let isVideo = type == "video"
        var object = JSONObjectWriter(&bytes)
        object.string("id", id, &bytes)
        object.string("title", title, &bytes)
        object.string("url", url, &bytes)
        object.string("content", texts.content, &bytes)
        object.string("summary", shownSummary, &bytes)
        object.string("type", type, &bytes)
        object.string("category", type, &bytes)
        object.string("content_type", type, &bytes)
        object.time("created_at", createdAt, .offset, &bytes)
        if !lacksUpdatedAt { object.time("updated_at", updatedAt, .offset, &bytes) }
        object.strings("tags", tags, &bytes)
        object.string("status", "completed", &bytes)
        object.number("access_count", accessCount, &bytes)
        object.string("thumbnail_url", thumbnailURL, &bytes)
        object.string("platform", platform, &bytes)
        object.number("duration", duration, &bytes)
        object.string("file_path", filePath, &bytes)
        object.string("transcription", texts.transcription, &bytes)
        object.string("transcript", texts.transcription, &bytes)
        object.bool("has_transcript", texts.transcription != nil, &bytes)
        object.raw("learning_objectives", isVideo ? Self.madeUpObjectives : "[]", &bytes)
        object.raw("chapters", isVideo ? Self.madeUpChapters : "[]", &bytes)
        object.raw("key_moments", isVideo ? Self.madeUpMoments : "[]", &bytes)
        object.strings("key_topics", isVideo ? Array(tags.prefix(2)) : [], &bytes)
        object.raw("metadata", metadata ?? generatedMetadata(texts), &bytes)
        object.string("permalink", "/items/\(id)", &bytes)
        object.end(&bytes)
    }

    /// Where the row has none, that of the analysis, which the timeline does not show.
    private var shownSummary: String? {
        guard (summary ?? "").isEmpty, let metadata else { return summary }
        do {
            guard case .object(let members) = try JSONValue(Array(metadata.utf8)),
                case .object(let analysis)? = members["ai_analysis"]
            else { return summary }
            return analysis["summary"]?.string ?? summary
        } catch {
            return summary  // metadata that is no JSON, as a test may want it
        }
    }

    /// `word_count` is a guess, as that of real servers.
    private func generatedMetadata(_ texts: ItemTexts) -> String {
        let hash = versionHash
        var bytes: [UInt8] = []
        var object = JSONObjectWriter(&bytes)
        object.string("author", Self.authors[Int(mix(createdAt.hash) % UInt64(Self.authors.count))], &bytes)
        object.string("published_date", String(createdAt.description.prefix(10)), &bytes)
        object.number("word_count", (texts.content?.utf8.count ?? 0) / 6, &bytes)
        object.string("content_fingerprint", texts.content.map { _ in hash.digits + mix(hash).digits }, &bytes)
        object.end(&bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    private static let authors = ["Ada Example", "Björn Sample", "Chris Placeholder", "見本 太郎"]

    // Real servers say these of any video that they know nothing of.
    private static let madeUpObjectives = #"["Understand the key concepts","Apply the key insight"]"#
    private static let madeUpChapters =
        #"[{"timestamp":"00:00","title":"Chapter 1: Key Insight"},{"timestamp":"05:00","title":"Chapter 2: Key Insight"}]"#
    private static let madeUpMoments = #"[{"timestamp":"00:00","description":"Key Insight"}]"#
}

extension Timestamp {
    fileprivate var hash: UInt64 { UInt64(bitPattern: microseconds) }
}

extension UInt64 {
    /// Sixteen hexadecimal digits.
    fileprivate var digits: String {
        let text = String(self, radix: 16)
        return String(repeating: "0", count: 16 - text.count) + text
    }
}
