import Glibc
import PRSNLCore
import Reports
import Store
import TestSupport
import Testing

/// `prsnlctl export DIR`, over a real copy.
@Suite struct ExportCommandTests {
    private static let marker = "<!-- prsnld: what you write below this line is kept -->\n"

    @Test func eachItemHasAFileAndASecondRunTouchesNone() async throws {
        let scene = try await ExportScene()
        let first = try await scene.export()
        #expect(first.exit == .status(0), "\(first)")
        #expect(first.stdout == "Exported 6 items to \(scene.folder): 6 written, 0 unchanged.\n")
        #expect(try scene.names() == (1...6).map { "2026-11-02 Item \($0).md" })
        let text = try scene.text("2026-11-02 Item 3.md")
        #expect(text.hasPrefix("---\ntitle: \"Item 3\"\ndate: \"2026-11-02T10:00:03.000000Z\"\n"), "\(text)")
        #expect(text.hasSuffix("---\n\nText 3\n\n" + Self.marker), "\(text)")
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
        try TestFile.write("all mine\n", to: scene.file(markerless))
        // An edit alone is no reason to write.
        #expect(try await scene.report().unchanged == 6)
        try await scene.change("UPDATE item SET updated_at = '2026-11-04T10:00:00.000000Z' WHERE rowid <= 2")
        let report = try await scene.report()
        #expect(report.written == 2 && report.replaced == 2)
        let tree = try scene.tree()
        #expect(tree[".replaced/\(edited)"] == Array(first.utf8))
        #expect(tree[".replaced/\(markerless)"] == Array("all mine\n".utf8))
        #expect(try scene.text(edited).hasSuffix("Text 1\n\n\(Self.marker)below\n"))
        #expect(try scene.text(markerless).hasSuffix("Text 2\n\n\(Self.marker)"))
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

    @Test(arguments: ["server_url = 'https://other.example.org'", "account_id = 'another'"])
    func anotherCopyIsRefused(change: String) async throws {
        let scene = try await ExportScene()
        _ = try await scene.export()
        let before = try scene.marks()
        try await scene.change("UPDATE copy SET \(change); DELETE FROM item WHERE rowid = 1")
        let refused = try await scene.export("--json")
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
        try TestFile.write("prsnld-export\t1\nrubbish", to: scene.file(".prsnld-export/manifest"))
        #expect(try await scene.report().unchanged == 6)
        #expect(try scene.tree() == before)
        let last = try scene.marks()
        #expect(try await scene.report().unchanged == 6)
        #expect(try scene.marks() == last)
    }

    /// One byte of a disk that fails. `PRSNL_TEST_SEED` repeats a run.
    @Test func aDamagedByteOfTheManifestMakesNoSecondFile() async throws {
        let scene = try await ExportScene(3)
        _ = try await scene.export()
        let path = scene.file(".prsnld-export/manifest")
        let before = try scene.tree()
        let sound = try TestFile.read(path)
        // Not the first two lines: what they say is refused, and nothing is written.
        let start = try #require(sound.indices.filter { sound[$0] == 0x0A }.dropFirst().first) + 1
        var random = SeededRandom()
        for _ in 0..<60 {
            var bytes = sound
            let place = Int.random(in: start..<sound.count, using: &random)
            bytes[place] ^= UInt8.random(in: 1...255, using: &random)
            try TestFile.write(bytes, to: path)
            let ended = try await scene.export()
            #expect(ended.exit == .status(0), "\(place): \(ended)")
            try #require(try scene.tree() == before, "byte \(place) became \(bytes[place])")
        }
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
        let format = try await scene.export("--format", "html")
        #expect(format.exit == .status(2) && format.stderr.contains("markdown or jsonl"))
        #expect(try await scene.fixture.control("export", "-").exit == .status(2))
        #expect(try await scene.fixture.control("export").exit == .status(2))
        for wrong in ["/", scene.fixture.configuration, scene.fixture.folder.file("no/such")] {
            let ended = try await scene.fixture.control("export", wrong, "--json")
            #expect(ended.exit == .status(1) && ended.stdout.contains("export_folder"), "\(wrong): \(ended)")
        }
    }
}
