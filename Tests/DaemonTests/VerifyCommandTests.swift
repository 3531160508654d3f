import DevServer
import PRSNLCore
import TestSupport
import Testing

@testable import Commands
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
}
