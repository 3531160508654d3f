import PRSNLCore
import Testing

struct TokenTests {
    private static let secret = "fake-secret-token"

    @Test func noPrintingOfAPairShowsItsTokens() throws {
        let pair = try #require(TokenPair(access: "\(Self.secret)-a", refresh: "\(Self.secret)-r"))
        var dumped = ""
        dump(pair, to: &dumped)
        dump([pair as TokenPair?], to: &dumped)
        for text in [
            "\(pair)", String(describing: pair), String(reflecting: pair), "\([pair])", "\(Optional(pair) as Any)",
            dumped,
        ] {
            #expect(!text.contains(Self.secret), "\(text)")
        }
    }

    @Test func aTokenThatCannotStandInAHeaderIsNone() {
        for text in ["", "two words", "a\r\nX-Evil: 1", "späße", "nul\0", String(repeating: "x", count: 8_193)] {
            #expect(TokenPair(access: text, refresh: "fake") == nil)
            #expect(TokenPair(access: "fake", refresh: text) == nil)
        }
        #expect(TokenPair(access: String(repeating: "x", count: 8_192), refresh: "fake") != nil)
    }

    /// Unpadded base64url.
    private func token(_ claims: String, header: String = #"{"alg":"HS256"}"#) -> String {
        "\(encode(header)).\(encode(claims)).\(encode("fake signature"))"
    }

    private func encode(_ text: String) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        let bits = text.utf8.map { byte in
            let digits = String(byte, radix: 2)
            return String(repeating: "0", count: 8 - digits.count) + digits
        }.joined()
        return stride(from: 0, to: bits.count, by: 6).map { start in
            let chunk = bits.dropFirst(start).prefix(6)
            let value = Int(chunk, radix: 2) ?? 0
            return String(alphabet[value << (6 - chunk.count)])
        }.joined()
    }

    @Test func theClaimsOfALoginTokenAreRead() throws {
        let claims = try #require(AccessToken(token(#"{"sub":"u-1","iat":1750000000,"exp":1750001800.5,"x":[{}]}"#)))
        #expect(claims.subject == "u-1")
        #expect(claims.issuedAt == Timestamp(microseconds: 1_750_000_000_000_000))
        #expect(claims.expiresAt == Timestamp(microseconds: 1_750_001_800_500_000))
    }

    @Test(arguments: [
        #"{"sub":7,"exp":"1750001800","iat":null}"#, #"{"sub":"","exp":-1}"#, #"{"exp":1e400}"#, #"{"exp":9e99}"#, "{}",
        "not JSON", #"{"sub":"half"#, "[]",
    ])
    func claimsOfOtherTypesCountAsMissing(_ text: String) throws {
        let claims = try #require(AccessToken(token(text)))
        #expect(claims.subject == nil)
        #expect(claims.expiresAt == nil)
        #expect(claims.issuedAt == nil)
    }

    @Test func aTextOfAnotherFormIsNoToken() {
        for text in ["", "..", "a.b.c", "fake-key", token("{}") + ".x", token("{}", header: "[]")] {
            #expect(AccessToken(text) == nil, "\(text)")
        }
        #expect(AccessToken(token(#"{"sub":"\#(String(repeating: "x", count: 9_000))"}"#)) == nil)
        #expect(AccessToken(token(#"{"sub":"\#(String(repeating: "x", count: 257))"}"#))?.subject == nil)
    }
}
