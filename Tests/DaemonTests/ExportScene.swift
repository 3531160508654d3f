import Commands
import DevServer
import Glibc
import PRSNLCore
import Requests
import TestSupport

@testable import Store

/// A copy that was pulled once, and a folder for its export. The copy is changed by SQL, as no server would.
final class ExportScene: Sendable {
    let fixture: DaemonFixture
    var folder: String { fixture.folder.file("notes") }

    init(_ count: Int = 6) async throws {
        fixture = try DaemonFixture(items: DevItem.generate(count: count))
        let pulled = try await fixture.run(["--once"])
        guard pulled.exit == .status(0) else { throw WaitedInVain("the pull: \(pulled)") }
        // Few enough to be named by their numbers, and without what the server made up.
        try await change(
            """
            DELETE FROM item_body;
            UPDATE item SET title = 'Item ' || rowid, tags = NULL, summary = NULL, url = 'https://example.org/' || rowid,
                type = 'article', status = 'completed', created_at = '2026-11-02T10:00:0' || rowid || '.000000Z',
                updated_at = '2026-11-03T10:00:00.000000Z' WHERE rowid < 10;
            INSERT INTO item_body (item_id, version, fetched_at, content)
                SELECT id, updated_at, updated_at, 'Text ' || rowid FROM item;
            """)
    }

    func change(_ sql: String) async throws {
        let shell = try await ChildProcess.run("/usr/bin/sqlite3", ["-bail", fixture.database, sql])
        guard shell.exit == .status(0) else { throw WaitedInVain("\(sql): \(shell)") }
    }

    func query(_ sql: String) async throws -> String {
        let shell = try await ChildProcess.run("/usr/bin/sqlite3", ["-readonly", fixture.database, sql])
        guard shell.exit == .status(0) else { throw WaitedInVain("\(sql): \(shell)") }
        return String(shell.stdout.dropLast())
    }

    func export(_ arguments: String..., crash: String? = nil) async throws -> DaemonFixture.Ended {
        try await export(arguments, crash: crash)
    }

    func export(_ arguments: [String], crash: String? = nil) async throws -> DaemonFixture.Ended {
        let child = try fixture.startControl(
            ["export", folder] + arguments, environment: crash.map { [CrashPoint.variable: $0] } ?? [:])
        return (try await child.waitForExit(), child.stdout, child.stderr)
    }

    func report(_ arguments: String...) async throws -> ExportReport {
        try fixture.decode(ExportReport.self, try await export(arguments + ["--json"]))
    }

    // MARK: The folder

    func file(_ name: String) -> String { "\(folder)/\(name)" }

    func text(_ name: String) throws -> String { try TestFile.text(file(name)) }

    func append(_ text: String, to name: String) throws {
        try TestFile.write(try self.text(name) + text, to: file(name))
    }

    /// Names, by their bytes, of what is in the folder and in those of `.deleted` and `.replaced`.
    func names(hidden: Bool = false) throws -> [String] {
        try Self.entries(folder).filter { hidden || !$0.hasPrefix(".") }.sorted()
    }

    /// Every file with its content, without what the export remembers for itself.
    func tree() throws -> [String: [UInt8]] {
        var tree: [String: [UInt8]] = [:]
        for name in try names() { tree[name] = try TestFile.read(file(name)) }
        for inner in [".deleted", ".replaced"] where TestFile.exists(file(inner)) {
            for name in try Self.entries(file(inner)) where !name.hasPrefix(".") {
                tree["\(inner)/\(name)"] = try TestFile.read(file("\(inner)/\(name)"))
            }
        }
        return tree
    }

    /// Removes what `tree` has.
    func empty() throws {
        for name in try tree().keys { try TestFile.remove(file(name)) }
    }

    /// What shows that a file was touched: inode, times and size of everything, what the export remembers included.
    func marks() throws -> [String: [Int]] {
        var marks: [String: [Int]] = [:]
        for folder in [".", ".prsnld-export"] {
            for name in try Self.entries(file(folder)) where name != ".." {
                var status = stat()
                guard lstat(file("\(folder)/\(name)"), &status) == 0 else { throw WaitedInVain("\(name): \(errno)") }
                marks["\(folder)/\(name)"] = [
                    Int(status.st_ino), status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec,
                    status.st_ctim.tv_nsec, Int(status.st_size),
                ]
            }
        }
        return marks
    }

    private static func entries(_ path: String) throws -> [String] {
        guard let stream = opendir(path) else { throw WaitedInVain("\(path): errno \(errno)") }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            names.append(
                withUnsafePointer(to: &entry.pointee.d_name) { name in
                    name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                })
        }
        return names
    }
}
