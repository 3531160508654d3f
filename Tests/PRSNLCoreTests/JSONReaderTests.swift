import PRSNLCore
import TestSupport
import Testing

struct JSONReaderTests {
    private func string(_ text: String) throws -> String {
        try JSONReader.read(Array(text.utf8)) { reader in
            let value = try reader.string()
            try reader.end()
            return value
        }
    }

    /// The raw text of the value, if it is well-formed and nothing follows.
    private func skipped(_ text: String) throws -> String {
        try JSONReader.read(Array(text.utf8)) { reader in
            let range = try reader.skip()
            try reader.end()
            return reader.text(range)
        }
    }

    @Test(arguments: [
        (#""""#, ""), (#""plain""#, "plain"), (#"  "eight by""#, "eight by"), (#""a\"b\\c\/d""#, #"a"b\c/d"#),
        (#""\b\f\n\r\t""#, "\u{8}\u{c}\n\r\t"), (#""\u0041\u00e9\u20AC""#, "Aé€"), (#""\ud83d\ude00""#, "😀"),
        (#""\ud83d""#, "\u{FFFD}"), (#""\ude00x""#, "\u{FFFD}x"), (#""\ud83dA""#, "\u{FFFD}A"),
        (#""\u0000""#, "\0"), (#""naïve 😀 text, longer than one word""#, "naïve 😀 text, longer than one word"),
        (#""seven b\u0041ytes and more""#, "seven bAytes and more"),
    ])
    func aStringIsReadWithItsEscapes(_ text: String, _ value: String) throws {
        #expect(try string(text) == value)
    }

    @Test(arguments: [
        #"""#, #""abc"#, #""abc\"#, #""\x""#, #""\u12""#, #""\u12g4""#, "\"tab\tinside\"", "\"new\nline after eight\"",
        "x", "", #""a" "b""#,
    ])
    func aBrokenStringIsRefused(_ text: String) {
        #expect(throws: JSONReader.Failure.self) { try string(text) }
        #expect(throws: JSONReader.Failure.self) { try skipped(text) }
    }

    @Test func invalidUTF8IsRepaired() throws {
        let bytes: [UInt8] = [0x22, 0x61, 0xFF, 0x62, 0x22]
        #expect(try JSONReader.read(bytes) { try $0.string() } == "a\u{FFFD}b")
    }

    @Test(arguments: [
        "{}", "[]", "[ ]", #"{"a":1}"#, #"{"a":[1,2,{"b":null}],"c":"d"}"#, "[[],[[]],{}]", "-0.5e+10", "0", "1E9",
        "true", "false", "null", #"["}","]","\"{"]"#, #"{ "a" : [ 1 , 2 ] , "b" : { } }"#,
    ])
    func skippingGivesTheWholeValueAsItStood(_ text: String) throws {
        #expect(try skipped(" \n\(text)\t") == text)
    }

    @Test(arguments: [
        "", "{", "[", "[1,]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "[1 2]", "tru", "nul", "-", "1.", "1e",
        "+1",
        "]", "}", "[}", "{]", "01x", "{\"a\":1}}", "'a'", "\u{FEFF}1", "01", "-01", "[00]",
    ])
    func whatIsNotJSONIsRefused(_ text: String) {
        #expect(throws: JSONReader.Failure.self) { try skipped(text) }
    }

    @Test func aDeepTextIsRefusedAndNotRecursedInto() {
        let deep = String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000)
        #expect(throws: JSONReader.Failure.self) { try skipped(deep) }
        let allowed = String(repeating: "[", count: 512) + String(repeating: "]", count: 512)
        #expect(throws: Never.self) { try skipped(allowed) }
    }

    @Test func membersAndElementsAreReadInOrder() throws {
        let text = #" { "a" : 1 , "b" : [ true , null , "x" ] , "c" : { } } "#
        var seen: [String] = []
        try JSONReader.read(Array(text.utf8)) { reader in
            try reader.object { name, reader in
                switch try reader.kind() {
                case .number: seen.append("\(name)=\(try reader.numberText())")
                case .array:
                    try reader.array { reader in
                        switch try reader.kind() {
                        case .bool: seen.append("\(try reader.bool())")
                        case .null: seen.append("null \(try reader.null())")
                        default: seen.append(try reader.string())
                        }
                    }
                default: seen.append("\(name) \(reader.text(try reader.skip()))")
                }
            }
            try reader.end()
        }
        #expect(seen == ["a=1", "true", "null true", "x", "c { }"])
    }

    @Test func aStringWithoutEscapesCanBeReadAsBytes() throws {
        try JSONReader.read(Array(#"["plain text of some length","esc\u0041ped"]"#.utf8)) { reader in
            #expect(try reader.enterArray())
            let plain = try reader.plainString().map { String(decoding: $0, as: UTF8.self) }
            #expect(plain == "plain text of some length")
            #expect(try reader.nextElement())
            #expect(try reader.plainString() == nil)
            #expect(try reader.string() == "escAped", "and nothing of it was read before")
            #expect(try !reader.nextElement())
        }
        #expect(throws: JSONReader.Failure.self) {
            try JSONReader.read(Array(#""abc"#.utf8)) { _ = try $0.plainString() }
        }
    }

    /// Every cut and every changed byte of a text is either read or refused; nothing traps.
    @Test func noDamagedTextTraps() throws {
        let text = Array(#"{"items":[{"id":"a\u00e9","tags":["x","y"],"n":-1.5e3,"b":true,"z":null}],"c":"😀"}"#.utf8)
        for end in 0..<text.count {
            #expect(throws: JSONReader.Failure.self) {
                try JSONReader.read(Array(text[..<end])) { reader in
                    try reader.skip()
                    try reader.end()
                }
            }
        }
        var random = TestSupport.SeededRandom()
        for _ in 0..<20_000 {
            var damaged = text
            damaged[Int.random(in: 0..<text.count, using: &random)] = .random(in: 0...255, using: &random)
            do {
                try JSONReader.read(damaged) { reader in
                    try reader.skip()
                    try reader.end()
                }
            } catch {
                #expect(error is JSONReader.Failure)
            }
        }
    }
}
