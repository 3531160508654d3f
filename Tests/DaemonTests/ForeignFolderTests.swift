import Commands
import DevServer
import Glibc
import PRSNLCore
import Requests
import TestSupport
import Testing

/// What root opens below the folder of another user, who can put links there at any time, is opened as that user.
@Suite(.enabled(if: OtherUser.canBeMade, "needs root, for users of its own"))
struct ForeignFolderTests {
    private let owner = OtherUser(65_533, group: 65_532)

    /// A folder of the other user's, which they can reach.
    private func foreignFolder(_ scene: DaemonFixture) throws -> String {
        let folder = scene.folder.file("theirs")
        try #require(chmod(scene.folder.path, 0o755) == 0 && mkdir(folder, 0o755) == 0)
        try owner.own(folder, mode: 0o755)
        return folder
    }

    private func link(_ path: String, to target: String) throws {
        try #require(symlink(target, path) == 0 && lchown(path, owner.user, owner.group) == 0)
    }

    private func status(_ path: String) throws -> stat {
        var status = stat()
        try #require(lstat(path, &status) == 0, "\(path)")
        return status
    }

    // MARK: Export

    @Test(arguments: ["", "/part"], ["markdown", "jsonl"])
    func anExportFollowsNoLinkOfAnotherUser(_ rest: String, _ format: String) async throws {
        let scene = try await ExportScene()
        let victim = TemporaryDirectory("victim")
        let theirs = try foreignFolder(scene.fixture)
        try link(theirs + "/notes", to: victim.path)
        let ended = try await scene.fixture.control("export", "--format", format, theirs + "/notes" + rest)
        #expect(ended.exit != .status(0))
        #expect(access(victim.file(".prsnld-export"), F_OK) != 0 && access(victim.file("part"), F_OK) != 0)
    }

    @Test func whatRootExportsIntoAnothersFolderIsThatUsers() async throws {
        let scene = try await ExportScene()
        let theirs = try foreignFolder(scene.fixture)
        for path in [theirs, theirs + "/notes"] {
            let ended = try await scene.fixture.control("export", path)
            #expect(ended.exit == .status(0), "\(ended)")
            for name in ["", "/.prsnld-export", "/.prsnld-export/manifest", "/2026-11-02 Item 1.md"] {
                let status = try status(path + name)
                #expect(status.st_uid == owner.user && status.st_gid == owner.group, "\(path)\(name)")
            }
        }
        // Root's own folder in it, which they may give another name at any time.
        let roots = theirs + "/roots"
        try #require(mkdir(roots, 0o700) == 0)
        #expect(try await scene.fixture.control("export", roots).exit != .status(0))
        // And a link of root's there.
        try #require(symlink(roots, theirs + "/link") == 0)
        #expect(try await scene.fixture.control("export", theirs + "/link").exit != .status(0))
    }

    @Test func rootExportsAsItself() async throws {
        let scene = try await ExportScene()
        try #require(mkdir(scene.fixture.folder.file("real"), 0o700) == 0)
        try #require(symlink(scene.fixture.folder.file("real"), scene.folder) == 0)
        #expect(try await scene.export().exit == .status(0))
        #expect(try status(scene.fixture.folder.file("real/2026-11-02 Item 1.md")).st_uid == 0)
        let ended = try await scene.fixture.control("export", scene.fixture.configuration + "/below")
        #expect(ended.stderr.contains("Not a") && ended.stderr.contains("Nothing was exported."), "\(ended)")
    }

    // MARK: Root's rights

    /// What a command starts has the rights of the copy's owner, and no way back to root's.
    @Test func rootIsGivenUpForGood() async throws {
        let fixture = try DaemonFixture(items: [SearchCommandTests.item(0, "A page", url: "https://example.org/")])
        #expect(try await fixture.run(["--once"]).exit == .status(0))
        try #require(chmod(fixture.folder.path, 0o755) == 0)
        /// What proc(5) says of a command that goes on.
        func rights() async throws -> String {
            let follower = try fixture.startControl(["changes", "--follow", "--json"])
            _ = try await follower.waitForLine(containing: "epoch")
            let lines = try TestFile.text("/proc/\(follower.processID)/status").split(separator: "\n")
            _ = try await follower.terminate()
            return lines.filter { line in ["Uid:", "Gid:", "Groups:"].contains(where: line.hasPrefix) }
                .joined(separator: "\n")
        }
        #expect(try await rights().contains("Uid:\t0\t0\t0\t0\n"))
        try ownCopy(fixture)
        #expect(
            try await rights() == """
                Uid:\t65533\t65533\t65533\t65533
                Gid:\t65532\t65532\t65532\t65532
                Groups:\t65532\u{20}
                """)
        // A daemon of root's that works there answers root alone. The fourth user is that of file systems (setfsuid(2)).
        try TestFile.write("", to: fixture.socket)
        #expect(try await rights().contains("Uid:\t0\t0\t0\t"))
    }

    private func ownCopy(_ fixture: DaemonFixture) throws {
        for suffix in ["", "-wal", "-shm", ".lock"] { try owner.own(fixture.database + suffix, mode: 0o640) }
        try owner.own(fixture.folder.file("state"), mode: 0o750)
    }

    // MARK: The login, the key, the configuration

    /// The daemon's user has put links to what only root may read in the place of its login.
    @Test(arguments: [0o600, 0o440] as [mode_t])
    func whoamiAndAccountReadTheLoginWithItsOwnersRights(mode: mode_t) async throws {
        let scene = try LoginScene()
        let fixture = scene.fixture
        try await scene.makeCopy()
        let secret = fixture.folder.file("secret")
        try TestFile.write(try TestFile.read(scene.loginFile), to: secret, mode: mode)
        try TestFile.remove(scene.loginFile)
        try #require(chmod(fixture.folder.path, 0o755) == 0)
        try ownCopy(fixture)
        try link(scene.loginFile, to: secret)
        for command in ["whoami", "account"] {
            let ended = try await fixture.control(command, "--json")
            #expect(ended.stdout.contains(#""kind" : "not_readable""#), "\(ended)")
        }
    }

    @Test func aConfigurationInAnothersFolderIsReadWithTheirRights() async throws {
        let fixture = try DaemonFixture(items: [])
        let theirs = try foreignFolder(fixture)
        let secret = fixture.folder.file("secret")
        try TestFile.write("nothing_but_root_knows = this\n", to: secret)
        try #require(chmod(secret, 0o440) == 0)
        try link(theirs + "/prsnld.conf", to: secret)
        for arguments in [
            ["status"], ["doctor"], ["login", "--server", "https://prsnl.example.org", "--email", "a@example.org"],
        ] {
            let program = try BuiltProducts.executable("prsnlctl")
            let ended = try await ChildProcess.run(program, ["--config", theirs + "/prsnld.conf"] + arguments)
            #expect(!(ended.stdout + ended.stderr).contains("nothing_but_root"), "\(ended)")
        }
        #expect(try TestFile.text(secret) == "nothing_but_root_knows = this\n")
    }
}
