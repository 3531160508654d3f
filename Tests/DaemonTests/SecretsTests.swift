import Console
import DevServer
import Glibc
import PRSNLCore
import TestSupport
import Testing

/// Marked secrets, looked for wherever another user could see them. A server that repeats them does its worst.
@Suite struct SecretsTests {
    /// An answer with the secret in each place that a server could put it.
    private func echo(_ status: Int, _ secret: String) -> Fault {
        .answer(
            status: status,
            headers: ["X-Error-Code": secret, "X-Request-ID": secret, "WWW-Authenticate": "Bearer \(secret)"],
            body: """
                {"error":{"code":"\(secret)","message":"key \(secret) is wrong: Authorization: Bearer \(secret), '\(secret)'",\
                "details":[{"field":"\(secret)","message":"\(secret)"}]}}
                """)
    }

    /// Gives each command, with a server that repeats the secret in its answers.
    private func provoke(_ fixture: DaemonFixture, _ secret: String, into seen: inout Sightings) async throws {
        for (number, status) in [400, 500, 422].enumerated() {
            let fault = fixture.server.script(echo(status, secret), on: .capture)
            seen.add("note", try await fixture.control("note", "a text \(number)", "--wait=2s"))
            fault.remove()
        }
        for status in [400, 403, 409, 422] {
            let fault = fixture.server.script(echo(status, secret), on: .timeline, times: .max)
            seen.add("sync --wait", try await fixture.control("sync", "--full", "--wait"))
            seen.add("sync --wait --json", try await fixture.control("sync", "--full", "--wait", "--json"))
            fault.remove()
            try await fixture.look([["errors"], ["status"]], into: &seen)
        }
    }

    // MARK: Keys of connections

    @Test func theProxyOfTheEnvironmentGetsNothingThatIsForThisMachine() async throws {
        let fixture = try DaemonFixture(items: DevItem.generate(count: 4))
        let proxy = try DevServer.start()
        defer { proxy.stop() }
        let once = try await fixture.run(["--once"], environment: ["http_proxy": proxy.url, "all_proxy": proxy.url])
        #expect(once.exit == .status(0), "\(once.stderr)")
        #expect(proxy.requestCount == 0)
    }

    /// NSS's log of keys, which libcurl would write when a variable is set.
    @Test func theKeysOfConnectionsAreWrittenNowhere() async throws {
        let fixture = try DaemonFixture()
        let folder = fixture.folder
        let made = try await ChildProcess.run(
            "/usr/bin/openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
                "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "tls-key.pem", "-out", "tls.pem",
            ], directory: folder.path)
        try #require(made.exit == .status(0), "\(made.stderr)")
        let server = try ChildProcess(
            "/usr/bin/openssl",
            ["s_server", "-accept", "127.0.0.1:0", "-cert", "tls.pem", "-key", "tls-key.pem", "-www"],
            directory: folder.path)
        let line = try await server.waitForLine(containing: "ACCEPT 127.0.0.1:")
        let port = line.split(separator: ":").last ?? ""
        try fixture.configure("ca_file = \(folder.file("tls.pem"))", serverURL: "https://127.0.0.1:\(port)")
        let log = folder.file("keys.log")
        let once = try await fixture.run(["--once"], environment: ["SSLKEYLOGFILE": log])
        // TLS came about: it is an answer that is not understood.
        #expect(once.exit != .status(0) && !once.stderr.contains("tls_failed"), "\(once.stderr)")
        _ = try await fixture.control(
            "login", "--email", "a@example.org", "--password-stdin",
            environment: ["SSLKEYLOGFILE": log], input: "fake\n")
        #expect(!TestFile.exists(log))
    }

    // MARK: An API key

    @Test func anAPIKeyIsSeenNowhereButInItsFile() async throws {
        let key = "fake-marker-key-4f1b9c"
        let fixture = try DaemonFixture(items: DevItem.generate(count: 4), dialect: .page) { configuration in
            WriteScene.makeQuick(&configuration)
            configuration.accounts[0].apiKey = key
        }
        try TestFile.write(key + "\n", to: fixture.folder.file("key"))
        try fixture.configure("log_level = debug\nlookup_interval = 1s")
        var seen = Sightings()
        let daemon = try await fixture.startReady()
        // With another key it would not be.
        try await fixture.waitUntilComplete()
        try await provoke(fixture, key, into: &seen)
        let unauthorized = fixture.server.script(echo(401, key), on: .timeline, times: .max)
        seen.add("sync", try await fixture.control("sync", "--wait", "--json"))
        unauthorized.remove()
        // To an address that is followed, and to one that is not.
        let places = [
            "/api/timeline?key=\(key)", "/\(key)/api/timeline", "http://127.0.0.9:1/\(key)?key=\(key)",
            "http://\(key).example",
        ]
        for place in places {
            let redirect = fixture.server.script(
                .answer(status: 307, headers: ["Location": place], body: ""), on: .timeline)
            seen.add("sync", try await fixture.control("sync", "--full", "--wait", "--json"))
            redirect.remove()
        }
        daemon.signal(SIGHUP)
        _ = try await daemon.waitForErrorLine(containing: "configuration read again")
        try await fixture.look(DaemonFixture.looks, into: &seen)
        seen.add("--check-config", try await fixture.run(["--check-config"]))
        let watcher = try fixture.startControl(["net", "--watch", "--json"])
        _ = try await watcher.waitForLine(containing: "current")
        try seen.add(processID: watcher.processID, "prsnlctl")
        try seen.add(processID: daemon.processID, "prsnld")
        try seen.add(folder: fixture.folder.path, except: [fixture.folder.file("key")])
        // What a killed daemon leaves behind, and what is said without one.
        daemon.signal(SIGKILL)
        _ = try await daemon.waitForExit()
        try seen.add(folder: fixture.folder.path, except: [fixture.folder.file("key")])
        try await fixture.look(DaemonFixture.looks, into: &seen)
        seen.add("the log", daemon.stderr)
        #expect(seen.places(of: key) == [])
        // What every build logs was among it.
        #expect(daemon.stderr.contains("http    GET /api/timeline?") && daemon.stderr.contains(" (redirected): "))
        // The search finds what is there.
        try seen.add(folder: fixture.folder.path, except: [])
        #expect(seen.places(of: key) == [fixture.folder.file("key")])
    }

    // MARK: A login

    @Test func aLoginIsSeenNowhereButInItsFileAndThePasswordNowhere() async throws {
        let password = "fake-marker-password-77a0"
        let scene = try LoginScene { $0.accounts[0].password = password }
        let fixture = scene.fixture
        try scene.configure("log_level = debug\nlookup_interval = 1s")
        var account = DevAccount.owner
        account.password = password
        var seen = Sightings()
        var secrets = [password]
        let refused = scene.server.script(echo(401, password), on: .login)
        seen.add("login", try await scene.logIn(account))
        seen.add("login --json", try await scene.logIn(account, ["--json"]))
        refused.remove()
        let daemon = try await fixture.startReady()
        // Handed over to the daemon, which lives.
        seen.add("login", try await scene.logIn(account, []))
        try await fixture.waitUntilComplete()
        secrets += try tokens(scene)
        try #require(secrets.count == 3)
        try await provoke(fixture, secrets[1], into: &seen)
        // Renewed, with the old token in the answer that made it necessary.
        let expired = scene.server.script(echo(401, secrets[1]), on: .timeline)
        seen.add("sync", try await fixture.control("sync", "--full", "--wait"))
        expired.remove()
        secrets += try tokens(scene)
        #expect(Set(secrets).count == 5, "the login was not renewed")
        try await fixture.look(DaemonFixture.looks, into: &seen)
        let asking = try scene.terminal(["login", "--email", account.email])
        try await asking.waitUntilShown("Password for ")
        try seen.add(processID: asking.processID, "prsnlctl login")
        asking.signal(SIGTERM)
        _ = try await asking.waitForExit()
        try seen.add(processID: daemon.processID, "prsnld")
        try seen.add(folder: fixture.folder.path, except: [scene.loginFile])
        // The renewal is refused, with the token that is to renew.
        let renewal = scene.server.script(echo(401, secrets[4]), on: .refresh, times: .max)
        let again = scene.server.script(echo(401, secrets[3]), on: .timeline, times: .max)
        seen.add("sync", try await fixture.control("sync", "--full", "--wait", "--json"))
        try await fixture.look(DaemonFixture.looks, into: &seen)
        renewal.remove()
        again.remove()
        seen.add("logout", try await fixture.control("logout"))
        _ = try await daemon.terminate()
        try seen.add(folder: fixture.folder.path, except: [scene.loginFile])
        seen.add("the log", daemon.stderr)
        for secret in Set(secrets) { #expect(seen.places(of: secret) == []) }
    }

    /// Access and refresh token of the file.
    private func tokens(_ scene: LoginScene) throws -> [String] {
        struct File: Decodable {
            var accessToken: String
            var refreshToken: String
        }
        let file = try JSONOutput.decode(File.self, from: try TestFile.read(scene.loginFile))
        return [file.accessToken, file.refreshToken]
    }

    // MARK: A proxy

    @Test func thePasswordOfAProxyIsSeenNowhereButInTheConfiguration() async throws {
        let password = "fake-marker-proxy-12c5"
        let fixture = try DaemonFixture(items: [], dialect: .page)
        let proxy = fixture.server.url.split(separator: "/").last.map(String.init) ?? ""
        fixture.server.script(echo(407, "who are you?"), on: .any, times: 3)
        try fixture.configure(
            "log_level = debug\nproxy = http://user:\(password)@\(proxy)", serverURL: "http://127.0.0.9:1")
        var seen = Sightings()
        let daemon = try await fixture.startReady()
        seen.add("sync", try await fixture.control("sync", "--wait"))
        try await fixture.look(DaemonFixture.looks, into: &seen)
        seen.add("--check-config", try await fixture.run(["--check-config"]))
        try fixture.configure(
            "log_level = debug\nproxy = http://user:\(password)@localhost:1", serverURL: "http://127.0.0.9:1")
        daemon.signal(SIGHUP)
        _ = try await daemon.waitForErrorLine(containing: "proxy = http://***@localhost:1")
        try seen.add(processID: daemon.processID, "prsnld")
        try seen.add(folder: fixture.folder.path, except: [fixture.configuration])
        _ = try await daemon.terminate()
        seen.add("the log", daemon.stderr)
        for secret in [password, "user:\(password)"] { #expect(seen.places(of: secret) == []) }
        #expect(fixture.server.requestCount > 0, "the proxy was not used")
    }

    // MARK: Memory

    @Test(.enabled(if: OtherUser.canBeMade, "needs root, to be other users"))
    func nobodyOfTheSameUserLooksIntoTheDaemonsMemory() async throws {
        let scene = try AccessScene()
        let daemon = try await scene.startReady()
        let bystander = try scene.owner.start("/bin/sleep", ["600"])
        let script = """
            import ctypes, sys
            libc = ctypes.CDLL(None, use_errno=True)
            for pid in map(int, sys.argv[1:]):
                for name in ("environ", "mem", "maps"):
                    try:
                        open(f"/proc/{pid}/{name}", "rb", buffering=0)
                        print(name, "open")
                    except PermissionError:
                        print(name, "refused")
                libc.ptrace.restype = ctypes.c_long
                seized = libc.ptrace(0x4206, pid, None, None) # PTRACE_SEIZE
                print("ptrace", "refused" if seized < 0 else "done")
            """
        func look(at process: ChildProcess) async throws -> [Substring] {
            let child = try scene.owner.start(
                "/usr/bin/python3", ["-c", script, "\(process.processID)"], directory: "/")
            #expect(try await child.waitForExit() == .status(0), "\(child.stderr)")
            return child.stdout.split(separator: "\n")
        }
        // The same look at another process of that user tells something (ptrace only where the kernel is not stricter yet).
        try await eventually("sleep to be executed") {
            try TestFile.text("/proc/\(bystander.processID)/comm") == "sleep\n"
        }
        #expect(try await look(at: bystander).prefix(3) == ["environ open", "mem open", "maps open"])
        #expect(
            try await look(at: daemon) == ["environ refused", "mem refused", "maps refused", "ptrace refused"])
        #expect(try await daemon.terminate() == .status(0))
    }
}
