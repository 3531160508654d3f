import Commands
import DevServer
import Glibc
import PRSNLCore
import Requests
import Store
import Synchronization
import TestSupport
import Testing

/// The real daemon with a login that has to be renewed again and again.
@Suite struct LoginTests {
    /// The server's clock, which a test may set ahead: tokens live by it.
    private final class ServerClock: Sendable {
        private let ahead = Mutex(Duration.zero)
        var now: Timestamp { TimeSource.system.now().advanced(by: ahead.withLock { $0 }) }
        func advance(by duration: Duration) { ahead.withLock { $0 += duration } }
    }

    /// A daemon's place, its server's clock, and what is in the login file.
    private final class Scene: Sendable {
        let clock = ServerClock()
        let fixture: DaemonFixture
        var server: DevServer { fixture.server }
        var loginFile: String { fixture.database + ".login" }

        init(database: String? = nil) throws {
            let clock = clock
            fixture = try DaemonFixture(
                items: DevItem.generate(count: 60)
                    + DevItem.generate(count: 5, seed: 77, owner: DevAccount.testUser.id),
                database: database
            ) { configuration in
                configuration.now = { clock.now }
            }
            mkdir(fixture.folder.file("state"), 0o700)
            try configure()
        }

        func configure(_ lines: String = "") throws {
            try TestFile.write(
                """
                server_url = \(server.url)
                database = \(fixture.database)
                control_socket = \(fixture.socket)
                poll_interval = 1s
                \(lines)

                """, to: fixture.configuration)
        }

        /// Stores a login, as a hand would: docs/configuration.md has the form.
        @discardableResult
        func logIn(lifetime: Duration? = nil, server url: String? = nil) throws -> TokenPair {
            let pair = server.issuePair(lifetime: lifetime)
            try TestFile.write(
                #"{"version":1,"server":"\#(url ?? server.url)","access_token":"\#(pair.access)","#
                    + #""refresh_token":"\#(pair.refresh)"}"#, to: loginFile)
            return pair
        }

        /// No token was sent that was not valid at that moment.
        func expectCleanWire(sourceLocation: SourceLocation = #_sourceLocation) {
            for request in server.requests() {
                #expect([.none, .valid].contains(request.token), "\(request.path)", sourceLocation: sourceLocation)
            }
        }

        var live: Int { get throws { try StoreReader(path: fixture.database).summary().copy.live } }

        func waitUntilLive(_ count: Int) async throws {
            try await eventually("\(count) items") { try live == count }
        }

        func stop(_ daemon: ChildProcess, sourceLocation: SourceLocation = #_sourceLocation) async throws {
            daemon.signal(SIGTERM)
            #expect(try await daemon.waitForExit() == .status(0), "\(daemon.stderr)", sourceLocation: sourceLocation)
        }
    }

    // MARK: Long lives

    @Test func aDaemonStaysCompleteOverManyTokenLives() async throws {
        let scene = try Scene()
        let first = try scene.logIn()
        let daemon = try await scene.fixture.startReady()
        try await scene.waitUntilLive(60)
        for life in 1...5 {
            // Near the end of the token's life by the server's clock, which the next answer tells.
            scene.clock.advance(by: .seconds(1_600))
            try await scene.server.waitForRequest(.refresh, count: life)
            scene.server.addNew(count: 2)
            try await scene.waitUntilLive(60 + 2 * life)
        }
        let queued = try await scene.fixture.control("note", "a note", "--wait")
        #expect(queued.exit == .status(0), "\(queued)")
        try await scene.stop(daemon)
        scene.expectCleanWire()
        #expect(!(try TestFile.text(scene.loginFile)).contains(first.refresh))
        #expect(!daemon.stderr.contains(first.access) && !daemon.stderr.contains(first.refresh))
        // The next one goes on with what the last one stored.
        scene.clock.advance(by: .seconds(3_600))
        scene.server.addNew()
        let once = try await scene.fixture.run(["--once"])
        #expect(once.exit == .status(0), "\(once.stderr)")
        #expect(try scene.live == scene.server.items(owner: DevAccount.owner.id).count)
        scene.expectCleanWire()
    }

    // MARK: Killed

    @Test(arguments: [CrashPoint.afterRenewal, .beforeLoginRename])
    func aDaemonThatDiesBeforeTheNewPairIsInItsPlaceAsksForALoginAndKeepsTheQueue(_ point: CrashPoint) async throws {
        let scene = try Scene()
        try scene.logIn()
        #expect(try await scene.fixture.run(["--once"]).exit == .status(0))
        #expect(try await scene.fixture.control("note", "a note").exit == .status(0))
        let old = try scene.logIn(lifetime: .zero)
        let victim = try scene.fixture.start(environment: [CrashPoint.variable: point.rawValue])
        #expect(try await victim.waitForExit() == .signal(SIGKILL))
        #expect(TestFile.exists(scene.loginFile + ".new") == (point == .beforeLoginRename))
        #expect(try TestFile.text(scene.loginFile).contains(old.refresh))
        let daemon = try await scene.fixture.startReady()
        let report = try await eventually("the login to be refused") {
            let report = try await scene.fixture.status()
            return report.daemon?.connectivity.state == .unauthorized ? report : nil
        }
        #expect(report.daemon?.connectivity.reason?.codeName == "login_expired")
        #expect(!TestFile.exists(scene.loginFile + ".new"))
        #expect(try StoreReader(path: scene.fixture.database).summary().outbox.waiting == 1)
        #expect(try TestFile.text(scene.loginFile).contains(old.refresh), "credentials are never deleted on an error")
        // A new login, and everything goes on.
        try scene.logIn()
        daemon.signal(SIGHUP)
        try await eventually("the note to be delivered") { scene.server.captures.count == 1 }
        try await scene.stop(daemon)
        scene.expectCleanWire()
    }

    @Test func aDaemonThatDiesAfterTheNewPairIsInItsPlaceGoesOnWithIt() async throws {
        let scene = try Scene()
        try scene.logIn(lifetime: .zero)
        let victim = try scene.fixture.start(environment: [CrashPoint.variable: CrashPoint.afterLoginRename.rawValue])
        #expect(try await victim.waitForExit() == .signal(SIGKILL))
        let once = try await scene.fixture.run(["--once"])
        #expect(once.exit == .status(0), "\(once.stderr)")
        #expect(try scene.live == 60)
        #expect(scene.server.requests(.refresh).count == 1)
        scene.expectCleanWire()
    }

    @Test func aStopInTheMiddleOfARenewalStoresIt() async throws {
        let scene = try Scene()
        try scene.logIn(lifetime: .zero)
        let held = scene.server.script(.holdAnswer, on: .refresh)
        let daemon = try scene.fixture.start()
        try await scene.server.waitForRequest(.refresh)
        daemon.signal(SIGTERM)
        _ = try await daemon.waitForErrorLine(containing: "stopping on SIGTERM")
        held.release()
        #expect(try await daemon.waitForExit() == .status(0), "\(daemon.stderr)")
        let once = try await scene.fixture.run(["--once"])
        #expect(once.exit == .status(0), "\(once.stderr)")
        #expect(scene.server.requests(.refresh).count == 1)
        scene.expectCleanWire()
    }

    @Test func aLoginThatIsReplacedWhileItIsRenewedStaysReplaced() async throws {
        let scene = try Scene()
        try scene.logIn(lifetime: .zero)
        let held = scene.server.script(.holdAnswer, on: .refresh)
        let daemon = try await scene.fixture.startReady()
        try await scene.server.waitForRequest(.refresh)
        let new = try scene.logIn()
        daemon.signal(SIGHUP)
        _ = try await daemon.waitForErrorLine(containing: "the stored login has changed")
        held.release()
        _ = try await daemon.waitForErrorLine(containing: "was dropped")
        try await scene.waitUntilLive(60)
        try await scene.stop(daemon)
        #expect(try TestFile.text(scene.loginFile).contains(new.refresh))
        scene.expectCleanWire()
    }

    @Test func aLoginThatIsPutIntoTheFileWhileTheOldOneIsRenewedIsNotWrittenOver() async throws {
        let scene = try Scene()
        try scene.logIn(lifetime: .zero)
        let held = scene.server.script(.holdAnswer, on: .refresh)
        let daemon = try await scene.fixture.startReady()
        try await scene.server.waitForRequest(.refresh)
        let new = try scene.logIn()
        held.release()
        try await scene.waitUntilLive(60)
        #expect(try TestFile.text(scene.loginFile).contains(new.refresh))
        daemon.signal(SIGHUP)
        _ = try await daemon.waitForErrorLine(containing: "the stored login has changed")
        try await scene.stop(daemon)
        scene.expectCleanWire()
    }

    // MARK: The disk

    @Test(.enabled(if: TinyDisk.canBeMade, "needs root, for a disk of its own"))
    func aPairThatAFullDiskDoesNotTakeIsUsedAndStoredWhenThereIsSpace() async throws {
        // Texts leave 48 MiB free.
        let disk = try TinyDisk(megabytes: 96)
        let scene = try Scene(database: disk.file("prsnl.sqlite"))
        let old = try scene.logIn()
        let daemon = try await scene.fixture.startReady()
        try await scene.waitUntilLive(60)
        try disk.fill()
        scene.clock.advance(by: .seconds(1_600))
        _ = try await daemon.waitForErrorLine(containing: "could not be stored")
        #expect(try TestFile.text(scene.loginFile).contains(old.refresh))
        #expect(!TestFile.exists(scene.loginFile + ".new"))
        try disk.free()
        scene.server.addNew()
        try await scene.waitUntilLive(61)
        try await scene.stop(daemon)
        #expect(!(try TestFile.text(scene.loginFile)).contains(old.refresh))
        let once = try await scene.fixture.run(["--once"])
        #expect(once.exit == .status(0), "\(once.stderr)")
        #expect(scene.server.requests(.refresh).count == 1)
        scene.expectCleanWire()
    }

    @Test func aPairThatIsNotStoredIsReported() async throws {
        let scene = try Scene()
        try scene.logIn()
        let daemon = try await scene.fixture.startReady()
        try await scene.waitUntilLive(60)
        // In the place of the file that it is written to first.
        mkdir(scene.loginFile + ".new", 0o700)
        scene.clock.advance(by: .seconds(1_600))
        _ = try await daemon.waitForErrorLine(containing: "could not be stored")
        let ended = try await scene.fixture.control("whoami", "--json")
        #expect(ended.exit == .status(1), "\(ended)")
        let report = try scene.fixture.decode(WhoamiReport.self, ended)
        #expect(report.sameAccount == true && report.credentials.refused == false)
        #expect(report.error?.codeName == "login_not_stored")
        let errors = try await scene.fixture.control("errors", "--json")
        #expect(errors.stdout.contains("login_not_stored"), "\(errors)")
        rmdir(scene.loginFile + ".new")
        try await scene.stop(daemon)
        let once = try await scene.fixture.run(["--once"])
        #expect(once.exit == .status(0), "\(once.stderr)")
        #expect(scene.server.requests(.refresh).count == 1)
        scene.expectCleanWire()
    }

    // MARK: Other credentials

    @Test func aLoginOfAnotherServerIsNotSent() async throws {
        let scene = try Scene()
        try scene.logIn(server: "https://prsnl.example.net")
        let ended = try await scene.fixture.run()
        #expect(ended.exit != .status(0))
        #expect(ended.stderr.contains("https://prsnl.example.net"), "\(ended.stderr)")
        #expect(scene.server.requestCount == 0)
        #expect(try await scene.fixture.run(["--check-config"]).exit != .status(0))
    }

    @Test func aKeyFileWinsOverALoginAndThatIsSaid() async throws {
        let scene = try Scene()
        try scene.logIn(lifetime: .zero)
        try scene.configure("api_key_file = \(scene.fixture.folder.file("key"))")
        let once = try await scene.fixture.run(["--once"])
        #expect(once.exit == .status(0), "\(once.stderr)")
        #expect(once.stderr.contains("the login is not used"), "\(once.stderr)")
        #expect(scene.server.requests(.refresh).isEmpty)
    }

    @Test func systemdsCredentialIsTheKeyWhereNoneIsConfigured() async throws {
        let scene = try Scene()
        mkdir(scene.fixture.folder.file("credentials"), 0o700)
        try TestFile.write(
            scene.server.issueToken() + "\n", to: scene.fixture.folder.file("credentials/api-key"), mode: 0o400)
        let once = try await scene.fixture.run(
            ["--once"], environment: ["CREDENTIALS_DIRECTORY": scene.fixture.folder.file("credentials")])
        #expect(once.exit == .status(0), "\(once.stderr)")
        #expect(!once.stderr.contains("everybody's"), "\(once.stderr)")
        #expect(try scene.live == 60)
    }

    @Test func aRemovedLoginStopsTheSyncOfAnAccountsCopyWithoutTouchingIt() async throws {
        let scene = try Scene()
        try scene.logIn()
        let daemon = try await scene.fixture.startReady()
        try await scene.waitUntilLive(60)
        try TestFile.remove(scene.loginFile)
        daemon.signal(SIGHUP)
        _ = try await daemon.waitForErrorLine(containing: "there are no credentials any more")
        let sync = try await scene.fixture.control("sync", "--wait", "--json")
        #expect(sync.stdout.contains("needs_login"), "\(sync)")
        #expect(try scene.live == 60)
        try scene.logIn()
        daemon.signal(SIGHUP)
        scene.server.addNew()
        try await scene.waitUntilLive(61)
        try await scene.stop(daemon)
        scene.expectCleanWire()
    }
}
