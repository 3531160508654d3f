import Commands
import DevServer
import Glibc
import PRSNLCore
import Store
import TestSupport
import Testing

/// `prsnlctl export` to a book, to pages and to files of links, over a real copy.
@Suite struct ReadExportTests {
    @Test(arguments: ["epub", "netscape", "csv", "atom"])
    func aFileIsReplacedOnlyWhereSomethingHasChanged(format: String) async throws {
        let scene = try await ExportScene()
        let path = scene.fixture.folder.file("out.\(format)")
        func export(_ more: String...) async throws -> ExportReport {
            let ended = try await scene.fixture.control(["export", "--format", format, path, "--json"] + more)
            #expect(ended.exit == .status(0), "\(ended)")
            return try scene.fixture.decode(ExportReport.self, ended)
        }
        let first = try await export()
        #expect(first.written == 1 && first.unchanged == 0 && first.items > 0)
        let inode = inode(path)
        let second = try await export()
        #expect(second.written == 0 && second.unchanged == 1 && second.items == first.items)
        #expect(self.inode(path) == inode)
        try await scene.change("UPDATE item SET title = 'Another title' WHERE title = 'Item 2'")
        #expect(try await export().written == 1)
        if format == "epub" {
            #expect(try await export("--since", "last").items == 0)
            // One that comes late, with an older time, is new; one that was here and gets its id from the server is not.
            #expect(try await scene.fixture.control("note", "written here").exit == .status(0))
            #expect(try await export("--since", "last").items == 1)
            let late = scene.fixture.server.addNew()
            #expect(try await scene.fixture.run(["--once"]).exit == .status(0))
            try await scene.change(
                "UPDATE item SET created_at = '2020-01-01T00:00:00.000000Z' WHERE id = '\(late[0].id)'")
            #expect(try await export("--since", "last").items == 1)
            #expect(try await export("--since", "last").items == 0)
        }
        // Nothing else is left beside it.
        let names = try await ChildProcess.run("/bin/ls", ["-A", scene.fixture.folder.path]).stdout
        #expect(!names.contains(".new"), "\(names)")
    }

    private func inode(_ path: String) -> ino_t {
        var information = stat()
        return stat(path, &information) == 0 ? information.st_ino : 0
    }

    @Test func pagesOfWhatIsGoneAreRemovedAndOthersStay() async throws {
        let scene = try await ExportScene()
        let folder = scene.fixture.folder.file("web")
        func export() async throws -> ExportReport {
            let ended = try await scene.fixture.control("export", "--format", "html", folder, "--json")
            return try scene.fixture.decode(ExportReport.self, ended)
        }
        let first = try await export()
        #expect(first.items == 6 && first.written >= 10 && first.unchanged == 0)
        try TestFile.write("mine", to: "\(folder)/mine.html")
        #expect(try await export().written == 0)
        try await scene.change("UPDATE item SET deleted_at = '2026-11-20T10:00:00.000000Z' WHERE title = 'Item 2'")
        let last = try await export()
        #expect(last.items == 5 && last.removed == 1, "\(last)")
        #expect(TestFile.exists("\(folder)/mine.html"))
        try TestFile.write("mine", to: "\(folder)/index.html")
        let refused = try await scene.fixture.control("export", "--format", "html", folder)
        #expect(refused.stderr.contains("index.html was not written by an export."), "\(refused)")
        #expect(try TestFile.text("\(folder)/index.html") == "mine")
    }

    @Test func aFileOfAPersonIsNotWrittenOver() async throws {
        let scene = try await ExportScene()
        let folder = scene.fixture.folder.file("web")
        try #require(mkdir(folder, 0o755) == 0)
        try TestFile.write("mine", to: "\(folder)/index.html")
        let ended = try await scene.fixture.control("export", "--format", "html", folder)
        #expect(
            ended.exit == .status(1) && ended.stderr.contains("\(folder) has other files."), "\(ended)")
        #expect(try TestFile.text("\(folder)/index.html") == "mine")
    }

    /// One of another format neither, and a search that finds nothing empties none.
    @Test(arguments: ["netscape", "csv", "atom", "epub"]) func onlyAFileOfTheSameExportIsReplaced(
        format: String
    ) async throws {
        let scene = try await ExportScene()
        let file = scene.fixture.folder.file("file")
        func export(_ format: String, _ more: [String] = []) async throws -> (ChildProcess.Exit, String) {
            let ended = try await scene.fixture.control(["export", "--format", format, file] + more)
            return (ended.exit, ended.stdout + ended.stderr)
        }
        for text in ["mine", "title,url,time_added,tags,status\nA,https://example.org/,1,,unread\n"] {
            try TestFile.write(text, to: file)
            let (exit, said) = try await export(format)
            #expect(exit == .status(1) && said.contains("was not written by an export to \(format)."), "\(said)")
            #expect(try TestFile.text(file) == text)
        }
        try TestFile.write("", to: file)
        #expect(try await export(format).0 == .status(0))
        let whole = try TestFile.read(file)
        let (exit, said) = try await export(format, ["--query", "nosuchword"])
        #expect(exit == .status(0) && said.contains("There is nothing to export: no file was written."), "\(said)")
        for other in ["netscape", "csv", "atom", "epub"] where other != format {
            #expect(try await export(other).0 == .status(1), "\(other)")
        }
        #expect(try TestFile.read(file) == whole)
        if format == "epub" {
            let (exit, said) = try await export(format, ["--query", "Item", "--since", "last"])
            #expect(exit == .status(1) && said.contains("of another search"), "\(said)")
        }
        #expect(try await export(format).1.contains(" already."))
        #expect(try await scene.fixture.control("note", "no address").exit == .status(0))
        let left = try await export(format).1.contains(" Left out, without an address: 1 item.")
        #expect(left == (format == "netscape" || format == "csv"))
    }

    /// Not by another program that reads the file, either.
    @Test(arguments: ["netscape", "csv", "atom", "epub"]) func anAddressThatRunsIsInNoFile(format: String) async throws
    {
        let scene = try await ExportScene()
        try await scene.change("UPDATE item SET url = 'javascript:alert(1)' WHERE title = 'Item 2'")
        try await scene.change("UPDATE item SET title = char(1), url = NULL WHERE title = 'Item 3'")
        let path = scene.fixture.folder.file("out")
        #expect(try await scene.fixture.control("export", "--format", format, path).exit == .status(0))
        let text = String(decoding: try TestFile.read(path), as: UTF8.self)
        #expect(
            !text.contains("javascript:") && (format != "atom" || text.contains("<title>Untitled</title>")), "\(text)")
    }

    @Test func aKillLeavesTheFileThatWasThere() async throws {
        let scene = try await ExportScene()
        let path = scene.fixture.folder.file("out.epub")
        #expect(try await scene.fixture.control("export", "--format", "epub", path).exit == .status(0))
        let before = try TestFile.read(path)
        try await scene.change("UPDATE item SET title = 'Another title' WHERE title = 'Item 2'")
        for point in [CrashPoint.beforeExportSync, .beforeExportRename] {
            let child = try scene.fixture.startControl(
                ["export", "--format", "epub", path], environment: [CrashPoint.variable: point.rawValue])
            #expect(try await child.waitForExit() == .signal(SIGKILL), "\(point)")
            #expect(try TestFile.read(path) == before, "\(point)")
        }
        #expect(try await scene.fixture.control("export", "--format", "epub", path).exit == .status(0))
        #expect(try TestFile.read(path) != before)
    }

    @Test func wrongCommandLinesChangeNothing() async throws {
        let scene = try await ExportScene()
        let path = scene.fixture.folder.file("out")
        for wrong in [
            ["--format", "pdf", path], ["--since", "last", path], ["--format", "epub", "--since", "2026", path],
            ["--format", "epub", scene.fixture.folder.path], ["--format", "epub", "-"],
        ] {
            let ended = try await scene.fixture.control(["export"] + wrong)
            #expect(ended.exit != .status(0), "\(wrong): \(ended)")
        }
        #expect(!TestFile.exists(path))
    }
}
