import Glibc
import PRSNLCore
import TestSupport
import Testing

@testable import Configuration

/// `server_url` is written into a configuration that names none, and nothing else of it changes.
@Suite struct ServerSettingTests {
    private let folder = TemporaryDirectory("setting")
    private var path: String { folder.file("prsnld.conf") }
    private let server = "https://prsnl.example.org"

    @Test(arguments: [
        ("", "server_url = S\n"),
        ("page_size = 20\n", "page_size = 20\nserver_url = S\n"),
        ("page_size = 20", "page_size = 20\nserver_url = S\n"),
        ("#server_url = x\nlog_level = info\n", "#server_url = x\nserver_url = S\nlog_level = info\n"),
        ("# server_url=x\n\n#server_url = y\n", "# server_url=x\nserver_url = S\n\n#server_url = y\n"),
        ("# server_url is the server\n", "# server_url is the server\nserver_url = S\n"),
        ("#server_urls = x\n", "#server_urls = x\nserver_url = S\n"),
        ("# \u{e9}\r\n", "# \u{e9}\r\nserver_url = S\n"),
    ])
    func theLineStandsWhereAPersonWouldPutIt(before: String, after: String) {
        #expect(String(decoding: ServerSetting.added("S", to: Array(before.utf8)), as: UTF8.self) == after)
    }

    @Test func modeOwnerAndLinkStay() throws {
        let target = folder.file("real.conf")
        try TestFile.write("# mine\n", to: target, mode: 0o604)
        symlink(target, path)
        try ServerSetting.write(server, to: path)
        #expect(try TestFile.text(target) == "# mine\nserver_url = \(server)\n")
        var information = stat()
        lstat(path, &information)
        #expect(information.st_mode & S_IFMT == S_IFLNK)
        stat(target, &information)
        #expect(information.st_mode & 0o777 == 0o604)
        #expect(!TestFile.exists("\(target).new-\(getpid())"))
    }

    @Test func whatIsMissingIsMade() throws {
        let deep = folder.file("config/prsnld/prsnld.conf")
        try ServerSetting.write(server, to: deep)
        #expect(try TestFile.text(deep) == "server_url = \(server)\n")
    }

    @Test func aFileThatNamesAServerIsLeftAlone() throws {
        let text = "server_url = https://other.example\n"
        try TestFile.write(text, to: path)
        #expect(try errorCode { try ServerSetting.write(server, to: path) } == .configInvalid)
        #expect(try TestFile.text(path) == text)
    }

    @Test(.enabled(if: TinyDisk.canBeMade, "needs root, for a disk of its own"))
    func aFullDiskLeavesTheFileAsItWas() throws {
        let disk = try TinyDisk()
        let text = String(repeating: "# a configuration of some length\n", count: 200)
        try TestFile.write(text, to: disk.file("prsnld.conf"))
        try disk.fill()
        #expect(try errorCode { try ServerSetting.write(server, to: disk.file("prsnld.conf")) } == .diskFull)
        #expect(try TestFile.text(disk.file("prsnld.conf")) == text)
        #expect(!TestFile.exists(disk.file("prsnld.conf.new-\(getpid())")))
    }
}
