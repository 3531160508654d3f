import Commands
import Glibc
import PRSNLCore
import Requests
import Store
import TestSupport
import Testing

/// The daemon and the command line, among users of one machine.
@Suite(.enabled(if: OtherUser.canBeMade, "needs root, to be other users"))
struct AccessTests {
    private func total(_ scene: AccessScene) throws -> Int {
        try StoreReader(path: scene.fixture.database).outbox(.all, limit: 1).total
    }

    @Test func rootAndTheDaemonsUserMayChangeThings() async throws {
        let scene = try AccessScene()
        let daemon = try await scene.startReady()
        for user in [nil, scene.owner] {
            #expect(try await scene.control(user, "sync", "--wait").exit == .status(0))
            #expect(try await scene.control(user, "note", "a text").exit == .status(0))
            #expect(try await scene.control(user, "errors", "--clear").exit == .status(0))
        }
        #expect(try total(scene) == 2)
        #expect(try await daemon.terminate() == .status(0))
    }

    @Test func aMemberLooksAndChangesNothingNotEvenInTheFile() async throws {
        let scene = try AccessScene()
        let daemon = try await scene.startReady()
        // The first pull is over then.
        #expect(try await scene.control(nil, "sync", "--wait").exit == .status(0))
        let status = try scene.fixture.decode(
            StatusReport.self, try await scene.control(scene.member, "status", "--json"))
        #expect(status.source == .daemon)
        for command in ["history", "queue", "net", "errors", "ping"] {
            let ended = try await scene.control(scene.member, command)
            #expect(ended.exit == .status(0), "\(command): \(ended)")
        }
        #expect(try await scene.control(scene.member, "retry-queue", "--dry-run").exit == .status(0))
        for command in [
            ["sync", "--json"], ["note", "it's a text", "--json"], ["capture", "https://example.com/", "--json"],
            ["retry-queue", "--json"], ["errors", "--clear", "--json"],
        ] {
            let ended = try await scene.control(scene.member, command)
            #expect(ended.exit == .status(1), "\(command): \(ended)")
            let error = try scene.error(ended)
            #expect(error.codeName == "control_refused")
            #expect(error.recoverySuggestion.description.contains("group_may_write = yes"))
            #expect(error.nextCommand?.line.contains("prsnlctl --socket ") == true)
            #expect(error.nextCommand?.line.contains(command[0]) == true)
        }
        let piped = try await scene.control(scene.member, "capture", "--stdin", input: "https://example.com/\n")
        #expect(piped.exit == .status(1))
        #expect(piped.stderr.contains("prsnlctl --socket"), "\(piped.stderr)")
        #expect(try total(scene) == 0)
        #expect(try await daemon.terminate() == .status(0))
    }

    @Test func reloadGivesTheGroupTheRightAndTakesItBack() async throws {
        let scene = try AccessScene()
        let daemon = try await scene.startReady()
        #expect(try await scene.control(scene.member, "note", "one").exit == .status(1))
        for (value, exit) in [("yes", Int32(0)), ("no", 1)] {
            try scene.configure("group_may_write = \(value)")
            daemon.signal(SIGHUP)
            _ = try await daemon.waitForErrorLine(containing: "configuration read again: group_may_write = \(value)")
            #expect(try await scene.control(scene.member, "note", "two").exit == .status(exit))
        }
        #expect(try total(scene) == 1)
        #expect(try await daemon.terminate() == .status(0))
    }

    @Test func aStrangerLearnsNothingAndChangesNothing() async throws {
        let scene = try AccessScene()
        let daemon = try await scene.startReady()
        let status = try await scene.control(scene.stranger, "status", "--json")
        #expect(status.exit == .status(1))
        let refusal = try scene.error(status)
        #expect(refusal.codeName == "database_unreadable")
        // Which group may look, where its number has a name.
        #expect(refusal.message == "This user may not look at \(scene.fixture.database).")
        #expect(refusal.nextCommand?.line.contains("prsnlctl --socket") == true)
        let doctor = try await scene.control(scene.stranger, "doctor")
        #expect(!doctor.stdout.contains("there is no copy"), "\(doctor)")
        #expect(doctor.stdout.contains("may not look into"), "\(doctor)")
        let note = try await scene.control(scene.stranger, "note", "a text", "--json")
        #expect(note.exit == .status(1))
        #expect(try scene.error(note).codeName == "control_refused")
        #expect(try scene.error(note).nextCommand?.line.contains("prsnlctl --socket") == true)
        #expect(try total(scene) == 0)
        #expect(try await daemon.terminate() == .status(0))
    }

    /// systemd's `PrivateUsers=`: other users' numbers read as 65534 there.
    @Test func underPrivateUsersRootTheDaemonsUserAndTheGroupAreStillKnown() async throws {
        let scene = try AccessScene()
        let daemon = try await scene.startReadyWithPrivateUsers()
        #expect(try await scene.control(nil, "sync", "--wait").exit == .status(0))
        #expect(try await scene.control(scene.owner, "note", "a text").exit == .status(0))
        let status = try scene.fixture.decode(
            StatusReport.self, try await scene.control(scene.member, "status", "--json"))
        #expect(status.source == .daemon)
        #expect(try scene.error(try await scene.control(scene.member, "sync", "--json")).codeName == "control_refused")
        // A process that can connect, and is 65534 and nothing else.
        #expect(chmod(scene.fixture.folder.path, 0o755) == 0 && chmod(scene.fixture.socket, 0o666) == 0)
        let note = try await scene.control(scene.stranger, "note", "a text", "--json")
        #expect(try scene.error(note).codeName == "control_refused")
        #expect(try scene.error(note).message.contains("neither root, nor the daemon's user"))
        #expect(try total(scene) == 1)
        #expect(try await daemon.terminate() == .status(0))
    }

    // MARK: What is root's, and stays so

    /// A reader's place belongs to the person who asks: root's to root, also where root has another user's home.
    @Test func aPlaceOfRootsIsRoots() async throws {
        let scene = try AccessScene()
        let daemon = try await scene.startReady()
        try await eventually("a complete copy") {
            try await scene.control(scene.owner, "status").exit == .status(0)
        }
        let home = TemporaryDirectory("root")
        try #require(chmod(home.path, 0o700) == 0)
        for (folder, owner) in [(home.path, 0), (scene.fixture.folder.path, scene.owner.user)] {
            func changes() async throws -> DaemonFixture.Ended {
                try await ChildProcess.run(
                    try BuiltProducts.executable("prsnlctl"),
                    [
                        "--socket", scene.fixture.socket, "--database", scene.fixture.database, "changes", "--reread",
                        "--cursor", "mine",
                    ], environment: ["HOME": folder, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"])
            }
            let ended = try await changes()
            #expect(ended.exit == .status(0), "\(ended)")
            var status = stat()
            #expect(lstat(folder + "/.local/state/prsnld/cursors/mine", &status) == 0 && status.st_uid == owner)
            #expect(lstat(folder + "/.local", &status) == 0 && status.st_uid == owner)
        }
        #expect(try await daemon.terminate() == .status(0))
    }

    /// A pager, an editor or a browser with another user's rights would lend root's terminal to every process of that user.
    @Test func noProgramOfAnotherUserStartsOnRootsTerminal() async throws {
        let scene = try AccessScene()
        let daemon = try await scene.startReady()
        try await eventually("a complete copy") {
            try await scene.control(scene.owner, "status").exit == .status(0)
        }
        let started = TemporaryDirectory("started")
        try #require(chmod(started.path, 0o777) == 0)
        let program = started.file("program")
        try TestFile.write("#!/bin/sh\necho >>'\(started.file("said"))'\n", to: program, mode: 0o755)
        try #require(chmod(program, 0o755) == 0)
        func typed(_ words: String) async throws -> String {
            let terminal = try TerminalProcess(
                "/bin/sh",
                [
                    "-c",
                    "stty rows 4 cols 300; '\(try BuiltProducts.executable("prsnlctl"))' --socket '\(scene.fixture.socket)' --database '\(scene.fixture.database)' \(words)",
                ],
                environment: [
                    "HOME": started.path, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "dumb",
                    "PAGER": program, "EDITOR": program, "BROWSER": program,
                ], directory: "/")
            _ = try await terminal.waitForExit()
            return terminal.shown
        }
        let id = scene.fixture.server.items()[0].id
        #expect(try await typed("show \(id)").contains("shown without a pager"))
        #expect(try await typed("open \(id)").contains("no browser is started"))
        for words in ["note", "edit \(id)"] {
            let shown = try await typed(words)
            #expect(shown.contains("No editor is started") && shown.contains("Nothing was queued."), "\(shown)")
        }
        #expect(!TestFile.exists(started.file("said")))
        #expect(try await daemon.terminate() == .status(0))
    }

    /// What asks systemd has no terminal at all.
    @Test func systemctlIsAskedWithoutATerminal() async throws {
        let scene = try AccessScene()
        let seen = scene.fixture.folder.file("seen")
        let asked = scene.fixture.folder.file("systemctl")
        try TestFile.write(
            "#!/bin/sh\nif (: </dev/tty) 2>/dev/null; then echo tty; else echo none; fi >'\(seen)'\nexit 1\n", to: asked
        )
        try #require(chmod(asked, 0o755) == 0)
        let daemon = try await scene.startReady()
        #expect(try await daemon.terminate() == .status(0))
        let terminal = try TerminalProcess(
            "/usr/bin/unshare",
            [
                "--mount", "--propagation", "private", "bash", "-c",
                "mount -t tmpfs none /run && mkdir -p /run/systemd/system && touch /run/systemd/system/prsnld.service && mount --bind '\(asked)' /usr/bin/systemctl && '\(try BuiltProducts.executable("prsnlctl"))' --database '\(scene.fixture.database)' status",
            ], environment: ["HOME": "/", "PATH": "/usr/sbin:/usr/bin:/bin", "LANG": "C.UTF-8"], directory: "/")
        _ = try await terminal.waitForExit()
        #expect(try TestFile.text(seen) == "none\n", "\(terminal.shown)")
    }
}
