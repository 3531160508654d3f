package import PRSNLCore

/// How an item looks on the wire.
struct ItemStyle: Sendable, Equatable {
    var dialect: Dialect
    /// Dialect C: `item_type`.
    var saysItemType = false
    /// Dialects C and P: no `updatedAt`.
    var lacksUpdatedAt = false
    /// Not zero: the tags are turned by so many places.
    var tagRotation = 0

    /// Whether every request would render the item in the same way.
    var isCacheable: Bool { tagRotation == 0 }
}

extension DevItem {
    /// As an element of the timeline's `items`.
    func appendTimelineJSON(to bytes: inout [UInt8], style: ItemStyle) {
        if let rawJSON {
            bytes.append(contentsOf: rawJSON.utf8)
            return
        }
        var object = JSONObjectWriter(&bytes)
        switch style.dialect {
        case .cursor, .page: appendMainFields(to: &object, into: &bytes, style: style)
        case .express: appendExpressFields(to: &object, into: &bytes, style: style)
        }
        object.end(&bytes)
    }

    private func appendMainFields(to object: inout JSONObjectWriter, into bytes: inout [UInt8], style: ItemStyle) {
        object.string("id", id, &bytes)
        object.string("title", title, &bytes)
        object.string("url", url, &bytes)
        object.string("summary", summary, &bytes)
        object.string(style.dialect == .page || style.saysItemType ? "item_type" : "type", type, &bytes)
        object.number("duration", duration, &bytes)
        object.string("status", status, &bytes)
        object.time("createdAt", createdAt, .zulu, &bytes)
        if !style.lacksUpdatedAt { object.time("updatedAt", updatedAt, .zulu, &bytes) }
        object.strings("tags", rotatedTags(style), &bytes)
        for text in Self.texts { object.string(text.name, self[keyPath: text.here], &bytes) }
    }

    private func appendExpressFields(to object: inout JSONObjectWriter, into bytes: inout [UInt8], style: ItemStyle) {
        object.string("id", id, &bytes)
        object.string("title", title, &bytes)
        object.string("content", content, &bytes)
        object.string("url", url, &bytes)
        object.string("summary", summary, &bytes)
        object.string("status", status, &bytes)
        object.time("createdAt", createdAt, .milliseconds, &bytes)
        object.time("updatedAt", updatedAt, .milliseconds, &bytes)
        object.number("accessCount", accessCount, &bytes)
        object.time("accessedAt", accessedAt ?? createdAt, .milliseconds, &bytes)
        object.strings("tags", rotatedTags(style), &bytes)
        object.string("itemType", type, &bytes)
        object.raw("attachments", "[]", &bytes)
    }

    private func rotatedTags(_ style: ItemStyle) -> [String] {
        guard style.tagRotation != 0, tags.count > 1 else { return tags }
        let turn = style.tagRotation % tags.count
        return Array(tags[turn...] + tags[..<turn])
    }

    /// What a client that understands the server should have read from the timeline.
    package func expected(in dialect: Dialect) -> TimelineItem {
        var expected = TimelineItem(id: id, createdAt: createdAt)
        expected.updatedAt = updatedAt
        expected.type = type
        expected.title = title
        expected.url = url
        expected.summary = summary
        expected.status = status
        // Swift compares strings by canonical form, and the copy keeps them sorted by bytes.
        let sorted = Set(tags).sorted { Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8)) }
        expected.tags = "[" + sorted.map { JSONText.string($0) }.joined(separator: ",") + "]"
        if dialect == .express {
            expected.content = content
            let accessed = JSONText.string((accessedAt ?? createdAt).text(.milliseconds))
            expected.extra = #"{"accessCount":\#(accessCount),"accessedAt":\#(accessed),"attachments":[]}"#
        } else {
            expected.duration = duration.map(Double.init)
            for text in Self.texts { expected[keyPath: text.copied] = self[keyPath: text.here] }
        }
        return expected
    }
}
