import DevServer
import Glibc
import PRSNLCore
import TestSupport
import Testing

/// The daemon with a systemd that only listens: what it is told, and when it is told nothing any more.
@Suite struct SupervisedDaemonTests {
    /// `$WATCHDOG_USEC`: a little, so that the timer feeds the watchdog and not the next poll.
    private static let interval = "1000000"

    private func environment(_ socket: NotifySocket, _ more: [String: String] = [:]) -> [String: String] {
        ["NOTIFY_SOCKET": socket.address].merging(more) { $1 }
    }

    private static func meals(_ socket: NotifySocket) -> Int { socket.lines.count { $0 == "WATCHDOG=1" } }

    @Test(arguments: NotifySocket.Kind.allCases)
    func itSaysThatItIsReadyHowItIsAndThatItStops(kind: NotifySocket.Kind) async throws {
        let fixture = try DaemonFixture()
        let socket = try NotifySocket(kind)
        let daemon = try fixture.start(environment: environment(socket))
        try await socket.waitForLine("READY") { $0 == "READY=1" }
        #expect(TestFile.exists(fixture.socket))
        #expect(TestFile.exists(fixture.database))
        try await socket.waitForLine("the line of a complete copy") {
            $0.hasPrefix("STATUS=online, 250 items, complete as of ")
        }
        #expect(try await daemon.terminate() == .status(0))
        #expect(socket.datagrams.first == "READY=1\nSTATUS=started")
        #expect(socket.datagrams.last == "STOPPING=1\nSTATUS=stopping")
        #expect(Self.meals(socket) == 0)
    }

    @Test func readyDoesNotWaitForTheServer() async throws {
        let fixture = try DaemonFixture()
        fixture.server.refuseConnections()
        let socket = try NotifySocket()
        let daemon = try fixture.start(environment: environment(socket))
        try await socket.waitForLine("READY") { $0 == "READY=1" }
        try await socket.waitForLine("why") { $0.hasPrefix("STATUS=server not reachable since ") }
        #expect(try await daemon.terminate() == .status(0))
    }

    @Test func theLineFollowsWhatIsQueued() async throws {
        let fixture = try DaemonFixture()
        let socket = try NotifySocket()
        let daemon = try fixture.start(environment: environment(socket))
        try await socket.waitForLine("READY") { $0 == "READY=1" }
        try await fixture.waitUntilComplete()
        fixture.server.refuseConnections()
        fixture.server.closeConnections()
        #expect(try await fixture.control("note", "a note that waits").exit == .status(0))
        try await socket.waitForLine("the queue") { $0.contains(", 1 queued") }
        try fixture.server.acceptConnections()
        #expect(try await fixture.control("retry-queue").exit == .status(0))
        try await eventually("an empty queue") {
            socket.lines.last { $0.hasPrefix("STATUS=") }?.contains("queued") == false
        }
        _ = daemon
    }

    @Test func aReloadIsSaidWhenItBeginsAndWhenItIsOver() async throws {
        let fixture = try DaemonFixture()
        let socket = try NotifySocket()
        let daemon = try fixture.start(environment: environment(socket))
        try await socket.waitForLine("READY") { $0 == "READY=1" }
        daemon.signal(SIGHUP)
        try await eventually("the end of the reload") { socket.lines.count { $0 == "READY=1" } == 2 }
        let reloading = try #require(socket.datagrams.firstIndex { $0.hasPrefix("RELOADING=1\nMONOTONIC_USEC=") })
        #expect(Int(socket.datagrams[reloading].split(separator: "=").last ?? "").map { $0 > 0 } == true)
        #expect(socket.datagrams[reloading...].contains("READY=1"))
        #expect(try await daemon.terminate() == .status(0))
    }

    // MARK: The watchdog

    @Test func theWatchdogIsFedWhileEverythingLives() async throws {
        let fixture = try DaemonFixture()
        let socket = try NotifySocket()
        let daemon = try fixture.start(environment: environment(socket, ["WATCHDOG_USEC": Self.interval]))
        try await eventually("five meals") { Self.meals(socket) >= 5 }
        #expect(try await daemon.terminate() == .status(0))
    }

    @Test func theWatchdogOfAnotherProcessIsNotFed() async throws {
        let fixture = try DaemonFixture()
        let socket = try NotifySocket()
        let daemon = try fixture.start(
            environment: environment(socket, ["WATCHDOG_USEC": "100", "WATCHDOG_PID": "\(getpid())"]))
        try await socket.waitForLine("READY") { $0 == "READY=1" }
        try await fixture.waitUntilComplete()
        #expect(try await daemon.terminate() == .status(0))
        #expect(Self.meals(socket) == 0)
    }

    @Test(arguments: [
        (HangPoint.pulls, "the pulls"), (.replayer, "the outbox"), (.network, "the probes"), (.tasks, "the tasks"),
        (.store, "the store"), (.http, "the HTTP client"), (.listener, "the network listener"),
        (.control, "the control socket"),
    ])
    func aLoopThatHangsIsNamedAndStarvesTheWatchdogAndDoesNotKeepTheDaemonFromEnding(
        point: HangPoint, name: String
    ) async throws {
        let fixture = try DaemonFixture()
        let socket = try NotifySocket()
        let daemon = try fixture.start(
            environment: environment(
                socket, ["WATCHDOG_USEC": Self.interval, HangPoint.variable: point.rawValue]))
        try await socket.waitForLine("READY") { $0 == "READY=1" }
        // Its thread hangs at the first request, which this one is, and gets no answer to.
        let asking = point == .control ? try fixture.startControl(["status"]) : nil
        // Those that wait for it are named behind it.
        let complaint = "error   daemon  hung: \(name)"
        _ = try await daemon.waitForErrorLine(containing: complaint)
        let meals = Self.meals(socket)
        try await socket.waitForLine("what hangs") { $0.hasPrefix("STATUS=hung: \(name)") }
        // It is not restarted here, so it says so again when the time is over once more.
        try await eventually("the second complaint") { daemon.stderr.split(separator: complaint).count > 2 }
        #expect(Self.meals(socket) == meals)
        // By its own deadline, a moment before the 2 s that it promises.
        #expect(try await daemon.terminate() == .status(1))
        #expect(daemon.stderr.hasSuffix("something did not end in time; leaving without it\n"))
        _ = asking
    }
}
