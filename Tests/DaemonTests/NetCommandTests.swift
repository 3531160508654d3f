import CLinux
import Commands
import Console
import DevServer
import Glibc
import NetMonitor
import PRSNLCore
import Requests
import Store
import TestSupport
import Testing

/// `prsnlctl ping`, `net` and what `status` and `queue` say of the connection, with the real binaries over loopback.
@Suite struct NetCommandTests {
    private func ready(_ fixture: DaemonFixture) async throws -> ChildProcess {
        let daemon = try await fixture.startReady()
        try await fixture.waitUntilComplete()
        return daemon
    }

    // MARK: ping

    @Test func aPingSaysThatTheServerCanBeUsedAndHowLongEachStepTook() async throws {
        let fixture = try DaemonFixture()
        let daemon = try await ready(fixture)
        let json = try await fixture.control("ping", "--json")
        #expect(json.exit == .status(0), "\(json)")
        let report = try fixture.decode(PingReport.self, json)
        #expect(report.state == .online && report.status == 200 && report.probe == .http)
        #expect(report.address == "127.0.0.1")
        #expect(report.phases.connect != nil && report.phases.firstByte != nil && report.phases.tls == nil)
        #expect(report.failedPhase == nil && report.error == nil)
        let text = try await fixture.control("ping")
        #expect(text.exit == .status(0))
        #expect(text.stdout.hasPrefix("State        online\n"), "\(text)")
        #expect(text.stderr.isEmpty)
        #expect(daemon.pollExit() == nil)
    }

    @Test func aPingThatFailsSaysWhereAndMakesTheDaemonBelieveIt() async throws {
        let fixture = try DaemonFixture()
        let daemon = try await ready(fixture)
        fixture.server.refuseConnections()
        let text = try await fixture.control("ping")
        #expect(text.exit == .status(1))
        #expect(text.stdout.contains("State        unreachable\n"), "\(text)")
        #expect(text.stdout.contains("Connect      failed\n"), "\(text)")
        #expect(
            text.stderr.contains(
                "Network error: cannot connect to 127.0.0.1:\(fixture.server.port): connection refused."), "\(text)")
        let json = try await fixture.control("ping", "--json")
        #expect(json.exit == .status(1) && json.stderr.isEmpty)
        let report = try fixture.decode(PingReport.self, json)
        #expect(report.failedPhase == .connect && report.error?.codeName == "connect_failed")
        #expect(try await fixture.status().daemon?.connectivity.state == .unreachable)
        // Not in the file yet, perhaps.
        let net = try fixture.decode(NetReport.self, try await fixture.control("net", "--json"))
        #expect(net.transitions.first?.state == .unreachable, "\(net.transitions)")
        try fixture.server.acceptConnections()
        let back = try await fixture.control("ping")
        #expect(back.exit == .status(0), "\(back)")
        #expect(try await fixture.status().daemon?.connectivity.state == .online)
        #expect(daemon.pollExit() == nil)
    }

    @Test func aPingNeedsTheDaemon() async throws {
        let fixture = try DaemonFixture()
        #expect(try await fixture.control("ping").exit == .status(3))
        #expect(try await fixture.control("net", "--watch").exit == .status(3))
    }

    // MARK: net

    @Test func theNetworkIsShownWithTheWayToTheServer() async throws {
        let fixture = try DaemonFixture()
        let daemon = try await ready(fixture)
        let report = try fixture.decode(NetReport.self, try await fixture.control("net", "--json"))
        #expect(report.source == .daemon)
        #expect(report.connectivity?.state == .online)
        #expect(report.route?.isEmpty == false)
        if report.listening == .netlink {
            #expect(report.links.contains { $0.loopback && $0.addresses.contains("127.0.0.1/8") }, "\(report.links)")
        }
        let status = try await fixture.status()
        #expect(status.daemon?.network?.listening == report.listening)
        let text = try await fixture.control("net")
        #expect(text.exit == .status(0))
        #expect(text.stdout.hasPrefix("Connection   online since "), "\(text)")
        #expect(daemon.pollExit() == nil)
    }

    @Test func withoutTheDaemonTheNetworkIsShownWithWhatTheFileRemembers() async throws {
        let fixture = try DaemonFixture()
        // Before there is a file, too.
        let before = try await fixture.control("net")
        #expect(before.exit == .status(0), "\(before)")
        #expect(before.stdout.contains("Last changes of the connection (UTC)\nnone yet\n"), "\(before)")
        let daemon = try await ready(fixture)
        fixture.server.refuseConnections()
        #expect(try await fixture.control("ping").exit == .status(1))
        try fixture.server.acceptConnections()
        #expect(try await fixture.control("ping").exit == .status(0))
        #expect(try await daemon.terminate() == .status(0))
        let ended = try await fixture.control("net", "--json")
        #expect(ended.exit == .status(0))
        let report = try fixture.decode(NetReport.self, ended)
        #expect(report.source == .file)
        #expect(report.connectivity == nil && report.route == nil)
        // That the server answered at the start was no news.
        #expect(report.transitions.map(\.state) == [.online, .unreachable], "\(report.transitions)")
        #expect(report.transitions.last?.code == "connect_failed")
    }

    @Test func aWatchShowsEachChangeAndEndsWithItsReader() async throws {
        let fixture = try DaemonFixture()
        let daemon = try await ready(fixture)
        for signal in [SIGINT, SIGTERM] {
            let watch = try fixture.startControl(["net", "--watch", "--json"])
            let first = try change(try await watch.waitForLine(containing: #""kind":"current""#))
            #expect(first.state == .online)
            fixture.server.refuseConnections()
            #expect(try await fixture.control("ping").exit == .status(1))
            let away = try change(try await watch.waitForLine(containing: #""state":"unreachable""#))
            #expect(
                away.kind == .connectivity && away.reasons.joined().contains("cannot connect to 127.0.0.1:"), "\(away)"
            )
            try fixture.server.acceptConnections()
            #expect(try await fixture.control("ping").exit == .status(0))
            _ = try await watch.waitForLine(containing: #""kind":"connectivity","reasons":["the server answers"]"#)
            watch.signal(signal)
            #expect(try await watch.waitForExit() == .status(0))
            #expect(watch.stderr.isEmpty)
        }
        #expect(daemon.pollExit() == nil)
    }

    @Test func aWatchEndsWithTheDaemon() async throws {
        let fixture = try DaemonFixture()
        let daemon = try await ready(fixture)
        let watch = try fixture.startControl(["net", "--watch"])
        let first = try await watch.waitForLine(containing: "online")
        #expect(first.contains(" UTC  online"), "\(first)")
        #expect(try await daemon.terminate() == .status(0))
        #expect(try await watch.waitForExit() == .status(3))
        #expect(watch.stderr == "prsnlctl: the daemon has stopped, or its lines were read too slowly\n")
    }

    private func change(_ line: String) throws -> NetworkChange {
        try JSONOutput.decode(NetworkChange.self, from: Array(line.utf8))
    }

    // MARK: The outbox

    @Test func aQueueThatWaitsForTheServerSaysSo() async throws {
        let fixture = try DaemonFixture()
        let daemon = try await ready(fixture)
        fixture.server.refuseConnections()
        #expect(try await fixture.control("ping").exit == .status(1))
        #expect(try await fixture.control("capture", "https://example.com/a").exit == .status(0))
        let queue = try await fixture.control("queue")
        #expect(queue.stdout.hasPrefix("Nothing is sent: unreachable since "), "\(queue)")
        #expect(queue.stdout.contains("due when the server is reachable"), "\(queue)")
        #expect(!queue.stdout.contains("due now"))
        let shown = try await fixture.control("queue", "show", "1")
        #expect(shown.stdout.contains("due when the server is reachable"), "\(shown)")
        #expect(try await daemon.terminate() == .status(0))
        let stopped = try await fixture.control("queue")
        #expect(stopped.stdout.contains("due when the daemon runs"), "\(stopped)")
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func anInterruptedCaptureSaysHowFarItCame(signal: Int32) async throws {
        let fixture = try DaemonFixture()
        #expect(try await fixture.run(["--once"]).exit == .status(0))
        // A pipe that stays open, as from a person who types.
        let pipe = fixture.folder.file("pipe")
        #expect(mkfifo(pipe, 0o600) == 0)
        let capture = try ChildProcess(
            "/bin/sh",
            [
                "-c", #"exec "$0" --config "$1" capture --stdin < "$2""#, try BuiltProducts.executable("prsnlctl"),
                fixture.configuration, pipe,
            ], environment: ["HOME": fixture.folder.path, "LANG": "C.UTF-8"])
        // Not blocking: a child that fails to start would leave no reader.
        let writer = try await eventually("a reader") { () -> Int32? in
            let descriptor = open(pipe)
            return descriptor >= 0 ? descriptor : nil
        }
        defer { close(writer) }
        let lines = Array("https://example.com/a\nhttps://example.com/b\nhttps://example".utf8)
        #expect(write(writer, lines, lines.count) == lines.count)
        try await eventually("two writes on disk") {
            try StoreReader(path: fixture.database).outbox(.all, limit: 10).total == 2
        }
        capture.signal(signal)
        #expect(try await capture.waitForExit() == .signal(signal))
        #expect(capture.stdout.hasPrefix("queued 2 (#1 to #2)"), "\(capture.stdout)")
        #expect(capture.stderr.contains("interrupted: nothing from line 3 on was written"), "\(capture.stderr)")
    }

    @Test func anInterruptedWaitForDeliveriesKeepsTheWrites() async throws {
        let fixture = try DaemonFixture()
        let daemon = try await ready(fixture)
        fixture.server.refuseConnections()
        let capture = try fixture.startControl(
            ["capture", "--stdin", "--wait", "--json"], input: "https://example.com/a\n")
        try await eventually("the write on disk") {
            try StoreReader(path: fixture.database).outbox(.all, limit: 10).total == 1
        }
        capture.signal(SIGINT)
        #expect(try await capture.waitForExit() == .signal(SIGINT))
        let report = try fixture.decode(BatchReport.self, (.status(0), capture.stdout, capture.stderr))
        #expect(report.accepted == 1)
        #expect(daemon.pollExit() == nil)
    }

    @Test func whatIsGivenUpWhileItIsWaitedForIsCounted() async throws {
        let fixture = try DaemonFixture()
        let daemon = try await ready(fixture)
        fixture.server.refuseConnections()
        #expect(try await fixture.control("ping").exit == .status(1))
        let capture = try fixture.startControl(
            ["capture", "--stdin", "--wait", "--json"], input: "https://example.com/a\n")
        try await eventually("the write on disk") {
            try StoreReader(path: fixture.database).outbox(.all, limit: 10).total == 1
        }
        #expect(try await fixture.control("queue", "drop", "--yes", "1").exit == .status(0))
        #expect(try await capture.waitForExit() == .status(5))
        let report = try fixture.decode(BatchReport.self, (.status(5), capture.stdout, capture.stderr))
        #expect(report.dropped == 1 && report.delivered == 0 && report.superseded == 0, "\(report)")
        #expect(daemon.pollExit() == nil)
    }

    @Test func allTagsCanBeTakenAway() async throws {
        var items = DevItem.generate(count: 3)
        items[0].tags = ["a", "b"]
        let fixture = try DaemonFixture(items: items) { $0.quirks.patchFails = false }
        #expect(try await fixture.run(["--once"]).exit == .status(0))
        #expect(try await fixture.control("edit", items[0].id, "--tag", "x", "--no-tags").exit == .status(2))
        #expect(try await fixture.control("edit", items[0].id, "--no-tags").exit == .status(0))
        #expect(try await fixture.run(["--once"]).exit == .status(0))
        #expect(fixture.server.item(items[0].id)?.tags == [])
    }

    private func open(_ pipe: String) -> Int32 { prsnl_open(pipe, O_WRONLY | O_NONBLOCK | O_CLOEXEC, 0) }
}
