import PRSNLCore
import TestSupport
import Testing

struct JSONTextTests {
    @Test(arguments: [
        ("", #""""#), ("plain", #""plain""#), (#"a"b\c"#, #""a\"b\\c""#),
        ("\n\t\u{1}\u{1F}", #""\n\u0009\u0001\u001f""#),
        ("é😀", #""é😀""#), ("\u{7F}", "\"\u{7F}\""),
    ])
    func aStringIsWrittenAsJSON(_ text: String, _ json: String) {
        #expect(JSONText.string(text) == json)
    }

    @Test func whatIsWrittenIsReadBack() throws {
        var random = TestSupport.SeededRandom()
        for _ in 0..<2_000 {
            let scalars = (0..<Int.random(in: 0...20, using: &random)).compactMap { _ in
                UnicodeScalar(UInt32.random(in: 0...0x2FF, using: &random))
            }
            let text = String(String.UnicodeScalarView(scalars))
            let read = try JSONReader.read(Array(JSONText.string(text).utf8)) { try $0.string() }
            // By scalars: == would also accept another spelling of an accented letter.
            #expect(read.unicodeScalars.elementsEqual(text.unicodeScalars))
        }
    }
}
