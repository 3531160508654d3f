import DevServer
import Glibc
import PRSNLCore
import TestSupport
import Testing

@testable import Commands
@testable import Requests
@testable import Store

/// `prsnlctl verify` with the real binaries.
@Suite struct VerifyCommandTests {
    /// The answer has to fit into what the daemon keeps for a client, and its memory does not grow with the titles.
    @Test func thousandsOfDifferencesAreAnAnswer() async throws {
        let count = 8_000
        let fixture = try DaemonFixture(items: DevItem.generate(count: count))
        let daemon = try await fixture.startReady()
        try await fixture.waitUntilComplete()
        try Connection(path: fixture.database, mode: .readWrite)
            .execute("UPDATE item SET title = title || hex(zeroblob(200))")
        let ended = try await fixture.control("verify", "--json")
        #expect(ended.exit == .status(4), "\(ended.stderr)")
        let report = try fixture.decode(VerifyReport.self, ended)
        #expect(report.differing == count && report.differences.count > 2_000 && report.differences.count < count)
        #expect(report.differences.map { $0.itemID ?? "" } == report.differences.map { $0.itemID ?? "" }.sorted())
        let text = try await fixture.control("verify")
        #expect(text.exit == .status(4) && text.stdout.contains("more, which are counted and not listed"))
        #expect(try await daemon.terminate() == .status(0))
    }

    /// A list without end, of items that the copy does not have.
    @Test func memoryDoesNotGrowWithAServersList() async throws {
        let fixture = try DaemonFixture(items: DevItem.generate(count: 3))
        let daemon = try await fixture.startReady()
        try await fixture.waitUntilComplete()
        fixture.server.setQuirks { quirks in
            quirks.timelineIsEndless = true
            quirks.endlessItems = .max
        }
        let command = try fixture.startControl(["verify"])
        func memory(afterPages pages: Int) async throws -> Int {
            try await eventually("\(pages) pages") { fixture.server.requests(.timeline).count >= pages }
            let status = try TestFile.text("/proc/\(daemon.processID)/status")
            let line = status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") }
            return try #require(line?.split(separator: " ").dropLast().last.flatMap { Int($0) })
        }
        // The first 10,000 are remembered, and no more.
        let before = try await memory(afterPages: 130)
        let after = try await memory(afterPages: 330)
        #expect(after < before + 4 << 10, "\(before) KiB, then \(after)")
        command.signal(SIGINT)
        #expect(try await daemon.terminate() == .status(0))
    }
}
