import Commands
import Glibc
import PRSNLCore
import Requests
import Store
import TestSupport
import Testing

/// What must not happen to an export: links, hostile items, kills, users without rights, a full disk.
@Suite struct ExportSafetyTests {
    // MARK: Kills

    /// Everything that a run does: new files, changed ones, with and without a person's edits, and files of deleted items.
    private func prepare(_ scene: ExportScene) async throws {
        try await scene.change("UPDATE item SET deleted_at = '2026-01-01T00:00:00.000000Z' WHERE rowid > 4")
        _ = try await scene.export()
        for number in 1...2 { try scene.append("mine \(number)\n", to: "2026-11-02 Item \(number).md") }
        try TestFile.write(
            try scene.text("2026-11-02 Item 3.md").replacing("Text 3", with: "Mine 3"),
            to: scene.file("2026-11-02 Item 3.md"))
        try await scene.change(
            """
            UPDATE item SET deleted_at = NULL WHERE rowid > 4;
            UPDATE item SET title = 'Item 5' WHERE rowid = 6;
            UPDATE item SET updated_at = '2026-11-09T10:00:00.000000Z', title = title || '!' WHERE rowid IN (1, 3);
            UPDATE item SET deleted_at = '2026-11-05T00:00:00.000000Z' WHERE rowid IN (2, 4);
            """)
    }

    @Test(
        arguments: [
            CrashPoint.beforeExportSync, .beforeExportRename, .afterExportRename, .afterExportRemoval,
        ])
    func aRunThatWasKilledIsGoneOnWith(point: CrashPoint) async throws {
        let whole = try await ExportScene()
        try await prepare(whole)
        #expect(try await whole.export().exit == .status(0))
        let expected = try whole.tree()
        #expect(expected.count == 6, "\(expected.keys.sorted())")
        var kills = 0
        for time in 1...6 {
            // Twice in a row at the same place, too: what is in doubt stays in doubt.
            for repetition in 1...2 {
                let fresh = try await ExportScene()
                try await prepare(fresh)
                for _ in 1...repetition {
                    let killed = try await fresh.export(crash: "\(point.rawValue):\(time)")
                    if killed.exit == .signal(SIGKILL) { kills += 1 }
                }
                let ended = try await fresh.export()
                #expect(ended.exit == .status(0), "\(ended)")
                let tree = try fresh.tree()
                #expect(tree.keys.sorted() == expected.keys.sorted(), "\(point) \(time)")
                for (name, bytes) in tree {
                    #expect(expected[name].map(Self.text) == Self.text(bytes), "\(point) \(time) \(name)")
                }
                let marks = try fresh.marks()
                #expect(marks.keys.contains { $0.contains("/writing") } == false)
                _ = try await fresh.export()
                #expect(try fresh.marks() == marks)
            }
        }
        #expect(kills > 0, "\(point) is never reached")
    }

    /// Without the mark of the copy, which is of its server's port.
    private static func text(_ bytes: [UInt8]) -> String {
        String(decoding: bytes, as: UTF8.self).replacing(/prsnld: "......../, with: "prsnld: \"")
    }

    // MARK: Links

    @Test func noLinkLeadsOutOfTheFolder() async throws {
        let scene = try await ExportScene()
        let outside = scene.fixture.folder.file("outside")
        try TestFile.write("outside\n", to: outside)
        guard mkdir(scene.folder, 0o700) == 0 else { throw WaitedInVain("mkdir") }
        // At a name that is to be written, and at one that was.
        #expect(symlink(outside, scene.file("2026-11-02 Item 1.md")) == 0)
        #expect(try await scene.export().exit == .status(0))
        try TestFile.remove(scene.file("2026-11-02 Item 2.md"))
        #expect(symlink(outside, scene.file("2026-11-02 Item 2.md")) == 0)
        try await scene.change("UPDATE item SET title = title || '?'")
        #expect(try await scene.export().exit == .status(0))
        #expect(try TestFile.text(outside) == "outside\n")
        #expect(try scene.names().count == 8)
        #expect(try scene.text("2026-11-02 Item 1.md") == "outside\n")
        // A deleted item, whose file is to be put where a link stands.
        let folder = scene.fixture.folder.file("elsewhere")
        guard mkdir(folder, 0o700) == 0 else { throw WaitedInVain("mkdir") }
        #expect(symlink(folder, scene.file(".deleted")) == 0)
        try scene.append("mine\n", to: "2026-11-02 Item 4.md")
        try await scene.change("UPDATE item SET deleted_at = '2026-11-05T00:00:00.000000Z' WHERE rowid = 4")
        let refused = try await scene.export()
        #expect(refused.exit == .status(1))
        #expect(refused.stderr.contains(".deleted"), "\(refused.stderr)")
        #expect(rmdir(folder) == 0, "something was put there")
        #expect(TestFile.exists(scene.file("2026-11-02 Item 4.md")))
    }

    @Test func theExportsOwnFolderIsNoLink() async throws {
        let scene = try await ExportScene()
        _ = try await scene.export()
        let inner = scene.fixture.folder.file("inner")
        #expect(rename(scene.file(".prsnld-export"), inner) == 0 && symlink(inner, scene.file(".prsnld-export")) == 0)
        let refused = try await scene.export()
        // Lines break at the width of a terminal, and the folder's name is long or short.
        let words = refused.stderr.split { $0.isWhitespace }.joined(separator: " ")
        #expect(refused.exit == .status(1) && words.contains("symbolic link"), "\(refused)")
    }

    // MARK: Hostile items

    @Test func foreignFilesAndFoldersAreNotTouched() async throws {
        let scene = try await ExportScene()
        guard mkdir(scene.folder, 0o700) == 0 else { throw WaitedInVain("mkdir") }
        // Also where only a file system that ignores case would see a conflict.
        try TestFile.write("mine\n", to: scene.file("2026-11-02 ITEM 1.MD"))
        guard mkdir(scene.file("2026-11-02 Item 2.md"), 0o700) == 0 else { throw WaitedInVain("mkdir") }
        #expect(try await scene.report().written == 6)
        #expect(try scene.text("2026-11-02 ITEM 1.MD") == "mine\n")
        let id = try await scene.query("SELECT substr(id, 1, 8) FROM item WHERE rowid = 2")
        #expect(try scene.names().contains("2026-11-02 Item 2 \(id).md"))
        #expect(try scene.names().count == 8)
    }

    @Test func whatAnItemSaysIsReadAlikeByOtherParsers() async throws {
        let scene = try await ExportScene()
        try await scene.change(
            """
            UPDATE item SET title = '../../etc/passwd' || char(0, 10, 27, 127, 133, 8232, 65279, 65534) || '"\\: #' || char(128512),
                url = '---' || char(10) || 'id: "x"', type = '!!python/object:x', platform = '{a: [', status = 'no',
                tags = '["a b","yes","#x","a\\u0001b","é"]' WHERE rowid = 1;
            UPDATE item SET id = '../' || char(9, 10) || '\\x', title = NULL, type = NULL WHERE rowid = 2;
            UPDATE item SET title = '.' WHERE rowid = 3;
            UPDATE item SET title = (SELECT group_concat(value, '') FROM (SELECT 'é' AS value FROM item_body, item_body, item_body, item_body))
                WHERE rowid = 4;
            UPDATE item SET title = 'Same', created_at = '2026-11-02T10:00:05.000000Z' WHERE rowid IN (5, 6);
            UPDATE item_body SET item_id = (SELECT id FROM item WHERE rowid = item_body.rowid),
                metadata = '{"author":"A: \\u2028B","published_date":"last week"}';
            """)
        #expect(try await scene.report().written == 6)
        // PyYAML in Python, and libyaml, which is another parser.
        let program = """
            import json, os, sqlite3, sys, yaml
            rows = {row["id"]: row for row in map(dict, RowsOf(sys.argv[1]))}
            for loader in (yaml.SafeLoader, yaml.CSafeLoader):
                seen = set()
                for name in sorted(os.listdir(sys.argv[2])):
                    if name.startswith("."): continue
                    text = open(os.path.join(sys.argv[2], name), "rb").read().decode("utf-8")
                    assert text.startswith("---\\n")
                    head = yaml.load(text[4:text.index("\\n---\\n", 4)], loader)
                    row = rows[head["id"]]
                    assert [len(word) for word in head.pop("prsnld").split()] == [8, 32, 32]
                    seen.add(head["id"])
                    expected = {"id": row["id"], "date": row["created_at"], "lastmod": row["updated_at"],
                                "title": row["title"], "item_type": row["type"], "source": row["url"],
                                "platform": row["platform"], "author": "A: \\u2028B", "published_text": "last week",
                                "status": None if row["status"] == "completed" else row["status"],
                                "tags": [t.replace(" ", "-") for t in json.loads(row["tags"] or "[]")] or None}
                    assert head == {k: v for k, v in expected.items() if v is not None}, (head, expected)
                    assert len(name.encode()) <= 220 and len(name) <= 140, name
                    assert not set(name) & set('/\\\\:*?"<>|#^[]\\n\\t'), name
                assert seen == set(rows), (seen, set(rows))
            """
        let rows = """
            def RowsOf(path):
                import sqlite3
                db = sqlite3.connect("file:" + path + "?mode=ro", uri=True)
                db.row_factory = sqlite3.Row
                return db.execute("SELECT * FROM timeline")

            """
        let read = try await ChildProcess.run(
            "/usr/bin/python3", ["-c", rows + program, scene.fixture.database, scene.folder])
        #expect(read.exit == .status(0), "\(read.stderr)")
        #expect(try scene.names().contains("2026-11-02 Same.md"))
        let before = try scene.marks()
        #expect(try await scene.report().unchanged == 6)
        #expect(try scene.marks() == before)
    }

    @Test func linesHoldWhatTheDatabaseHolds() async throws {
        let scene = try await ExportScene()
        try await scene.change(
            """
            UPDATE item SET title = char(0, 10, 34, 92, 8232, 128512), extra = '{"a":' || char(10) || '[1,null]}', duration = 1.5
                WHERE rowid = 1;
            UPDATE item SET extra = 'no JSON', tags = '["a","b"]', duration = 1800 WHERE rowid = 2;
            UPDATE item_body SET metadata = '{"author":"x","word_count":7}', is_transcription = 1 WHERE rowid = 1;
            UPDATE item_body SET metadata = '{broken' WHERE rowid = 2;
            UPDATE item_body SET transcription = 'spoken' WHERE rowid = 3;
            UPDATE item SET deleted_at = '2026-11-05T00:00:00.000000Z' WHERE rowid = 4;
            DELETE FROM item_body WHERE rowid = 5;
            """)
        #expect(try await scene.fixture.control("note", "Milk").exit == .status(0))
        let ids = try await scene.query("SELECT id FROM item WHERE rowid IN (3, 6) ORDER BY rowid").split(
            separator: "\n")
        let edited = try await scene.fixture.control("edit", String(ids[0]), "--title", "Edited here", "--tag", "t")
        #expect(edited.exit == .status(0), "\(edited)")
        #expect(try await scene.fixture.control("delete", String(ids[1]), "--yes").exit == .status(0))
        // Files are made from the same rows.
        let report = try await scene.report()
        #expect(try await scene.query("SELECT count(*) FROM timeline") == "\(report.items)")
        #expect(try scene.text("2026-11-02 Edited here.md").contains("tags:\n  - \"t\"\n"))
        #expect(try scene.text("2026-11-02 Edited here.md").contains("pending: \"edit\"\n"))
        #expect(try !scene.names().contains("2026-11-02 Item 6.md"))
        let printed = try await scene.fixture.control("export", "-", "--format", "jsonl")
        #expect(printed.exit == .status(0), "\(printed.stderr)")
        let written = try await scene.export("--format", "jsonl")
        #expect(written.stdout == "Exported 6 items to \(scene.folder)/prsnl.jsonl.\n", "\(written)")
        #expect(try scene.text("prsnl.jsonl") == printed.stdout)
        let program = """
            import json, sqlite3, sys
            db = sqlite3.connect("file:" + sys.argv[1] + "?mode=ro", uri=True)
            db.row_factory = sqlite3.Row
            rows = {r["id"]: dict(r, deleted_at=None) for r in db.execute("SELECT * FROM timeline")}
            for r in map(dict, db.execute("SELECT * FROM item WHERE deleted_at IS NOT NULL")):
                rows[r["id"]] = {k: r.get(k) for k in [*next(iter(rows.values()))]}
            def value(text):
                try: return json.loads(text)
                except (TypeError, ValueError): return text
            # The view item_text stops at metadata that is no JSON.
            broken = [r[0] for r in db.execute("SELECT item_id FROM item_body WHERE metadata IS NOT NULL AND NOT json_valid(metadata)")]
            texts = {id: dict(r) for id in rows if id not in broken
                     for r in db.execute("SELECT * FROM item_text WHERE item_id = ?", [id])}
            lines = [json.loads(line) for line in open(sys.argv[2], encoding="utf-8", newline="\\n")]
            assert len(lines) == len(rows) == 6
            for line in lines:
                text, row = line.pop("text"), rows.pop(line["id"])
                for name in ("tags", "extra"): row[name] = value(row[name])
                assert line == row, (line, row)
                if line["id"] in broken:
                    assert text["metadata"] == "{broken" and text["content"].startswith("Text "), text
                    continue
                expected = texts.get(line["id"])
                if expected:
                    del expected["item_id"]
                    expected["metadata"] = value(expected["metadata"])
                assert text == expected, (text, expected)
            """
        let read = try await ChildProcess.run(
            "/usr/bin/python3", ["-c", program, scene.fixture.database, scene.file("prsnl.jsonl")])
        #expect(read.exit == .status(0), "\(read.stderr)")
    }

    // MARK: Users and disks

    @Test(.enabled(if: OtherUser.canBeMade, "needs root, to be other users"))
    func aMemberOfTheGroupExportsWithAndWithoutADaemon() async throws {
        let scene = try AccessScene()
        let daemon = try await scene.startReady()
        #expect(try await scene.control(nil, "sync", "--wait").exit == .status(0))
        try scene.owner.own(scene.fixture.folder.file("state"), mode: 0o750)
        let home = TemporaryDirectory("member")
        try scene.member.own(home.path, mode: 0o700)
        let running = try await scene.control(scene.member, "export", home.file("notes"))
        #expect(running.exit == .status(0) && running.stdout.contains("4 written"), "\(running)")
        #expect(try await daemon.terminate() == .status(0))
        let stopped = try await scene.control(scene.member, "export", home.file("notes"))
        #expect(stopped.exit == .status(0) && stopped.stdout.contains("4 unchanged"), "\(stopped)")
        let stranger = try await scene.control(scene.member, "export", "/etc/prsnld-notes", "--json")
        #expect(try scene.error(stranger).codeName == "export_folder")
    }

    @Test(.enabled(if: TinyDisk.canBeMade, "needs root, to mount"))
    func aFullDiskIsSaidAndTheNextRunGoesOn() async throws {
        let scene = try await ExportScene()
        try await scene.change("UPDATE item_body SET content = hex(zeroblob(100000))")
        let disk = try TinyDisk(megabytes: 4)
        try disk.fill(leaving: 600_000)
        let target = disk.file("notes")
        let full = try await scene.fixture.control("export", target, "--json")
        #expect(full.exit == .status(1) && full.stdout.contains("disk_full"), "\(full)")
        try disk.free()
        let ended = try await scene.fixture.control("export", target, "--json")
        let report = try scene.fixture.decode(ExportReport.self, ended)
        #expect(report.written + report.unchanged == 6 && report.unchanged > 0, "\(report)")
    }
}
