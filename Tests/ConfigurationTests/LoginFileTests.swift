import Configuration
import Glibc
import PRSNLCore
import TestSupport
import Testing

@Suite struct LoginFileTests {
    private let folder = TemporaryDirectory()
    private var file: LoginFile { LoginFile(database: folder.file("prsnl.sqlite")) }

    private func login(_ number: Int = 1, server: String = "https://prsnl.example.org") throws -> StoredLogin {
        let pair = try #require(
            TokenPair(access: "fake-access-token-\(number)", refresh: "fake-refresh-token-\(number)"))
        return StoredLogin(server: server, pair: pair)
    }

    private func code(_ body: () throws(UserFacingError) -> Void) -> ErrorCode? {
        do throws(UserFacingError) {
            try body()
            return nil
        } catch {
            #expect(!error.description.contains("fake-"), "\(error)")
            return error.code
        }
    }

    private func mode(_ path: String) -> mode_t {
        var information = stat()
        return stat(path, &information) == 0 ? information.st_mode & 0o7777 : 0
    }

    @Test func whatWasWrittenIsReadAndNoOtherUserMayReadIt() throws {
        #expect(try file.read() == nil)
        #expect(!file.exists)
        var strange = try login(server: "https://prsnl.example.org/\"quoted\"")
        for life in [nil, Duration.seconds(60)] {
            strange.pair.setLife(life)
            try file.write(strange)
            #expect(try file.read() == strange)
        }
        #expect(file.path == folder.file("prsnl.sqlite.login"))
        let old = umask(0)
        defer { umask(old) }
        for number in 2..<5 {
            try file.write(try login(number))
            #expect(try file.read() == login(number))
            #expect(mode(file.path) == 0o600)
        }
        #expect(!TestFile.exists(file.path + ".new"))
        try file.remove()
        #expect(try file.read() == nil)
        try file.remove()
    }

    @Test func aFileThatOthersCanUseIsRefused() throws {
        try file.write(try login())
        for mode in [0o640, 0o604, 0o620, 0o666] as [mode_t] {
            #expect(chmod(file.path, mode) == 0)
            #expect(code { () throws(UserFacingError) in _ = try file.read() } == .keyFileExposed)
        }
    }

    @Test(arguments: [
        "", "{", "[]", "not JSON", #"{"version":2,"server":"s","access_token":"fake-a","refresh_token":"fake-r"}"#,
        #"{"version":1,"server":"s","access_token":"fake-a"}"#,
        #"{"version":1,"server":"s","access_token":"fake-a","refresh_token":"fake r"}"#,
        #"{"version":1,"server":"s","access_token":"fake-a","refresh_token":7}"#,
        #"{"version":1,"server":"s","access_token":"fake-a","refresh_token":"fake-r"} x"#,
    ])
    func aFileOfAnotherFormIsRefusedAndKept(_ text: String) throws {
        try TestFile.write(text, to: file.path)
        #expect(code { () throws(UserFacingError) in _ = try file.read() } == .loginFileUnreadable)
        #expect(try TestFile.text(file.path) == text)
    }

    @Test func membersThatALaterVersionAddsAreSkipped() throws {
        try TestFile.write(
            #"{"since":{"a":[1]},"version":1,"server":"s","access_token":"fake-a","refresh_token":"fake-r"}"#,
            to: file.path)
        #expect(try file.read()?.server == "s")
    }

    @Test func foldersAndPipesAreNoLogins() throws {
        #expect(mkfifo(file.path, 0o600) == 0)
        #expect(code { () throws(UserFacingError) in _ = try file.read() } == .loginFileUnreadable)
        unlink(file.path)
        #expect(mkdir(file.path, 0o700) == 0)
        #expect(code { () throws(UserFacingError) in _ = try file.read() } == .loginFileUnreadable)
        rmdir(file.path)
    }

    @Test func whatADeadProcessLeftIsRemovedAndALinkThereIsNotFollowed() throws {
        try file.write(try login())
        try TestFile.write("half a lo", to: file.path + ".new")
        try file.cleanUp()
        #expect(!TestFile.exists(file.path + ".new"))
        try file.cleanUp()
        try TestFile.write("another's", to: folder.file("precious"))
        #expect(symlink(folder.file("precious"), file.path + ".new") == 0)
        try file.write(try login(2))
        #expect(try TestFile.text(folder.file("precious")) == "another's")
        #expect(try file.read() == login(2))
    }

    @Test func aPairIsNeverUsedWithAnotherServer() throws {
        let login = try login()
        #expect(
            code { () throws(UserFacingError) in try login.check(isFor: Self.server("https://prsnl.example.org/")) }
                == nil)
        for other in ["https://prsnl.example.net", "http://prsnl.example.org", "https://prsnl.example.org:444"] {
            #expect(
                code { () throws(UserFacingError) in try login.check(isFor: Self.server(other)) } == .loginOtherServer)
        }
    }

    private static func server(_ text: String) -> ServerURL {
        do { return try ServerURL(text) } catch { preconditionFailure("\(error)") }
    }

    @Test(.enabled(if: TinyDisk.canBeMade, "needs root, for a disk of its own"))
    func aFullOrReadOnlyDiskLeavesTheOldOneAsItWas() throws {
        let disk = try TinyDisk(megabytes: 1)
        let second = try login(2)
        let file = LoginFile(database: disk.file("prsnl.sqlite"))
        try file.write(try login())
        try disk.fill()
        for _ in 0..<3 {
            #expect(code { () throws(UserFacingError) in try file.write(second) } == .diskFull)
        }
        #expect(try file.read() == login())
        #expect(!TestFile.exists(file.path + ".new"))
        try disk.free()
        try file.write(try login(3))
        try disk.setReadOnly(true)
        #expect(code { () throws(UserFacingError) in try file.write(second) } == .loginNotStored)
        #expect(code { () throws(UserFacingError) in try file.remove() } == .loginNotStored)
        #expect(try file.read() == login(3))
    }

    // MARK: Found while fuzzing

    /// Where the file says otherwise than the login in use, it counts as another program's, and a renewed pair is not stored.
    @Test(arguments: [Duration.zero, .milliseconds(1_500), .seconds(1 << 31), .seconds(97_000_000_000), .seconds(-1)])
    func aPairIsReadAsItWasWrittenHoweverLongItLives(_ life: Duration) throws {
        let pair = try #require(TokenPair(access: "fake-a", refresh: "fake-r", life: life))
        let login = StoredLogin(server: "https://prsnl.example.org", pair: pair)
        try file.write(login)
        #expect(try file.read() == login)
    }
}
