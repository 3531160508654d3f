import PRSNLCore
import TestSupport
import Testing

@testable import PRSNLClient

struct ServerURLTests {
    @Test(arguments: [
        ("https://prsnl.example.org", "https://prsnl.example.org"),
        ("https://PRSNL.example.org:443/", "https://prsnl.example.org"),
        ("https://prsnl.example.org:8443/a/b//", "https://prsnl.example.org:8443/a/b"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"), ("http://localhost/x", "http://localhost/x"),
        ("http://[::1]:8000/", "http://[::1]:8000"), ("http://127.1:80", "http://127.0.0.1"),
    ])
    func anAddressIsTakenApartAndPutTogether(_ text: String, _ base: String) throws {
        #expect(try ServerURL.server(text, allowInsecureHTTP: false).base == base)
    }

    @Test(arguments: [
        ("", ErrorCode.noServer), ("prsnl", .badServerURL), ("ftp://example.org", .badServerURL),
        ("https://", .badServerURL), ("https://exa mple.org", .badServerURL), ("https://example.org:0x", .badServerURL),
        ("https://u:fake@example.org", .badServerURL), ("https://example.org/?a=b", .badServerURL),
        ("https://example.org/#f", .badServerURL), ("http://example.org", .insecureServerURL),
        ("http://127.0.0.1.example.org", .insecureServerURL), ("http://10.0.0.1", .insecureServerURL),
        ("file:///etc/passwd", .badServerURL), ("https://example.org\n", .badServerURL),
    ])
    func anAddressThatCannotBeUsedIsRefused(_ text: String, _ code: ErrorCode) {
        let error = thrown(UserFacingError.self) { try ServerURL.server(text, allowInsecureHTTP: false) }
        #expect(error?.code == code)
        #expect(error?.description.contains("fake") == false)
    }

    @Test func plainHTTPIsAllowedWhereTheOwnerSaysSo() throws {
        #expect(throws: Never.self) { try ServerURL.server("http://10.0.0.1", allowInsecureHTTP: true) }
    }

    @Test(arguments: [
        ("http://h", "http://h/x", true), ("http://h", "https://h/x", true), ("http://h:8080", "https://h", true),
        ("https://h", "https://h:443/x", true), ("https://h", "http://h", false), ("https://h", "https://i", false),
        ("https://h", "https://h:444", false), ("http://h:80", "http://h:81", false),
        ("https://h", "https://h.evil.example", false), ("https://h", "https://u:p@h", false),
        ("https://h", "https://H/x", true),
    ])
    func redirectsStayWithinTheHost(_ from: String, _ to: String, _ isAllowed: Bool) throws {
        let origin = try #require(ServerURL(foreign: from))
        let target = ServerURL(foreign: to)
        #expect(target.map(origin.mayRedirect) ?? false == isAllowed)
    }

    @Test func theCursorIsEncoded() throws {
        let request = TimelineRequest(.before(Timestamp("2025-06-01T00:00:23.000024Z")), limit: 100)
        #expect(request.query == "limit=100&cursor=2025-06-01T00%3A00%3A23.000024%2B00%3A00")
        #expect(TimelineRequest(.before(nil), limit: 1).query == "limit=1")
        #expect(TimelineRequest(.page(3), limit: 20).query == "page=3&limit=20")
        #expect(ServerURL.escaped("a/b?c d\0é") == "a%2Fb%3Fc%20d%00%C3%A9")
        #expect(ServerURL.escaped("") == "")
    }
}
