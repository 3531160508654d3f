import DevServer
import Glibc
import PRSNLCore
import Store
import Synchronization
import TestSupport
import Testing

/// One write of each kind, made on this machine, and what server and file must say of them in the end: each applied
/// exactly once.
final class WriteScene: Sendable {
    let fixture: DaemonFixture
    let url = "https://example.com/captured"
    let note: String
    let summary = "a summary that was written here"
    let edited: DevItem
    let deleted: DevItem

    var server: DevServer { fixture.server }

    /// A copy that is complete, and no daemon.
    ///
    /// - Parameter note: the note's text.
    init(
        _ dialect: Dialect = .cursor, note: String = "a note that was written here",
        through serverURL: String? = nil, fixture given: DaemonFixture? = nil
    ) async throws {
        self.note = note
        let fixture = try given ?? DaemonFixture(items: DevItem.generate(count: 4), dialect: dialect, Self.makeQuick)
        self.fixture = fixture
        edited = fixture.server.items()[0]
        deleted = fixture.server.items()[1]
        try fixture.configure("lookup_interval = 1s", serverURL: serverURL)
        let first = try await fixture.run(["--once"])
        try #require(first.exit == .status(0), "\(first.stderr)")
    }

    /// A server that edits work on, that takes any number of captures, and is done with each at once.
    static func makeQuick(_ configuration: inout DevServer.Configuration) {
        configuration.quirks.patchFails = false
        configuration.quirks.capturesPerMinute = nil
        configuration.settling = .after(.milliseconds(1))
    }

    /// The command for each write.
    enum Kind: CaseIterable { case capture, note, edit, delete }

    func command(_ kind: Kind) -> [String] {
        switch kind {
        case .capture: ["capture", url]
        case .note: ["note", "-"]
        case .edit: ["edit", edited.id, "--summary", summary]
        case .delete: ["delete", deleted.id]
        }
    }

    /// Gives the command to the process that has the file.
    func give(
        _ kind: Kind, _ more: [String] = [], environment: [String: String] = [:]
    ) async throws -> DaemonFixture.Ended {
        let child = try fixture.startControl(command(kind) + more, environment: environment, input: note)
        return (try await child.waitForExit(), child.stdout, child.stderr)
    }

    /// Accepts all, while no daemon runs.
    func giveAll() async throws {
        for kind in Kind.allCases {
            let ended = try await give(kind)
            try #require(ended.exit == .status(0), "\(ended)")
        }
    }

    // MARK: Lives of the daemon

    var waiting: Int {
        get throws { try StoreReader(path: fixture.database).summary().outbox.waiting }
    }

    /// Runs the daemon until it is killed or nothing waits any more.
    ///
    /// - Parameter started: is told the pid.
    /// - Returns: whether it was killed.
    func live(environment: [String: String] = [:], started: (Int32) -> Void = { _ in }) async throws -> Bool {
        let daemon = try fixture.start(environment: environment)
        started(daemon.processID)
        try await eventually("the daemon to die, or to have nothing left to do") {
            if daemon.pollExit() != nil { return true }
            // Before its first words it does not know yet what SIGTERM asks of it.
            return try waiting == 0 && !daemon.stderr.isEmpty
        }
        if daemon.pollExit() == nil { daemon.signal(SIGTERM) }
        let exit = try await daemon.waitForExit()
        if exit == .signal(SIGKILL) { return true }
        #expect(exit == .status(0), "\(daemon.stderr)")
        return false
    }

    // MARK: What must be so in the end

    /// The server's log and the file agree: every write was applied once.
    func expectEachAppliedOnce(
        _ kinds: [Kind] = Kind.allCases, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        #expect(try await live() == false)
        func expected(_ kind: Kind) -> Int { kinds.contains(kind) ? 1 : 0 }
        let captures = server.captures
        let hasURL = captures.count { $0.url == url }
        let hasNote = captures.count { $0.url == nil && $0.content == note }
        #expect(hasURL == expected(.capture), sourceLocation: sourceLocation)
        #expect(hasNote == expected(.note), sourceLocation: sourceLocation)
        let applied = DevServer.AppliedWrites(
            created: expected(.capture) + expected(.note), updated: expected(.edit), deleted: expected(.delete))
        #expect(server.appliedWrites == applied, sourceLocation: sourceLocation)
        #expect((server.item(edited.id)?.summary == summary) == kinds.contains(.edit), sourceLocation: sourceLocation)
        #expect((server.item(deleted.id) == nil) == kinds.contains(.delete), sourceLocation: sourceLocation)

        let list = try StoreReader(path: fixture.database).outbox(.all, limit: 100)
        #expect(list.total == kinds.count, sourceLocation: sourceLocation)
        #expect(list.entries.allSatisfy { $0.state == .delivered }, "\(list)", sourceLocation: sourceLocation)
        try await expectSameTimeline(sourceLocation: sourceLocation)
    }

    /// After one more pull the file shows what the server has, each once.
    func expectSameTimeline(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let pull = try await fixture.run(["--once"])
        #expect(pull.exit == .status(0), "\(pull.stderr)", sourceLocation: sourceLocation)
        let shell = try await ChildProcess.run(
            "/usr/bin/sqlite3",
            ["-readonly", fixture.database, "PRAGMA integrity_check; SELECT id FROM timeline ORDER BY id"])
        let lines = shell.stdout.split(separator: "\n").map(String.init)
        #expect(lines.first == "ok", sourceLocation: sourceLocation)
        #expect(
            Array(lines.dropFirst()) == server.items(owner: DevAccount.owner.id).map(\.id).sorted(),
            sourceLocation: sourceLocation)
    }
}

/// Whom a server is to kill. The child may ask before the test knows its pid, and 0 would be the test's own process group
/// (kill(2)): then it is waited for.
final class Victim: Sendable {
    private let processID = Mutex<Int32>(0)

    func forget() { processID.withLock { $0 = 0 } }

    func name(_ id: Int32) { processID.withLock { $0 = id } }

    func kill(after turns: Int = 0) {
        var id = processID.withLock { $0 }
        while id <= 0 {
            sched_yield()
            id = processID.withLock { $0 }
        }
        Self.spend(turns)
        Glibc.kill(id, SIGKILL)
    }

    /// A moment, of a length that a seed decides.
    static func spend(_ turns: Int) {
        var value = UInt64(turns)
        for _ in 0..<turns { value = value &* 6_364_136_223_846_793_005 &+ 1 }
        if value == 42 { print(value) }
    }
}
