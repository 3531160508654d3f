import DevServer
import Glibc
import PRSNLCore
import TestSupport
import Testing

/// `prsnlctl metrics` with the real binary, from the file alone.
@Suite struct MetricsCommandTests {
    private static let head =
        "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: "

    private func answer(_ request: String, _ fixture: DaemonFixture) async throws -> String {
        let ended = try await fixture.control("metrics", "--http", input: request)
        #expect(ended.exit == .status(0) && ended.stderr.isEmpty, "\(ended)")
        return ended.stdout
    }

    @Test func oneRequestIsAnswered() async throws {
        let fixture = try DaemonFixture(items: DevItem.generate(count: 4))
        #expect(try await fixture.run(["--once"]).exit == .status(0))
        let got = try await answer("GET /metrics?x=y HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\r\n", fixture)
        #expect(got.hasPrefix("HTTP/1.1 200 OK" + Self.head), "\(got)")
        let parts = got.split(separator: "\r\n\r\n", maxSplits: 1)
        #expect(
            parts[0].hasSuffix("\r\nContent-Length: \(parts[1].utf8.count)\r\nAllow: GET, HEAD\r\nConnection: close"))
        #expect(parts[1].contains("\nprsnld_items{state=\"live\"} 4\n") && parts[1].hasSuffix("\n"))
        let asked = try await answer("HEAD /metrics HTTP/1.0\r\n\r\n", fixture)
        #expect(asked == parts[0] + "\r\n\r\n")
        let printed = try await fixture.control("metrics").stdout
        #expect(printed == String(parts[1]))
    }

    @Test(arguments: [
        ("GET / HTTP/1.1\r\n\r\n", "404"), ("GET /metrics/ HTTP/1.1\r\nA: b\r\n\r\n", "404"),
        ("POST /metrics HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", "405"), ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "400"),
        ("\u{16}\u{3}\u{1}\u{0} garbage \r\n\r\n", "400"), ("\r\n\r\n", "400"),
        ("GET /metrics HTTP/1.1\r\nA: " + String(repeating: "b", count: 100_000), "431"),
    ])
    func whatIsNoRequestForThemIsRefused(request: String, status: String) async throws {
        let got = try await answer(request, try DaemonFixture())
        #expect(got.hasPrefix("HTTP/1.1 \(status) ") && got.contains(Self.head), "\(got)")
    }

    @Test func whoeverLeavesGetsNothingAndWithoutACopyTheJournalSaysWhy() async throws {
        let fixture = try DaemonFixture()
        for request in ["", "GET /metrics HTTP/1.1\r\nHost"] { #expect(try await answer(request, fixture).isEmpty) }
        let failed = try await fixture.control("metrics", "--http", input: "GET /metrics HTTP/1.1\r\n\r\n")
        #expect(failed.stdout.hasPrefix("HTTP/1.1 503 ") && failed.exit == .status(1), "\(failed)")
        #expect(failed.stderr.contains(ErrorCode.noDatabase.rawValue) || failed.stderr.contains("copy"), "\(failed)")
    }

    @Test func theCollectorsFileIsReplacedAndNoLinkIsFollowed() async throws {
        let fixture = try DaemonFixture(items: DevItem.generate(count: 4))
        #expect(try await fixture.run(["--once"]).exit == .status(0))
        let (file, other) = (fixture.folder.file("prsnld.prom"), fixture.folder.file("other"))
        try TestFile.write("mine", to: other)
        #expect(symlink(other, file + ".new") == 0)
        for _ in 0..<2 {
            let ended = try await fixture.control("metrics", "--output", file)
            #expect(ended.exit == .status(0) && ended.stdout.isEmpty, "\(ended)")
        }
        var information = stat()
        #expect(lstat(file, &information) == 0 && information.st_mode == S_IFREG | 0o644)
        #expect(try TestFile.text(file).contains("\nprsnld_complete 1\n"))
        #expect(try TestFile.text(other) == "mine" && !TestFile.exists(file + ".new"))
        let failed = try await fixture.control("metrics", "--output", fixture.folder.path)
        #expect(failed.exit == .status(1) && !TestFile.exists(fixture.folder.path + ".new"), "\(failed)")
    }
}
