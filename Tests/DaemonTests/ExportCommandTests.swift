import Commands
import Glibc
import PRSNLCore
import Requests
import Store
import TestSupport
import Testing

/// `prsnlctl export DIR`, over a real copy.
@Suite struct ExportCommandTests {
    private static let marker = "<!-- prsnld: what you write below this line is kept -->\n"

    @Test func foldersThatAreMissingAreMade() async throws {
        let scene = try await ExportScene()
        let folder = scene.fixture.folder.file("vault/of/mine/")
        for _ in 1...2 { #expect(try await scene.fixture.control("export", folder).exit == .status(0)) }
        #expect(TestFile.exists(folder + "2026-11-02 Item 1.md"))
        let lines = try await scene.fixture.control(
            "export", "--format", "jsonl", scene.fixture.folder.file("other/vault"))
        #expect(lines.exit == .status(0) && TestFile.exists(scene.fixture.folder.file("other/vault/prsnl.jsonl")))
        // A link that leads nowhere is no folder to be made.
        try #require(symlink("/nowhere/at/all", scene.fixture.folder.file("dangling")) == 0)
        let ended = try await scene.fixture.control("export", scene.fixture.folder.file("dangling/below"))
        #expect(ended.exit == .status(1) && ended.stderr.contains("Nothing was exported."), "\(ended)")
    }

    @Test func eachItemHasAFileAndASecondRunTouchesNone() async throws {
        let scene = try await ExportScene()
        let first = try await scene.export()
        #expect(first.exit == .status(0), "\(first)")
        #expect(first.stdout == "Exported 6 items to \(scene.folder): 6 written, 0 unchanged.\n")
        #expect(try scene.names() == (1...6).map { "2026-11-02 Item \($0).md" })
        let text = try scene.text("2026-11-02 Item 3.md")
        #expect(text.hasPrefix("---\ntitle: \"Item 3\"\ndate: \"2026-11-02T10:00:03.000000Z\"\n"), "\(text)")
        #expect(text.hasSuffix("---\n\nText 3\n\n" + Self.marker), "\(text)")
        let lines = text.split(separator: "\n")
        let id = try #require(lines.firstIndex { $0.hasPrefix("id: ") })
        #expect(lines[id + 1].wholeMatch(of: /prsnld: "[0-9a-f]{8} [0-9a-f]{32} [0-9a-f]{32}"/) != nil, "\(text)")
        let before = try scene.marks()
        let second = try await scene.export()
        #expect(second.stdout == "Exported 6 items to \(scene.folder): 0 written, 6 unchanged.\n")
        #expect(try scene.marks() == before)
        let quiet = try await scene.export("--quiet")
        #expect(quiet.exit == .status(0) && quiet.stdout.isEmpty && quiet.stderr.isEmpty)
    }

    @Test func anItemsFileKeepsItsNameAndWhatAPersonWroteBelow() async throws {
        let scene = try await ExportScene()
        _ = try await scene.export()
        // Bytes that are no UTF-8, and the marker once more.
        let below = Array("My thoughts\r\n".utf8) + [0xFF, 0x00] + Array(Self.marker.utf8)
        let name = "2026-11-02 Item 2.md"
        try TestFile.write(try TestFile.read(scene.file(name)) + below, to: scene.file(name), mode: 0o640)
        let untouched = try scene.marks()
        try await scene.change("UPDATE item SET title = 'Another title' WHERE title = 'Item 2'")
        let report = try await scene.report()
        #expect(report.written == 1 && report.unchanged == 5 && report.replaced == 0)
        #expect(try scene.names() == (1...6).map { "2026-11-02 Item \($0).md" })
        let bytes = try TestFile.read(scene.file(name))
        #expect(String(decoding: bytes, as: UTF8.self).contains("title: \"Another title\"\n"))
        #expect(Array(bytes.suffix(below.count)) == below)
        var status = stat()
        #expect(stat(scene.file(name), &status) == 0 && status.st_mode & 0o777 == 0o640)
        let marks = try scene.marks()
        for (other, mark) in untouched where other.hasSuffix(".md") && !other.hasSuffix(name) {
            #expect(marks[other] == mark, "\(other)")
        }
    }

    @Test func whatAPersonChangedAboveIsPutAsideFirst() async throws {
        let scene = try await ExportScene()
        _ = try await scene.export()
        let (edited, markerless) = ("2026-11-02 Item 1.md", "2026-11-02 Item 2.md")
        let first = try scene.text(edited).replacing("Text 1", with: "My text") + "below\n"
        try TestFile.write(first, to: scene.file(edited))
        let second = try scene.text(markerless).replacing(Self.marker, with: "all mine\n")
        try TestFile.write(second, to: scene.file(markerless))
        // An edit alone is no reason to write.
        #expect(try await scene.report().unchanged == 6)
        try await scene.change("UPDATE item SET updated_at = '2026-11-04T10:00:00.000000Z' WHERE rowid <= 2")
        let report = try await scene.report()
        #expect(report.written == 2 && report.replaced == 2)
        let tree = try scene.tree()
        #expect(tree[".replaced/\(edited)"] == Array(first.utf8))
        #expect(tree[".replaced/\(markerless)"] == Array(second.utf8))
        #expect(try scene.text(edited).hasSuffix("Text 1\n\n\(Self.marker)below\n"))
        #expect(try scene.text(markerless).hasSuffix("Text 2\n\n\(Self.marker)"))
    }

    @Test func aSearchHasAFolderOfItsOwn() async throws {
        let scene = try await ExportScene()
        try await scene.change("UPDATE item SET tags = '[\"bread\"]' WHERE rowid IN (2, 4, 5)")
        let home = scene.fixture.folder.file("home")
        for folder in [home, home + "/.config", home + "/.config/prsnld"] { mkdir(folder, 0o700) }
        try TestFile.write("loaves = tag:bread\n", to: "\(home)/.config/prsnld/searches")
        func export(_ arguments: String...) async throws -> DaemonFixture.Ended {
            let child = try scene.fixture.startControl(["export"] + arguments, environment: ["HOME": home])
            return (try await child.waitForExit(), child.stdout, child.stderr)
        }
        let first = try await export(scene.folder, "--query", "@loaves")
        #expect(first.stdout == "Exported 3 items to \(scene.folder): 3 written, 0 unchanged.\n", "\(first)")
        try scene.append("mine\n", to: "2026-11-02 Item 4.md")
        // Two items leave the search, and one of their files has a person's words.
        try await scene.change("UPDATE item SET tags = NULL WHERE rowid IN (2, 4)")
        let second = try await export(scene.folder, "--query", "@loaves")
        #expect(
            second.stdout
                == "Exported 1 item to \(scene.folder): 0 written, 1 unchanged, 1 removed, 1 moved to .deleted.\n",
            "\(second)")
        #expect(try scene.tree().keys.sorted() == [".deleted/2026-11-02 Item 4.md", "2026-11-02 Item 5.md"])
        // What would empty the folder by a mistake.
        let before = try scene.tree()
        for query in [
            [], ["--query", "tag:bread"], ["--query", "tga:bread"], ["--query", "@loafs"], ["--query", " "],
        ] {
            let refused = try await scene.export(query)
            #expect(refused.exit != .status(0), "\(query): \(refused)")
            #expect(try scene.tree() == before, "\(query): \(refused)")
        }
        let lines = try await export("-", "--format", "jsonl", "--query", "tag:bread")
        #expect(
            lines.stdout.split(separator: "\n").count == 1 && lines.stdout.contains(#""title":"Item 5""#), "\(lines)")
        // The search may find nothing. A copy without items says nothing about it.
        try await scene.change("UPDATE item SET tags = NULL")
        let none = try await export(scene.folder, "--query", "@loaves")
        #expect(none.exit == .status(0) && none.stderr.hasPrefix("prsnlctl: No item was found.\n"), "\(none)")
        #expect(try scene.names() == [])
    }

    @Test func aSearchThatTheIndexCannotAnswerYetRemovesNothing() async throws {
        let scene = try await ExportScene()
        let fixture = scene.fixture
        func index() async throws {
            let rebuilt = try await fixture.control("doctor", "--rebuild-index")
            try #require(rebuilt.stderr.contains("was built again"), "\(rebuilt)")
        }
        try await scene.change("UPDATE item SET title = 'Sourdough ' || rowid")
        try await index()
        #expect(try await scene.report("--query", "sourdough").written == 6)
        try await scene.change("UPDATE item SET title = 'Rye' WHERE rowid = 2")
        try await index()
        // As an index that is being built.
        try await scene.change("UPDATE search_state SET through = 4; DELETE FROM search_document WHERE row > 4")
        let early = try await scene.report("--query", "sourdough")
        #expect(early.kept == 3 && early.removed == 0 && early.items == 3, "\(early)")
        #expect(try scene.names().count == 6)
        try await index()
        let late = try await scene.report("--query", "sourdough")
        #expect(late.kept == 0 && late.removed == 1 && late.items == 5, "\(late)")
        let vague = try await scene.export("--query", "((")
        #expect(vague.exit == .status(2) && vague.stderr.contains("nothing to search for"), "\(vague)")
    }

    @Test func aFileWithoutItsIDIsThePersons() async throws {
        let scene = try await ExportScene()
        _ = try await scene.export()
        let name = "2026-11-02 Item 1.md"
        try TestFile.write("all mine\n", to: scene.file(name))
        #expect(try await scene.report().written == 1)
        let id = try await scene.query("SELECT substr(id, 1, 8) FROM item WHERE rowid = 1")
        #expect(try scene.text("2026-11-02 Item 1 \(id).md").hasSuffix("Text 1\n\n\(Self.marker)"))
        try await scene.change("UPDATE item SET deleted_at = '2026-11-05T00:00:00.000000Z' WHERE rowid = 1")
        #expect(try await scene.report().removed == 1)
        #expect(try scene.text(name) == "all mine\n")
    }

    /// A text was fetched again, and is the same.
    @Test func aChangeThatNoFileShowsLeavesWhatAPersonChanged() async throws {
        let scene = try await ExportScene()
        _ = try await scene.export()
        let name = "2026-11-02 Item 1.md"
        let mine = try scene.text(name).replacing("Text 1", with: "My text")
        try TestFile.write(mine, to: scene.file(name))
        try await scene.change("UPDATE item_body SET fetched_at = '2026-11-09T10:00:00.000000Z'")
        let report = try await scene.report()
        #expect(report.written == 6 && report.replaced == 0, "\(report)")
        let line = /prsnld: ".*\n/
        #expect(try scene.text(name).replacing(line, with: "") == mine.replacing(line, with: ""))
        #expect(try await scene.report().unchanged == 6)
    }

    @Test func aFrontMatterThatAnotherProgramRewritesIsUnderstood() async throws {
        let scene = try await ExportScene()
        _ = try await scene.export()
        let program = """
            import os, sys, yaml
            for name in os.listdir(sys.argv[1]):
                if name.startswith("."): continue
                path = os.path.join(sys.argv[1], name)
                _, head, rest = open(path).read().split("---\\n", 2)
                head = yaml.safe_load(head)
                lines = "".join(f"{key}: '{value}'\\n" for key, value in head.items())
                head = lines if "Item 1" in name else yaml.dump(head, width=1000)
                open(path, "w").write("---\\n" + head + "---\\n" + rest)
            """
        let ended = try await ChildProcess.run("/usr/bin/python3", ["-c", program, scene.folder])
        #expect(ended.exit == .status(0), "\(ended)")
        #expect(try !scene.text("2026-11-02 Item 2.md").contains("\""))
        #expect(try await scene.report().unchanged == 6)
        try await scene.change("UPDATE item SET title = title || '!'")
        let report = try await scene.report()
        #expect(report.written == 6 && report.replaced == 6, "\(report)")
        #expect(try scene.names() == (1...6).map { "2026-11-02 Item \($0).md" })
    }

    @Test func aTextWithTheMarkerDoesNotConfuseIt() async throws {
        let scene = try await ExportScene()
        let line = Self.marker.dropLast()
        try await scene.change("UPDATE item_body SET content = 'a' || char(10) || '\(line)' || char(10) || 'b'")
        _ = try await scene.export()
        let name = "2026-11-02 Item 1.md"
        // Also where what was written has to be searched for the marker.
        try TestFile.write(
            try scene.text(name).replacing("title:", with: "x: 1\ntitle:") + "mine\n", to: scene.file(name))
        try await scene.change("UPDATE item SET title = 'T'")
        #expect(try await scene.report().replaced == 1)
        let text = try scene.text(name)
        #expect(text.hasSuffix("\na\n\\\(line)\nb\n\n\(Self.marker)mine\n"), "\(text)")
    }

    @Test func aDeletedItemsFileGoesUnlessAPersonWroteInIt() async throws {
        let scene = try await ExportScene()
        _ = try await scene.export()
        try scene.append("mine\n", to: "2026-11-02 Item 2.md")
        let mine = try TestFile.read(scene.file("2026-11-02 Item 2.md"))
        try await scene.change("UPDATE item SET deleted_at = '2026-11-05T00:00:00.000000Z' WHERE rowid <= 2")
        let ended = try await scene.export()
        #expect(
            ended.stdout
                == "Exported 4 items to \(scene.folder): 0 written, 4 unchanged, 1 removed, 1 moved to .deleted.\n")
        #expect(try scene.names() == (3...6).map { "2026-11-02 Item \($0).md" })
        #expect(try scene.tree()[".deleted/2026-11-02 Item 2.md"] == mine)
    }

    @Test func whatACopyLacksIsNotDeleted() async throws {
        let scene = try await ExportScene()
        _ = try await scene.export()
        try await scene.change("UPDATE copy SET complete = 0; DELETE FROM item WHERE rowid <= 2")
        #expect(try await scene.report().kept == 2)
        #expect(try scene.names().count == 6)
        try await scene.change("UPDATE copy SET complete = 1")
        #expect(try await scene.report().removed == 2)
        try await scene.change("DELETE FROM item")
        let empty = try await scene.export()
        #expect(empty.exit == .status(1))
        #expect(empty.stderr.contains("has no items"), "\(empty.stderr)")
        #expect(try scene.names().count == 4)
    }

    @Test(
        arguments: ["server_url = 'https://other.example.org'", "account_id = 'another'"],
        [["--json"], ["--json", "--format", "jsonl"]])
    func anotherCopyIsRefused(change: String, arguments: [String]) async throws {
        let scene = try await ExportScene()
        _ = try await scene.export(arguments)
        let before = try scene.marks()
        try await scene.change("UPDATE copy SET \(change); DELETE FROM item WHERE rowid = 1")
        let refused = try await scene.export(arguments)
        #expect(refused.exit == .status(1))
        #expect(refused.stdout.contains("export_mismatch"))
        #expect(try scene.marks() == before)
    }

    @Test func aNoteKeepsItsFileWhenTheServerGivesItAnID() async throws {
        let scene = try await ExportScene()
        #expect(try await scene.fixture.control("note", "Milk and bread").exit == .status(0))
        _ = try await scene.export()
        let name = try #require(scene.names().first { $0.hasSuffix(" Milk and bread.md") })
        #expect(try scene.text(name).contains("pending: \"creation\"\n"))
        try scene.append("mine\n", to: name)
        #expect(try await scene.fixture.run(["--once"]).exit == .status(0))
        #expect(try await scene.query("SELECT count(*) FROM pending_write") == "0")
        _ = try await scene.export()
        let text = try scene.text(name)
        #expect(!text.contains("local-") && text.hasSuffix(Self.marker + "mine\n"), "\(text)")
        #expect(try scene.names().count == 7)
        #expect(!TestFile.exists(scene.file(".deleted")))
    }

    @Test func aRenamedFileKeepsItsNewNameAndALostManifestIsNoDisaster() async throws {
        let scene = try await ExportScene()
        _ = try await scene.export()
        #expect(rename(scene.file("2026-11-02 Item 1.md"), scene.file("Mine.md")) == 0)
        try TestFile.write("---\nid: \"foreign\"\n---\n", to: scene.file("Foreign.md"))
        #expect(try await scene.report().unchanged == 6)
        let names = try scene.names()
        #expect(names.contains("Mine.md") && !names.contains("2026-11-02 Item 1.md"))
        let before = try scene.tree()
        try TestFile.remove(scene.file(".prsnld-export/manifest"))
        #expect(try await scene.report().unchanged == 6)
        #expect(try scene.tree() == before)
        try TestFile.write("prsnld-export\t2\nrubbish", to: scene.file(".prsnld-export/manifest"))
        #expect(try await scene.report().unchanged == 6)
        #expect(try scene.tree() == before)
        let last = try scene.marks()
        #expect(try await scene.report().unchanged == 6)
        #expect(try scene.marks() == last)
    }

    @Test func aFileOfAnotherCopyIsNoneOfOurs() async throws {
        let scene = try await ExportScene()
        _ = try await scene.export()
        let name = "2026-11-02 Item 1.md"
        let theirs = try scene.text(name).replacing(/prsnld: "......../, with: "prsnld: \"00000000")
        try TestFile.write(theirs, to: scene.file(name))
        try TestFile.remove(scene.file(".prsnld-export/manifest"))
        try await scene.change("UPDATE item SET deleted_at = '2026-11-05T00:00:00.000000Z' WHERE rowid <= 2")
        #expect(try await scene.report().removed == 1)
        #expect(try scene.text(name) == theirs)
    }

    @Test func aCopyThatAPersonMadeIsLeftAlone() async throws {
        let scene = try await ExportScene()
        _ = try await scene.export()
        let name = "2026-11-02 Item 1.md"
        let first = try TestFile.read(scene.file(name))
        for copy in ["2026-11-02 Item 1 copy.md", "A.md"] { try TestFile.write(first, to: scene.file(copy)) }
        try await scene.change("UPDATE item SET title = 'Another title' WHERE rowid = 1")
        #expect(try await scene.report().written == 1)
        #expect(try scene.text(name).contains("Another title"))
        for copy in ["2026-11-02 Item 1 copy.md", "A.md"] { #expect(try TestFile.read(scene.file(copy)) == first) }
        // When the item is deleted, they are its files.
        try scene.append("mine\n", to: "A.md")
        try await scene.change("UPDATE item SET deleted_at = '2026-11-05T00:00:00.000000Z' WHERE rowid = 1")
        let report = try await scene.report()
        #expect(report.removed == 2 && report.moved == 1, "\(report)")
        #expect(try scene.tree()[".deleted/A.md"] == first + Array("mine\n".utf8))
    }

    /// One byte of a disk that fails. `PRSNL_TEST_SEED` repeats a run.
    @Test func aDamagedByteOfAFileLosesNothing() async throws {
        let scene = try await ExportScene(3)
        _ = try await scene.export()
        let name = "2026-11-02 Item 1.md"
        let mine = "my own words\n"
        try scene.append(mine, to: name)
        let (before, sound) = (try scene.tree(), try TestFile.read(scene.file(name)))
        let id = try await scene.query("SELECT id FROM item WHERE rowid = 1")
        var random = SeededRandom()
        for _ in 0..<60 {
            var bytes = sound
            let place = Int.random(in: 0..<(sound.count - mine.utf8.count), using: &random)
            bytes[place] ^= UInt8.random(in: 1...255, using: &random)
            try TestFile.write(bytes, to: scene.file(name))
            try await scene.change(
                "UPDATE item SET updated_at = '2026-11-04T10:00:00.\(place + 100_000)Z' WHERE rowid = 1")
            let ended = try await scene.export()
            #expect(ended.exit == .status(0), "\(place): \(ended)")
            let texts = try scene.tree().values.map { String(decoding: $0, as: UTF8.self) }
            #expect(texts.contains { $0.contains(mine) }, "byte \(place) became \(bytes[place])")
            #expect(
                texts.contains { $0.contains("id: \"\(id)\"\n") && $0.contains("Text 1\n\n\(Self.marker)") }, "\(place)"
            )
            try scene.empty()
            for (name, bytes) in before { try TestFile.write(bytes, to: scene.file(name)) }
        }
    }

    @Test func aFileThatIsTooLargeIsNamedAndHoldsUpNoOther() async throws {
        let scene = try await ExportScene()
        _ = try await scene.export()
        let name = "2026-11-02 Item 1.md"
        #expect(truncate(scene.file(name), 100 << 20) == 0)
        try await scene.change("UPDATE item SET title = title || '!'")
        let ended = try await scene.export()
        #expect(ended.exit == .status(1) && ended.stderr.contains("Item 1.md"), "\(ended)")
        #expect(try scene.text("2026-11-02 Item 6.md").contains("title: \"Item 6!\""))
        #expect(try scene.marks()["./\(name)"]?.last == 100 << 20)
    }

    @Test func aRemovedFileIsWrittenAgain() async throws {
        let scene = try await ExportScene()
        _ = try await scene.export()
        let before = try scene.tree()
        try TestFile.remove(scene.file("2026-11-02 Item 1.md"))
        #expect(try await scene.report().written == 1)
        #expect(try scene.tree() == before)
    }

    @Test func aSecondExportAtTheSameTimeIsRefused() async throws {
        let scene = try await ExportScene()
        _ = try await scene.export()
        guard mkfifo(scene.fixture.folder.file("end"), 0o600) == 0 else { throw WaitedInVain("mkfifo") }
        // Without a fork: what is ended with the test is then the holder itself.
        let held = try ChildProcess(
            "/usr/bin/flock",
            [
                "--no-fork", scene.file(".prsnld-export/lock"), "/bin/sh", "-c",
                "echo held; exec cat '\(scene.fixture.folder.path)/end'",
            ])
        try await eventually("the lock") { held.stdout == "held\n" }
        let refused = try await scene.export()
        #expect(refused.exit == .status(1))
        #expect(refused.stderr.contains("Another export into this folder is under way."))
    }

    @Test func wrongWordsAreUsageErrors() async throws {
        let scene = try await ExportScene()
        let format = try await scene.export("--format", "pdf")
        #expect(format.exit == .status(2) && format.stderr.contains("markdown, html, jsonl"), "\(format)")
        #expect(try await scene.fixture.control("export", "-").exit == .status(2))
        #expect(try await scene.fixture.control("export").exit == .status(2))
        for wrong in [scene.fixture.configuration, "/proc/no/such"] {
            let ended = try await scene.fixture.control("export", wrong, "--json")
            #expect(ended.exit == .status(1) && ended.stdout.contains("export_folder"), "\(wrong): \(ended)")
        }
    }
}
