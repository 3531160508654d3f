import Formats
import PRSNLCore
import TestSupport
import Testing

/// Files as the services write them, with invented entries.
@Suite struct ImportFormTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let file: String
        let form: String
        /// `URL|title|remark|tags|day|states`
        let entries: [String]
        var problems: [String] = []
        var testDescription: String { file }
    }

    static let cases: [Case] = [
        Case(
            file: "netscape.html", form: "a bookmark file",
            entries: [
                "https://example.org/a?x=1&copy=2|Soup & bread|A remark, never closed\nin two lines|soup,slow food|2023-11-14|",
                "https://example.org/b|||work,Kitchen|2023-11-14|unread",
                "javascript:alert(1)|A bookmarklet||Kitchen||",
                "https://example.org/c|Émile’s lower case|||2023-11-14|", "https://example.org/d|No date||||",
            ]),
        Case(
            file: "pocket.csv", form: "Pocket",
            entries: [
                "https://example.org/p?a=1|Two lines\nand a comma, here||soup,slow food|2020-09-13|archived",
                "https://example.org/q||||2020-09-13|unread",
                "https://example.org/r|A \"quoted\" word||käse|2020-09-13|unread",
            ]),
        Case(
            file: "pocket.html", form: "Pocket",
            entries: [
                "https://example.org/u|An unread page|||2017-07-14|unread",
                "https://example.org/v|A page that was read||privacy gadgets,soup|2017-07-14|archived",
            ]),
        Case(
            file: "readwise.csv", form: "Readwise Reader",
            entries: [
                "https://example.org/a|Soup, slowly||soup, thick,chef's|2022-11-06|unread",
                "mailto:reader-forwarded-email/0f0f|A letter|||2023-01-02|unread",
                "https://example.org/feed/1|News|||2023-01-02|feed",
            ]),
        Case(
            file: "instapaper.csv", form: "Instapaper",
            entries: [
                "https://example.org/a|Soup, slowly||slow food,soup|2023-11-14|archived",
                "https://example.org/b||A chosen passage|Reading List|2023-11-14|",
                "instapaper-private://email/0f0f/|A letter|||2023-11-14|unread",
                "https://example.org/c|Starred one|||2023-11-14|starred",
            ]),
        Case(
            file: "raindrop.csv", form: "Raindrop",
            entries: [
                "https://example.org/a|Soup, slowly|my note|slow food,soup,Food,Apps/Soups|2024-09-03|starred|highlights",
                "https://example.org/b|B|||2024-09-02|",
            ]),
        Case(
            file: "matter.csv", form: "Matter",
            entries: [
                "https://example.org/a|Soup, slowly||soup,slow food||starred,unread", "|Newsletter 7||||",
                "https://example.org/b|Read one||||archived|highlights",
            ]),
        Case(
            file: "omnivore.json", form: "Omnivore",
            entries: [
                "https://example.org/a|Soup||slow food|2024-10-29|unread", "|A letter|||2023-01-02|archived",
                "https://example.org/b|Old||soup|2023-01-02|archived",
            ]),
        Case(
            file: "karakeep.json", form: "Karakeep",
            entries: [
                "https://example.org/a|Soup|Mine|slow food|2023-11-14|archived", "|A thought|Only words||2023-11-14|",
                "||||2023-11-14|",
            ]),
        Case(
            file: "linkwarden.json", form: "Linkwarden",
            entries: [
                "https://example.org/a|Cook's soup||soup,slow food|2020-01-02||text", "|A picture|||2025-06-24|",
            ]),
        Case(
            file: "wallabag.json", form: "wallabag",
            entries: [
                "https://example.org/a|Soup||slow food|2023-01-02|starred,unread|highlights,text",
                "https://example.org/b|B|||2016-09-08|archived",
            ]),
        Case(
            file: "pinboard.json", form: "Pinboard",
            entries: [
                "https://example.org/a|Soup|A remark|soup,slow-food|2017-05-05|unread",
                "https://example.org/b|B|||2017-05-06|",
            ]),
        Case(
            file: "other.csv", form: "CSV",
            entries: ["https://example.org/a|||soup,slow food|2023-01-02|", "https://example.org/b|||||"]),
        Case(
            file: "list.txt", form: "a list",
            entries: ["https://example.org/a|||||", "https://example.org/b|B||soup||", "not an address|||||"]),
    ]

    @Test(arguments: cases) func aFormIsToldFromTheContent(_ one: Case) throws {
        let file = try ImportFile(try Self.bytes(one.file), one.file)
        #expect(file.forms == [one.form])
        #expect(file.items.map { Self.text($0.item) } == one.entries)
        #expect(file.problems.map(\.place) == one.problems)
    }

    private static func bytes(_ name: String) throws -> [UInt8] {
        Array(try RepositoryFile.text("Tests/FormatsTests/Fixtures/\(name)").utf8)
    }

    private static func text(_ item: ImportedItem) -> String {
        let more = [item.hasHighlights ? "highlights" : "", item.hasText ? "text" : ""].filter { !$0.isEmpty }
        let states = item.states.map(\.rawValue).sorted().joined(separator: ",")
        let day = item.savedAt.map { String($0.description.prefix(10)) } ?? ""
        let parts = [item.url ?? "", item.title ?? "", item.note ?? "", item.tags.joined(separator: ","), day, states]
        return (parts + (more.isEmpty ? [] : [more.joined(separator: ",")])).joined(separator: "|")
    }

    // MARK: What cannot be read

    @Test func aLineThatCannotBeReadDoesNotStopTheRest() throws {
        let text =
            "url,title\nhttps://example.org/a,A\nhttps://example.org/b,B,more\nhttps://example.org/c,\"not closed\n"
            + "https://example.org/d,D\n"
        let file = try ImportFile(Array(text.utf8), "x.csv")
        #expect(file.items.map(\.item.url) == ["https://example.org/a", "https://example.org/d"])
        #expect(file.problems.map(\.place) == ["x.csv, line 3", "x.csv, line 4"])
        #expect(file.items.map(\.place) == ["x.csv, line 2", "x.csv, line 5"])
    }

    @Test func aStrayQuotationMarkCostsItsLineOnly() throws {
        let text =
            "url,title\nhttps://example.org/1,\"open\nhttps://example.org/2,b\nhttps://example.org/3,\"fine\"\n"
            + "https://example.org/4,\"a\" b\nhttps://example.org/5,\"whole\"\r\n"
        let file = try ImportFile(Array(text.utf8), "x.csv")
        #expect(file.items.map(\.item.url) == [2, 3, 5].map { "https://example.org/\($0)" })
        #expect(file.problems.map(\.place) == ["x.csv, line 2", "x.csv, line 5"])
    }

    /// A tag may stand in brackets, and a list may be empty.
    @Test func aTagInBracketsIsNoList() throws {
        let text = "[{\"url\":\"https://example.org/a\",\"tags\":[\"[draft]\",\"[]\",\"['b']\"],\"date\":\"once\"}]"
        let file = try ImportFile(Array(text.utf8), "x.json")
        #expect(file.items.map(\.item.tags) == [["[draft]", "b"]])
        #expect(file.items.map(\.item.hasBadTime) == [true])
    }

    @Test(arguments: ["[", "{\"a\":", "[{\"url\":\"https://example.org/\",\"a\":["]) func whatIsTooDeepEndsNothing(
        start: String
    ) {
        let text = start + String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000)
        #expect(Self.refusal(Array(text.utf8), "x") != nil)
        let closed =
            #"[{"url":"https://example.org/","a":"# + String(repeating: "[", count: 100)
            + String(repeating: "]", count: 100) + "}]"
        #expect((try? ImportFile(Array(closed.utf8), "x"))?.items.count == 1)
    }

    @Test func aBookmarkThatIsCutOffIsNotCaptured() throws {
        let text =
            "<!DOCTYPE NETSCAPE-Bookmark-file-1><DL><DT><A HREF=\"https://example.org/4\">4</A><DT><A HREF=\"https://exa"
        let file = try ImportFile(Array(text.utf8), "x.html")
        #expect(
            file.items.map(\.item.url) == ["https://example.org/4"] && file.problems.map(\.place) == ["x.html, link 2"])
    }

    @Test func anExportWithoutRowsIsOfItsForm() throws {
        let file = try ImportFile(Array("title,url,time_added,tags,status\n".utf8), "part.csv")
        #expect(file.forms == ["Pocket"] && file.items.isEmpty)
    }

    @Test func jsonThatEndsTooEarlyLeavesWhatCameBefore() throws {
        let file = try ImportFile(Array(#"[{"url":"https://example.org/a"},{"url":"https://exa"#.utf8), "x.json")
        #expect(file.items.map(\.item.url) == ["https://example.org/a"])
        #expect(file.problems.map(\.place) == ["x.json, entry 2"])
    }

    @Test(arguments: [
        ("PK\u{3}\u{4}abc", "x is a ZIP file."), ("a,b\nc,d\n", "x is of no known form."),
        ("[1,2]", "x: it is no object."), ("", "x is empty."), ("\u{0}", "x is no text."),
        ("<p>Hello</p>", "x has no entries of a known form."), ("[{\"url\":", "x: no JSON from here on"),
    ]) func whatIsNoExportIsRefused(_ text: String, _ message: String) {
        let error = Self.refusal(Array(text.utf8), "x")
        #expect(
            error?.code == .importUnreadable && error?.message.hasPrefix(message) == true,
            "\(String(describing: error))")
    }

    @Test func bytesThatAreNoUTF8AreNamedByTheirLine() {
        let error = Self.refusal(Array("url\nhttps://example.org/".utf8) + [0xE9, 0x0A], "x.csv")
        #expect(error?.message == "x.csv is not UTF-8, in line 2.")
    }

    private static func refusal(_ bytes: [UInt8], _ name: String) -> UserFacingError? {
        do throws(UserFacingError) {
            _ = try ImportFile(bytes, name)
            return nil
        } catch { return error }
    }
}
