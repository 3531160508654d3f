import Commands
import DevServer
import Glibc
import PRSNLCore
import Requests
import Store
import TestSupport
import Testing

/// The daemon on one side of a cable, its server on the other: both real, in networks of their own.
final class NetworkScene: Sendable {
    let cable: NetworkCable
    let fixture: DaemonFixture
    let daemon: ChildProcess
    /// Where the daemon looks for the server.
    let serverURL: String

    var server: DevServer { fixture.server }

    /// A copy that is complete, and a daemon that has nothing to do.
    ///
    /// - Parameters:
    ///   - host: the server's name; `nil` for its address.
    ///   - prepare: is called before the daemon starts.
    ///   - waits: false for a daemon that will not come so far.
    ///   - lines: of the configuration.
    init(
        _ family: NetworkCable.Family = .ipv4, items: Int = 30, host: String? = nil, waits: Bool = true,
        _ lines: [String: String] = [:], prepare: (NetworkCable) throws -> Void = { _ in }
    ) async throws {
        let cable = try NetworkCable(family)
        self.cable = cable
        let fixture = try cable.far.perform {
            try DaemonFixture(items: DevItem.generate(count: items)) { configuration in
                configuration.address = family.farAddress
                WriteScene.makeQuick(&configuration)
            }
        }
        self.fixture = fixture
        serverURL = host.map { "http://\($0):\(fixture.server.port)" } ?? fixture.server.url
        // Short times, because they are waited for; everything else as it comes. No sweep stands in the way.
        let keys = [
            "allow_insecure_http": "yes", "proxy": "none", "lookup_interval": "1s", "sweep_interval": "365d",
            "connect_timeout": "1s", "stall_timeout": "3s", "request_timeout": "10s", "log_level": "debug",
        ].merging(lines) { $1 }
        try fixture.configure(
            keys.map { "\($0.key) = \($0.value)" }.sorted().joined(separator: "\n"), serverURL: serverURL)
        try prepare(cable)
        daemon = try cable.near.perform { try fixture.start() }
        if waits { try await waitForCopy() }
    }

    /// Waits until the copy shows what the server has, and nothing is under way.
    func waitForCopy(within deadline: Duration = generousDeadline) async throws {
        try await waitFor("a complete copy of \(server.itemCount) items", within: deadline) { report in
            report.copy.complete && report.copy.live == server.itemCount && report.daemon?.activity == .idle
                && report.daemon?.connectivity.state == .online
        }
    }

    /// The server's socket has to be made in the server's network.
    func acceptConnections() throws {
        try cable.far.perform { [server] in try server.acceptConnections() }
    }

    // MARK: What the daemon says

    @discardableResult
    func waitFor(
        _ what: String, within deadline: Duration = generousDeadline, _ condition: (StatusReport) -> Bool
    ) async throws -> StatusReport {
        var last = ""
        do {
            return try await eventually(what, within: deadline) { () throws -> StatusReport? in
                if let exit = daemon.pollExit() {
                    throw WaitedInVain("prsnld ended (\(exit))")
                }
                let ended = try await fixture.control("status", "--json")
                // The socket may not be there yet.
                guard let report = try? fixture.decode(StatusReport.self, ended), report.source == .daemon else {
                    return nil
                }
                last = ended.stdout
                return condition(report) ? report : nil
            }
        } catch let vain as WaitedInVain {
            throw WaitedInVain("\(vain.description); status:\n\(last)\nlog:\n\(daemon.stderr)")
        }
    }

    @discardableResult
    func waitFor(
        state: Connectivity.State, within deadline: Duration = generousDeadline
    ) async throws -> Connectivity {
        let report = try await waitFor("the state \(state)", within: deadline) {
            $0.daemon?.connectivity.state == state
        }
        return try #require(report.daemon?.connectivity)
    }

    // MARK: Away and back

    static let url = "https://example.com/captured-while-away"

    /// Queues a capture.
    func capture(_ url: String = NetworkScene.url) async throws {
        let ended = try await fixture.control("capture", url)
        try #require(ended.exit == .status(0), "\(ended)")
    }

    func entry(_ number: Int = 1) async throws -> EntryReport {
        try fixture.decode(EntryReport.self, try await fixture.control("queue", "show", "\(number)", "--json"))
    }

    /// The network goes away and comes back: a capture queued in between is delivered exactly once, what is new on the server
    /// by then is pulled at once (the daemon polls every five minutes), and no attempt is spent.
    ///
    /// - Parameters:
    ///   - state: the one in between.
    ///   - codes: of its reason.
    ///   - reason: words of its reason.
    ///   - deadline: for the daemon to notice.
    ///   - asksFirst: there is no event for the kernel to tell, so that only the capture makes the daemon notice.
    func awayAndBack(
        state: Connectivity.State, codes: [ErrorCode], reason: String = "", asksFirst: Bool = false,
        within deadline: Duration = generousDeadline, leave: () throws -> Void, comeBack: () throws -> Void
    ) async throws {
        try leave()
        if asksFirst { try await capture() }
        let away = try await waitFor(state: state, within: deadline)
        let said = try #require(away.reason, "\(away)")
        #expect(codes.contains(said.code), "\(said)")
        #expect(reason.isEmpty || said.message.contains(reason), "\(said)")
        if !asksFirst { try await capture() }
        let new = server.addNew()
        let before = try await entry()
        #expect(before.entry.state == .queued && before.entry.attempts == 0, "\(before)")
        if state == .offline { #expect(before.requests.isEmpty, "nothing is tried without a route: \(before)") }
        #expect(server.captures.isEmpty)

        try comeBack()
        try await expectDelivered(state: state.rawValue)
        for item in new {
            #expect(try await query("SELECT count(*) FROM timeline WHERE id = '\(item.id)'") == ["1"])
        }
    }

    /// All that waits is delivered, exactly once; the copy has it and everything else that is new; the daemon ends in time.
    func expectDelivered(
        state: String?, urls: [String] = [NetworkScene.url], within deadline: Duration = generousDeadline
    ) async throws {
        try await waitFor("an empty queue", within: deadline) { $0.outbox?.waiting == 0 && $0.outbox?.parked == 0 }
        #expect(server.captures.compactMap(\.url).sorted() == urls.sorted())
        #expect(server.appliedWrites == DevServer.AppliedWrites(created: urls.count))
        // What was delivered is settled by the next look, and then in the copy as the server has it.
        try await waitForCopy(within: deadline)
        #expect(try await daemon.terminate() == .status(0), "\(daemon.stderr)")
        let states = try await history()
        #expect(states.last ?? "online" == "online", "\(states)")
        if let state { #expect(states.contains(state), "\(states)") }
    }

    /// The states in the file, the oldest first.
    func history() async throws -> [String] {
        try await query("SELECT state FROM connectivity_history").reversed()
    }

    /// The file as anybody reads it.
    private func query(_ statement: String) async throws -> [String] {
        let shell = try await ChildProcess.run("/usr/bin/sqlite3", ["-readonly", fixture.database, statement])
        try #require(shell.exit == .status(0), "\(shell)")
        return shell.stdout.split(separator: "\n").map(String.init)
    }
}
