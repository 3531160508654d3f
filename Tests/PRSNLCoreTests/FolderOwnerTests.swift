import Glibc
import PRSNLCore
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
        // And what belongs to them is theirs, also from within a run of somebody else's.
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

    @Test func rootsFoldersAndLinksBelowTheirsAreTheirs() throws {
        let theirs = try prepared()
        let secret = folder.file("secret")
        try TestFile.write("root's", to: secret, mode: 0o600)
        try #require(mkdir(theirs + "/roots", 0o755) == 0 && symlink(folder.path, theirs + "/link") == 0)
        for path in ["/roots/file", "/link/secret", "/roots/../../secret", "/not/there/yet"] {
            #expect(try FolderOwner.run(beside: theirs + path) { _ in canRead(secret) } == false, "\(path)")
        }
        try #require(symlink(folder.path, theirs + "/mine") == 0 && lchown(theirs + "/mine", 65_533, 65_532) == 0)
        #expect(throws: UserFacingError.self) { _ = try FolderOwner(theirs + "/mine/secret") }
    }
}
