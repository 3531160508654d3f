import PRSNLCore
import Testing

/// What is refused before it is accepted, and in which words.
struct WriteLimitsTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var draft: WriteDraft
        /// `nil`: accepted.
        var message: String?
        var dialect: Dialect?
        var testDescription: String

        init(_ name: String, _ item: NewItem, _ message: String? = nil, dialect: Dialect? = nil) {
            self.init(name, .create(item), message, dialect: dialect)
        }

        init(_ name: String, _ draft: WriteDraft, _ message: String? = nil, dialect: Dialect? = nil) {
            testDescription = name
            self.draft = draft
            self.message = message
            self.dialect = dialect
        }
    }

    private static func text(_ count: Int, _ letter: String = "x") -> String { String(repeating: letter, count: count) }

    private static func note(
        _ note: String? = "Hello", title: String? = nil, tags: [String] = [], type: String? = nil
    ) -> NewItem { NewItem(title: title, note: note, tags: tags, type: type) }

    private static func edit(title: String? = nil, summary: String? = nil, tags: [String]? = nil) -> WriteDraft {
        .edit(item: "59ec6da4", ItemEdit(title: title, summary: summary, tags: tags))
    }

    static let texts: [Row] = [
        Row("a note", note()),
        Row("nothing", note(nil), "url or note: one of the two is needed."),
        Row("title of 500", note(title: text(500))),
        Row("title of 612", note(title: text(612)), "title: 612 characters, at most 500 are allowed."),
        Row("title of 500 scalars and 2,000 bytes", note(title: text(500, "😀"))),
        Row(
            "title of 300 letters and 600 scalars", note(title: text(300, "e\u{301}")),
            "title: 600 characters, at most 500 are allowed."),
        Row("empty title", note(title: ""), "The title is empty. It may have 1 to 500 characters."),
        Row("NUL in a title", note(title: "a\0b"), "title: it holds a NUL character, which the server cannot store."),
        Row("note of 50,000", note(text(50_000))),
        Row("note of 50,001", note(text(50_001)), "note: 50,001 characters, at most 50,000 are allowed."),
        Row("empty note", note(""), "The note is empty. It may have 1 to 50,000 characters."),
        Row("white note", note(" \n\u{A0}"), "note: it is nothing but white space."),
        Row("NUL in a note", note("a\0"), "note: it holds a NUL character, which the server cannot store."),
        Row("remark of 1,000", NewItem(url: "https://a.example", note: text(1_000))),
        Row(
            "remark of 1,001", NewItem(url: "https://a.example", note: text(1_001)),
            "note: 1,001 characters, at most 1,000 are allowed."),
        Row("a type for a URL that is a note's", NewItem(url: "https://a.example", type: "note")),
        Row("a type that the server knows", note(type: "github_repo")),
        Row("auto", note(type: "auto"), "type: not one that the server knows."),
        Row("poem", note(type: "poem"), "type: not one that the server knows."),
        Row("edit of a title", edit(title: "T")),
        Row("edit of nothing", edit(), "edit: no field is given; name a title, a summary or tags."),
        Row("edit with an empty title", edit(title: ""), "The title is empty. It may have 1 to 500 characters."),
        Row("edit with no summary", edit(summary: "")),
        Row("summary of 5,000", edit(summary: text(5_000))),
        Row("summary of 5,001", edit(summary: text(5_001)), "summary: 5,001 characters, at most 5,000 are allowed."),
        Row(
            "NUL in a summary", edit(summary: "\0"), "summary: it holds a NUL character, which the server cannot store."
        ),
        Row("edit that takes all tags away", edit(tags: [])),
        Row("deletion", .delete(item: "59ec6da4")),
        Row("deletion of nothing", .delete(item: ""), "item: the id is empty."),
        Row("NUL in an id", .delete(item: "a\0"), "item: it holds a NUL character, which the server cannot store."),
    ]

    private static func dropped(_ tag: String) -> String {
        "The tag \"\(tag)\" was refused: the server keeps only a-z, 0-9, spaces and hyphens."
    }

    static let tags: [Row] = [
        Row("20 tags", note(tags: (1...20).map { "tag-\($0)" })),
        Row("21 tags", note(tags: (1...21).map { "tag-\($0)" }), "tags: 21 tags, at most 20 are allowed."),
        Row("21 tags, two of them the same", note(tags: (1...20).map { "tag-\($0)" } + ["tag-7"])),
        Row("tag of 50", note(tags: [text(50)])),
        Row("tag of 51", note(tags: ["a", text(51)]), "tags (number 2): 51 characters, at most 50 are allowed."),
        Row("empty tag", note(tags: [""]), "The tag is empty. It may have 1 to 50 characters."),
        Row("tag in capitals", note(tags: ["Work"]), dropped("Work")),
        Row("tag with an umlaut", note(tags: ["über"]), dropped("über")),
        Row("any tag, where the server keeps it", note(tags: ["Ünï"]), dialect: .express),
        Row(
            "blank tag, where the server keeps it", edit(tags: [" "]), "tags: it is nothing but white space.",
            dialect: .express),
        Row("tag with a space inside", note(tags: ["to do"])),
        Row("tag with a space before", note(tags: [" todo"]), "tags: it begins or ends with a space."),
        Row("tag with a space behind", edit(tags: ["todo "]), "tags: it begins or ends with a space."),
        Row("title of nothing but white space", note(title: " \n "), "title: it is nothing but white space."),
        Row("NUL in a tag", edit(tags: ["a\0"]), "tags: it holds a NUL character, which the server cannot store."),
    ]

    private static let noHost = "url: it has no host."
    private static let noScheme = "url: no http:// or https:// in front (files are not uploaded)."
    private static let white = "url: it holds white space or control characters."

    static let urls: [Row] =
        [
            ("https://example.org", nil), ("HTTP://Example.org:8080/a?b=c#d", nil), ("http://[::1]:8080/", nil),
            ("https://müller.example/straße?q=日本", nil), ("https://user@example.org/", nil),
            ("https://example.org:/", nil), ("http://localhost/a|b", nil), ("http://a?b", nil),
            ("https://", noHost), ("https:///path", noHost), ("http://:80/", noHost), ("http://user@/", noHost),
            ("http://[]/", noHost), ("http://[::1", noHost), ("http://[::1]x/", noHost),
            ("http://a:99999/", "url: its port is not a number from 0 to 65535."),
            ("http://a:b/", "url: its port is not a number from 0 to 65535."),
            ("example.org", noScheme), ("http:/example.org", noScheme), ("report.pdf", noScheme),
            ("ftp://example.org/", "url: only http and https addresses can be captured."),
            ("file:///a", "url: only http and https addresses can be captured."),
            ("/etc/hosts", noScheme), ("./a.pdf", noScheme), ("C:\\a.pdf", noScheme),
            ("https://a.example/b c", white), ("https://a.example/\n", white), (" https://a.example", white),
            ("https://a.example/\u{7F}", white), ("https://a.example/\u{A0}", white),
            ("https://a.example/\u{2028}", white), ("https://a.example/\u{9B}", white),
            ("https://a.example/\0", "url: it holds a NUL character, which the server cannot store."),
            ("", "The URL is empty. It may have 1 to 2,048 characters."),
            ("https://a.example/" + text(2_030), nil),
            ("https://a.example/" + text(2_031), "url: 2,049 characters, at most 2,048 are allowed."),
        ].map { (url: String, message: String?) in Row(String(url.prefix(40)), NewItem(url: url), message) }

    @Test(arguments: texts + tags + urls)
    func aDraftIsAcceptedOrRefusedWithItsReason(_ row: Row) {
        do throws(UserFacingError) {
            _ = try row.draft.checked(dialect: row.dialect)
            #expect(row.message == nil)
        } catch {
            #expect(error.message == row.message)
            #expect(error.code == .writeInvalid)
            #expect(error.consequence == "Nothing was queued.")
        }
    }

    /// A deleted item's values are not for a person to correct.
    @Test(arguments: Dialect.allCases)
    func ofAnItemFromElsewhereTheServerGetsWhatItTakes(_ dialect: Dialect) throws {
        let tags = (1...21).map { "tag \($0)" }
        let item = NewItem(
            url: "https://example.org", title: String(repeating: "t", count: 501),
            note: String(repeating: "n", count: 1_001), tags: ["", "b\u{7}"] + tags)
        let (taken, leftOut) = try item.taken(dialect: dialect)
        let hasAll = dialect == .express
        #expect(taken.title == nil && taken.tags.count == 20 && (taken.note != nil) == hasAll)
        #expect(
            leftOut.map { String($0.prefix(6)) } == ["title:", "tags: "] + (hasAll ? [] : ["note: "]), "\(leftOut)")
        #expect(leftOut[1].hasSuffix(", tag 20, tag 21") == hasAll && !leftOut[1].contains("\u{7}"), "\(leftOut)")
        #expect(throws: UserFacingError.self) { try NewItem(url: "ftp://example.org").taken(dialect: dialect) }
        #expect(throws: UserFacingError.self) {
            try NewItem(note: String(repeating: "n", count: 50_001)).taken(dialect: dialect)
        }
    }

    @Test func repeatedTagsAreSentOnce() throws {
        let create = WriteDraft.create(Self.note(tags: ["b", "a", "b", "a"]))
        #expect(try create.checked(dialect: nil) == .create(Self.note(tags: ["b", "a"])))
        let edit = Self.edit(tags: ["x", "x"])
        #expect(try edit.checked(dialect: .page) == Self.edit(tags: ["x"]))
    }

    @Test func aTagThatLowerCaseDoesNotMendIsNamedHarmlessly() {
        do throws(UserFacingError) {
            _ = try WriteDraft.create(Self.note(tags: ["\u{1B}[31mÜber"])).checked(dialect: nil)
            Issue.record("accepted")
        } catch {
            #expect(error.message.contains("Über") && !error.description.contains("\u{1B}"))
        }
    }

    /// `{"title":"TTTT…","content":"…","itemType":"note"}`: to the byte what is sent.
    @Test func theSmallServersBodyHasALimitOfItsOwn() throws {
        let frame = WriteBody.create(Self.note("", title: "T"), dialect: .express).count
        let room = WriteLimits.expressBody - frame
        let fits = Self.note(Self.text(room / 4, "😀") + Self.text(room % 4), title: "T")
        #expect(WriteBody.create(fits, dialect: .express).count == WriteLimits.expressBody)
        #expect(try WriteDraft.create(fits).checked(dialect: .express) == .create(fits))
        var longer = fits
        longer.note? += "x"
        #expect(try WriteDraft.create(longer).checked(dialect: .cursor) == .create(longer))
        do throws(UserFacingError) {
            _ = try WriteDraft.create(longer).checked(dialect: .express)
            Issue.record("accepted")
        } catch {
            #expect(
                error.message
                    == "note: the request would have 102,401 bytes, at most 102,400 are allowed by this server.")
        }
    }

    @Test(arguments: [
        (NewItem(note: "N"), Dialect.cursor, #"{"content":"N","content_type":"note"}"#),
        (
            NewItem(url: "https://a.example", title: "T", note: "N", tags: ["a", "b"], summarize: true), .page,
            #"{"url":"https://a.example","title":"T","highlight":"N","tags":["a","b"],"content_type":"link","#
                + #""enable_summarization":true}"#
        ),
        (
            NewItem(url: "https://a.example", title: "T", note: "N", tags: ["a"]), .express,
            #"{"url":"https://a.example","title":"T","content":"N","tags":["a"],"itemType":"link"}"#
        ),
        (
            NewItem(url: "https://a.example"), .express,
            #"{"url":"https://a.example","title":"https://a.example","#
                + #""itemType":"link"}"#
        ),
        (
            NewItem(note: "A first line\n\"2\""), .express,
            #"{"title":"A first line","content":"A first line\n\"2\"","itemType":"note"}"#
        ),
    ])
    func aCreationIsSentInTheDialectsForm(_ item: NewItem, _ dialect: Dialect, _ json: String) {
        #expect(String(decoding: WriteBody.create(item, dialect: dialect), as: UTF8.self) == json)
    }

    @Test func anEditSendsOnlyTheFieldsThatItChanges() {
        func json(_ edit: ItemEdit) -> String { String(decoding: WriteBody.update(edit), as: UTF8.self) }
        #expect(json(ItemEdit(title: "T")) == #"{"title":"T"}"#)
        #expect(json(ItemEdit(summary: "", tags: [])) == #"{"summary":"","tags":[]}"#)
    }
}
