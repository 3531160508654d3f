import PRSNLCore

@testable import PRSNLClient

/// The answers to a GET of one item, to a creation, and to the question for a duplicate; and JSON as a value.
extension FuzzTarget {
    static let itemDetail = FuzzTarget(name: "item-detail") { bytes in
        let value: JSONValue
        do {
            value = try JSONValue.parse(bytes)
        } catch {
            require(!JSONChecks.isWellFormed(bytes), "well-formed, and refused: \(error)")
            return
        }
        require(JSONChecks.isWellFormed(bytes), "read, and not well-formed")
        check(value)

        do throws(APIError.DecodingCause) {
            let detail = try ItemDetail(value, of: "59ec")
            require(detail.id == "59ec", "another item")
            check(detail, value)
        } catch { checkShape(error) }
        checkText(bytes, value)
        do throws(APIError.DecodingCause) {
            if let existing = try ExistingItem.read(value) { require(!existing.id.isEmpty, "an empty id") }
        } catch { checkShape(error) }
        for dialect in [Dialect.cursor, .page, .express] {
            do throws(APIError.DecodingCause) {
                let created = try CreatedItem.read(bytes, dialect: dialect, requestID: "request")
                require(!created.id.isEmpty, "an empty id")
                require(created.item == nil || dialect == .express, "an item from a server that sends none")
            } catch { checkShape(error) }
        }
    }

    /// Its texts are those of the answer, the URL among them: an edit is compared with it.
    private static func check(_ detail: ItemDetail, _ value: JSONValue) {
        for (name, text) in [
            ("title", detail.title), ("url", detail.url), ("summary", detail.summary), ("content", detail.content),
        ] { require(text.map(ByteText.init) == value[name]?.text.map(ByteText.init), "another \(name)") }
        require(detail.tags == nil || detail.tags?.count == value["tags"]?.elements?.count, "tags are missing")
        require(!detail.isSummaryOfAnalysis || detail.summary != nil, "a summary that is none")
        if let url = detail.url { require(ServerText.isSameAddress(url, url), "an address is not itself: \(url)") }
    }

    /// The decoder that skips all but the text finds the same text.
    private static func checkText(_ bytes: [UInt8], _ value: JSONValue) {
        do throws(APIError.DecodingCause) {
            let text = try ItemTextDecoder.decode(bytes, of: "59ec")
            let detail = try ItemDetail(value, of: "59ec")
            require(text.content.map(ByteText.init) == detail.content.map(ByteText.init), "another content")
            require(text.transcription == nil || !text.transcriptionIsContent, "a transcription that is there twice")
            if let metadata = text.metadata {
                require(JSONChecks.isWellFormed(Array(metadata.utf8)), "metadata that is no JSON")
            }
        } catch { checkShape(error) }
    }

    /// Every text in the value, written and read again, is the same.
    private static func check(_ value: JSONValue) {
        switch value {
        case .object(let members):
            for (name, member) in members {
                check(.string(name))
                check(member)
            }
        case .array(let elements): elements.forEach(check)
        case .string(let text):
            do {
                let again = try JSONValue.parse(Array(JSONText.string(text).utf8))
                require(again.text?.utf8.elementsEqual(text.utf8) ?? false, "reads as another text: \(text)")
            } catch {
                fatalError("cannot be read again: \(error)")
            }
        case .number(let text): require(!text.isEmpty, "a number without digits")
        case .bool, .null: break
        }
    }

    private static func checkShape(_ cause: APIError.DecodingCause) {
        switch cause {
        case .unexpectedShape(let reason), .notJSON(let reason): require(!reason.isEmpty, "an error without a reason")
        case .empty, .portal, .stale: break
        }
    }
}
