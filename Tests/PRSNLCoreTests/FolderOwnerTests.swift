import CTestSupport
import Glibc
import PRSNLCore
import Synchronization
import TestSupport
import Testing

/// Root in the folder of another user.
@Suite(.enabled(if: OtherUser.canBeMade, "needs root, for users of its own"), .serialized)
struct FolderOwnerTests {
    private let owner = OtherUser(65_533, group: 65_532)
    private let folder = TemporaryDirectory("owner")

    private func prepared() throws -> String {
        let theirs = folder.file("theirs")
        try #require(chmod(folder.path, 0o755) == 0 && mkdir(theirs, 0o755) == 0)
        try owner.own(theirs, mode: 0o755)
        return theirs
    }

    private func canRead(_ path: String) -> Bool {
        guard let file = fopen(path, "re") else { return false }
        fclose(file)
        return true
    }

    /// Most files of root's are readable for its group.
    @Test(arguments: [0o600, 0o640, 0o440] as [mode_t])
    func whatOnlyRootOrItsGroupMayReadIsNotRead(mode: mode_t) throws {
        let theirs = try prepared()
        let secret = folder.file("secret")
        try TestFile.write("root's", to: secret, mode: mode)
        #expect(try FolderOwner.run(beside: theirs + "/file") { _ in canRead(secret) } == false)
        // And what belongs to them is theirs, also from within a run of another owner.
        try TestFile.write("theirs", to: theirs + "/file", mode: 0o600)
        try owner.own(theirs + "/file", mode: 0o600)
        let read = try FolderOwner.run(beside: theirs + "/new") { path throws(UserFacingError) in
            try FolderOwner.run(beside: path) { _ in canRead(theirs + "/file") } && !canRead(secret)
        }
        #expect(read)
        // Afterwards root is root again.
        #expect(canRead(secret) && getegid() == 0)
        var groups = [gid_t](repeating: 0, count: 64)
        #expect(groups.prefix(Int(max(0, getgroups(64, &groups)))).contains(65_532) == false)
    }

    @Test func rootsOwnLinksAreFollowedAsRoot() throws {
        let theirs = try prepared()
        let closed = folder.file("closed")
        try #require(mkdir(closed, 0o700) == 0 && symlink(theirs, closed + "/link") == 0)
        #expect(RealPath.of(closed + "/link/file") == theirs + "/file")
        let isTheirs = FolderOwner(closed + "/link/file").isUser(65_533)
        #expect(isTheirs)
    }

    @Test func rootsFoldersAndLinksBelowTheirsAreTheirs() throws {
        let theirs = try prepared()
        let secret = folder.file("secret")
        try TestFile.write("root's", to: secret, mode: 0o600)
        try #require(mkdir(theirs + "/roots", 0o755) == 0 && symlink(folder.path, theirs + "/link") == 0)
        for path in ["/roots/file", "/link/secret", "/roots/../../secret", "/not/there/yet"] {
            #expect(try FolderOwner.run(beside: theirs + path) { _ in canRead(secret) } == false, "\(path)")
        }
        // A link of theirs, wherever it is.
        for mine in [theirs + "/mine", folder.file("mine")] {
            try #require(symlink(folder.path, mine) == 0 && lchown(mine, 65_533, 65_532) == 0)
            #expect(try FolderOwner.run(beside: mine + "/secret") { _ in canRead(secret) } == false)
            // It leads out of what is theirs, and stays what it is.
            #expect(RealPath.of(mine + "/secret") == mine + "/secret")
        }
        #expect(RealPath.of(theirs + "/link/theirs/file") == theirs + "/file")
    }

    private final class Swapping: Sendable {
        let isOver = Atomic(false)
    }

    /// While root looks, they swap a folder for a link to that of a third user, whose rights are not theirs to give.
    @Test func aFolderThatIsSwappedGivesNoThirdUsersRights() async throws {
        let theirs = try prepared()
        let third = folder.file("third")
        for path in [theirs + "/notes", theirs + "/notes/inner"] {
            try #require(mkdir(path, 0o755) == 0)
            try owner.own(path, mode: 0o755)
        }
        try #require(mkdir(third, 0o755) == 0 && mkdir(third + "/inner", 0o755) == 0)
        try #require(chown(third + "/inner", 65_531, 65_531) == 0)
        try #require(symlink(third, theirs + "/link") == 0 && lchown(theirs + "/link", 65_533, 65_532) == 0)
        let swapping = Swapping()
        let taken = await withTaskGroup(of: Int.self) { tasks in
            tasks.addTask {
                while !swapping.isOver.load(ordering: .relaxed) {
                    for _ in 0..<500 { _ = prsnl_exchange(theirs + "/notes", theirs + "/link") }
                    await Task.yield()
                }
                return 0
            }
            tasks.addTask {
                defer { swapping.isOver.store(true, ordering: .relaxed) }
                return (0..<5_000).count { _ in FolderOwner(theirs + "/notes/inner/file").isUser(65_531) }
            }
            return await tasks.reduce(0, +)
        }
        #expect(taken == 0)
    }
}
