import Testing

@testable import PRSNLClient

/// The seven shapes of the API contract, and what is no shape at all.
struct ErrorBodyTests {
    @Test(
        arguments: [
            (#"{"detail":"text"}"#, "text", nil, nil),
            (#"{"detail":"text","code":"INTERNAL_SERVER_ERROR"}"#, "text", "INTERNAL_SERVER_ERROR", nil),
            (#"{"detail":[{"loc":["body","title"],"msg":"too long"}]}"#, "title: too long", nil, nil),
            (#"{"detail":[{"loc":["body"],"msg":"missing"},{"msg":"odd"}]}"#, "body: missing; odd", nil, nil),
            (
                #"{"detail":{"error":{"code":"X_1","message":"no","details":[{"field":"title","message":"too long"}]}}}"#,
                "no; title: too long", "X_1", nil
            ),
            (#"{"error":{"code":"X_1","message":"no","details":[]}}"#, "no", "X_1", nil),
            (#"{"detail":{"status":"not ready","checks":{"db":false}}}"#, "not ready", nil, nil),
            (
                #"{"error":"rate_limit_exceeded","message":"30 per minute","retry_after":12}"#, "30 per minute",
                "rate_limit_exceeded", "12"
            ),
            (#"{"error":"rate_limit_exceeded","message":"m","retry_after":null}"#, "m", "rate_limit_exceeded", nil),
            (#"{"error":"Item not found"}"#, "Item not found", nil, nil),
            (#"{"error":{"code":"E","message":"m","details":"d"}}"#, "m", "E", nil),
            (#"{"message":"m","code":"C"}"#, "m", "C", nil),
            ("<html>Cannot GET /api</html>", nil, nil, nil),
            ("", nil, nil, nil),
            ("[1,2]", nil, nil, nil),
            (#"{"detail":"cut o"#, nil, nil, nil),
            (#"{"detail":[]}"#, nil, nil, nil),
            (#"{"detail":7,"error":null}"#, nil, nil, nil),
            (#"{"error":"x","code":"not a code!"}"#, "x", nil, nil),
        ] as [(String, String?, String?, String?)])
    func oneDecoderReadsEveryShape(_ text: String, _ message: String?, _ code: String?, _ wait: String?) {
        let body = ErrorBody(Array(text.utf8))
        #expect(body.message == message)
        #expect(body.code == code)
        #expect(body.retryAfter == wait)
    }

    @Test(arguments: [
        (#"{"detail":"text"}"#, true), (#"{"detail":"text","code":"X"}"#, true),
        (#"{"detail":[{"loc":["body"],"msg":"missing"}]}"#, true), (#"{"error":"Item not found"}"#, true),
        (#"{"detail":{"error":{"code":"X","message":"no"}}}"#, true), (#"{"error":{"code":"X","message":"no"}}"#, true),
        (#"{"detail":{"status":"not ready","checks":{}}}"#, true),
        (#"{"error":"rate_limit_exceeded","message":"m","retry_after":null}"#, true),
        // Gateways.
        (#"{"message":"Service Unavailable"}"#, false), (#"{"type":"about:blank","title":"T","detail":"d"}"#, false),
        (#"{"timestamp":1,"status":503,"error":"Service Unavailable","path":"/"}"#, false),
        (#"{"error":null}"#, false), ("{}", false), ("[]", false), ("", false), ("<html>", false),
    ])
    func aGatewaysAnswerIsNotTakenForPRSNLs(_ text: String, _ isPRSNL: Bool) {
        #expect(ErrorBody(Array(text.utf8)).isPRSNL == isPRSNL)
    }

    @Test(arguments: [
        ("Item: 'My title' (created 2026)", "Item: … (created 2026)"),
        (#"Item "My "best" title" there"#, "Item … there"),
        ("Can't do it, and won't", "Can't do it, and won't"),
        ("Cut: 'My ti", "Cut: …"),
        ("two\nlines\u{1B}[31m", "two lines [31m"),
        ("[SQL: INSERT]", ""),
    ])
    func whatTheServerQuotesIsNotShown(_ text: String, _ shown: String) {
        #expect(ErrorBody.presentable(text) == shown)
    }

    @Test func aLongMessageIsCut() {
        #expect(ErrorBody.presentable(String(repeating: "long ", count: 10_000)).count == ErrorBody.longestMessage + 1)
    }

    // MARK: Found while fuzzing

    private static let secret = "fake-secret-0123456789"

    @Test func aCodeThatRepeatsTheCredentialIsNotKept() {
        let body = ErrorBody(Array(#"{"detail":"no","code":"X\#(Self.secret)"}"#.utf8), hiding: [Self.secret])
        #expect(body.code == nil)
        var answer = HTTPAnswer(status: 401)
        answer.errorCode = Self.secret
        let error = APIError(
            answer: answer, endpoint: "GET /", now: .earliest, hiding: [Self.secret])
        #expect(error.serverCode == nil)
    }

    @Test(arguments: ["\u{301}", "\u{200D}", "\u{FE0F}"])
    func theCredentialIsHiddenWithAnAccentBehindIt(_ mark: String) {
        let shown = ErrorBody.presentable("key \(Self.secret)\(mark) is wrong", hiding: [Self.secret])
        #expect(!Array(shown.utf8).contains(Array(Self.secret.utf8)), "\(shown)")
    }

    @Test(arguments: ["Bearer  ", "bearer\t", "Bearer\n "])
    func aTokenIsHiddenWhateverStandsBeforeIt(_ before: String) {
        #expect(ErrorBody.presentable("got \(before)abcdef here") == "got \(before.prefix(6)) … here")
    }

    @Test func aMessageOfOneCharacterWithManyAccentsIsCut() {
        let text = "e" + String(repeating: "\u{301}", count: 10_000)
        #expect(ErrorBody.presentable(text + " x").unicodeScalars.count <= ErrorBody.longestMessage + 1)
    }
}
