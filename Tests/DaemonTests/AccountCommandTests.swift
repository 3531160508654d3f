import Commands
import Console
import DevServer
import Glibc
import PRSNLCore
import Requests
import Store
import TestSupport
import Testing

/// A copy that is of one account, and a login that is of another.
@Suite struct AccountCommandTests {
    /// The owner's copy; the other account has two items.
    private func scene() throws -> LoginScene {
        let scene = try LoginScene()
        scene.server.addNew(count: 2, owner: DevAccount.other.id)
        return scene
    }

    private func expectLoginAsOther(_ scene: LoginScene) async throws {
        let ended = try await scene.logIn(.other, ["--json"])
        #expect(ended.exit == .status(4), "\(ended)")
        let report = try scene.fixture.decode(LoginReport.self, ended)
        #expect(report.sameAccount == false)
        #expect(report.copyAccount?.name == "owner@prsnl.example")
        #expect(report.nextCommand == "prsnlctl --config \(scene.fixture.configuration) account --accept-new")
    }

    @Test func aLoginOfAnotherAccountEndsTheTextsAndStatusSaysSo() async throws {
        let scene = try LoginScene(items: DevItem.generate(count: 40)) { configuration in
            configuration.texts = DevServer.TextPlan(bytes: 100...200, seed: 3)
        }
        let hold = scene.server.script(.hold, on: .item, skip: 3)
        #expect(try await scene.logIn().exit == .status(0))
        let daemon = try await scene.fixture.startReady()
        try await scene.server.waitForRequest(.item, count: 4)
        try await expectLoginAsOther(scene)
        hold.release()
        let status = try await eventually("the refusal") {
            let status = try await scene.fixture.status()
            return status.daemon?.problem?.code == .accountChanged ? status : nil
        }
        #expect(status.exitCode == .needsAttention)
        let shown = try await scene.fixture.control("status")
        #expect(shown.exit == .status(4))
        #expect(!shown.stdout.contains("texts:") && !shown.stdout.contains("online"), "\(shown.stdout)")
        #expect(scene.server.requests(.item).count == 4)
        #expect(try await daemon.terminate() == .status(0))
    }

    /// What the file that was set aside must hold, by SQLite's own tool.
    private func expectUndelivered(_ count: Int, in path: String) async throws {
        let ended = try await ChildProcess.run(
            "/usr/bin/sqlite3", ["-readonly", path, "SELECT count(*) FROM pending_write; PRAGMA integrity_check"])
        #expect(ended.stdout == "\(count)\nok\n", "\(ended)")
    }

    private func waitForOthersCopy(_ scene: LoginScene) async throws {
        try await eventually("the other account's copy") { () async throws -> Bool in
            let ended = try await scene.fixture.control("status", "--json")
            guard ended.exit != .status(1) else { return false }
            let status = try scene.fixture.decode(StatusReport.self, ended)
            return status.source == .daemon && status.copy.complete && status.copy.live == 2
                && status.server.accountName == "other@prsnl.example"
        }
    }

    // MARK: While a daemon runs

    @Test func aRunningDaemonKeepsItsCopyAndTheCommandSaysHowToGoOn() async throws {
        let scene = try scene()
        let daemon = try await scene.startWithCopy()
        try await expectLoginAsOther(scene)
        #expect(try await scene.fixture.control("note", "never delivered").exit == .status(0))
        let account = try await scene.fixture.control("account")
        #expect(account.exit == .status(4), "\(account)")
        #expect(account.stdout.contains("Account      owner@prsnl.example\n"), "\(account.stdout)")
        #expect(account.stdout.contains("Writes       1 wait\n"), "\(account.stdout)")
        let who = try await scene.fixture.control("whoami", "--json")
        #expect(who.exit == .status(4), "\(who)")

        let plan = try scene.fixture.decode(
            AccountReport.self, try await scene.fixture.control("account", "--accept-new", "--dry-run", "--json"))
        #expect(plan.dryRun && plan.setAside != nil)
        let refused = try await scene.fixture.control("account", "--accept-new", "--json")
        #expect(refused.exit == .status(1), "\(refused)")
        let error = try scene.fixture.decode(FailureReport.self, refused).error
        #expect(error.codeName == "database_locked")
        // No command stops a daemon that was started in a terminal.
        let configuration = "--config \(scene.fixture.configuration)"
        let order = "stop the daemon, `prsnlctl \(configuration) account --accept-new`, `prsnld \(configuration)`"
        #expect(error.recoverySuggestion.description == "In this order: \(order).")
        #expect(error.nextCommand == nil)
        #expect(try scene.setAside.isEmpty)
        let kept = try await scene.fixture.status()
        #expect(kept.daemon?.pid == daemon.processID && kept.outbox?.waiting == 1)

        #expect(try await daemon.terminate() == .status(0))
        let done = try await scene.fixture.control("account", "--accept-new", "--json")
        #expect(done.exit == .status(0), "\(done)")
        let report = try scene.fixture.decode(AccountReport.self, done)
        #expect(report.setAside == plan.setAside)
        let setAside = try #require(report.setAside)
        #expect(try scene.setAside == [setAside])
        try await expectUndelivered(1, in: try #require(report.setAside))
        let next = try await scene.fixture.startReady()
        try await waitForOthersCopy(scene)
        #expect(try await scene.account().change == nil)
        #expect(scene.server.captures.isEmpty)
        #expect(try await next.terminate() == .status(0))
    }

    @Test func aDaemonThatCannotBeAskedKeepsItsCopyToo() async throws {
        let scene = try scene()
        let daemon = try await scene.startWithCopy()
        try await expectLoginAsOther(scene)
        let elsewhere = ["--socket", scene.fixture.folder.file("no.sock"), "--database", scene.fixture.database]
        let refused = try await scene.fixture.control(elsewhere + ["account", "--accept-new", "--json"])
        #expect(refused.exit == .status(1), "\(refused)")
        let error = try scene.fixture.decode(FailureReport.self, refused).error
        #expect(error.codeName == "database_locked" && error.message.contains("\(daemon.processID)"), "\(error)")
        #expect(try scene.setAside.isEmpty)
        #expect(try await daemon.terminate() == .status(0))
    }

    // MARK: While none runs

    @Test func aCopyThatWasNotClosedIsStillToBeChecked() async throws {
        let scene = try scene()
        let killed = try await scene.startWithCopy()
        try await expectLoginAsOther(scene)
        killed.signal(SIGKILL)
        _ = try await killed.waitForExit()
        let done = try await scene.fixture.control("account", "--accept-new", "--json")
        #expect(done.exit == .status(0), "\(done)")
        let aside = try #require(try scene.fixture.decode(AccountReport.self, done).setAside)
        #expect(try Store(path: aside).wasStoppedUncleanly)
    }

    @Test func theCopyIsSetAsideWithItsWritesAndAnEmptyOneBegun() async throws {
        let scene = try scene()
        try await scene.makeCopy()
        #expect(try await scene.fixture.control("note", "never delivered").exit == .status(0))
        try await expectLoginAsOther(scene)
        let account = try await scene.account()
        #expect(account.source == .file && account.change?.codeName == "account_changed")
        let done = try await scene.fixture.control("account", "--accept-new")
        #expect(done.exit == .status(0), "\(done)")
        #expect(done.stdout.contains("the copy of owner@prsnl.example was set aside"), "\(done.stdout)")
        let aside = try scene.setAside
        #expect(aside.count == 1)
        try await expectUndelivered(1, in: try #require(aside.first))
        // A write can be queued at once, and is the new account's.
        #expect(try await scene.fixture.control("note", "of the other account").exit == .status(0))
        let daemon = try await scene.fixture.startReady()
        try await eventually("the note to arrive") { scene.server.captures.map(\.content) == ["of the other account"] }
        #expect(try await scene.account().account?.name == "other@prsnl.example")
        _ = try await daemon.terminate()
    }

    @Test func anotherServerIsAChangeToo() async throws {
        let scene = try scene()
        try await scene.makeCopy()
        let second = try DevServer.start(DevServer.Configuration(), items: DevItem.generate(count: 7))
        defer { second.stop() }
        try scene.configure(server: second.url)
        let login = try await scene.logIn()
        #expect(login.exit == .status(4), "\(login)")
        let done = try await scene.fixture.control("account", "--accept-new", "--json")
        #expect(done.exit == .status(0), "\(done)")
        #expect(try scene.fixture.decode(AccountReport.self, done).change?.codeName == "server_changed")
        let daemon = try await scene.fixture.startReady()
        #expect(try await scene.fixture.waitUntilComplete().copy.live == 7)
        _ = try await daemon.terminate()
    }

    @Test func aTokenOfAnotherAccountIsAChangeBeforeTheServerIsAsked() async throws {
        let scene = try scene()
        try await scene.makeCopy()
        let key = scene.fixture.folder.file("token")
        // Its `sub` is the id of `DevAccount.other`.
        try TestFile.write(
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI1ZDdmM2M5Mi0xZjBlLTRiMjctOGE0Yi02YjdjMmYxZDllMDIifQ.c2ln\n",
            to: key, mode: 0o600)
        try scene.configure("api_key_file = \(key)")
        let account = try await scene.account()
        #expect(account.source == .file && account.credentials.kind == .loginToken)
        #expect(account.change?.codeName == "account_changed")
    }

    // MARK: What keeps the copy

    @Test func aCopyThatIsRightIsNotSetAside() async throws {
        let scene = try scene()
        let daemon = try await scene.startWithCopy()
        for _ in 1...2 {
            for more in [[], ["--dry-run"]] {
                let child = try scene.fixture.startControl(["account", "--accept-new", "--json"] + more)
                #expect(try await child.waitForExit() == .status(1))
                let report = try JSONOutput.decode(FailureReport.self, from: Array(child.stdout.utf8))
                #expect(report.error.codeName == "nothing_to_accept")
            }
            #expect(try await scene.account().change == nil)
            if daemon.pollExit() == nil { _ = try await daemon.terminate() }
        }
        #expect(try scene.setAside.isEmpty)
        #expect(try await scene.fixture.control("account", "--dry-run").exit == .status(2))
    }

    @Test func aLoginThatTheServerTakesForAnothersStartsNoNewCopy() async throws {
        let scene = try scene()
        let daemon = try await scene.startWithCopy()
        let server = scene.server
        server.script(.perform { server.reassignTokens(to: .testUser) }, on: .timeline, times: .max)
        server.addNew(owner: DevAccount.testUser.id)
        // The renewed one is taken for the test user's as well.
        for _ in 1...2 { _ = try await scene.fixture.control("sync", "--wait") }
        let who = try await scene.whoami()
        #expect(who.sameAccount == false)
        #expect(who.error?.codeName == "login_expired")
        #expect(who.error?.nextCommand == "prsnlctl --config \(scene.fixture.configuration) login")
        for isRunning in [true, false] {
            if !isRunning { _ = try await daemon.terminate() }
            let account = try await scene.account()
            #expect(account.source == (isRunning ? .daemon : .file))
            #expect(account.change?.codeName == "login_expired")
            for more in [[], ["--dry-run"]] {
                let child = try scene.fixture.startControl(["account", "--accept-new", "--json"] + more)
                #expect(try await child.waitForExit() == .status(1))
                let report = try JSONOutput.decode(FailureReport.self, from: Array(child.stdout.utf8))
                #expect(report.error.codeName == "login_expired")
            }
        }
        #expect(try scene.setAside.isEmpty)
        #expect(try StoreReader(path: scene.fixture.database).summary().server.accountName == "owner@prsnl.example")
    }

    /// The server shows a test user's items to such a token.
    @Test func aTokenThatHasExpiredStartsNoNewCopy() async throws {
        let scene = try scene()
        try await scene.makeCopy()
        let key = scene.fixture.folder.file("expired")
        // `{"exp":1700000000}`
        try TestFile.write("eyJhbGciOiJIUzI1NiJ9.eyJleHAiOjE3MDAwMDAwMDB9.c2ln\n", to: key, mode: 0o600)
        try scene.configure(server: "http://127.0.0.1:1", "api_key_file = \(key)")
        #expect(try await scene.account().change?.codeName == "server_changed")
        for more in [[], ["--dry-run"]] {
            let refused = try await scene.fixture.control(["account", "--accept-new", "--json"] + more)
            #expect(refused.exit == .status(1), "\(refused)")
            let error = try scene.fixture.decode(FailureReport.self, refused).error
            #expect(error.codeName == "login_expired" && error.message.contains(key), "\(error)")
        }
        #expect(try scene.setAside.isEmpty)
    }

    @Test func aProgramThatHasTheFileOpenKeepsEverythingAsItIs() async throws {
        let scene = try scene()
        try await scene.makeCopy()
        try await expectLoginAsOther(scene)
        do {
            let reader = try StoreReader(path: scene.fixture.database)
            _ = try reader.summary()
            let refused = try await scene.fixture.control("account", "--accept-new", "--json")
            #expect(refused.exit == .status(1), "\(refused)")
            #expect(try scene.fixture.decode(FailureReport.self, refused).error.codeName == "database_busy")
            #expect(try reader.summary().server.accountName == "owner@prsnl.example")
        }
        #expect(try scene.setAside.isEmpty)
        let done = try await scene.fixture.control("account", "--accept-new")
        #expect(done.exit == .status(0), "\(done)")
        #expect(try scene.setAside.count == 1)
    }

    // MARK: Killed on the way

    @Test(arguments: [CrashPoint.beforeSetAside, .afterLeavingLog, .afterSetAside])
    func aKillLeavesTheOldStateOrTheNewOne(point: CrashPoint) async throws {
        let scene = try scene()
        try await scene.makeCopy()
        #expect(try await scene.fixture.control("note", "never delivered").exit == .status(0))
        try await expectLoginAsOther(scene)
        let killed = try await scene.fixture.control(
            "account", "--accept-new", environment: [CrashPoint.variable: point.rawValue])
        #expect(killed.exit == .signal(SIGKILL), "\(killed)")

        let isOld = point != .afterSetAside
        #expect(try scene.setAside.isEmpty == isOld)
        #expect(TestFile.exists(scene.fixture.database) == isOld)
        if isOld {
            let summary = try StoreReader(path: scene.fixture.database).summary()
            #expect(summary.outbox.waiting == 1 && summary.server.accountName == "owner@prsnl.example")
            let again = try await scene.fixture.control("account", "--accept-new")
            #expect(again.exit == .status(0), "\(again)")
        }
        #expect(try scene.setAside.count == 1)
        try await expectUndelivered(1, in: try #require(try scene.setAside.first))
        let after = try await scene.fixture.startReady()
        try await waitForOthersCopy(scene)
        #expect(scene.server.captures.isEmpty)
        _ = try await after.terminate()
    }
}
