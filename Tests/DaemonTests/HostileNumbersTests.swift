import Commands
import Console
import DevServer
import Glibc
import PRSNLCore
import Requests
import TestSupport
import Testing

/// Prepared files, read by the real program: it ends by itself, with an answer or an error, in little memory.
@Suite struct HostileNumbersTests {
    /// What a program may take here: malloc fails beyond it, and the program with it.
    private static let memory = 256 << 20

    private func control(
        _ fixture: DaemonFixture, _ arguments: [String], memory: Int = memory
    ) async throws -> DaemonFixture.Ended {
        try await ChildProcess.run(
            "/usr/bin/prlimit",
            ["--data=\(memory)", try BuiltProducts.executable("prsnlctl"), "--config", fixture.configuration]
                + arguments,
            environment: ["HOME": fixture.folder.path, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"])
    }

    @Test(arguments: ["i", "9223372036854775807 - i"])
    func anExportOfATimelineWithoutAnEndIsGivenUp(id: String) async throws {
        let scene = try await ExportScene()
        let columns = try await scene.query("SELECT group_concat(name) FROM pragma_table_info('timeline')")
        let values = columns.split(separator: ",").map { column in
            switch column {
            case "id": "CAST(\(id) AS TEXT) AS id"
            case "created_at": "'2026-11-02T10:00:01.000000Z' AS created_at"
            default: "NULL AS \(column)"
            }
        }
        try await scene.change(
            """
            DROP VIEW timeline; CREATE VIEW timeline AS
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT \(values.joined(separator: ", ")) FROM n;
            """)
        for command in [
            ["export", scene.folder], ["list", "--limit", "1000000"], ["tags"], ["search", "--", "-zzz"],
        ] {
            let ended = try await control(scene.fixture, command)
            guard case .status(let code) = ended.exit else {
                Issue.record("\(command): \(ended)")
                continue
            }
            if command[0] == "export" { #expect(code != 0 && ended.stderr.contains("prsnlctl: "), "\(ended)") }
        }
    }

    @Test func aLargeValueInEveryRowIsNotTakenTwentyTimes() async throws {
        let scene = try await ExportScene()
        let columns = try await scene.query("SELECT group_concat(name) FROM pragma_table_info('timeline')")
        let values = columns.split(separator: ",").map { column in
            switch column {
            case "id": "CAST(i AS TEXT) AS id"
            case "created_at": "'2026-11-02T10:00:01.000000Z' AS created_at"
            default: "hex(zeroblob(10000000)) AS \(column)"
            }
        }
        try await scene.change(
            """
            DROP VIEW timeline; CREATE VIEW timeline AS
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100) SELECT \(values.joined(separator: ", ")) FROM n;
            UPDATE search_state SET through = through - 1;
            """)
        for command in [["list", "--limit", "100"], ["export", scene.folder]] {
            let ended = try await control(scene.fixture, command)
            guard case .status = ended.exit else {
                Issue.record("\(command): \(ended.exit) \(ended.stderr)")
                continue
            }
        }
    }

    @Test func aDocumentNumberFarAboveAllOthersTakesNoMemory() async throws {
        let scene = try await ExportScene()
        try await scene.change("INSERT INTO search_index (rowid, title) VALUES (4294967000, 'zzz')")
        let ended = try await control(scene.fixture, ["search", "--ids", "--", "-zzz"])
        #expect(ended.exit == .status(0) && ended.stdout.split(separator: "\n").count == 6, "\(ended)")
    }

    // MARK: Memory

    /// One state of one item at a time, and not all rows and the state of each.
    @Test func aSearchAmongManyChangesTakesLittleMemory() async throws {
        let scene = try await ExportScene()
        try await scene.change(
            """
            WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 60000)
            INSERT INTO change_log (seq, at, item_id, kind, origin, old, new)
                SELECT i, '2026-01-01T00:00:00.000000Z', 'item ' || i % 50000, 'edited', 'server',
                    json_object('created_at', '2026-01-01T00:00:00.000000Z', 'title', 'Item', 'summary', hex(zeroblob(500))),
                    json_object('summary', hex(zeroblob(500))) FROM n;
            """)
        let ended = try await control(scene.fixture, ["changes", "--match", "Item", "--json"], memory: 48 << 20)
        #expect(ended.exit == .status(0), "\(ended.stderr)")
    }

    /// Neither the lines of a text nor their words stand in a list.
    @Test(arguments: ["char(10)", "'a '", "'word' || char(10)"])
    func aTextOfManyLinesIsShownInLittleMemory(part: String) async throws {
        let scene = try await ExportScene()
        try await scene.change(
            "UPDATE item_body SET content = replace(hex(zeroblob(2000000)), '00', \(part)) || 'end'")
        let id = try await scene.query("SELECT id FROM item LIMIT 1")
        for options in [[], ["--json"]] {
            let ended = try await control(scene.fixture, ["show", id] + options, memory: 96 << 20)
            #expect(ended.exit == .status(0) && ended.stdout.contains("end"), "\(ended.exit) \(ended.stderr)")
        }
    }

    // MARK: Every column of every table

    private static let integers = [
        "-9223372036854775807 - 1", "9223372036854775807", "1000000000000000000", "4294967296", "2147483648", "-1", "0",
    ]
    private static let reals = ["9e999", "-9e999", "1e308", "-1e308", "-1.0"]
    /// As SQL: what a terminal obeys, what is no JSON or other JSON, times at the ends, numbers, commands, bytes that are no UTF-8.
    private static let words = [
        "'w' || char(27) || ']0;owned' || char(7, 155) || '2J' || char(8238, 10, 13) || 'x'",
        "'{\"title\":\"' || char(27) || '\"}'",
        "'a' || char(0) || 'b'", "''", "'['", "'[1,{\"a\":[]},null]'", "'{\"title\":7,\"bytes\":-1,\"tags\":\"x\"}'",
        "'\"x\"'", "'null'",
        "'9999-12-31T23:59:59.999999Z'", "'0000-01-01T00:00:00.000000Z'", "'-9223372036854775808'",
        "'99999999999999999999'", "'`sudo -u`'", "CAST(x'ff80c027' AS TEXT)", "printf('%.70000c', 'y')", "'queued'",
        "'edit'",
    ]

    /// A copy with rows in as many tables as can be, and a reader's place in it.
    private static func scene() async throws -> ExportScene {
        let scene = try await ExportScene()
        for words in [
            ["changes", "--cursor", "place"], ["note", "a note"], ["capture", "https://example.org/new"],
            ["edit", "59ec", "--title", "x"],
        ] {
            _ = try await scene.fixture.startControl(words).waitForExit()
        }
        try TestFile.write("https://example.org/imported\n", to: scene.fixture.folder.file("links.txt"))
        try await scene.change(
            """
            INSERT INTO recurring_error (code, endpoint, message, first_at, last_at, count)
                SELECT 'server_error', 'x', 'y', '2026-01-01T00:00:00.000000Z', '2026-01-01T00:00:00.000000Z', 3;
            """)
        return scene
    }

    /// Without what would wait for a server, or for a person.
    private static func commands(_ scene: ExportScene, _ id: String) -> [[String]] {
        readingCommands(item: id, folder: scene.folder) + [
            ["queue", "--all"], ["list", "--deleted"], ["search", "--", "-zzz"], ["show", id, "--earlier", "1"],
            ["changes", "--since", "0"], ["changes", "--since", "7d"], ["changes", "--cursor", "place"],
            ["changes", "--match", "Item"], ["changes", "--reread"], ["account"], ["whoami"], ["doctor"],
            ["export", "--format", "jsonl", "-"], ["export", "--format", "html", scene.file("pages")],
            ["export", "--format", "epub", "--since", "last", scene.file("book.epub")],
            ["export", "--format", "atom", scene.file("feed.atom")],
            ["export", "--format", "csv", scene.file("links.csv")],
            ["mcp"], ["verify"], ["sync"],
            ["retry-queue"], ["queue", "drop", "1"], ["undo"], ["note", "another"],
            ["capture", "https://example.org/2"], ["import", scene.fixture.folder.file("links.txt")],
            ["edit", id, "--title", "z"], ["tag", id, "+a"], ["restore", id], ["delete", id, "--yes"],
        ]
    }

    /// `open` starts a browser, a login needs a person, and `browser-host` an extension.
    private static let others: Set = ["open", "login", "logout", "browser-host"]

    /// Ends by itself, prints nothing that a terminal obeys, and JSON where it was asked for.
    private static func check(_ scene: ExportScene, _ command: [String], json: Bool, after what: String) async throws {
        let ended = try await scene.fixture.control(command + (json ? ["--json"] : []))
        guard case .status = ended.exit else {
            Issue.record("\(command) after \(what): \(ended.exit) \(ended.stderr.suffix(2_000))")
            return
        }
        let obeyed = (ended.stdout + ended.stderr).unicodeScalars.first { $0 != "\n" && SafeText.isHarmful($0) }
        #expect(obeyed == nil, "\(command) \(json ? "--json" : "") after \(what)")
        guard json || command.contains("jsonl") else { return }
        let documents =
            command[0] == "changes" || command.contains("-")
            ? ended.stdout.split(separator: "\n").map(String.init) : [ended.stdout]
        for document in documents where !document.isEmpty {
            #expect(JSONText.oneLine(Array(document.utf8)) != nil, "\(command) after \(what): \(document.prefix(500))")
        }
    }

    private static func checkAll(_ scene: ExportScene, _ id: String, after what: String) async throws {
        for command in commands(scene, id) {
            for json in [false, true] where !(json && (command.contains("-") || command == ["mcp"])) {
                try await check(scene, command, json: json, after: what)
            }
        }
        let daemon = try await scene.fixture.run(["--once"])
        guard case .status = daemon.exit else {
            Issue.record("prsnld after \(what): \(daemon)")
            return
        }
    }

    /// TABLE, COLUMN and TYPE of each, in all tables that SQLite does not make itself, and in its list of numbers.
    private static func columns(_ scene: ExportScene) async throws -> [(table: String, name: String, type: String)] {
        let rows = try await scene.query(
            """
            SELECT m.name, c.name, iif(m.name = 'sqlite_sequence' AND c.name = 'seq', 'INTEGER', c.type)
            FROM sqlite_schema AS m, pragma_table_info(m.name) AS c
            WHERE m.type = 'table' AND (m.sql LIKE 'CREATE TABLE%STRICT%' OR m.name = 'sqlite_sequence')
            """)
        return rows.split(separator: "\n").map {
            $0.split(separator: "|", omittingEmptySubsequences: false).map(String.init)
        }
        .map { ($0[0], $0[1], $0[2]) }.filter { !$0.2.isEmpty }
    }

    private static func set(_ scene: ExportScene, _ updates: [String]) async throws {
        let triggers = try await scene.query(
            "SELECT 'DROP TRIGGER ' || name || ';' FROM sqlite_schema WHERE type = 'trigger'")
        try await scene.change(
            "PRAGMA ignore_check_constraints = ON; \(triggers) \(updates.map { "UPDATE OR IGNORE \($0);" }.joined(separator: " "))"
        )
    }

    /// All numbers at once.
    @Test(arguments: [("9223372036854775807", "9e999"), ("-9223372036854775807 - 1", "-1e308")])
    func noNumberOfAFileEndsTheProgram(integer: String, real: String) async throws {
        let scene = try await Self.scene()
        let numbers = try await Self.columns(scene).filter { $0.type != "TEXT" }
        #expect(numbers.count > 50)
        try await Self.set(scene, numbers.map { "\($0.table) SET \($0.name) = \($0.type == "REAL" ? real : integer)" })
        try await Self.checkAll(scene, try await scene.query("SELECT id FROM item LIMIT 1"), after: integer)
    }

    /// One column or some, so that the others lead to it.
    @Test func noValueOfAColumnEndsTheProgram() async throws {
        var random = SeededRandom()
        let named = Set(Self.commands(try await ExportScene(1), "").map { $0[0] }).union(Self.others)
        #expect(named == Set(CommandTable.prsnlctl.commands.map { String($0.name.prefix { $0 != " " }) }))
        for _ in 0..<LongSearch.cases(2, of: 400) {
            let scene = try await Self.scene()
            let id = try await scene.query("SELECT id FROM item LIMIT 1")
            let columns = try await Self.columns(scene)
            let updates = (0..<Int.random(in: 1...6, using: &random)).compactMap { _ -> String? in
                guard let column = columns.randomElement(using: &random) else { return nil }
                let values = column.type == "TEXT" ? Self.words : column.type == "REAL" ? Self.reals : Self.integers
                return values.randomElement(using: &random).map { "\(column.table) SET \(column.name) = \($0)" }
            }
            try await Self.set(scene, updates)
            try await Self.checkAll(scene, id, after: "\(updates)")
        }
    }

    /// The same of a table as a whole, with words.
    @Test func noWordOfAFileIsObeyedByATerminal() async throws {
        let scene = try await Self.scene()
        let id = try await scene.query("SELECT id FROM item LIMIT 1")
        let words = try await Self.columns(scene).filter {
            $0.type == "TEXT" && $0.name != "id" && !$0.name.hasSuffix("_id")
        }
        #expect(words.count > 80)
        try await Self.set(scene, words.map { "\($0.table) SET \($0.name) = \(Self.words[0])" })
        try await Self.checkAll(scene, id, after: "words")
    }
}
