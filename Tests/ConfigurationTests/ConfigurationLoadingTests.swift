import Control
import Glibc
import PRSNLCore
import TestSupport
import Testing

@testable import Configuration

@Suite struct ConfigurationLoadingTests {
    let folder = TemporaryDirectory()

    private func environment(_ variables: [String: String] = [:]) -> ProcessEnvironment {
        var all = ["HOME": folder.path]
        all.merge(variables) { $1 }
        return ProcessEnvironment(variables: all, workingDirectory: folder.file("cwd"))
    }

    private func load(_ text: String, _ variables: [String: String] = [:]) throws -> LoadedConfiguration {
        try TestFile.write(text, to: folder.file("p.conf"))
        return try LoadedConfiguration.load(file: folder.file("p.conf"), environment: environment(variables))
    }

    private func problems(_ text: String, _ variables: [String: String] = [:]) throws -> [ConfigurationProblem] {
        let failure = thrown(ConfigurationFailure.self) { try load(text, variables) }
        return failure?.problems ?? []
    }

    @Test func anEmptyFileGivesTheDefaults() throws {
        let configuration = try load("").configuration
        #expect(configuration.serverURL == nil)
        #expect(configuration.sync.pollInterval == .seconds(300))
        #expect(configuration.sync.sweepInterval == nil)
        #expect(configuration.sync.pageSize == 100)
        #expect(configuration.logLevel == .info)
        #expect(configuration.network.connectTimeout == .seconds(10))
        #expect(configuration.network.stallTimeout == .seconds(30))
        #expect(configuration.network.totalTimeout == .seconds(60))
        #expect(configuration.network.maximumAnswerSize == 16 << 20)
        #expect(!configuration.network.allowInsecureHTTP)
        #expect(configuration.network.proxy == nil)
        #expect(configuration.database == folder.file(".local/state/prsnld/prsnl.sqlite"))
        #expect(configuration.controlSocket == folder.file(".local/state/prsnld/control.sock"))
    }

    @Test func everyKeyIsReadFromTheFile() throws {
        let loaded = try load(
            """
            \u{FEFF}# comment
              server_url=https://prsnl.example.org/  # behind
            api_key_file = ~/key#1\r
            anonymous = yes
            database = db/p.sqlite
            control_socket = ./c.sock
            poll_interval = 10s
            sweep_interval = 12h
            page_size = 50
            lookup_interval = 5s
            resend_unknown = yes
            probe = icmp
            group_may_write = yes
            log_level = Debug
            proxy = http://user:hidden@proxy.example.org:3128
            allow_insecure_http = on
            ca_file = /ca.pem
            connect_timeout = 1s
            stall_timeout = 2s
            request_timeout = 3s
            max_answer_size = 1MiB
            max_database_size = 2GiB
            texts = no
            search_index = no
            text_max_size = 4M
            former_texts_max_size = 1M
            allow_network_file_system = yes
            """)
        let configuration = loaded.configuration
        #expect(configuration.serverURL?.text == "https://prsnl.example.org")
        #expect(configuration.apiKeyFile == folder.file("key#1"))
        #expect(configuration.sync.anonymous)
        #expect(configuration.database == folder.file("cwd/db/p.sqlite"))
        #expect(configuration.controlSocket == folder.file("cwd/c.sock"))
        #expect(configuration.sync.pollInterval == .seconds(10))
        #expect(configuration.sync.sweepInterval == .seconds(12 * 3_600))
        #expect(configuration.sync.pageSize == 50)
        #expect(configuration.sync.lookupInterval == .seconds(5))
        #expect(configuration.sync.resendUnknown)
        #expect(configuration.sync.probe == .icmp)
        #expect(!configuration.sync.texts)
        #expect(!configuration.sync.searchIndex)
        #expect(configuration.sync.textMaxSize == 4 << 20)
        #expect(configuration.groupMayWrite)
        #expect(configuration.logLevel == .debug)
        #expect(configuration.network.proxy == "http://user:hidden@proxy.example.org:3128")
        #expect(configuration.network.allowInsecureHTTP)
        #expect(configuration.network.caFile == "/ca.pem")
        #expect(configuration.network.connectTimeout == .seconds(1))
        #expect(configuration.network.stallTimeout == .seconds(2))
        #expect(configuration.network.totalTimeout == .seconds(3))
        #expect(configuration.network.maximumAnswerSize == 1 << 20)
        #expect(configuration.maximumDatabaseSize == 2 << 30)
        #expect(configuration.sync.formerTextsMaxSize == 1 << 20)
        #expect(configuration.allowsNetworkFileSystem)
        for key in ConfigurationKey.all {
            guard case .file(folder.file("p.conf"), let line) = loaded.origin(of: key), line > 1 else {
                Issue.record("\(key.name) is not from the file")
                continue
            }
        }
        let shown = ConfigurationKey.all.compactMap { $0.value(configuration) }.joined(separator: " ")
        #expect(!shown.contains("hidden"))
        #expect(shown.contains("http://***@proxy.example.org:3128"))
    }

    @Test func theEnvironmentStandsAboveTheFile() throws {
        let loaded = try load(
            "page_size = 50\npoll_interval = 1m", ["PRSNL_PAGE_SIZE": "20", "PRSNL_POLL_INTERVAL": ""])
        #expect(loaded.configuration.sync.pageSize == 20)
        #expect(loaded.configuration.sync.pollInterval == .seconds(60))
        #expect(loaded.origins["page_size"] == .environment("PRSNL_PAGE_SIZE"))
    }

    @Test func quotationMarksAroundAValueDoNotBelongToIt() throws {
        let loaded = try load(
            """
            server_url = "http://127.0.0.1:1" # here
            database = '/srv/a#b/adas copy.sqlite'
            """, ["PRSNL_CONTROL_SOCKET": "\"/run/a.sock\""])
        #expect(loaded.configuration.serverURL?.text == "http://127.0.0.1:1")
        #expect(loaded.configuration.database == "/srv/a#b/adas copy.sqlite")
        #expect(loaded.configuration.controlSocket == "/run/a.sock")
        #expect(try load("database = /srv/ada's/copy.sqlite").configuration.database == "/srv/ada's/copy.sqlite")
    }

    @Test(arguments: [
        #""/srv/a"#, #"/srv/a""#, #"'/srv/a""#, #""/srv/"a""#, #"""#, "\"a\" \"b\"", #"'a' b'"#, "'/srv/a #b'",
    ])
    func anUnmatchedQuotationMarkIsAnError(value: String) throws {
        let found = try problems("database = \(value)")
        #expect(found.count == 1)
        #expect(found.first?.reason.contains("quotation mark") == true)
    }

    @Test func allProblemsAreReportedWithPlaceReasonAndWhatIsAllowed() throws {
        let found = try problems(
            """
            pol_interval = 5m
            page_size = 1000
            what is this
            = 5
            page_size = 7
            log_level = loud
            connect_timeout = soon
            allow_insecure_http = maybe
            max_answer_size = 1
            server_url = prsnl.example.org
            request_timeout =
            colour = blue
            """, ["PRSNL_STALL_TIMEOUT": "0"])
        let path = folder.file("p.conf")
        #expect(
            found.map(\.origin) == (1...12).map { .file(path, line: $0) } + [.environment("PRSNL_STALL_TIMEOUT")])
        #expect(found[0].description == "\(path):1: pol_interval is not a known key; did you mean poll_interval?")
        #expect(found[1].description == "\(path):2: page_size is out of range: \"1000\" (allowed: 1 to 100)")
        #expect(found[2].description == "\(path):3: this line is neither `key = value` nor a comment (#)")
        #expect(found[3].description == "\(path):4: this line has no key before the =")
        #expect(found[4].description == "\(path):5: page_size is set twice: it stands in line 2 already")
        #expect(found[5].allowed == "error, warning, notice, info, debug")
        #expect(found[6].description.contains("is not a duration (300, 5m, 1h30m): \"soon\" (allowed: 100ms to 10m)"))
        #expect(found[7].reason == "is neither yes nor no: \"maybe\"")
        #expect(found[8].reason == "is out of range: \"1\"")
        #expect(found[9].code == .badServerURL)
        #expect(found[10].reason == "has no value")
        #expect(found[11].nearest == nil)
        #expect(found[11].allowed?.contains("server_url, api_key_file") == true)
        #expect(
            found[12].description.hasPrefix("environment variable PRSNL_STALL_TIMEOUT: stall_timeout is out of range"))
    }

    @Test func theErrorOfSeveralProblemsHasALineForEach() throws {
        let failure = thrown(ConfigurationFailure.self) { try load("a = 1\nserver_url = x") }
        let error = try #require(failure).userFacing
        #expect(error.code == .configInvalid)
        #expect(error.message.split(separator: "\n").count == 2)
        let one = thrown(ConfigurationFailure.self) { try load("server_url = x") }
        #expect(one?.userFacing.code == .badServerURL)
    }

    @Test func textThatIsNotUTF8IsNamedByItsLine() throws {
        try TestFile.write(Array("page_size = 5\n".utf8) + [0xFF, 0xFE], to: folder.file("p.conf"))
        let failure = thrown(ConfigurationFailure.self) {
            try LoadedConfiguration.load(file: folder.file("p.conf"), environment: environment())
        }
        #expect(failure?.problems.first?.description == "\(folder.file("p.conf")):2: this line is not UTF-8")
    }

    @Test func plainHTTPToAnotherMachineNeedsConsent() throws {
        let found = try problems("server_url = http://prsnl.example.org")
        #expect(found.map(\.code) == [.insecureServerURL])
        #expect(try load("server_url = http://prsnl.example.org\nallow_insecure_http = yes").warnings.isEmpty)
        #expect(try load("server_url = http://127.0.0.1:8000").configuration.serverURL?.isLoopback == true)
    }

    @Test func aFileThatIsNamedMustExistAndBeReadable() throws {
        for path in [folder.file("nowhere.conf"), folder.path] {
            let failure = thrown(ConfigurationFailure.self) {
                try LoadedConfiguration.load(file: path, environment: environment())
            }
            #expect(failure?.userFacing.code == .configUnreadable)
        }
    }

    @Test func aPersonsOwnFileIsFoundWithoutBeingNamed() throws {
        let place = folder.file("prsnld/prsnld.conf")
        #expect(Folder.make(folder.file("prsnld")) == nil)
        try TestFile.write("page_size = 9", to: place)
        let loaded = try LoadedConfiguration.load(file: nil, environment: environment(["XDG_CONFIG_HOME": folder.path]))
        #expect(loaded.file == place)
        #expect(loaded.configuration.sync.pageSize == 9)
        #expect(loaded.isOwn)
        // Whatever else runs on the machine.
        #expect(ClientPaths(loaded) { $0.hasPrefix("/run/") || $0.hasPrefix("/var/") }.database.hasPrefix(folder.path))
        #expect(
            DefaultPaths.configurationFiles(environment()) == [
                folder.file(".config/prsnld/prsnld.conf"), "/etc/prsnld/prsnld.conf",
            ])
    }

    @Test func aPersonsOwnCanBeMeantBeforeItIsThere() throws {
        let loaded = try LoadedConfiguration.load(file: nil, environment: environment(), onlyOwn: true)
        #expect(loaded.isOwn && loaded.file == nil)
        let paths = ClientPaths(loaded) { _ in true }
        #expect(paths.database == folder.file(".local/state/prsnld/prsnl.sqlite"))
    }

    @Test(.enabled(if: OtherUser.canBeMade, "needs root"))
    func whatRootMakesAboveAFolderEverybodyGetsThrough() throws {
        #expect(Folder.make(folder.file("a/b/c")) == nil)
        let modes = ["a", "a/b", "a/b/c"].map { name in
            var status = stat()
            stat(folder.file(name), &status)
            return status.st_mode & 0o777
        }
        #expect(modes == [0o755, 0o755, 0o700])
    }

    @Test(arguments: [
        ("/var/lib/prsnld", true), ("/var/lib/prsnld-instances/work", true), ("/var/lib/prsnld-instances", false),
        ("/var/lib/prsnld-instances/..", false), ("/home/ada/.local/state/prsnld", false), ("", false),
    ])
    func foldersOfTheUnitsAreKnown(folder: String, isMachines: Bool) {
        #expect(DefaultPaths.isMachines(folder) == isMachines)
    }

    @Test func directoriesOfSystemdStandAboveThoseOfXDG() throws {
        let variables = [
            "STATE_DIRECTORY": "/var/lib/prsnld:/var/lib/other", "RUNTIME_DIRECTORY": "/run/prsnld",
            "XDG_STATE_HOME": "/xdg", "XDG_RUNTIME_DIR": "/xdg-run",
        ]
        let system = try load("", variables).configuration
        #expect(system.database == "/var/lib/prsnld/prsnl.sqlite")
        #expect(system.controlSocket == "/run/prsnld/control.sock")
        let person = try load("", ["XDG_STATE_HOME": "/xdg", "XDG_RUNTIME_DIR": "/xdg-run"]).configuration
        #expect(person.database == "/xdg/prsnld/prsnl.sqlite")
        #expect(person.controlSocket == "/xdg-run/prsnld/control.sock")
        #expect(try load("database = /data/p.sqlite").configuration.controlSocket == "/data/control.sock")
    }

    @Test func aSocketPathThatIsTooLongIsRefused() throws {
        let fits = "/" + String(repeating: "s", count: 106)
        #expect(try load("control_socket = \(fits)").configuration.controlSocket == fits)
        let found = try problems("control_socket = \(fits)s")
        #expect(found.first?.reason == "is too long for a socket: 108 bytes, of which 107 are allowed")
    }

    @Test func withoutAHomeDirectoryTheDatabaseMustBeNamed() throws {
        try TestFile.write("", to: folder.file("p.conf"))
        let failure = thrown(ConfigurationFailure.self) {
            try LoadedConfiguration.load(file: folder.file("p.conf"), environment: ProcessEnvironment())
        }
        #expect(failure?.problems.first?.key == "database")
    }

    @Test func aVariableThatIsNearlyOursIsWarnedAbout() throws {
        let loaded = try load("", ["PRSNL_SERVR_URL": "x", "PRSNL_TEST_SEED": "1"])
        #expect(
            loaded.warnings == ["environment variable PRSNL_SERVR_URL is not known; did you mean PRSNL_SERVER_URL?"])
    }

    @Test func prsnlctlLooksForTheSystemsDaemonWhereNothingOfOnesOwnIs() throws {
        let nothing = try load("")
        let own = nothing.configuration
        #expect(ClientPaths(nothing) { _ in false }.controlSocket == own.controlSocket)
        let system = ClientPaths(nothing) { $0.hasPrefix("/run/") || $0.hasPrefix("/var/") }
        #expect(
            system == ClientPaths(controlSocket: "/run/prsnld/control.sock", database: "/var/lib/prsnld/prsnl.sqlite"))
        #expect(ClientPaths(nothing, isRoot: false) { _ in true }.database == own.database)
        // The one that a person may mean, too.
        #expect(ClientPaths(nothing, isRoot: false) { _ in true }.otherSocket == "/run/prsnld/control.sock")
        #expect(ClientPaths(nothing, isRoot: false) { $0.hasPrefix("/run/") }.otherSocket == nil)
        // Root's is the machine's, once that has a unit, also before its folders are there.
        #expect(ClientPaths(nothing, isRoot: true) { $0.hasSuffix("prsnld.service") }.database.hasPrefix("/var/lib/"))
        #expect(ClientPaths(nothing, isRoot: true) { _ in false }.database == own.database)
        #expect(ClientPaths(try load("database = /d\ncontrol_socket = /s")) { _ in false }.controlSocket == "/s")
    }

    @Test(arguments: [
        ("/etc/prsnld/work.conf", "/run/prsnld-instances/work/control.sock"),
        ("/etc/prsnld/a.b.conf", "/run/prsnld-instances/a.b/control.sock"),
        ("/etc/prsnld/prsnld.conf", "/run/prsnld/control.sock"),
        ("/etc/prsnld/../x.conf", "/run/prsnld/control.sock"),
        ("/etc/prsnld/.conf", "/run/prsnld/control.sock"),
    ])
    func prsnlctlFindsTheInstanceByItsConfiguration(file: String, socket: String) throws {
        var loaded = try load("")
        loaded.file = file
        #expect(ClientPaths(loaded) { $0.hasPrefix("/run/") }.controlSocket == socket)
        loaded.origins["control_socket"] = .file(file, line: 1)
        loaded.configuration.controlSocket = "/s"
        #expect(ClientPaths(loaded) { _ in true }.controlSocket == "/s")
    }
}

extension LoadedConfiguration {
    /// - Throws: `ConfigurationFailure` with every problem that there is.
    fileprivate static func load(
        file: String?, environment: ProcessEnvironment, onlyOwn: Bool = false
    ) throws(ConfigurationFailure) -> LoadedConfiguration {
        let (loaded, problems) = examine(file: file, environment: environment, onlyOwn: onlyOwn)
        guard problems.isEmpty else { throw ConfigurationFailure(problems: problems) }
        return loaded
    }
}
