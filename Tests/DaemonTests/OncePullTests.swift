import DevServer
import Glibc
import PRSNLCore
import TestSupport
import Testing

@testable import Commands
@testable import Requests

/// `prsnld --once` and what the file says afterwards.
@Suite struct OncePullTests {
    @Test(arguments: Dialect.allCases)
    func aCompleteCopyEndsWithZeroAndTheFileSaysSo(dialect: Dialect) async throws {
        let fixture = try DaemonFixture(dialect: dialect)
        if dialect != .cursor { try TestFile.write(DevAccount.owner.apiKey, to: fixture.folder.file("key")) }
        let ended = try await fixture.run(["--once"])
        #expect(ended.exit == .status(0), "\(ended.stderr)")
        #expect(ended.stderr.contains("complete: 250 added, 0 changed, 0 deleted"))

        let text = try await fixture.control("status")
        #expect(text.exit == .status(0))
        #expect(text.stdout.hasPrefix("The daemon is stopped; this copy is of "))
        #expect(text.stdout.contains("\n\nDaemon       stopped; showing data from the file\n"))
        #expect(text.stdout.contains("Copy         complete\n"))
        #expect(text.stdout.contains("Items        250 live\n"))
        let report = try await fixture.status()
        #expect(report.source == .file)
        #expect(report.daemon == nil)
        #expect(report.copy.complete)
        #expect(report.copy.live == 250)
        #expect(report.server.url == fixture.server.url)
        #expect(report.server.dialect == dialect)
        #expect(report.file.path == fixture.database)

        let history = try fixture.decode(HistoryReport.self, try await fixture.control("history", "--json"))
        #expect(history.source == .file)
        #expect(history.pulls.map(\.added).reduce(0, +) == 250)
    }

    @Test func whatTheServerCannotShowEndsWithFourAndIsNamed() async throws {
        let fixture = try DaemonFixture(items: DevItem.generate(count: 400, tieGroup: 150))
        let ended = try await fixture.run(["--once"])
        #expect(ended.exit == .status(4), "\(ended.stderr)")
        let text = try await fixture.control("status")
        #expect(text.exit == .status(4))
        #expect(text.stdout.contains("possibly more at 2025-01-01T00:"))
        let report = try await fixture.status()
        #expect(report.attention == [.copyIncomplete])
        #expect(!report.copy.possiblyMoreAt.isEmpty)
    }

    @Test func aServerThatIsDownEndsWithOneAndAReason() async throws {
        let fixture = try DaemonFixture()
        fixture.server.refuseConnections()
        let ended = try await fixture.run(["--once"], environment: ["PRSNL_CONNECT_TIMEOUT": "1s"])
        #expect(ended.exit == .status(1))
        #expect(ended.stderr.contains("cannot connect to 127.0.0.1:\(fixture.server.port): connection refused"))
        let report = try await fixture.status()
        #expect(report.lastError?.code == "connect_failed")
        #expect(!report.copy.complete)
    }

    @Test func anAPIKeyForAServerThatWantsALoginWritesNothing() async throws {
        let fixture = try DaemonFixture()
        try TestFile.write("not-a-real-key", to: fixture.folder.file("key"))
        let ended = try await fixture.run(["--once"])
        #expect(ended.exit == .status(4))
        #expect(try await fixture.status().copy.live == 0)
        #expect(try await fixture.status().lastError?.code == "needs_login")
        #expect(!ended.stderr.contains("not-a-real-key"))
    }

    @Test func aStoppedPullEndsInTimeAndGoesOnNextTime() async throws {
        let fixture = try DaemonFixture()
        let hold = fixture.server.script(.hold, on: .timeline, skip: 2)
        let first = try fixture.start(["--once"])
        try await fixture.server.waitForRequest(.timeline, count: 3)
        #expect(try await first.terminate() == .status(1))
        hold.remove()
        #expect(try await fixture.run(["--once"]).exit == .status(0))
        #expect(try await fixture.status().copy.live == 250)
    }

    @Test func aSecondNameOfTheDatabaseLeadsToTheSameLock() async throws {
        let fixture = try DaemonFixture()
        let daemon = try await fixture.startReady()
        let link = fixture.folder.file("link.sqlite")
        #expect(symlink(fixture.database, link) == 0)
        let second = try await fixture.run(["--once"], environment: ["PRSNL_DATABASE": link])
        #expect(second.exit == .status(1))
        #expect(second.stderr.contains("database_locked") || second.stderr.contains("already uses"))
        // prsnlctl finds the daemon by the file, whatever its name.
        let noted = try await fixture.control("note", "by another name", environment: ["PRSNL_DATABASE": link])
        #expect(noted.exit == .status(0), "\(noted.stderr)")
        #expect(try await daemon.terminate() == .status(0))
        let offline = try await fixture.control("note", "while it is stopped", environment: ["PRSNL_DATABASE": link])
        #expect(offline.exit == .status(0), "\(offline.stderr)")
        #expect(!TestFile.exists(link + ".lock"))
        #expect(try await fixture.status().file.path == fixture.database)
    }

    @Test func withoutCredentialsTheFirstStepIsALogin() async throws {
        let fixture = try DaemonFixture()
        let lines = "server_url = \(fixture.server.url)\ndatabase = \(fixture.database)\n"
        try TestFile.write(lines, to: fixture.configuration)
        let login = "prsnlctl --config \(fixture.configuration) login --server \(fixture.server.url)"
        let fresh = try await fixture.control("status")
        #expect(fresh.exit == .status(1))
        #expect(fresh.stderr.contains("next: \(login)\n"), "\(fresh.stderr)")

        let ended = try await fixture.run(["--once"])
        #expect(ended.exit == .status(4), "\(ended.stderr)")
        #expect(ended.stderr.contains("needs_login"))
        #expect(try await fixture.status().copy.live == 0)
        #expect(try await fixture.status().server.url == nil)
        #expect(try await fixture.status().lastError?.code == "needs_login")

        try TestFile.write(lines + "anonymous = yes\n", to: fixture.configuration)
        #expect(try await fixture.run(["--once"]).exit == .status(0))
        #expect(try await fixture.status().copy.live == 250)
    }
}
