import DevServer
import Glibc
import PRSNLCore
import TestSupport
import Testing

/// Only the owner of the copy and the members of its group may read it, whether the daemon runs or not.
@Suite struct FileModeTests {
    private static let files = ["", "-wal", "-shm", ".lock"]
    /// A member of the files' group, which is this process's own, and another user.
    private static let member = ["--reuid=4242", "--regid=4242", "--groups=\(getegid())"]
    private static let stranger = ["--reuid=4243", "--regid=4243", "--clear-groups"]

    private func modes(_ database: String) -> [String: UInt32] {
        var modes: [String: UInt32] = [:]
        for suffix in Self.files {
            var status = stat()
            if stat(database + suffix, &status) == 0 { modes[suffix] = status.st_mode & 0o7777 }
        }
        return modes
    }

    /// A lock that others may read they could take.
    private static let expected: [String: UInt32] = ["": 0o640, "-wal": 0o640, "-shm": 0o640, ".lock": 0o600]

    private func start(_ fixture: DaemonFixture, umask: String) async throws -> ChildProcess {
        let daemon = try ChildProcess(
            "/bin/sh",
            [
                "-c", "umask \(umask) && exec \"$0\" --config \"$1\"", BuiltProducts.executable("prsnld"),
                fixture.configuration,
            ])
        try await eventually("the daemon to listen") { fixture.isListening }
        try await fixture.waitUntilComplete()
        return daemon
    }

    @Test(arguments: ["000", "027", "077"])
    func theGroupMayReadWhateverTheUmaskIs(umask: String) async throws {
        let fixture = try DaemonFixture()
        let daemon = try await start(fixture, umask: umask)
        #expect(modes(fixture.database) == Self.expected)
        #expect(try await daemon.terminate() == .status(0))
        #expect(modes(fixture.database) == Self.expected)
        let second = try await start(fixture, umask: umask)
        second.signal(SIGKILL)
        #expect(try await second.waitForExit() == .signal(SIGKILL))
        #expect(modes(fixture.database) == Self.expected)
    }

    private func query(_ who: [String], _ database: String, _ sql: String) async throws -> DaemonFixture.Ended {
        try await ChildProcess.run("/usr/bin/setpriv", who + ["/usr/bin/sqlite3", database, sql])
    }

    /// As `StateDirectory=` with `StateDirectoryMode=0750` makes it.
    private func makeFixture() throws -> DaemonFixture {
        let fixture = try DaemonFixture()
        guard chmod(fixture.folder.path, 0o711) == 0, mkdir(fixture.folder.file("state"), 0o750) == 0 else {
            throw WaitedInVain("a state directory: errno \(errno)")
        }
        return fixture
    }

    private func expectOnlyReading(_ fixture: DaemonFixture, _ when: Comment) async throws {
        let count = "SELECT count(*) FROM timeline"
        let read = try await query(Self.member, fixture.database, count)
        #expect(read.exit == .status(0) && read.stdout == "250\n", when)
        for sql in ["DELETE FROM item", "PRAGMA user_version = 99", "VACUUM"] {
            let written = try await query(Self.member, fixture.database, sql)
            #expect(written.exit != .status(0) && written.stderr.contains("readonly"), "\(when), \(sql): \(written)")
        }
        // It says that it could not, or that there is nothing that it may; the file tells.
        var before = stat()
        var after = stat()
        #expect(stat(fixture.database + "-wal", &before) == 0, when)
        _ = try await query(Self.member, fixture.database, "PRAGMA wal_checkpoint(TRUNCATE)")
        #expect(stat(fixture.database + "-wal", &after) == 0, when)
        #expect(before.st_size == after.st_size && before.st_ino == after.st_ino, when)
        let kept = try await query(Self.stranger, fixture.database, count)
        #expect(kept.exit != .status(0) && kept.stdout.isEmpty, "\(when): \(kept)")
    }

    @Test(.enabled(if: geteuid() == 0, "needs root, to become other users"))
    func theGroupReadsWhileItRunsAfterItStoppedAndAfterItCrashedAndWritesNothing() async throws {
        let fixture = try makeFixture()
        let daemon = try await start(fixture, umask: "027")
        try await expectOnlyReading(fixture, "while it runs")
        #expect(try await daemon.terminate() == .status(0))
        try await expectOnlyReading(fixture, "after it stopped")
        let second = try await start(fixture, umask: "027")
        #expect(try await fixture.control("note", "a note that is only in the log").exit == .status(0))
        second.signal(SIGKILL)
        #expect(try await second.waitForExit() == .signal(SIGKILL))
        #expect(try await query(Self.member, fixture.database, "SELECT count(*) > 250 FROM timeline").stdout == "1\n")
    }

    /// The files of /proc/PID belong to the process's user, but to root where it is not dumpable (proc(5)).
    @Test(.enabled(if: geteuid() == 0, "needs root, to become another user"))
    func whoeverHasTheDaemonsUserCannotLookIntoItsMemory() async throws {
        let fixture = try DaemonFixture()
        let given = try await ChildProcess.run("/bin/chown", ["-R", "4242:4242", fixture.folder.path])
        #expect(given.exit == .status(0))
        // The rights to find the way to the binary, whatever user the folders above it belong to.
        let rights = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
        let daemon = try ChildProcess(
            "/usr/bin/setpriv",
            ["--reuid=4242", "--regid=4242", "--clear-groups"] + rights
                + [try BuiltProducts.executable("prsnld"), "--config", fixture.configuration])
        try await eventually("the daemon to listen") { fixture.isListening }
        try await fixture.waitUntilComplete()
        var status = stat()
        #expect(stat("/proc/\(daemon.processID)/mem", &status) == 0)
        #expect(status.st_uid == 0)
        #expect(try await daemon.terminate() == .status(0))
    }
}
