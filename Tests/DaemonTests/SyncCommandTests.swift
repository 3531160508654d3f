import Commands
import DevServer
import Glibc
import PRSNLCore
import Requests
import Store
import TestSupport
import Testing

/// `prsnlctl sync` against a running daemon.
@Suite struct SyncCommandTests {
    private func ready(_ fixture: DaemonFixture) async throws -> ChildProcess {
        let daemon = try await fixture.startReady()
        try await fixture.waitUntilComplete()
        return daemon
    }

    @Test func waitingSaysWhatTheNewPullFound() async throws {
        let fixture = try DaemonFixture()
        let daemon = try await ready(fixture)
        _ = fixture.server.addNew(count: 3)
        let ended = try await fixture.control("sync", "--wait")
        #expect(ended.exit == .status(0))
        #expect(ended.stdout == "Complete: 3 added, 0 changed, 0 deleted.\n")
        let json = try fixture.decode(SyncResult.self, try await fixture.control("sync", "--wait", "--json"))
        #expect(json.outcome == .complete)
        #expect(json.added == 0)
        #expect(daemon.pollExit() == nil)
    }

    @Test func withoutWaitingThePullIsOnlyAskedFor() async throws {
        let fixture = try DaemonFixture()
        let daemon = try await ready(fixture)
        let hold = fixture.server.script(.hold, on: .timeline)
        let ended = try await fixture.control("sync", "--json")
        #expect(ended.exit == .status(0))
        #expect(try fixture.decode(SyncResult.self, ended).outcome == .started)
        try await fixture.server.waitForRequest(.timeline)
        hold.release()
        #expect(daemon.pollExit() == nil)
    }

    @Test func aPullGoesOnWhenWhoAskedForItLeaves() async throws {
        let fixture = try DaemonFixture()
        let daemon = try await ready(fixture)
        _ = fixture.server.addNew(count: 2)
        fixture.server.clearLog()
        let hold = fixture.server.script(.hold, on: .timeline)
        let waiting = try fixture.startControl(["sync", "--wait"])
        try await fixture.server.waitForRequest(.timeline)
        waiting.signal(SIGINT)
        #expect(try await waiting.waitForExit() == .signal(SIGINT))
        hold.release()
        try await eventually("the pull to be done") { try await fixture.status().copy.live == 252 }
        #expect(daemon.pollExit() == nil)
    }

    @Test func aDaemonThatStopsTellsWhoWaits() async throws {
        let fixture = try DaemonFixture()
        let daemon = try await ready(fixture)
        fixture.server.clearLog()
        _ = fixture.server.script(.hold, on: .timeline)
        let waiting = try fixture.startControl(["sync", "--wait"])
        try await fixture.server.waitForRequest(.timeline)
        #expect(try await daemon.terminate() == .status(0))
        #expect(try await waiting.waitForExit() == .status(3))
        #expect(waiting.stderr.contains("The daemon closed the connection"))
    }

    @Test func editsAndDeletionsAreFoundByAFullSync() async throws {
        let fixture = try DaemonFixture()
        let daemon = try await ready(fixture)
        let items = fixture.server.items()
        fixture.server.edit(items[100].id) { $0.title = "another title" }
        fixture.server.delete(items[200].id)
        let ended = try await fixture.control("sync", "--full", "--wait")
        #expect(ended.exit == .status(0), "\(daemon.stderr)")
        #expect(ended.stdout == "Complete: 0 added, 1 changed, 1 deleted.\n")
    }

    @Test func tooManyDeletionsWaitForConsent() async throws {
        let fixture = try DaemonFixture()
        let daemon = try await ready(fixture)
        for item in fixture.server.items().prefix(40) { fixture.server.delete(item.id) }
        let held = try await fixture.control("sync", "--full", "--wait")
        #expect(held.exit == .status(4), "\(held) \(daemon.stderr)")
        let status = try await fixture.control("status")
        #expect(status.exit == .status(4))
        #expect(status.stdout.contains("40 deletions held back"))
        #expect(status.stdout.contains("250 live"))
        #expect(try await fixture.status().attention.contains(.deletionsHeld))
        let accepted = try await fixture.control("sync", "--accept-deletions", "--wait")
        #expect(accepted.exit == .status(0), "\(accepted)")
        #expect(try await fixture.status().copy.live == 210)
    }

    @Test func aServerThatIsDownIsAnErrorWithACure() async throws {
        let fixture = try DaemonFixture()
        let daemon = try await ready(fixture)
        fixture.server.refuseConnections()
        let ended = try await fixture.control("sync", "--wait", "--json")
        #expect(ended.exit == .status(1))
        let report = try fixture.decode(SyncResult.self, ended)
        #expect(report.outcome == .failed)
        #expect(report.problem?.codeName == "connect_failed")
        // The copy is as it was, and being offline is nothing that a person must see to.
        let status = try await fixture.status()
        #expect(status.copy.complete)
        #expect(status.attention.isEmpty)
        #expect(status.daemon?.problem?.codeName == "connect_failed")
        #expect(try await daemon.terminate() == .status(0))
    }
}
