import Testing

@testable import PRSNLCore

@Suite struct JSONFieldsTests {
    @Test func whatIsWrittenReadsAsTheSame() throws {
        var fields = JSONFields()
        fields.add("text", "a \"quoted\"\nline")
        fields.add("texts", ["b", "", "é"])
        fields.add("none", [])
        fields.add("flag", .flag(true))
        fields.add("absent", nil as String?)
        #expect(fields.json == #"{"text":"a \"quoted\"\nline","texts":["b","","é"],"none":[],"flag":true}"#)
        #expect(JSONFields(json: fields.json) == fields)
    }

    @Test(arguments: [
        WriteRequest(.delete(item: "x"), key: RequestKey("0123456789abcdef")), WriteRequest(.create(NewItem())),
        WriteRequest(.create(NewItem(url: "https://example.org", title: "T", tags: ["b", "a"], summarize: true))),
        WriteRequest(.create(NewItem(note: "N", type: "article"))),
        WriteRequest(.edit(item: "x", ItemEdit(title: "T", summary: "", tags: []))),
    ])
    func aWriteReadsAsTheSame(_ request: WriteRequest) throws {
        let fields = try #require(JSONFields(json: request.fields.json))
        #expect(try WriteRequest(fields) == request)
    }

    @Test func anObjectOfManyMembersIsRefused() {
        let members = (0..<65).map { #""m\#($0)":0"# }.joined(separator: ",")
        #expect(JSONFields(json: "{\(members)}") == nil)
    }

    @Test(arguments: [
        (#""\ud800""#, true), (#""\udc00""#, true), (#""\ud83d\ude00""#, false), (#""\ud83dx\ude00""#, true),
        (#""\ud83d\ud83d\ude00""#, true), (#""\ufffd""#, false), (#""\\ud800""#, false), (#""a\n\ud800\n""#, true),
        (#""\ud83d\n\ude00""#, true), (#""""#, false),
    ])
    func aHalfSurrogatePairIsNoticed(string: String, isLone: Bool) {
        // A half that is read past beside it is none of the text's.
        let json = #"{"other":{"a":"\ud800"},"text":\#(string)}"#
        #expect((JSONFields(json: json) == nil) == isLone)
    }
}
