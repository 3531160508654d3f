import Configuration
import Glibc
import PRSNLCore
import TestSupport
import Testing

@Suite struct KeyFileTests {
    let folder = TemporaryDirectory()

    private func code(_ path: String, credentials: String? = nil) -> ErrorCode? {
        do throws(UserFacingError) {
            _ = try KeyFile.read(path: path, credentialsDirectory: credentials)
            return nil
        } catch {
            #expect(!error.description.contains("not-a-real-key"))
            return error.code
        }
    }

    @Test(arguments: [0o600, 0o400] as [UInt32])
    func aFileOfOnesOwnIsReadWithoutWhiteSpace(mode: UInt32) throws {
        try TestFile.write("\n  not-a-real-key \r\n", to: folder.file("key"), mode: mode)
        #expect(try KeyFile.read(path: folder.file("key")) == "not-a-real-key")
    }

    @Test(arguments: [0o640, 0o604, 0o620, 0o602, 0o610, 0o644, 0o666] as [UInt32])
    func aFileThatOthersCanUseIsRefused(mode: UInt32) throws {
        try TestFile.write("not-a-real-key", to: folder.file("key"), mode: mode)
        #expect(code(folder.file("key")) == .keyFileExposed)
        let error = thrown(UserFacingError.self) { try KeyFile.read(path: folder.file("key")) }
        #expect(error?.nextCommand == "chmod 600 \(folder.file("key"))")
    }

    @Test func aCredentialOfSystemdMayBeReadableByItsGroup() throws {
        try TestFile.write("not-a-real-key", to: folder.file("key"), mode: 0o440)
        #expect(code(folder.file("key")) == .keyFileExposed)
        #expect(code(folder.file("key"), credentials: folder.path) == nil)
        #expect(code(folder.file("key"), credentials: folder.path + "x") == .keyFileExposed)
        #expect(code("\(folder.path)/sub/../key", credentials: folder.file("sub")) != nil)
        // A file of its own: only root may write to one of mode 0440.
        try TestFile.write("not-a-real-key", to: folder.file("other"), mode: 0o444)
        #expect(code(folder.file("other"), credentials: folder.path) == .keyFileExposed)
    }

    @Test func missingEmptyAndStrangeFilesAreToldApart() throws {
        #expect(code(folder.file("nowhere")) == .keyFileUnreadable)
        #expect(code(folder.path) == .keyFileUnreadable)
        #expect(mkfifo(folder.file("fifo"), 0o600) == 0)
        #expect(code(folder.file("fifo")) == .keyFileUnreadable)
        try TestFile.write(" \n", to: folder.file("key"))
        #expect(code(folder.file("key")) == .keyFileInvalid)
        try TestFile.write([0xFF, 0xFE, 0x00], to: folder.file("key"))
        #expect(code(folder.file("key")) == .keyFileInvalid)
        try TestFile.write(String(repeating: "k", count: 70_000), to: folder.file("key"))
        #expect(code(folder.file("key")) == .keyFileUnreadable)
    }
}
