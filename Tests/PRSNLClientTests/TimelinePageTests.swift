import PRSNLCore
import TestSupport
import Testing

@testable import PRSNLClient

struct TimelinePageTests {
    @Test func aPageOfMoreElementsThanWereAskedForIsRefused() throws {
        let zeros = Array(repeating: "0", count: 1_001).joined(separator: ",")
        let cause = thrown(APIError.DecodingCause.self) {
            _ = try TimelinePage.Decoder.decode(Array(#"{"items":[\#(zeros)],"next_cursor":null}"#.utf8), limit: 100)
        }
        #expect(cause == .unexpectedShape("more than 1000 items on a page"))
    }

    /// SQLite's JSON functions end a text there, and would take it for another item.
    @Test func anIDWithANULCharacterIsRejected() throws {
        let text = #"{"items":[{"id":"abc\u0000x","createdAt":"2026-01-01T00:00:00Z"}],"next_cursor":null}"#
        let rejected = try #require(try page(text).rejected.first)
        #expect(rejected.id == nil && rejected.reason == "id: has a NUL character")
    }

    /// A server that sends fields of its own without end must not fill the disk; what was left out is said.
    @Test func unknownFieldsAreKeptUpToALimit() throws {
        let large = String(repeating: "x", count: 60_000)
        let text = #"{"items":[{"id":"1","createdAt":"2026-01-01T00:00:00Z","a":"\#(large)","b":"\#(large)","c":1}],"#
        let item = try #require(try page(text + #""next_cursor":null}"#).items.first)
        let extra = try #require(item.extra)
        #expect(extra.utf8.count < 64 << 10)
        #expect(extra.hasSuffix(#""c":1,"prsnld_left_out_bytes":60003}"#), "\(extra.suffix(80))")
        let broken = try page(#"{"items":[{"a":"\#(large)\#(large)"}],"next_cursor":null}"#)
        #expect(try #require(broken.rejected.first).raw.utf8.count == 64 << 10)
    }

    private func page(_ text: String) throws -> TimelinePage { try TimelinePage.Decoder.decode(Array(text.utf8)) }

    /// One item of a dialect C page.
    private func item(_ members: String) throws -> TimelineItem {
        let page = try page(#"{"items":[{\#(members)}],"next_cursor":null}"#)
        #expect(page.rejected.isEmpty)
        return try #require(page.items.first)
    }

    private func cause(_ text: String) -> APIError.DecodingCause? {
        do throws(APIError.DecodingCause) {
            _ = try TimelinePage.Decoder.decode(Array(text.utf8))
            return nil
        } catch {
            return error
        }
    }

    private static let base = #""id":"a","createdAt":"2025-06-01T00:00:24.000025Z""#

    @Test func anItemOfTheCursorDialectIsReadWhole() throws {
        let page = try page(
            #"""
            {"items":[{"id":"615e0264","title":"Item 25","url":null,"summary":"…","platform":"youtube","type":"video",
              "category":"learning","thumbnail_url":"/media/thumb25.jpg","duration":61,"file_path":null,
              "status":"completed","createdAt":"2025-06-01T00:00:24.000025Z","updatedAt":"2025-06-01T00:00:24.000026Z",
              "tags":["tag-8","tag-5"],"permalink":"/videos/615e"}],"next_cursor":"2025-06-01T00:00:23.000024+00:00"}
            """#)
        var expected = TimelineItem(
            id: "615e0264", createdAt: try #require(Timestamp("2025-06-01T00:00:24.000025Z")))
        expected.updatedAt = Timestamp("2025-06-01T00:00:24.000026Z")
        expected.title = "Item 25"
        expected.summary = "…"
        expected.platform = "youtube"
        expected.type = "video"
        expected.category = "learning"
        expected.thumbnailURL = "/media/thumb25.jpg"
        expected.duration = 61
        expected.status = "completed"
        expected.tags = #"["tag-5","tag-8"]"#
        expected.permalink = "/videos/615e"
        #expect(page.items == [expected])
        #expect(page.dialect == .cursor)
        #expect(page.nextCursor == Timestamp("2025-06-01T00:00:23.000024Z"))
        #expect(page.total == nil && page.count == 1)
    }

    @Test func theDialectIsInTheEnvelope() throws {
        #expect(try page(#"{"items":[],"next_cursor":null}"#).dialect == .cursor)
        let numbered = try page(#"{"items":[],"total":100,"page":1,"pageSize":20}"#)
        #expect(numbered.dialect == .page && numbered.total == 100)
        let small = try page(#"{"totalResults":20,"items":[]}"#)
        #expect(small.dialect == .express && small.total == 20)
        #expect(try page(#"{"items":[]}"#).dialect == nil)
        #expect(try page(#"{"items":[],"next_cursor":null,"total":3}"#).dialect == .cursor)
    }

    @Test(arguments: [
        (#""type":"note""#, "note"), (#""item_type":"note""#, "note"), (#""itemType":"note""#, "note"),
        (#""item_type":null,"type":"note""#, "note"), (#""type":"note","itemType":"other""#, "note"),
        (#""t\u0079pe":"note""#, "note"),
    ])
    func theDialectsNamesForTheTypeAreOneField(_ members: String, _ type: String) throws {
        let item = try item("\(Self.base),\(members)")
        #expect(item.type == type)
        #expect(item.extra == nil)
    }

    @Test func theDialectsNamesForTheRestAreOneFieldEach() throws {
        let one = try item(
            #""id":"a","createdAt":"2025-06-01T00:00:24Z","updatedAt":"2025-06-01T00:00:25Z","thumbnail_url":"t","file_path":"f""#
        )
        let other = try item(
            #""id":"a","created_at":"2025-06-01T00:00:24+00:00","updated_at":"2025-06-01T00:00:25+00:00","thumbnailUrl":"t","filePath":"f""#
        )
        #expect(one == other)
        #expect(one.thumbnailURL == "t" && one.filePath == "f" && one.updatedAt != nil && one.extra == nil)
    }

    @Test func nullMeansNotSaid() throws {
        let item = try item(
            #"\#(Self.base),"title":null,"url":null,"tags":null,"duration":null,"updatedAt":null,"metadata":null"#)
        #expect(item == TimelineItem(id: "a", createdAt: item.createdAt))
    }

    @Test func anEmptyTextWasSaid() throws {
        #expect(try item(#"\#(Self.base),"title":"","tags":[]"#).title == "")
        #expect(try item(#"\#(Self.base),"title":"","tags":[]"#).tags == "[]")
    }

    @Test func aFieldOfTheWrongTypeIsKeptAsItCame() throws {
        let item = try item(
            #"\#(Self.base),"title":7,"url":["x"],"duration":"61","updatedAt":"later","tags":["a",1],"status":true,"type":{"a":1}"#
        )
        #expect(item.title == nil && item.url == nil && item.duration == nil && item.updatedAt == nil)
        #expect(item.tags == nil && item.status == nil && item.type == nil)
        #expect(
            item.extra
                == #"{"duration":"61","status":true,"tags":["a",1],"title":7,"type":{"a":1},"updatedAt":"later","url":["x"]}"#
        )
    }

    @Test func anUnknownFieldIsKeptByName() throws {
        let item = try item(#""z":{"b": [1, 2]},\#(Self.base),"a\"b":1.50,"é":"\u00e9","z":null,"attachments":[]"#)
        #expect(item.extra == #"{"a\"b":1.50,"attachments":[],"z":{"b": [1, 2]},"é":"\u00e9"}"#)
        // What is kept must be JSON that SQLite's functions can read.
        try JSONReader.read(Array(try #require(item.extra).utf8)) { reader in
            try reader.skip()
            try reader.end()
        }
    }

    @Test func whatChangesWithEveryLookIsLeftOut() throws {
        let item = try item(#"\#(Self.base),"accessCount":4,"accessedAt":"2026-11-20T02:38:50.536Z""#)
        #expect(item == TimelineItem(id: "a", createdAt: item.createdAt))
    }

    @Test(arguments: [
        (#"["b","a","b","a"]"#, #"["a","b"]"#), (#"["é","e\u0301","z"]"#, "[\"e\u{301}\",\"z\",\"é\"]"),
        (#"["a\"b","a\\b"]"#, #"["a\"b","a\\b"]"#), (#"["B","a","Z"]"#, #"["B","Z","a"]"#), ("[]", "[]"),
    ])
    func tagsAreASortedSetOfBytes(_ tags: String, _ canonical: String) throws {
        let found = try #require(try item(#"\#(Self.base),"tags":\#(tags)"#).tags)
        #expect(Array(found.utf8) == Array(canonical.utf8))
    }

    /// Found while fuzzing: two bytes that are no UTF-8 become four longer, and an escape as much shorter.
    @Test func anEscapeBesideWhatIsNoUTF8IsReadToo() throws {
        let text = Array(#"{"items":[{\#(Self.base),"tags":["?\u00e9?b"]}],"next_cursor":null}"#.utf8)
        let page = try TimelinePage.Decoder.decode(text.map { $0 == UInt8(ascii: "?") ? 0x9E : $0 })
        #expect(page.items.first?.tags == "[\"\u{FFFD}é\u{FFFD}b\"]")
    }

    @Test func anIDThatIsRepeatedStandsOnce() throws {
        let page = try page(
            #"{"items":[{\#(Self.base),"title":"first"},{"id":"b","createdAt":"2025-06-01T00:00:24Z"},{\#(Self.base),"title":"again"}],"next_cursor":null}"#
        )
        #expect(page.items.map(\.id) == ["a", "b"])
        #expect(page.items.first?.title == "first")
        #expect(page.count == 3)
    }

    @Test(
        arguments: [
            (#"{"createdAt":"2025-06-01T00:00:24Z"}"#, nil, "id: missing"),
            (#"{"id":null,"createdAt":"2025-06-01T00:00:24Z"}"#, nil, "id: missing"),
            (#"{"id":7,"createdAt":"2025-06-01T00:00:24Z"}"#, nil, "id: not a text"),
            (#"{"id":"","createdAt":"2025-06-01T00:00:24Z"}"#, nil, "id: empty"),
            (#"{"id":"x"}"#, "x", "createdAt: missing"),
            (#"{"id":"x","createdAt":"yesterday"}"#, "x", #"createdAt: not a time: "yesterday""#),
            (#"{"createdAt": 17,"id":"x"}"#, "x", "createdAt: not a time: 17"),
            ("{}", nil, "id: missing"), ("[]", nil, "not an object"), ("null", nil, "not an object"),
            (#""text""#, nil, "not an object"),
        ] as [(String, String?, String)])
    func aBrokenItemIsKeptAndThePageGoesOn(_ raw: String, _ id: String?, _ reason: String) throws {
        let page = try page(#"{"items":[ \#(raw) , {\#(Self.base)}],"next_cursor":null}"#)
        #expect(page.items.map(\.id) == ["a"])
        #expect(page.rejected == [RejectedItem(id: id, raw: raw, reason: reason)])
        #expect(page.count == 2)
    }

    @Test func anItemWithOneGoodTimeAmongTwoIsGood() throws {
        let item = try item(#""id":"a","createdAt":"soon","created_at":"2025-06-01T00:00:24Z""#)
        #expect(item.createdAt == Timestamp("2025-06-01T00:00:24Z"))
    }

    @Test(arguments: [
        (#"{"next_cursor":null}"#, "no items in the timeline"), ("{}", "no items in the timeline"),
        (#"{"items":{}}"#, "items is not an array"), (#"{"items":null}"#, "items is not an array"),
        ("[]", "the timeline is not an object"), ("7", "the timeline is not an object"),
        (#"{"items":[],"next_cursor":"soon"}"#, "next_cursor is not a time"),
        (#"{"items":[],"next_cursor":5}"#, "next_cursor is not a time"),
    ])
    func anotherEnvelopeIsAnError(_ text: String, _ reason: String) {
        #expect(cause(text) == .unexpectedShape(reason))
    }

    @Test(arguments: [#"{"items":[{"id":"a"]}"#, #"{"items":[]"#, #"{"items":[]} {"#, "xyz"])
    func brokenJSONIsAnErrorThatQuotesNothing(_ text: String) {
        guard case .notJSON(let reason) = cause(text) else {
            Issue.record("\(String(describing: cause(text)))")
            return
        }
        #expect(reason.contains("at byte"))
    }

    @Test func noDamagedPageTraps() throws {
        let text = Array(
            #"{"items":[{\#(Self.base),"tags":["x","y"],"type":"video","z":[1,{"q":"\u00e9"}]}],"next_cursor":null}"#
                .utf8)
        var random = TestSupport.SeededRandom()
        for _ in 0..<20_000 {
            var damaged = text
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                damaged[Int.random(in: 0..<text.count, using: &random)] = .random(in: 0...255, using: &random)
            }
            do {
                let page = try TimelinePage.Decoder.decode(damaged)
                #expect(page.items.count + page.rejected.count <= page.count)
            } catch {
                #expect(error != .empty, "only broken JSON and other shapes come from here")
            }
        }
    }

    /// Each byte that is no UTF-8 becomes three, and each copy of a text costs as much again.
    @Test(arguments: ["title", "id", "tags", "unknown", "content"])
    func anItemThatIsTooLargeIsReadPast(_ field: String) throws {
        let large = [UInt8](repeating: 0xFF, count: 3 << 20)
        let id = field == "id" ? [] : Array(#""id":"a","#.utf8)
        let item = Array("{".utf8) + id + Array("\"createdAt\":\"2026-01-01T00:00:00Z\",\"\(field)\":".utf8)
        let value = field == "tags" ? Array(#"["x",""#.utf8) + large + Array(#""]"#.utf8) : [0x22] + large + [0x22]
        let next = #","title":"t"},{"id":"b","createdAt":"2026-01-01T00:00:00Z"}],"next_cursor":null}"#
        let page = try TimelinePage.Decoder.decode(Array(#"{"items":["#.utf8) + item + value + Array(next.utf8))
        #expect(page.items.map(\.id) == ["b"])
        #expect(page.rejected.map(\.id) == [field == "id" ? nil : "a"])
        #expect(page.rejected.allSatisfy { $0.raw.utf8.count <= 3 * 65_536 })
        #expect(page.rejected.first?.reason.contains("bytes") == true)
    }

    @Test(arguments: [(#""\u0061""#, "a"), ("7", nil), (#""""#, nil), (#""\u0000""#, nil)])
    func theIDOfAnItemThatIsTooLargeIsReadAsAnyOther(_ id: String, _ known: String?) throws {
        let title = String(repeating: "t", count: 3 << 20)
        let page = try TimelinePage.Decoder.decode(
            Array(#"{"items":[{"id":\#(id),"title":"\#(title)"}],"next_cursor":null}"#.utf8))
        #expect(page.rejected.map(\.id) == [known])
    }
}
