import Console
import DevServer
import Glibc
import PRSNLCore
import Store
import TestSupport
import Testing

@testable import Commands
@testable import Requests

/// What becomes of a new login, and of one that is ended: stored and good, or neither.
@Suite struct LoginFateTests {
    private static let ending = RequestMatcher.path("/api/auth/logout")

    @Test(arguments: [false, true])
    func aLoginThatIsStoredStaysGoodThoughTheCopyCannotBeRead(isRunning: Bool) async throws {
        let scene = try LoginScene()
        let daemon = isRunning ? try await scene.startWithCopy() : nil
        mkdir(Descriptors.folder(of: scene.fixture.database), 0o700)
        try TestFile.write("This is no copy. It is far from being one.", to: scene.fixture.folder.file("other"))
        #expect(rename(scene.fixture.folder.file("other"), scene.fixture.database) == 0)
        let ended = try await scene.logIn(.owner, ["--json"])
        #expect(ended.exit == .status(0), "\(ended)")
        let report = try scene.fixture.decode(LoginReport.self, ended)
        #expect(report.source == (isRunning ? .daemon : .file) && report.copyAccount == nil)
        #expect(TestFile.exists(scene.loginFile))
        _ = try await daemon?.terminate()
    }

    // MARK: A daemon that starts meanwhile

    @Test func aLoginWhileTheDaemonStartsIsUsed() async throws {
        let scene = try LoginScene()
        let held = scene.server.script(.holdAnswer, on: .login)
        let login = try scene.fixture.startControl(
            ["login", "--email", DevAccount.owner.email, "--password-stdin"],
            input: DevAccount.owner.password + "\n")
        try await scene.server.waitForRequest(.login)
        // A daemon that waits for the lock has begun, and has no socket yet.
        var lock: DatabaseLock? = try DatabaseLock(database: scene.fixture.database)
        let daemon = try scene.fixture.start()
        _ = try await daemon.waitForErrorLine(containing: "waiting for process")
        held.release()
        withExtendedLifetime(lock) {}
        lock = nil
        #expect(try await login.waitForExit() == .status(0), "\(login.stderr)")
        // Until then there is neither a daemon to ask nor a whole file.
        try await eventually("the daemon's socket") { TestFile.exists(scene.fixture.socket) }
        let status = try await scene.fixture.waitUntilComplete()
        #expect(status.server.accountName == DevAccount.owner.email)
        #expect(try await daemon.terminate() == .status(0))
    }

    @Test func aDaemonThatIsToldToEndWhileItWaitsForTheLockEndsWell() async throws {
        let scene = try LoginScene()
        try await scene.makeCopy()
        let lock = try DatabaseLock(database: scene.fixture.database)
        let daemon = try scene.fixture.start()
        _ = try await daemon.waitForErrorLine(containing: "waiting for process")
        #expect(try await daemon.terminate() == .status(0))
        #expect(daemon.stderr.contains("Stopped while another process was waited for"), "\(daemon.stderr)")
        withExtendedLifetime(lock) {}
    }

    @Test func aLogoutWaitsForTheLockToo() async throws {
        let scene = try LoginScene()
        try await scene.makeCopy()
        var lock: DatabaseLock? = try DatabaseLock(database: scene.fixture.database)
        let daemon = try scene.fixture.start()
        _ = try await daemon.waitForErrorLine(containing: "waiting for process")
        let logout = try scene.fixture.startControl(["logout", "--json"])
        withExtendedLifetime(lock) {}
        lock = nil
        #expect(try await logout.waitForExit() == .status(0), "\(logout.stderr)")
        try await eventually("the daemon") { scene.fixture.isListening }
        #expect(try await scene.whoami().credentials.kind == CredentialsReport.Kind.none)
        #expect(!TestFile.exists(scene.loginFile))
        #expect(try await daemon.terminate() == .status(0))
    }

    // MARK: Ended

    @Test func aLogoutEndsTheLoginThatAKeyStandsAbove() async throws {
        let scene = try LoginScene()
        #expect(try await scene.logIn().exit == .status(0))
        try scene.configure("api_key_file = \(scene.fixture.folder.file("key"))")
        let daemon = try await scene.fixture.startReady()
        let ended = try await scene.fixture.control("logout", "--json")
        #expect(ended.exit == .status(0), "\(ended)")
        let report = try scene.fixture.decode(LogoutReport.self, ended)
        #expect(report.wasLoggedIn && report.serverTold == true)
        #expect(!TestFile.exists(scene.loginFile))
        #expect(scene.server.requests(Self.ending).map(\.token) == [.valid])
        // The key stays in use.
        #expect(try await scene.whoami().credentials.path == scene.fixture.folder.file("key"))
        let again = try scene.fixture.decode(
            LogoutReport.self, try await scene.fixture.control("logout", "--json"))
        #expect(!again.wasLoggedIn)
        _ = try await daemon.terminate()
    }

    @Test func aLogoutForgetsTheLoginBeforeItAsksAndNoNewerOne() async throws {
        let scene = try LoginScene()
        let daemon = try await scene.startWithCopy()
        let held = scene.server.script(.holdAnswer, on: Self.ending)
        let logout = try scene.fixture.startControl(["logout", "--json"])
        try await scene.server.waitForRequest(Self.ending)
        #expect(!TestFile.exists(scene.loginFile))
        let login = try await scene.logIn(.owner, ["--json"])
        #expect(login.exit == .status(0), "\(login)")
        let new = try TestFile.text(scene.loginFile)
        held.release()
        #expect(try await logout.waitForExit() == .status(0), "\(logout.stderr)")
        #expect(try TestFile.text(scene.loginFile) == new)
        let whoami = try await scene.whoami()
        #expect(whoami.credentials.kind == .login && whoami.sameAccount == true)
        _ = try await daemon.terminate()
    }
}
