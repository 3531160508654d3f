import CLinux
import Commands
import Console
import Control
import DevServer
import Glibc
import PRSNLCore
import Requests
import Store
import TestSupport
import Testing

/// A disk that is full, a file that cannot be written: nothing is called queued that is not.
@Suite struct OutboxDiskTests {
    private let bigNote = String(repeating: "0123456789", count: 5_000)

    private func fixture(on disk: TinyDisk? = nil) async throws -> DaemonFixture {
        let fixture = try DaemonFixture(
            items: DevItem.generate(count: 4), database: disk?.file("prsnl.sqlite"), WriteScene.makeQuick)
        try fixture.configure("lookup_interval = 1s")
        let first = try await fixture.run(["--once"])
        try #require(first.exit == .status(0), "\(first.stderr)")
        return fixture
    }

    private func total(_ fixture: DaemonFixture) throws -> Int {
        try StoreReader(path: fixture.database).outbox(.all, limit: 1).total
    }

    private func code(_ fixture: DaemonFixture, _ ended: DaemonFixture.Ended) throws -> String {
        try fixture.decode(FailureReport.self, ended).error.codeName
    }

    private func waitUntilSent(_ fixture: DaemonFixture) async throws {
        try await eventually("the queue to be empty") {
            try StoreReader(path: fixture.database).summary().outbox.waiting == 0
        }
    }

    // MARK: No space

    @Test(.enabled(if: TinyDisk.canBeMade, "needs root, for a disk of its own"))
    func aFullDiskIsInTheStatusOfAnIdleDaemon() async throws {
        let disk = try TinyDisk()
        let fixture = try await fixture(on: disk)
        let daemon = try await fixture.startReady()
        #expect(try await fixture.control("status").exit == .status(0))
        try disk.fill()
        let full = try await fixture.control("status", "--json")
        #expect(full.exit == .status(4))
        #expect(try fixture.decode(StatusReport.self, full).daemon?.problem?.codeName == "disk_full")
        try disk.free()
        #expect(try await fixture.control("status").exit == .status(0))
        #expect(try await daemon.terminate() == .status(0))
    }

    @Test(.enabled(if: TinyDisk.canBeMade, "needs root, for a disk of its own"), arguments: [true, false])
    func aFullDiskRefusesWritesAndDamagesNothing(isDaemonRunning: Bool) async throws {
        let disk = try TinyDisk()
        let fixture = try await fixture(on: disk)
        fixture.server.refuseConnections()
        let daemon = isDaemonRunning ? try await fixture.startReady() : nil
        #expect(try await fixture.control("capture", "https://example.com/before").exit == .status(0))
        try disk.fill()
        // What is left of the last block may hold a small write; not many of these.
        var accepted = 1
        var refused: DaemonFixture.Ended?
        while refused == nil, accepted < 50 {
            let ended = try await fixture.control("note", "-", input: "\(accepted) " + bigNote.dropLast(10))
            if ended.exit == .status(0) { accepted += 1 } else { refused = ended }
        }
        let ended = try #require(refused)
        #expect(ended.exit == .status(1))
        #expect(ended.stdout.isEmpty)
        #expect(ended.stderr.contains("No space left for the database"), "\(ended.stderr)")
        #expect(ended.stderr.contains("Nothing was queued."), "\(ended.stderr)")
        #expect(ended.stderr.contains("Free some space, then give the command again."), "\(ended.stderr)")
        let json = try await fixture.control("note", "-", "--json", input: bigNote)
        #expect(json.exit == .status(1))
        #expect(try code(fixture, json) == "disk_full")
        #expect(try total(fixture) == accepted)

        try disk.free()
        #expect(try await fixture.control("note", "-", input: bigNote).exit == .status(0))
        try fixture.server.acceptConnections()
        if let daemon {
            #expect(try await fixture.control("retry-queue").exit == .status(0))
            try await waitUntilSent(fixture)
            #expect(try await daemon.terminate() == .status(0))
        }
        let pull = try await fixture.run(["--once"])
        #expect(pull.exit == .status(0), "\(pull.stderr)")
        #expect(fixture.server.captures.count == accepted + 1)
        #expect(try await integrity(fixture) == "ok\n")
    }

    @Test(.enabled(if: TinyDisk.canBeMade, "needs root, for a disk of its own"))
    func manyLinesEndWhereTheDiskIsFullAndTheLineIsNamed() async throws {
        let disk = try TinyDisk(megabytes: 32)
        let fixture = try await fixture(on: disk)
        try disk.fill(leaving: 2_000_000)
        let lines = (1...100).map { "{\"note\": \"\($0) \(bigNote.dropLast(10))\"}\n" }
        let ended = try await fixture.control("capture", "--stdin", input: lines.joined())
        #expect(ended.exit == .status(1))
        let onDisk = try total(fixture)
        #expect((1...99).contains(onDisk))
        let words = ended.stderr.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(words.contains("No space left"), "\(ended.stderr)")
        #expect(words.contains("\(onDisk) lines are on disk, 0 refused; nothing from line \(onDisk + 1) on is."))
        try disk.free()
        let rest = lines.dropFirst(onDisk).joined()
        #expect(try await fixture.control("capture", "--stdin", input: rest).exit == .status(0))
        #expect(try total(fixture) == 100)
        #expect(try await integrity(fixture) == "ok\n")
    }

    @Test(.enabled(if: TinyDisk.canBeMade, "needs root, for a disk of its own"), arguments: [false, true])
    func anAnswerThatCannotBeWrittenIsNotForgotten(isKilled: Bool) async throws {
        let disk = try TinyDisk()
        let fixture = try await fixture(on: disk)
        let hold = fixture.server.script(.hold, on: .capture)
        var daemon = try await fixture.startReady()
        #expect(try await fixture.control("capture", "https://example.com/a").exit == .status(0))
        #expect(try await fixture.control("note", "a note").exit == .status(0))
        try await fixture.server.waitForRequest(.capture)
        try disk.fill()
        hold.release()
        _ = try await daemon.waitForErrorLine(containing: "what became of it could not be written")
        try await expectFullDiskIsShown(fixture)
        if isKilled {
            daemon.signal(SIGKILL)
            #expect(try await daemon.waitForExit() == .signal(SIGKILL))
        }
        try disk.free()
        if isKilled { daemon = try await fixture.startReady() }
        try await waitUntilSent(fixture)
        #expect(fixture.server.captures.count == 2)
        #expect(try await daemon.terminate() == .status(0))
    }

    private func expectFullDiskIsShown(_ fixture: DaemonFixture) async throws {
        let status = try await fixture.control("status", "--json")
        #expect(status.exit == .status(4))
        #expect(try fixture.decode(StatusReport.self, status).daemon?.problem?.codeName == "disk_full")
        let errors = try fixture.decode(ErrorsReport.self, try await fixture.control("errors", "--json"))
        #expect(errors.errors.first.map { $0.code == "disk_full" && !$0.isOver } == true, "\(errors)")
        let doctor = try fixture.decode(DoctorReport.self, try await fixture.control("doctor", "--json"))
        #expect(doctor.findings.contains { $0.group == .file && $0.level == .failed && $0.found.contains(" full") })
    }

    @Test(.enabled(if: TinyDisk.canBeMade, "needs root, for a disk of its own"))
    func aReadOnlyFileSystemTakesNoWrites() async throws {
        let disk = try TinyDisk()
        let fixture = try await fixture(on: disk)
        try disk.setReadOnly(true)
        let ended = try await fixture.control("capture", "https://example.com/a", "--json")
        #expect(ended.exit == .status(1))
        #expect(try code(fixture, ended) == "database_read_only")
        try disk.setReadOnly(false)
        #expect(try total(fixture) == 0)
        #expect(try await fixture.control("capture", "https://example.com/a").exit == .status(0))
    }

    /// What was accepted last is in a log without a name by then. The next pull, too, has to bring it into the database.
    @Test func aPullSavesWhatARemovedLogHolds() async throws {
        let fixture = try await fixture()
        fixture.server.refuseConnections()
        let daemon = try await fixture.startReady()
        #expect(try await fixture.control("note", "only in the log").exit == .status(0))
        try TestFile.remove(fixture.database + "-wal")
        let sync = try await fixture.control("sync", "--wait", "--json")
        #expect(sync.exit == .status(1) && sync.stdout.contains("database_replaced"), "\(sync)")
        daemon.signal(SIGKILL)
        #expect(try await daemon.waitForExit() == .signal(SIGKILL))
        try fixture.server.acceptConnections()
        let once = try await fixture.run(["--once"])
        #expect(once.exit == .status(0), "\(once.stderr)")
        #expect(fixture.server.captures.map(\.content) == ["only in the log"])
    }

    @Test func aDatabaseThatIsGoneIsToBePutBack() async throws {
        let fixture = try await fixture()
        let daemon = try await fixture.startReady()
        #expect(rename(fixture.database, fixture.database + ".away") == 0)
        for command in [["sync", "--wait"], ["note", "a text"]] {
            let ended = try fixture.startControl(command)
            #expect(try await ended.waitForExit() == .status(1))
            #expect((ended.stdout + ended.stderr).contains("Put the file back"), "\(ended.stdout + ended.stderr)")
        }
        let doctor = try await fixture.control("doctor")
        #expect(doctor.stdout.contains("Put it back: writes that wait are in it."), "\(doctor)")
        #expect(!doctor.stdout.contains("there is no copy yet at"), "\(doctor)")
        #expect(rename(fixture.database + ".away", fixture.database) == 0)
        #expect(try await fixture.control("note", "a text").exit == .status(0))
        #expect(try await daemon.terminate() == .status(0))
    }

    // MARK: Another user's file

    /// Who holds the lock is said at once, and the write is tried until the lock is free.
    @Test(arguments: [false, true])
    func aFileThatAnotherProgramWritesIsWaitedFor(hasDaemon: Bool) async throws {
        let fixture = try await fixture()
        fixture.server.refuseConnections()
        let daemon = hasDaemon ? try await fixture.startReady() : nil
        let writer = try await ForeignWriter(fixture.database, fixture.folder)
        let note = try fixture.startControl(["note", "a text"])
        let line = try await note.waitForErrorLine(containing: "holds the write lock of \(fixture.database)")
        let status = try await fixture.control("status")
        #expect(status.stderr.contains("holds the write lock of \(fixture.database)"), "\(status)")
        #expect(line.contains("process \(writer.processID) (sqlite3)"), "\(line)")
        #expect(note.pollExit() == nil)
        // A daemon that has waited for five seconds refuses once: the command goes on.
        try await writer.end()
        #expect(try await note.waitForExit() == .status(0), "\(note.stderr)")
        #expect(try total(fixture) == 1)
        if let daemon { #expect(try await daemon.terminate() == .status(0)) }
    }

    @Test func aFileThatAnotherProgramKeepsWritingTakesNoWrite() async throws {
        let fixture = try await fixture()
        fixture.server.refuseConnections()
        let daemon = try await fixture.startReady()
        let writer = try await ForeignWriter(fixture.database, fixture.folder)
        let ended = try await fixture.control("capture", "https://example.com/a", "--json")
        #expect(ended.exit == .status(1) && ended.stderr.contains("trying for 30 s"), "\(ended)")
        #expect(try code(fixture, ended) == "database_busy")
        try await writer.end()
        #expect(try total(fixture) == 0)
        #expect(try await daemon.terminate() == .status(0))
    }

    @Test func aFileThatADaemonBehindAnotherSocketHasIsNotWritten() async throws {
        let fixture = try await fixture()
        let daemon = try await fixture.startReady()
        let ended = try await fixture.control(
            "capture", "https://example.com/a", "--json", "--socket", fixture.folder.file("other.sock"), "--database",
            fixture.database)
        #expect(ended.exit == .status(3))
        let error = try fixture.decode(FailureReport.self, ended).error
        #expect(error.codeName == "daemon_elsewhere")
        #expect(error.message.contains("process \(daemon.processID)") && error.message.contains(fixture.socket))
        #expect(try total(fixture) == 0)
    }

    // MARK: Files that go away

    @Test func aFileThatWasReplacedOrRemovedUnderTheDaemonTakesNoWrites() async throws {
        let fixture = try await fixture()
        fixture.server.refuseConnections()
        let daemon = try await fixture.startReady()
        #expect(try await fixture.control("capture", "https://example.com/a").exit == .status(0))
        let kept = fixture.database + ".kept"
        #expect(rename(fixture.database, kept) == 0)
        let removed = try await fixture.control("capture", "https://example.com/b", "--json")
        #expect(removed.exit == .status(1))
        #expect(try code(fixture, removed) == "database_replaced")
        try TestFile.write(TestFile.read(kept), to: fixture.database)
        let replaced = try await fixture.control("capture", "https://example.com/c", "--json")
        #expect(replaced.exit == .status(1))
        #expect(try code(fixture, replaced) == "database_replaced")
        // The right one is back: nothing happened.
        #expect(rename(kept, fixture.database) == 0)
        #expect(try await fixture.control("capture", "https://example.com/d").exit == .status(0))
        #expect(try await daemon.terminate() == .status(0))
        let urls = try StoreReader(path: fixture.database).outbox(.all, limit: 10).entries.compactMap(\.payload.madeURL)
        #expect(Set(urls) == ["https://example.com/a", "https://example.com/d"])
    }

    @Test(arguments: [SIGTERM, SIGKILL])
    func aWriteAheadLogThatWasRemovedTakesNoWritesAndLosesNone(signal: Int32) async throws {
        let fixture = try await fixture()
        fixture.server.refuseConnections()
        let daemon = try await fixture.startReady()
        #expect(try await fixture.control("capture", "https://example.com/a").exit == .status(0))
        try TestFile.remove(fixture.database + "-wal")
        // Into a file without a name, it would be gone with the daemon.
        let ended = try await fixture.control("capture", "https://example.com/b", "--json")
        #expect(ended.exit == .status(1), "\(ended)")
        let error = try fixture.decode(FailureReport.self, ended).error
        #expect(error.codeName == "database_replaced")
        // Not that of another daemon: this one was started manually.
        #expect(error.nextCommand == nil)
        daemon.signal(signal)
        _ = try await daemon.waitForExit()
        try fixture.server.acceptConnections()
        let again = try await fixture.startReady()
        try await waitUntilSent(fixture)
        #expect(fixture.server.captures.map(\.url) == ["https://example.com/a"])
        #expect(try await again.terminate() == .status(0))
        #expect(try await integrity(fixture) == "ok\n")
    }

    @Test func withoutAFileAndADaemonNothingIsQueued() async throws {
        let fixture = try DaemonFixture()
        let ended = try await fixture.control("capture", "https://example.com/a")
        #expect(ended.exit == .status(1))
        #expect(ended.stderr.contains("there is no copy yet"), "\(ended.stderr)")
        #expect(ended.stderr.contains("Nothing was queued"), "\(ended.stderr)")
        let lines = try fixture.startControl(["capture", "--stdin"], input: "https://example.com/a\n")
        #expect(try await lines.waitForExit() == .status(1))
        #expect(lines.stderr.contains("No line is on disk."), "\(lines.stderr)")
        #expect(!lines.stderr.contains("go on from line"), "\(lines.stderr)")
        #expect(!TestFile.exists(fixture.database))
    }

    // MARK: Owners

    @Test(
        .enabled(if: geteuid() == 0 || getenv("CI") != nil, "needs root, for a user of its own"),
        arguments: [0o700, 0o755] as [mode_t])
    func anotherUserIsToldWhatToType(mode: mode_t) async throws {
        let fixture = try await fixture()
        let folder = Descriptors.folder(of: fixture.database)
        #expect(chmod(fixture.folder.path, 0o755) == 0 && chmod(folder, mode) == 0)
        let ended = try await runAsStranger(fixture, ["capture", "https://example.com/a b", "--title", "x; y"])
        #expect(ended.exit == .status(1), "\(ended)")
        let error = try fixture.decode(FailureReport.self, ended).error
        #expect(error.codeName == "not_owner")
        #expect(error.consequence == "Nothing was queued.")
        #expect(error.nextCommand?.line.contains("prsnlctl --") ?? false, "\(error)")
        #expect(error.nextCommand?.line.contains("x; y'") ?? false, "\(error)")
        #expect(try total(fixture) == 0)
    }

    @Test(.enabled(if: geteuid() == 0 || getenv("CI") != nil, "needs root, for a user of its own"))
    func rootWritesAsTheOwner() async throws {
        let fixture = try await fixture()
        let folder = Descriptors.folder(of: fixture.database)
        #expect(chmod(fixture.folder.path, 0o755) == 0)
        for suffix in ["-wal", "-shm"] { try TestFile.remove(fixture.database + suffix) }
        for path in [folder, fixture.database, fixture.database + ".lock"] {
            #expect(chown(path, stranger, stranger) == 0)
        }
        #expect(try await fixture.control("capture", "https://example.com/a").exit == .status(0))
        for path in ["", "-wal", "-shm", ".lock"].map({ fixture.database + $0 }) {
            var status = stat()
            #expect(stat(path, &status) == 0 && status.st_uid == stranger, "\(path)")
        }
        #expect(try total(fixture) == 1)
    }

    @Test(.enabled(if: geteuid() == 0 || getenv("CI") != nil, "needs root, for a user of its own"))
    func aFileThatItsOwnerMayNotWriteTakesNothing() async throws {
        let fixture = try await fixture()
        let folder = Descriptors.folder(of: fixture.database)
        #expect(chmod(fixture.folder.path, 0o755) == 0)
        for path in [folder] + ["", "-wal", "-shm", ".lock"].map({ fixture.database + $0 }) {
            #expect(chown(path, stranger, stranger) == 0)
        }
        #expect(chmod(fixture.database, 0o400) == 0)
        let ended = try await runAsStranger(fixture, ["capture", "https://example.com/a"])
        #expect(ended.exit == .status(1), "\(ended)")
        #expect(try code(fixture, ended) == "database_read_only")
        #expect(chmod(fixture.database, 0o600) == 0)
        for suffix in ["-wal", "-shm"] { try TestFile.remove(fixture.database + suffix) }
        #expect(chmod(folder, 0o500) == 0)
        let folderOnly = try await runAsStranger(fixture, ["capture", "https://example.com/a"])
        #expect(folderOnly.exit == .status(1), "\(folderOnly)")
        #expect(["database_read_only", "database_unreadable"].contains(try code(fixture, folderOnly)))
        #expect(chmod(folder, 0o700) == 0)
        #expect(try total(fixture) == 0)
        #expect(try await runAsStranger(fixture, ["capture", "https://example.com/a"]).exit == .status(0))
        #expect(try total(fixture) == 1)
    }

    /// A user who is neither root nor the one who runs the tests.
    private let stranger: uid_t = 65_533

    private func runAsStranger(_ fixture: DaemonFixture, _ arguments: [String]) async throws -> DaemonFixture.Ended {
        try await ChildProcess.run(
            "/usr/bin/setpriv",
            ["--reuid=\(stranger)", "--regid=\(stranger)", "--clear-groups", try BuiltProducts.executable("prsnlctl")]
                + ["--socket", fixture.folder.file("none.sock"), "--database", fixture.database, "--json"] + arguments)
    }

    private func integrity(_ fixture: DaemonFixture) async throws -> String {
        try await ChildProcess.run("/usr/bin/sqlite3", ["-readonly", fixture.database, "PRAGMA integrity_check"]).stdout
    }
}

extension OutboxEntry.Payload {
    fileprivate var madeURL: String? {
        if case .create(let item) = self { item.url } else { nil }
    }
}

/// A program that has begun to write the file, and takes its time.
private final class ForeignWriter: Sendable {
    private let shell: ChildProcess
    private let gate: String
    var processID: Int32 { shell.processID }

    init(_ database: String, _ folder: TemporaryDirectory) async throws {
        gate = folder.file("gate-\(UInt32.random(in: 0...UInt32.max))")
        guard mkfifo(gate, 0o600) == 0 else { throw WaitedInVain("mkfifo: errno \(errno)") }
        shell = try ChildProcess(
            "/usr/bin/sqlite3", [database],
            input: "BEGIN IMMEDIATE;\n.shell echo has it\n.shell cat \(gate)\nROLLBACK;\n")
        _ = try await shell.waitForLine(containing: "has it")
    }

    deinit { open() }

    func end() async throws {
        open()
        #expect(try await shell.waitForExit() == .status(0))
    }

    /// Lets `cat` come to its end.
    private func open() {
        let descriptor = prsnl_open(gate, O_WRONLY | O_NONBLOCK | O_CLOEXEC, 0)
        if descriptor >= 0 { close(descriptor) }
    }
}
