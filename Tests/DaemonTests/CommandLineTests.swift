import Commands
import Console
import Control
import DevServer
import Glibc
import Requests
import TestSupport
import Testing

/// The binaries as a person types them, without a daemon running.
@Suite struct CommandLineTests {
    @Test(arguments: ["prsnld", "prsnlctl"])
    func versionAndHelpGoToStdout(program: String) async throws {
        let path = try BuiltProducts.executable(program)
        let version = try await ChildProcess.run(path, ["--version"])
        #expect(version.exit == .status(0))
        #expect(version.stdout == "\(program) \(ProductVersion.current)\n")
        let help = try await ChildProcess.run(path, ["--help"])
        #expect(help.exit == .status(0))
        #expect(help.stdout.hasPrefix("usage: \(program) "))
        #expect(help.stderr.isEmpty)
    }

    /// libcurl and what is below it takes half of the time of a short command.
    @Test func libcurlIsLoadedWhereARequestIsMade() async throws {
        let fixture = try DaemonFixture()
        try TestFile.write("", to: fixture.folder.file("libcurl.so.4"))
        let damaged = ["LD_LIBRARY_PATH": fixture.folder.path]
        let version = try await ChildProcess.run(
            try BuiltProducts.executable("prsnlctl"), ["--version"], environment: damaged)
        #expect(version.exit == .status(0), "\(version)")
        let pull = try await fixture.run(["--once"], environment: damaged)
        #expect(pull.exit != .status(0))
        let text = pull.stderr.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(text.contains("libcurl, which makes the requests, cannot be loaded"), "\(pull)")
        #expect(text.contains("libcurl.so.4: file too short") && text.contains("libcurl4"), "\(pull)")
    }

    @Test(arguments: ["prsnld", "prsnlctl"])
    func aWrongOptionIsAUsageError(program: String) async throws {
        let ended = try await ChildProcess.run(try BuiltProducts.executable(program), ["--confgi", "x"])
        #expect(ended.exit == .status(2))
        #expect(ended.stderr.contains("--confgi is not an option; did you mean --config?"))
        #expect(ended.stdout.isEmpty)
    }

    @Test func checkConfigPrintsWhatHolds() async throws {
        let fixture = try DaemonFixture()
        try fixture.configure("poll_interval = 90s")
        let ended = try await fixture.run(["--check-config"], environment: ["PRSNL_PAGE_SIZE": "20"])
        #expect(ended.exit == .status(0))
        #expect(ended.stdout.contains("poll_interval              1m30s  [\(fixture.configuration):5]\n"))
        #expect(ended.stdout.contains("page_size                  20  [environment variable PRSNL_PAGE_SIZE]\n"))
        #expect(ended.stdout.contains("connect_timeout            10s  [default]\n"))
        #expect(ended.stdout.contains("api_key_file holds a login token\n"))
        #expect(fixture.server.requestCount == 0)
        #expect(!TestFile.exists(fixture.database))
    }

    @Test func everyProblemOfTheConfigurationIsPrinted() async throws {
        let fixture = try DaemonFixture()
        try fixture.configure("pol_interval = 5m\npage_size = 0")
        for arguments in [["--check-config"], ["--once"], []] {
            let ended = try await fixture.run(arguments)
            #expect(ended.exit == .status(78))
            #expect(ended.stderr.contains("prsnld.conf:5: pol_interval is not a known key"))
            #expect(ended.stderr.contains("prsnld.conf:6: page_size is out of range"))
        }
        #expect(!TestFile.exists(fixture.database))
    }

    @Test func aKeyThatOthersCanReadStopsEverything() async throws {
        let fixture = try DaemonFixture()
        try TestFile.write("not-a-real-key", to: fixture.folder.file("key"), mode: 0o644)
        for arguments in [["--check-config"], ["--once"], []] {
            let ended = try await fixture.run(arguments)
            #expect(ended.exit == .status(78))
            #expect(ended.stderr.contains("can be read or changed by others"))
            #expect(ended.stderr.contains("  next: chmod 600 \(fixture.folder.file("key"))\n"))
            #expect(!ended.stderr.contains("not-a-real-key"))
        }
        #expect(fixture.server.requestCount == 0)
    }

    @Test(arguments: [
        ("missing", nil, "cannot be read: FILE: No such file or directory"),
        (".", nil, "cannot be read: FILE: Is a directory"),
        ("ca.pem", "some text\n", "cannot be used: FILE holds no certificate in PEM (-----BEGIN CERTIFICATE-----)"),
    ])
    func aCAFileThatCannotBeUsedStopsEverything(name: String, content: String?, reason: String) async throws {
        let fixture = try DaemonFixture()
        let path = name == "." ? fixture.folder.path : fixture.folder.file(name)
        if let content { try TestFile.write(content, to: path) }
        try fixture.configure("ca_file = \(path)")
        for arguments in [["--check-config"], ["--once"], []] {
            let ended = try await fixture.run(arguments)
            #expect(ended.exit == .status(78))
            let expected = "\(fixture.configuration):5: ca_file \(reason.replacing("FILE", with: path))"
            // Lines are wrapped.
            let text = ended.stderr.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            #expect(text.contains(expected), "\(ended.stderr)")
        }
        let doctor = try await fixture.control("doctor", "--json")
        let findings = try fixture.decode(DoctorReport.self, doctor).findings
        #expect(findings.contains { $0.level == .failed && $0.found.contains("ca_file cannot be") }, "\(doctor)")
        #expect(!TestFile.exists(fixture.database))
    }

    @Test(.enabled(if: TestFile.exists("/usr/bin/openssl"), "needs openssl(1)"))
    func aCAFileWithCertificatesIsInOrder() async throws {
        let fixture = try DaemonFixture()
        let path = fixture.folder.file("ca.pem")
        let made = try await ChildProcess.run(
            "/usr/bin/openssl",
            ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=a", "-keyout", "/dev/null", "-out", path])
        try #require(made.exit == .status(0), "\(made.stderr)")
        // As bundles are: with a comment, and with more than one.
        let one = try TestFile.text(path)
        try TestFile.write("# An authority\n\(one)\r\n\(one)", to: path)
        try fixture.configure("ca_file = \(path)")
        let ended = try await fixture.run(["--check-config"])
        #expect(ended.exit == .status(0), "\(ended)")
        #expect(ended.stdout.contains("ca_file                    \(path)  [\(fixture.configuration):5]\n"), "\(ended)")
    }

    @Test func withoutAServerThereIsNothingToDo() async throws {
        let fixture = try DaemonFixture()
        try TestFile.write("database = \(fixture.database)\n", to: fixture.configuration)
        let ended = try await fixture.run()
        #expect(ended.exit == .status(78))
        #expect(ended.stderr.contains("No server is configured."))
    }

    @Test func syncNeedsTheDaemon() async throws {
        let fixture = try DaemonFixture()
        let text = try await fixture.control("sync")
        #expect(text.exit == .status(3))
        #expect(text.stderr.contains("No daemon listens at"))
        #expect(text.stdout.isEmpty)
        let json = try await fixture.control("sync", "--json")
        #expect(json.exit == .status(3))
        #expect(try fixture.decode(FailureReport.self, json).error.codeName == "daemon_not_running")
        #expect(json.stderr.isEmpty)
    }

    @Test func aWrongCommandIsJSONToo() async throws {
        let fixture = try DaemonFixture()
        let ended = try await fixture.control("stauts", "--json")
        #expect(ended.exit == .status(2))
        let report = try fixture.decode(FailureReport.self, ended)
        #expect(report.error.codeName == "usage")
        #expect(report.error.nextCommand == "prsnlctl --help")
    }

    /// With a name that a shell would take for two words.
    @Test func whatIsSuggestedNamesTheConfigurationThatWasGiven() async throws {
        let fixture = try DaemonFixture()
        let file = fixture.folder.file("my own.conf")
        func said(_ program: String, _ arguments: String..., lines: String) async throws -> String {
            try TestFile.write(lines, to: file)
            let ended = try await ChildProcess.run(
                try BuiltProducts.executable(program), ["--config", file] + arguments,
                environment: ["HOME": fixture.folder.path, "LANG": "C.UTF-8"])
            return ended.stderr
        }
        let check = "`prsnld --config '\(file)' --check-config`"
        #expect(try await said("prsnld", lines: "log_level = loud").contains(check))
        #expect(try await said("prsnlctl", "status", lines: "log_level = loud").contains(check))
        let complete = "server_url = \(fixture.server.url)\ndatabase = \(fixture.database)\n"
        let login = "  next: prsnlctl --config '\(file)' login --server \(fixture.server.url)\n"
        #expect(try await said("prsnlctl", "status", lines: complete).contains(login))
        let start = "`prsnld --config '\(file)'`"
        #expect(try await said("prsnlctl", "sync", lines: complete).contains(start))
        // The log, too: there is no login.
        let log = try await said("prsnld", "--once", lines: complete)
        #expect(log.contains("`prsnlctl --config '\(file)' login`"), "\(log)")
    }

    /// What another start would not change.
    @Test(arguments: ["damaged", "not a database", "another application's", "of a newer version"])
    func aDatabaseThatCannotBeUsedHasAnExitCodeOfItsOwn(kind: String) async throws {
        let fixture = try DaemonFixture()
        let first = try await fixture.run(["--once"])
        #expect(first.exit == .status(0), "\(first)")
        func change(_ statement: String) async throws {
            let ran = try await ChildProcess.run("/usr/bin/sqlite3", [fixture.database, statement])
            try #require(ran.exit == .status(0), "\(ran)")
        }
        switch kind {
        case "damaged":
            // Not in the write-ahead log any more; then the whole schema is overwritten, behind the header.
            try await change("PRAGMA wal_checkpoint(TRUNCATE)")
            var bytes = try TestFile.read(fixture.database)
            for index in 100..<4_096 { bytes[index] = 0xFF }
            try TestFile.write(bytes, to: fixture.database)
        case "not a database":
            for ending in ["-wal", "-shm"] { unlink(fixture.database + ending) }
            try TestFile.write(String(repeating: "no database ", count: 1_000), to: fixture.database)
        case "another application's": try await change("PRAGMA application_id = 1")
        default: try await change("PRAGMA user_version = 99999")
        }
        let before = try TestFile.read(fixture.database)
        for arguments in [["--once"], []] {
            let ended = try await fixture.run(arguments)
            #expect(ended.exit == .status(65), "\(ended)")
        }
        #expect(try TestFile.read(fixture.database) == before)
    }

    @Test func aCheckForAUnitIsACheckAlone() async throws {
        let path = try BuiltProducts.executable("prsnld")
        for (arguments, words) in [
            (["--instance", "work"], "systemctl start prsnld@work"),
            (["--service", "--once"], "systemctl start prsnld"),
            (["--service", "--config", "x", "--check-config"], "--service and --config both name the configuration"),
            (["--instance", "a/b", "--check-config"], "--instance takes the NAME"),
        ] {
            let ended = try await ChildProcess.run(path, arguments)
            #expect(ended.exit == .status(2) && ended.stderr.contains(words), "\(ended)")
        }
    }

    @Test func withoutACopyStatusSaysHowToMakeOne() async throws {
        let fixture = try DaemonFixture()
        let ended = try await fixture.control("status")
        #expect(ended.exit == .status(1))
        #expect(ended.stderr.contains("There is no copy yet at \(fixture.database)"))
        #expect(ended.stderr.contains("`prsnld --config \(fixture.configuration) --once`"))
    }
}
