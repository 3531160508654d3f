import Commands
import DevServer
import Glibc
import PRSNLCore
import Requests
import Store
import Synchronization
import TestSupport
import Testing

/// Killed between accepting a write and having recorded its delivery, at every point in between.
@Suite struct OutboxKillTests {
    // MARK: Accepting

    @Test(arguments: [CrashPoint.beforeAccept, .afterAccept])
    func aWriteThatADaemonDiedOfIsDeliveredOnceWhetherItWasWrittenOrNot(point: CrashPoint) async throws {
        let scene = try await WriteScene()
        for kind in WriteScene.Kind.allCases {
            let daemon = try await scene.fixture.startReady(environment: Self.crash(point))
            let ended = try await scene.give(kind)
            #expect(try await daemon.waitForExit() == .signal(SIGKILL))
            // A person who reads that it failed gives the command again.
            #expect(ended.exit == .status(0), "\(ended)")
            #expect(ended.stderr.contains("the daemon ended before it answered; asking again"), "\(ended)")
            #expect(ended.stdout.hasPrefix("queued #"), "\(ended)")
        }
        try await scene.expectEachAppliedOnce()
    }

    @Test func whatBecameAPartOfAnotherWriteIsFoundTooWhenTheDaemonDies() async throws {
        let scene = try await WriteScene()
        let made = try scene.fixture.decode(WriteReport.self, try await scene.give(.note, ["--json"]))
        let id = try #require(made.writes[0].itemID)
        #expect(try await scene.give(.delete).exit == .status(0))
        // The edit changes the note that was not sent yet; the deletion waits already.
        let commands = [["edit", id, "--title", "A title", "--tag", "work"], ["delete", scene.deleted.id]]
        for (arguments, entry) in zip(commands, ["queued #3", "queued #2"]) {
            scene.server.refuseConnections()
            let daemon = try await scene.fixture.startReady(environment: Self.crash(.afterAccept))
            let child = try scene.fixture.startControl(arguments)
            #expect(try await child.waitForExit() == .status(0), "\(child.stderr)")
            #expect(child.stdout.hasPrefix(entry), "\(child.stdout)")
            #expect(try await daemon.waitForExit() == .signal(SIGKILL))
        }
        try scene.server.acceptConnections()
        #expect(try await scene.live() == false)
        #expect(scene.server.captures.map(\.title) == ["A title"])
        // The server may have replaced the title by now: then an edit follows.
        let applied = scene.server.appliedWrites
        #expect(applied.created == 1 && applied.deleted == 1, "\(applied)")
    }

    @Test func aCommandThatIsKilledWhileItWritesTheFileLeavesAllOrNothing() async throws {
        let scene = try await WriteScene()
        for kind in WriteScene.Kind.allCases {
            let ended = try await scene.give(kind, environment: Self.crash(.beforeAccept))
            #expect(ended.exit == .signal(SIGKILL))
            #expect(ended.stdout.isEmpty)
        }
        #expect(try scene.waiting == 0)
        for kind in WriteScene.Kind.allCases {
            let ended = try await scene.give(kind, environment: Self.crash(.afterAccept))
            #expect(ended.exit == .signal(SIGKILL))
            #expect(ended.stdout.isEmpty)
        }
        #expect(try scene.waiting == 4)
        try await scene.expectEachAppliedOnce()
    }

    @Test(arguments: [CrashPoint.beforeSending, .afterSettling])
    func whoWaitsForADaemonThatDiesIsToldWhatBecameOfTheWrite(_ point: CrashPoint) async throws {
        let scene = try await WriteScene()
        let daemon = try await scene.fixture.startReady(environment: Self.crash(point))
        let ended = try await scene.give(.capture, ["--wait"])
        #expect(try await daemon.waitForExit() == .signal(SIGKILL))
        let isDelivered = point == .afterSettling
        #expect(ended.exit == .status(isDelivered ? 0 : 5), "\(ended)")
        let said = isDelivered ? "delivered #1" : "queued #1 (on disk, not delivered yet"
        #expect(ended.stdout.hasPrefix(said), "\(ended)")
        #expect(ended.stderr.contains("it will be sent when it runs") != isDelivered, "\(ended)")
        try await scene.expectEachAppliedOnce([.capture])
    }

    // MARK: Sending

    @Test(arguments: [CrashPoint.beforeSending, .afterSending, .beforeSettling, .afterSettling])
    func aDaemonThatIsKilledBetweenTwoStepsSendsEachWriteOnce(point: CrashPoint) async throws {
        try await inEachDialect { dialect in
            let scene = try await WriteScene(dialect)
            try await scene.giveAll()
            var kills = 0
            for time in 1...4 where try await scene.live(environment: Self.crash(point, time)) { kills += 1 }
            #expect(kills > 0, "\(dialect)")
            try await scene.expectEachAppliedOnce()
        }
    }

    @Test func aDaemonThatIsKilledBeforeAnAnswerFindsOutThatItWasSent() async throws {
        try await inEachDialect { dialect in
            let scene = try await WriteScene(dialect)
            try await scene.giveAll()
            let victim = Victim()
            // Every one of the four is applied and never answered.
            let fault = scene.server.script(.perform { victim.kill() }, on: .change, times: 4)
            for _ in 1...4 {
                victim.forget()
                #expect(try await scene.live { victim.name($0) }, "\(dialect)")
            }
            #expect(fault.appliedCount == 4, "\(dialect)")
            try await scene.expectEachAppliedOnce()
        }
    }

    @Test func aDaemonThatIsKilledWhileAnAnswerIsOnItsWayFindsOutThatItWasSent() async throws {
        try await inEachDialect { dialect in
            let victim = Victim()
            let fixture = try DaemonFixture(items: DevItem.generate(count: 4), dialect: dialect) { configuration in
                WriteScene.makeQuick(&configuration)
                configuration.log = { request in
                    if Self.isChange(request) { victim.kill() }
                }
            }
            let scene = try await WriteScene(dialect, fixture: fixture)
            try await scene.giveAll()
            for _ in 1...4 where try scene.waiting > 0 {
                victim.forget()
                _ = try await scene.live { victim.name($0) }
            }
            try await scene.expectEachAppliedOnce()
        }
    }

    @Test func aDaemonThatIsKilledInTheMiddleOfARequestSendsItAgain() async throws {
        try await inEachDialect { dialect in
            // Four bytes each, so that the request does not fit into a socket's buffers; below the small server's 100 KB.
            let note = String(repeating: "\u{1F4DD}", count: 20_000)
            let fixture = try DaemonFixture(items: DevItem.generate(count: 4), dialect: dialect, WriteScene.makeQuick)
            let victim = Victim()
            let relay = try CuttingRelay(to: fixture.server.port)
            let scene = try await WriteScene(
                dialect, note: note, through: "http://127.0.0.1:\(relay.port)", fixture: fixture)
            #expect(try await scene.give(.note).exit == .status(0))
            relay.cut(requestOfAtLeast: 60_000, after: 30_000) { victim.kill() }
            #expect(try await scene.live { victim.name($0) }, "\(dialect)")
            #expect(scene.server.captures.isEmpty)
            try await scene.expectEachAppliedOnce([.note])
        }
    }

    // MARK: Helpers

    /// At once, because most of the time is spent waiting for a lookup to mean something.
    private func inEachDialect(_ body: @escaping @Sendable (Dialect) async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for dialect in Dialect.allCases { group.addTask { try await body(dialect) } }
            try await group.waitForAll()
        }
    }

    private static func crash(_ point: CrashPoint, _ time: Int = 1) -> [String: String] {
        [CrashPoint.variable: "\(point.rawValue):\(time)"]
    }

    private static func isChange(_ request: LoggedRequest) -> Bool {
        switch request.method {
        case "POST": request.path == "/api/capture" || request.path == "/api/items"
        case "PATCH", "PUT", "DELETE": true
        default: false
        }
    }
}
