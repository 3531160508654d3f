import Commands
import Console
import Control
import Glibc
import PRSNLCore
import Requests
import TestSupport
import Testing

/// Who may read the copy on a machine with other people on it.
@Suite(.enabled(if: Machine.isToBeUsed, "machines of a test's own need root")) struct ReaderTests {
    private static let count = "SELECT count(*) FROM timeline"

    /// With a member of the group, and a user who is none.
    private func withPeople(_ body: (ServiceScene) async throws -> Void) async throws {
        try await ServiceScene.run { scene in
            try await scene.machine.must("useradd", "--no-create-home", "--groups", "prsnld", "member")
            try await scene.machine.must("useradd", "--no-create-home", "stranger")
            try await scene.startComplete()
            try await body(scene)
        }
    }

    private func expectReadable(
        _ machine: Machine, _ when: Comment, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        // As people type it, and as the documentation says.
        for options in [[], ["-readonly"]] {
            let ran = try await machine.run(
                ["sqlite3"] + options + [ServiceScene.database, Self.count], as: .named("member"))
            #expect(ran.stdout == "40\n" && ran.exit == .status(0), "\(when): \(ran)", sourceLocation: sourceLocation)
        }
    }

    private func expectUnwritable(
        _ machine: Machine, _ when: Comment, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        for change in ["DELETE FROM item", "PRAGMA user_version = 99", "CREATE TABLE mine (a)"] {
            let ran = try await machine.run(
                ["sqlite3", ServiceScene.database, change], as: .named("member"))
            #expect(
                ran.exit != .status(0) && ran.stderr.contains("readonly"), "\(when): \(ran)",
                sourceLocation: sourceLocation)
        }
        // Busy, or not permitted: no frame is moved in either case.
        let log = machine.path("\(ServiceScene.database)-wal")
        let before = try TestFile.read(log)
        let ran = try await machine.run(
            ["sqlite3", ServiceScene.database, "PRAGMA wal_checkpoint(TRUNCATE)"], as: .named("member"))
        #expect(
            ran.exit != .status(0) || ran.stdout.hasPrefix("1|"), "\(when): \(ran)", sourceLocation: sourceLocation)
        #expect(try TestFile.read(log) == before, sourceLocation: sourceLocation)
        for name in ["", "-wal", "-shm"] {
            let write = try await machine.run(
                ["sh", "-c", "exec 2>&1; : >>\(ServiceScene.database)\(name)"], as: .named("member"))
            #expect(write.stdout.contains("Permission denied"), "\(write)", sourceLocation: sourceLocation)
        }
        let remove = try await machine.run(["rm", "-f", ServiceScene.database + "-wal"], as: .named("member"))
        #expect(remove.exit != .status(0), sourceLocation: sourceLocation)
    }

    @Test func aMemberOfTheGroupReadsAndCannotWriteWhileItRunsAfterItStoppedAndAfterItWasKilled() async throws {
        try await withPeople { scene in
            let machine = scene.machine
            try await expectReadable(machine, "running")
            try await expectUnwritable(machine, "running")

            try await machine.must("systemctl", "stop", ServiceScene.unit)
            try await expectReadable(machine, "stopped")
            try await expectUnwritable(machine, "stopped")

            try await scene.override("Restart=no")
            try await scene.start()
            // Something is in the write-ahead log that is not in the file yet.
            scene.server.edit(scene.server.items()[0].id) { $0.title = "edited" }
            try await machine.must("prsnlctl", "sync", "--full", "--wait")
            try await machine.must("systemctl", "kill", "--signal=KILL", ServiceScene.unit)
            try await machine.waitFor("failed")
            try await expectReadable(machine, "killed")
            let edited = try await machine.must(
                "sqlite3", "-readonly", ServiceScene.database, "SELECT count(*) FROM timeline WHERE title = 'edited'",
                as: .named("member"))
            #expect(edited == "1")
            try await expectUnwritable(machine, "killed")

            try await scene.start()
            try await scene.waitUntilComplete()
            try await expectReadable(machine, "running again")
        }
    }

    /// As docs/guide.md has it. A `.backup` may never end for them while the daemon is stopped.
    @Test func aMemberOfTheGroupMakesABackupWhileItRunsAndAfterItStopped() async throws {
        try await withPeople { scene in
            let machine = scene.machine
            for when in ["running", "stopped"] {
                if when == "stopped" { try await machine.must("systemctl", "stop", ServiceScene.unit) }
                let copy = "/tmp/\(when).sqlite"
                try await machine.must(
                    "sqlite3", "-readonly", ServiceScene.database, "VACUUM INTO '\(copy)'", as: .named("member"))
                let count = try await machine.must("sqlite3", copy, Self.count, as: .named("member"))
                #expect(count == "40", "\(when)")
                try await expectReadable(machine, "\(when), after the backup")
            }
            // It is a copy that the daemon can go on with.
            try await machine.must(
                "install", "-o", "prsnld", "-g", "prsnld", "-m", "640", "/tmp/stopped.sqlite", ServiceScene.database)
            try await machine.must("rm", "-f", ServiceScene.database + "-wal", ServiceScene.database + "-shm")
            try await scene.startComplete()
            try await expectReadable(machine, "from the backup")
        }
    }

    @Test func filesAndFoldersHaveTheModesThatAreDocumented() async throws {
        try await withPeople { scene in
            let listing = try await scene.machine.must(
                "stat", "--format=%n %a %U:%G", "/var/lib/prsnld", ServiceScene.database,
                ServiceScene.database + "-wal", ServiceScene.database + "-shm", "/run/prsnld",
                "/run/prsnld/control.sock")
            #expect(
                listing == """
                    /var/lib/prsnld 750 prsnld:prsnld
                    /var/lib/prsnld/prsnl.sqlite 640 prsnld:prsnld
                    /var/lib/prsnld/prsnl.sqlite-wal 640 prsnld:prsnld
                    /var/lib/prsnld/prsnl.sqlite-shm 640 prsnld:prsnld
                    /run/prsnld 750 prsnld:prsnld
                    /run/prsnld/control.sock 660 prsnld:prsnld
                    """)
        }
    }

    @Test func nobodyElseReadsTheFileOrAsksTheDaemon() async throws {
        try await withPeople { scene in
            let machine = scene.machine
            let stranger = Machine.User.named("stranger")
            let read = try await machine.run("sqlite3", ServiceScene.database, Self.count, as: stranger)
            #expect(read.exit != .status(0) && read.stdout.isEmpty, "\(read)")
            for path in [ServiceScene.database, ServiceScene.database + "-wal", "/etc/prsnld/key"] {
                let look = try await machine.run("cat", path, as: stranger)
                #expect(look.exit != .status(0) && look.stdout.isEmpty, "\(path)")
            }
            let status = try await machine.run("prsnlctl", "status", as: stranger)
            #expect(status.exit == .status(1) && status.stdout.isEmpty, "\(status)")
            let capture = try await machine.run("prsnlctl", "note", "mine", as: stranger)
            #expect(capture.exit != .status(0) && capture.stdout.isEmpty, "\(capture)")
            #expect(scene.server.captures.isEmpty)
        }
    }

    @Test func aMemberOfTheGroupAsksForTheStatus() async throws {
        try await withPeople { scene in
            let status = try await scene.machine.run("prsnlctl", "status", "--json", as: .named("member"))
            let report = try JSONOutput.decode(StatusReport.self, from: Array(status.stdout.utf8))
            #expect(report.source == .daemon && report.copy.live == 40, "\(status)")
        }
    }

    /// Under PrivateUsers=, where other users' numbers mean nothing: groups decide.
    @Test func membersChangeSomethingOnlyWhereTheConfigurationSaysSo() async throws {
        try await withPeople { scene in
            let machine = scene.machine
            let refused = try await machine.run("prsnlctl", "note", "mine", as: .named("member"))
            #expect(refused.exit == .status(1) && refused.stderr.contains("prsnlctl note mine"), "\(refused)")
            try await scene.configure("group_may_write = yes")
            try await machine.must("systemctl", "reload", ServiceScene.unit)
            _ = try await machine.waitForJournal(containing: "group_may_write = yes")
            try await machine.must("prsnlctl", "note", "mine", as: .named("member"))
            try await scene.waitFor("the delivery") { $0.outbox?.waiting == 0 }
            #expect(scene.server.captures.map(\.content) == ["mine"])
        }
    }

    /// What it finds about the file.
    private func doctor(_ machine: Machine, _ more: String...) async throws -> [DoctorReport.Finding] {
        let ran = try await machine.run(["prsnlctl", "doctor", "--json"] + more)
        return try JSONOutput.decode(DoctorReport.self, from: Array(ran.stdout.utf8)).findings
            .filter { $0.group == .file }
    }

    @Test func whatRootTakesFromReadersWithAPlainSQLiteShellIsFoundAndGivenBack() async throws {
        try await withPeople { scene in
            let machine = scene.machine
            try await machine.must("systemctl", "stop", ServiceScene.unit)
            try await expectReadable(machine, "stopped")
            // The last to close the file, with the right to do so, removes what readers need.
            try await machine.must("sqlite3", ServiceScene.database, Self.count)
            #expect(!TestFile.exists(machine.path(ServiceScene.database + "-wal")))
            let locked = try await machine.run("sqlite3", ServiceScene.database, Self.count, as: .named("member"))
            #expect(locked.exit != .status(0) && locked.stdout.isEmpty, "\(locked)")

            let found = try await doctor(machine)
            #expect(found.contains { $0.nextCommand == "prsnlctl doctor --repair" }, "\(found)")
            let left = try await doctor(machine, "--repair")
            #expect(left.allSatisfy { $0.nextCommand != "prsnlctl doctor --repair" }, "\(left)")
            try await expectReadable(machine, "repaired")
            try await expectUnwritable(machine, "repaired")
            try await scene.startComplete()
        }
    }
}
