import PRSNLCore

@testable import PRSNLClient

/// A page of the timeline, of any dialect.
extension FuzzTarget {
    static let timeline = FuzzTarget(name: "timeline") { bytes in
        let page: TimelinePage
        do throws(APIError.DecodingCause) {
            page = try TimelinePage.Decoder.decode(bytes)
        } catch {
            if case .unexpectedShape = error { return }  // thrown before the whole text was walked over
            require(!JSONChecks.isWellFormed(bytes), "well-formed, and refused: \(error)")
            return
        }
        require(JSONChecks.isWellFormed(bytes), "read, and not well-formed")
        require(page.items.count + page.rejected.count <= page.count, "more items than elements")
        require(Set(page.items.map { Array($0.id.utf8) }).count == page.items.count, "an id stands twice")
        require((page.total ?? 0) >= 0, "a total of \(page.total ?? 0)")
        for item in page.items { check(item) }
        for rejected in page.rejected { check(rejected) }
        checkWrittenAgain(page)
    }

    private static func check(_ item: TimelineItem) {
        require(!item.id.isEmpty, "an empty id")
        for time in [item.createdAt, item.updatedAt ?? item.createdAt] {
            require(time >= .earliest && time <= .latest, "a time that cannot be written")
            require(Timestamp(time.description) == time, "\(time) reads as another")
        }
        require(item.duration?.isFinite ?? true, "a duration of \(item.duration ?? 0)")
        if let tags = item.tags {
            guard let texts = JSONChecks.texts(Array(tags.utf8)) else { fatalError("tags are no array: \(tags)") }
            require(JSONChecks.areSorted(texts), "tags are not sorted: \(tags)")
        }
        if let extra = item.extra {
            guard let members = JSONChecks.members(Array(extra.utf8)) else { fatalError("no object: \(extra)") }
            require(!members.isEmpty, "extra without members")
            require(JSONChecks.areSorted(members.map(\.name)), "extra is not sorted: \(extra)")
        }
    }

    /// What is kept of an item that could not be read cannot be read either, for the same reason.
    private static func check(_ rejected: RejectedItem) {
        require(!(rejected.id?.isEmpty ?? false), "an empty id")
        do {
            let again = try JSONReader.read(Array(rejected.raw.utf8)) { try ItemDecoder.decode(&$0) }
            guard case .rejected(let twice) = again else { fatalError("its raw text is taken: \(rejected)") }
            require(twice == rejected, "rejected another way: \(rejected) \(twice)")
        } catch {
            fatalError("its raw text is no JSON: \(error)")
        }
    }

    /// Items written as a server would write them are read as the same items.
    private static func checkWrittenAgain(_ page: TimelinePage) {
        var text = "{\"items\":["
        text += page.items.map(json).joined(separator: ",")
        text += "]}"
        do {
            let again = try TimelinePage.Decoder.decode(Array(text.utf8))
            require(again.rejected.isEmpty && again.items == page.items, "reads as others: \(page.items) \(again)")
        } catch {
            fatalError("cannot be read again: \(error) \(text)")
        }
    }

    private static func json(_ item: TimelineItem) -> String {
        // Each property, so that a new one is among them.
        let members = Mirror(reflecting: item).children.compactMap { property -> String? in
            guard let name = property.label?.replacing("URL", with: "Url") else { return nil }
            return switch (name, property.value) {
            case ("extra", let extra as String): String(extra.dropFirst().dropLast())
            case ("tags", let tags as String): "\"tags\":\(tags)"
            case (_, let text as String): "\"\(name)\":\(JSONText.string(text))"
            case (_, let time as Timestamp): "\"\(name)\":\"\(time)\""
            case (_, let number as Double): "\"\(name)\":\(number)"
            default: nil
            }
        }
        return "{\(members.joined(separator: ","))}"
    }
}
