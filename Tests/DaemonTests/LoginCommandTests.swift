import Commands
import Console
import DevServer
import Glibc
import PRSNLCore
import Requests
import Store
import TestSupport
import Testing

/// Logging in and out as a person does, with the real binaries.
@Suite struct LoginCommandTests {
    private let password = DevAccount.owner.password

    // MARK: On the terminal

    @Test func aPersonLogsInBeforeTheFirstStartAndTheDaemonPullsAsThatPerson() async throws {
        let scene = try LoginScene()
        let terminal = try scene.terminal(["login"])
        try await terminal.waitUntilShown("E-mail: ")
        #expect(terminal.echoes)
        try terminal.type("owner@prsnl.example\n")
        try await terminal.waitUntilShown("Password for owner@prsnl.example: ")
        try await eventually("silence") { !terminal.echoes }
        try terminal.type(password + "\n")
        #expect(try await terminal.waitForExit() == .status(0), "\(terminal.shown)")
        #expect(terminal.echoes)
        #expect(!terminal.shown.contains(password))
        #expect(terminal.shown.contains("logged in as owner@prsnl.example on \(scene.server.url)"))
        #expect(terminal.shown.contains("It will use the login when it starts"))
        var information = stat()
        #expect(stat(scene.loginFile, &information) == 0)
        #expect(information.st_mode & 0o777 == 0o600)
        #expect(!(try TestFile.text(scene.loginFile)).contains(password))

        let daemon = try await scene.fixture.startReady()
        let status = try await scene.fixture.waitUntilComplete()
        #expect(status.server.accountName == "owner@prsnl.example")
        #expect(status.copy.live == 4)
        _ = try await daemon.terminate()
    }

    @Test(arguments: [("\u{3}", SIGINT), ("\u{1C}", SIGQUIT), (nil, SIGTERM), (nil, SIGHUP)])
    func aSignalEndsTheQuestionAndGivesTheTerminalBack(key: String?, number: Int32) async throws {
        let scene = try LoginScene()
        let terminal = try scene.terminal(["login", "--email", "owner@prsnl.example"])
        try await terminal.waitUntilShown("Password for ")
        try await eventually("silence") { !terminal.echoes }
        try terminal.type("half a pass")
        if let key { try terminal.type(key) } else { terminal.signal(number) }
        #expect(try await terminal.waitForExit() == .signal(number), "\(terminal.shown)")
        #expect(terminal.echoes)
        #expect(!terminal.shown.contains("half a pass"))
        #expect(scene.server.requests(.login).isEmpty)
        #expect(!TestFile.exists(scene.loginFile))
    }

    @Test func aStoppedQuestionGivesTheTerminalBackAndIsAskedAgainWhenItGoesOn() async throws {
        let scene = try LoginScene()
        let command = "\(try BuiltProducts.executable("prsnlctl")) --config \(scene.fixture.configuration)"
        // A shell with job control, which says how it finds its terminal, and brings the command back when it is told to.
        let shell = try TerminalProcess(
            "/bin/bash",
            [
                "--norc", "-m", "-c",
                "\(command) login --email owner@prsnl.example; stty -a | tr ';' '\\n' | grep -w echo; read line; fg",
            ],
            environment: ["HOME": scene.fixture.folder.path, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"],
            directory: scene.fixture.folder.path)
        try await shell.waitUntilShown("Password for ")
        try await eventually("silence") { !shell.echoes }
        try shell.type("half\u{1A}")
        try await shell.waitUntilShown(" echo ")
        #expect(shell.echoes)
        try shell.type("\n")
        try await shell.waitUntilShown("Password for ", times: 2)
        try await eventually("silence") { !shell.echoes }
        try shell.type(password + "\n")
        try await shell.waitUntilShown("logged in as owner@prsnl.example")
        _ = try await shell.waitForExit()
        #expect(shell.echoes)
        #expect(!shell.shown.contains("half") && !shell.shown.contains(password))
    }

    @Test func nothingTypedIsNoLogin() async throws {
        let scene = try LoginScene()
        for typed in ["\n", "\u{4}"] {
            let terminal = try scene.terminal(["login", "--email", "owner@prsnl.example"])
            try await terminal.waitUntilShown("Password for ")
            try await eventually("silence") { !terminal.echoes }
            try terminal.type(typed)
            #expect(try await terminal.waitForExit() == .status(1))
            #expect(terminal.shown.contains("Nothing was typed."))
        }
        #expect(scene.server.requests(.login).isEmpty)
    }

    @Test func theQuestionStandsOnTheTerminalWhateverStdinIs() async throws {
        let scene = try LoginScene()
        let terminal = try scene.terminal(["login", "--email", "owner@prsnl.example"], input: "/dev/null")
        try await terminal.waitUntilShown("Password for ")
        try await eventually("silence") { !terminal.echoes }
        try terminal.type(password + "\n")
        #expect(try await terminal.waitForExit() == .status(0), "\(terminal.shown)")
    }

    @Test func withoutATerminalItSaysHowToGoOn() async throws {
        let scene = try LoginScene()
        for arguments in [["login"], ["login", "--email", "owner@prsnl.example"]] {
            // A session without a terminal (setsid(1)), wherever the tests are run from.
            let child = try await ChildProcess.run(
                "/usr/bin/setsid",
                ["--wait", BuiltProducts.executable("prsnlctl"), "--config", scene.fixture.configuration] + arguments,
                directory: scene.fixture.folder.path)
            #expect(child.exit == .status(2), "\(child)")
            #expect(child.stderr.contains("There is no terminal to ask for"))
            #expect(child.stderr.contains("--password-stdin"))
        }
        #expect(scene.server.requestCount == 0)
    }

    /// With a thread of libcurl's that had just begun, one run in forty died while exit(3) freed OpenSSL's tables.
    @Test func aLoginThatIsRefusedBeforeItsFirstQuestionEndsAsItShould() async throws {
        let scene = try LoginScene()
        for _ in 1...100 {
            let ended = try await scene.fixture.control("login", "--email", "owner@prsnl.example", "--password-stdin")
            try #require(ended.exit == .status(2), "\(ended)")
        }
        #expect(scene.server.requestCount == 0)
    }

    @Test func whoeverTypesAPasswordIsNotReadableFromOutside() async throws {
        let scene = try LoginScene()
        let terminal = try scene.terminal(["login", "--email", "owner@prsnl.example"])
        try await terminal.waitUntilShown("Password for ")
        let limits = try TestFile.text("/proc/\(terminal.processID)/limits")
        #expect(limits.split(separator: "\n").contains { $0.hasPrefix("Max core file size        0 ") }, "\(limits)")
        var information = stat()
        // proc(5): the files of a process that is not dumpable are root's.
        #expect(stat("/proc/\(terminal.processID)/environ", &information) == 0)
        #expect(information.st_uid == 0)
    }

    // MARK: What is refused, and when

    @Test func aWrongPasswordLeavesEverythingAsItWas() async throws {
        let scene = try LoginScene()
        try scene.configure(server: nil)
        let before = try TestFile.text(scene.fixture.configuration)
        let child = try scene.fixture.startControl(
            ["login", "--json", "--email", "owner@prsnl.example", "--password-stdin", "--server", scene.server.url],
            input: "not the password\n")
        #expect(try await child.waitForExit() == .status(1))
        let report = try JSONOutput.decode(FailureReport.self, from: Array(child.stdout.utf8))
        #expect(report.error.codeName == "login_failed")
        #expect(!child.stdout.contains("not the password"))
        #expect(!TestFile.exists(scene.loginFile))
        #expect(try TestFile.text(scene.fixture.configuration) == before)
    }

    @Test func aKeyThatWouldBeUsedInItsPlaceIsSaidBeforeThePasswordIsAsked() async throws {
        let scene = try LoginScene()
        try scene.configure("api_key_file = \(scene.fixture.folder.file("key"))")
        let stopped = try await scene.logIn()
        #expect(stopped.exit == .status(1))
        #expect(stopped.stderr.contains("api_key_file names"), "\(stopped.stderr)")
        #expect(stopped.stderr.contains("Remove api_key_file"))
        #expect(scene.server.requestCount == 0)

        // The same where only the daemon knows of it, as of a credential that systemd gives it.
        let daemon = try await scene.fixture.startReady()
        try scene.configure()
        let running = try await scene.logIn()
        #expect(running.exit == .status(1))
        #expect(running.stderr.contains("uses the key or token in"), "\(running.stderr)")
        #expect(scene.server.requests(.login).isEmpty)
        _ = try await daemon.terminate()
    }

    @Test(arguments: [Dialect.page, .express])
    func aServerWithoutLoginsSaysWhatToUseInstead(dialect: Dialect) async throws {
        let scene = try LoginScene(dialect: dialect)
        let ended = try await scene.logIn(.owner, ["--json"])
        #expect(ended.exit == .status(1))
        let error = try scene.fixture.decode(FailureReport.self, ended).error
        #expect(error.codeName == "login_not_possible", "\(ended)")
        #expect(error.recoverySuggestion.description.contains("api_key_file"))
    }

    /// A web server, and a PRSNL server with a path too much.
    @Test(arguments: Dialect.allCases)
    func aWrongPathIsSaidBeforeAPasswordIsAskedFor(dialect: Dialect) async throws {
        let scene = try LoginScene(dialect: dialect)
        let url = scene.server.url + "/elsewhere"
        try scene.configure(server: url)
        let ended = try await scene.logIn(.owner, ["--json"])
        #expect(ended.exit == .status(1))
        let error = try scene.fixture.decode(FailureReport.self, ended).error
        #expect(error.codeName == "not_found", "\(ended)")
        #expect(error.message.hasPrefix("There is no PRSNL server at \(url): "))
        #expect(error.recoverySuggestion.description.contains("path"))
        let terminal = try scene.terminal(["login", "--email", "owner@prsnl.example"])
        #expect(try await terminal.waitForExit() == .status(1))
        #expect(!terminal.shown.contains("Password"), "\(terminal.shown)")
        #expect(scene.server.requests().allSatisfy { $0.path == "/elsewhere/api/health" })
    }

    @Test(arguments: [
        (#"<!DOCTYPE html><title>Log in</title>"#, "portal"), (#"{"hello":"world"}"#, "unexpected_shape"),
    ])
    func aPasswordIsNotSentToWhatIsNotPRSNL(body: String, code: String) async throws {
        let scene = try LoginScene()
        scene.server.script(.answer(status: 200, headers: [:], body: body), on: .health, times: .max)
        let ended = try await scene.logIn(.owner, ["--json"])
        #expect(ended.exit == .status(1))
        let error = try scene.fixture.decode(FailureReport.self, ended).error
        #expect(error.codeName == code, "\(ended)")
        #expect(error.consequence == "No password was sent, and no login was made.")
        #expect(scene.server.requests(.login).isEmpty)
    }

    @Test func aServerThatIsAwayIsSaidBeforeAPasswordIsAskedFor() async throws {
        let scene = try LoginScene()
        scene.server.refuseConnections()
        let terminal = try scene.terminal(["login", "--email", "owner@prsnl.example"])
        #expect(try await terminal.waitForExit() == .status(1))
        #expect(!terminal.shown.contains("Password"), "\(terminal.shown)")
        #expect(terminal.shown.contains("cannot connect to 127.0.0.1:\(scene.server.port)"), "\(terminal.shown)")
    }

    /// Nothing but a write is ever looked up.
    @Test func aLoginWhoseAnswerIsLostIsNotSaidToBeLookedUp() async throws {
        let scene = try LoginScene()
        scene.server.script(.answer(status: 500, headers: [:], body: "{}"), on: .login)
        let ended = try await scene.logIn(.owner, ["--json"])
        let error = try scene.fixture.decode(FailureReport.self, ended).error
        #expect(error.codeName == "server_error" && error.consequence == "No login was made.", "\(ended)")
    }

    @Test(.enabled(if: OtherUser.canBeMade, "needs root, to be other users"))
    func anotherUserIsToldTheCommandBeforeThePasswordIsAsked() async throws {
        let scene = try LoginScene()
        try await scene.makeCopy()
        chmod(scene.fixture.folder.path, 0o755)
        let asked = scene.server.requestCount
        let child = try await ChildProcess.run(
            "/usr/bin/setpriv",
            [
                "--reuid=65534", "--regid=65534", "--clear-groups", BuiltProducts.executable("prsnlctl"), "--config",
                scene.fixture.configuration, "login", "--email", "owner@prsnl.example",
            ])
        #expect(child.exit == .status(1), "\(child)")
        #expect(
            child.stderr.contains("prsnlctl --config \(scene.fixture.configuration) login"), "\(child)")
        #expect(scene.server.requestCount == asked)
    }

    // MARK: The configuration

    @Test func theServerIsWrittenDownOnceTheLoginHasWorked() async throws {
        let scene = try LoginScene()
        try scene.configure(server: nil, "# the end")
        let ended = try await scene.logIn(.owner, ["--server", scene.server.url + "/"])
        #expect(ended.exit == .status(0), "\(ended)")
        #expect(ended.stdout.contains("server_url was written to"))
        #expect(
            try TestFile.text(scene.fixture.configuration) == """
                # What prsnld does on this machine.
                #server_url = https://prsnl.example.org
                server_url = \(scene.server.url)
                database = \(scene.fixture.database)
                control_socket = \(scene.fixture.socket)
                # the end

                """)
        var information = stat()
        stat(scene.fixture.configuration, &information)
        #expect(information.st_mode & 0o777 == 0o644)
        // Again it is the same; another one is refused, and the server is not asked.
        let again = try await scene.logIn(.owner, ["--server", scene.server.url])
        #expect(again.exit == .status(0) && !again.stdout.contains("written"), "\(again)")
        let asked = scene.server.requestCount
        let other = try await scene.logIn(.owner, ["--server", "https://other.example"])
        #expect(other.exit == .status(1))
        #expect(other.stderr.contains("\(scene.fixture.configuration):3"), "\(other.stderr)")
        #expect(scene.server.requestCount == asked)

        let daemon = try await scene.fixture.startReady()
        try await scene.fixture.waitUntilComplete()
        _ = try await daemon.terminate()
    }

    @Test func withoutAnyServerItSaysHowToNameOne() async throws {
        let scene = try LoginScene()
        try scene.configure(server: nil)
        let ended = try await scene.logIn()
        #expect(ended.exit == .status(1))
        #expect(ended.stderr.contains("prsnlctl --config \(scene.fixture.configuration) login --server"))
        let insecure = try await scene.logIn(.owner, ["--server", "http://192.0.2.7"])
        #expect(insecure.exit == .status(1))
        #expect(insecure.stderr.contains("http"), "\(insecure.stderr)")
    }

    // MARK: While the daemon runs

    @Test func theLoginIsStoredAndInUseWhenTheCommandReturns() async throws {
        let scene = try LoginScene()
        let daemon = try await scene.startWithCopy()
        let before = try TestFile.text(scene.loginFile)
        let ended = try await scene.logIn(.owner, ["--json"])
        #expect(ended.exit == .status(0), "\(ended)")
        let report = try scene.fixture.decode(LoginReport.self, ended)
        #expect(report.source == .daemon && report.inUse && report.sameAccount == true)
        let after = try TestFile.text(scene.loginFile)
        #expect(after != before)
        let whoami = try await scene.whoami()
        #expect(whoami.source == .daemon && whoami.asked && whoami.sameAccount == true)
        #expect(whoami.account?.name == "owner@prsnl.example")
        #expect(whoami.credentials.kind == .login && whoami.credentials.refused == false)
        #expect(whoami.credentials.path == scene.loginFile)
        // A JWT begins with the base64url of `{"`.
        let tokens = after.split(separator: "\"").filter { $0.hasPrefix("eyJ") }
        #expect(tokens.count == 2)
        for token in tokens { #expect(!daemon.stderr.contains(token) && !ended.stdout.contains(token)) }
        _ = try await daemon.terminate()
    }

    @Test func aLogoutTellsTheServerAndKeepsCopyAndQueue() async throws {
        let scene = try LoginScene()
        let daemon = try await scene.startWithCopy()
        let ended = try await scene.fixture.control("logout", "--json")
        #expect(ended.exit == .status(0), "\(ended)")
        let report = try scene.fixture.decode(LogoutReport.self, ended)
        #expect(report.wasLoggedIn && report.serverTold == true && report.items == 4)
        #expect(!TestFile.exists(scene.loginFile))
        #expect(scene.server.requests(.path("/api/auth/logout")).count == 1)
        // A write waits; and the next login brings it on its way.
        let note = try await scene.fixture.control("note", "written while logged out")
        #expect(note.exit == .status(0), "\(note)")
        #expect(scene.server.captures.isEmpty)
        let again = try await scene.logIn()
        #expect(again.exit == .status(0), "\(again)")
        try await eventually("the note to arrive") { scene.server.captures.count == 1 }
        _ = try await daemon.terminate()
    }

    @Test func aLogoutWithoutTheDaemonTellsTheServerToo() async throws {
        let scene = try LoginScene()
        try await scene.makeCopy()
        let ended = try await scene.fixture.control("logout")
        #expect(ended.exit == .status(0), "\(ended)")
        #expect(ended.stdout.hasPrefix("logged out of \(scene.server.url)\nThe copy stays: 4 items."))
        #expect(scene.server.requests(.path("/api/auth/logout")).count == 1)
        #expect(!TestFile.exists(scene.loginFile))
        let again = try await scene.fixture.control("logout")
        #expect(again.exit == .status(0) && again.stdout.hasPrefix("not logged in\n"), "\(again)")
    }

    @Test func aServerThatCannotBeToldDoesNotKeepTheLogin() async throws {
        let scene = try LoginScene()
        try await scene.makeCopy()
        scene.server.refuseConnections()
        let ended = try await scene.fixture.control("logout", "--json")
        let report = try scene.fixture.decode(LogoutReport.self, ended)
        #expect(report.wasLoggedIn && report.serverTold == false)
        #expect(report.error?.codeName == "connect_failed")
        #expect(!TestFile.exists(scene.loginFile))
    }

    @Test func withoutTheDaemonWhoamiSaysWhatTheFilesSay() async throws {
        let scene = try LoginScene()
        let before = try await scene.whoami()
        #expect(before.source == .file && before.credentials.kind == .none && before.copyAccount == nil)
        try await scene.makeCopy()
        let asked = scene.server.requestCount
        let ended = try await scene.fixture.control("whoami")
        // As any command that needs the daemon.
        #expect(ended.exit == .status(3), "\(ended)")
        #expect(ended.stdout.contains("Copy         of owner@prsnl.example\n"), "\(ended.stdout)")
        #expect(ended.stdout.contains("the server was not asked; this is what the copy remembers"), "\(ended)")
        #expect(ended.stderr.contains("No daemon listens at"), "\(ended)")
        let file = try await scene.fixture.control("--database", scene.fixture.database, "whoami", "--json")
        #expect(file.exit == .status(3), "\(file)")
        let report = try scene.fixture.decode(WhoamiReport.self, file)
        #expect(!report.asked && report.error?.codeName == "daemon_not_running")
        #expect(scene.server.requestCount == asked)
    }

    @Test func withoutCredentialsWhoamiEndsAsStatusDoes() async throws {
        let scene = try LoginScene()
        let daemon = try await scene.fixture.startReady()
        try await eventually("the daemon to know that it needs a login") {
            try await scene.fixture.control("whoami").exit == .status(4)
        }
        let report = try await scene.whoami()
        #expect(!report.asked && report.error?.codeName == "needs_login" && report.credentials.refused == nil)
        _ = try await daemon.terminate()
    }

    @Test(arguments: [Dialect.page, .express])
    func whoamiAsksAServerWithoutAccountsWhetherItTakesTheKey(dialect: Dialect) async throws {
        let fixture = try DaemonFixture(items: DevItem.generate(count: 4), dialect: dialect)
        let daemon = try await fixture.startReady()
        try await fixture.waitUntilComplete()
        let good = try await fixture.control("whoami", "--json")
        #expect(good.exit == .status(0), "\(good)")
        let report = try fixture.decode(WhoamiReport.self, good)
        #expect(report.asked && report.account == nil && report.credentials.refused == false)
        try TestFile.write("not-a-real-key\n", to: fixture.folder.file("key"))
        daemon.signal(SIGHUP)
        _ = try await daemon.waitForErrorLine(containing: "configuration read again")
        let wrong = try await fixture.control("whoami", "--json")
        #expect(wrong.exit == .status(4), "\(wrong)")
        let refused = try fixture.decode(WhoamiReport.self, wrong)
        #expect(refused.asked && refused.credentials.refused == true && refused.error?.codeName == "unauthorized")
        let text = try await fixture.control("whoami")
        #expect(text.stderr.contains(dialect == .express ? "Wrong key: " : "Invalid or expired API key"), "\(text)")
        let sync = try fixture.decode(SyncResult.self, try await fixture.control("sync", "--wait", "--json"))
        #expect(sync.problem?.codeName == "unauthorized" && sync.problem?.message == refused.error?.message, "\(sync)")
        _ = try await daemon.terminate()
    }

    @Test func aLoginThatTheServerForgotIsSaidToBeRefused() async throws {
        let scene = try LoginScene { $0.quirks.accountRefusesBadTokens = true }
        let daemon = try await scene.startWithCopy()
        scene.server.expireTokens()
        scene.server.script(
            .answer(
                status: 401, headers: ["content-type": "application/json"],
                body: #"{"detail":"Invalid or expired refresh token"}"#), on: .refresh, times: .max)
        let ended = try await scene.fixture.control("whoami", "--json")
        #expect(ended.exit == .status(4), "\(ended)")
        let report = try scene.fixture.decode(WhoamiReport.self, ended)
        #expect(report.account == nil && report.credentials.refused == true)
        #expect(report.error?.codeName == "login_expired")
        _ = try await daemon.terminate()
    }
}
