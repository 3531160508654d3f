import PRSNLCore
import TestSupport
import Testing

@testable import Configuration

@Suite struct ValueTests {
    @Test(arguments: [
        ("300", 300_000), ("5m", 300_000), ("1h30m", 5_400_000), ("2d", 172_800_000), ("500ms", 500),
        ("1m500ms", 60_500),
        ("0", 0), ("007s", 7_000),
    ])
    func durationsAreReadInEveryUnit(text: String, milliseconds: Int) {
        #expect(DurationText.parse(text) == .milliseconds(milliseconds))
    }

    @Test(arguments: [
        "", " ", "m", "5 m", "-5m", "+5", "5m1h", "1h1h", "1h30", "5x", "5M", "1.5h", "٣", "99999999999999999999",
        "101y",
        "9223372036854775807d", "40000d",
    ])
    func whatIsNoDurationIsRefused(text: String) {
        #expect(DurationText.parse(text) == nil)
    }

    @Test(arguments: ["5m", "1h30m", "500ms", "1d", "10s", "1d1h1m1s1ms"])
    func durationsArePrintedAsTheyAreRead(text: String) throws {
        #expect(DurationText.describe(try #require(DurationText.parse(text))) == text)
    }

    @Test(arguments: [
        ("1024", 1_024), ("32MiB", 32 << 20), ("64 KiB", 64 << 10), ("1gib", 1 << 30), ("5MB", 5_000_000), ("1B", 1),
    ])
    func sizesAreReadInEveryUnit(text: String, bytes: Int) {
        #expect(SizeText.parse(text) == bytes)
    }

    @Test(arguments: ["", "MiB", "-1", "1.5MiB", "1TiB", "99999999999GiB", "1 2"])
    func whatIsNoSizeIsRefused(text: String) {
        #expect(SizeText.parse(text) == nil)
    }

    @Test(arguments: [
        ("https://prsnl.example.org", "prsnl.example.org", false), ("http://localhost:8000/", "localhost", true),
        ("http://127.0.0.1", "127.0.0.1", true), ("http://127.9.9.9:1", "127.9.9.9", true),
        ("http://[::1]:8000", "::1", true), ("https://[2001:db8::1]/prsnl", "2001:db8::1", false),
        ("http://127.0.0.1.example.org", "127.0.0.1.example.org", false),
        ("http://localhost.example.org", "localhost.example.org", false), ("HTTPS://Example.org", "example.org", false),
        ("http://127.1:80", "127.0.0.1", true), ("http://prsnl.localhost", "prsnl.localhost", false),
    ])
    func addressesAreTakenApart(text: String, host: String, isLoopback: Bool) throws {
        let url = try ServerURL(text)
        #expect(url.host == host)
        #expect(url.isLoopback == isLoopback)
    }

    @Test func slashesAtTheEndOfAnAddressAreDropped() throws {
        #expect(try ServerURL("https://example.org/prsnl//").text == "https://example.org/prsnl")
        #expect(try ServerURL("https://example.org/").text == "https://example.org")
    }

    @Test(arguments: [
        "", "prsnl.example.org", "ftp://example.org", "https://", "https:///x", "https://user:secret@example.org",
        "https://example.org?x=1", "https://example.org/#top", "https://example.org:0", "https://example.org:99999",
        "https://example.org:", "https://example.org:80x", "https://exa mple.org", "https://[::1", "https://[::g]",
        "https://[::1]x", "https://münchen.example", "https://ex\\ample.org", "https://exam;ple.org",
    ])
    func addressesThatCannotBeUsedAreRefused(text: String) {
        let rejection = thrown(Rejection.self) { try ServerURL(text) }
        #expect(rejection?.reason.contains("secret") == false)
    }
}
