import Commands
import DevServer
import Glibc
import PRSNLCore
import TestSupport
import Testing

/// Files that somebody has prepared, before the real program: it ends by itself, with an answer or an error, in little memory.
@Suite struct HostileNumbersTests {
    /// What a program may take here: malloc fails beyond it, and the program with it.
    private static let memory = 256 << 20

    private func control(_ fixture: DaemonFixture, _ arguments: [String]) async throws -> DaemonFixture.Ended {
        try await ChildProcess.run(
            "/usr/bin/prlimit",
            ["--data=\(Self.memory)", try BuiltProducts.executable("prsnlctl"), "--config", fixture.configuration]
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

    /// Each number of the file, at the ends of what 64 bits and what a double hold.
    @Test(arguments: [
        ("9223372036854775807", "9e999"), ("-9223372036854775807 - 1", "-1e308"), ("1000000000000000000", "1e308"),
        ("-1", "-1.0"),
    ])
    func noNumberOfAFileEndsTheProgram(integer: String, real: String) async throws {
        let scene = try await ExportScene()
        let fixture = scene.fixture
        for words in [["note", "a note"], ["capture", "https://example.org/new"], ["edit", "59ec", "--title", "x"]] {
            _ = try await fixture.startControl(words).waitForExit()
        }
        let updates = try await scene.query(
            """
            SELECT 'UPDATE OR IGNORE ' || m.name || ' SET ' || c.name || ' = ' || iif(c.type = 'REAL', '\(real)', '\(integer)') || ';'
            FROM sqlite_schema AS m, pragma_table_info(m.name) AS c
            WHERE m.type = 'table' AND m.sql LIKE 'CREATE TABLE%STRICT%' AND c.type IN ('INTEGER', 'REAL')
            """)
        let triggers = try await scene.query(
            "SELECT 'DROP TRIGGER ' || name || ';' FROM sqlite_schema WHERE type = 'trigger'")
        #expect(updates.split(separator: "\n").count > 40)
        try await scene.change(
            "PRAGMA ignore_check_constraints = ON; \(triggers) \(updates.replacing("\n", with: " "))")
        let ids = try await scene.query("SELECT id FROM item LIMIT 1")
        let commands = [
            ["status"], ["history"], ["queue", "--all"], ["queue"], ["queue", "show", "1"], ["errors"], ["net"],
            ["list"], ["tags"],
            ["search", "Item"], ["search", "--", "-zzz"], ["show", ids], ["account"], ["whoami"], ["doctor"],
            ["export", scene.folder], ["export", "--format", "jsonl", "-"], ["retry-queue"], ["queue", "drop", "1"],
            ["note", "another"], ["delete", ids],
        ]
        for command in commands {
            for form in [[], ["--json"]] where !(command.contains("-") && form == ["--json"]) {
                let ended = try fixture.startControl(command + form)
                guard case .status = try await ended.waitForExit() else {
                    Issue.record("\(command): \(ended.stderr)")
                    continue
                }
            }
        }
        let daemon = try await fixture.run(["--once"])
        guard case .status = daemon.exit else {
            Issue.record("prsnld: \(daemon)")
            return
        }
    }
}
