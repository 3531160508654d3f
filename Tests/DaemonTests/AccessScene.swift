import CLinux
import Commands
import Console
import Control
import DevServer
import Glibc
import PRSNLCore
import TestSupport

/// A daemon that runs as a user of its own, and other users around it, as on a machine with the package installed. Needs
/// root.
final class AccessScene: Sendable {
    static let group: UInt32 = 61_100
    let owner = OtherUser(61_000, group: AccessScene.group)
    let member = OtherUser(61_001, groups: [AccessScene.group])
    let stranger = OtherUser(61_003, groups: [61_103])

    let fixture: DaemonFixture
    /// Root's, for what has to be reached before there are rights to the daemon's folder.
    private let gate = TemporaryDirectory("gate")

    init(_ lines: String = "", dialect: Dialect = .cursor) throws {
        fixture = try DaemonFixture(items: DevItem.generate(count: 4), dialect: dialect, WriteScene.makeQuick)
        try owner.own(fixture.folder.path, mode: 0o750)
        try owner.own(fixture.folder.file("key"), mode: 0o600)
        try configure(lines)
    }

    /// Group members read it, as `prsnlctl` does.
    func configure(_ lines: String) throws {
        try fixture.configure(lines)
        try owner.own(fixture.configuration, mode: 0o640)
    }

    private func environment(_ more: [String: String] = [:]) -> [String: String] {
        ["HOME": fixture.folder.path, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"].merging(more) { $1 }
    }

    func startReady(environment more: [String: String] = [:]) async throws -> ChildProcess {
        let daemon = try owner.start(
            BuiltProducts.executable("prsnld"), ["--config", fixture.configuration], environment: environment(more),
            directory: fixture.folder.path)
        try await waitUntilListening(daemon)
        return daemon
    }

    /// In a user namespace as systemd's `PrivateUsers=` makes it: only root and the daemon's user and group are there.
    func startReadyWithPrivateUsers() async throws -> ChildProcess {
        let fifo = gate.file("fifo")
        guard mkfifo(fifo, 0o600) == 0 else { throw WaitedInVain("mkfifo: errno \(errno)") }
        let words = owner.commandLine(
            try BuiltProducts.executable("prsnld"), ["--config", fixture.configuration])
        // Rights come back with the first exec after root is mapped (user_namespaces(7), "Capabilities").
        let daemon = try ChildProcess(
            "/usr/bin/unshare", ["--user", "/bin/sh", "-c", "read go < \"$0\" && exec \"$@\"", fifo] + words,
            environment: environment(), directory: fixture.folder.path)
        let own = try link("/proc/self/ns/user")
        try await eventually("a user namespace") {
            if let exit = daemon.pollExit() { throw WaitedInVain("unshare ended (\(exit)): \(daemon.stderr)") }
            return try link("/proc/\(daemon.processID)/ns/user") != own
        }
        try map("uid_map", owner.user, daemon)
        try map("gid_map", owner.group, daemon)
        // Opens when the shell reads.
        try TestFile.write("go\n", to: fifo)
        try await waitUntilListening(daemon)
        return daemon
    }

    /// One write(2), as user_namespaces(7) wants it.
    private func map(_ name: String, _ identity: UInt32, _ daemon: ChildProcess) throws {
        let path = "/proc/\(daemon.processID)/\(name)"
        let file = prsnl_open(path, O_WRONLY | O_CLOEXEC, 0)
        defer { close(file) }
        let text = Array("0 0 1\n\(identity) \(identity) 1\n".utf8)
        guard write(file, text, text.count) == text.count else { throw WaitedInVain("\(path): errno \(errno)") }
    }

    private func link(_ path: String) throws -> String {
        var bytes = [CChar](repeating: 0, count: 256)
        let count = readlink(path, &bytes, bytes.count)
        guard count > 0 else { throw WaitedInVain("readlink \(path): errno \(errno)") }
        return String(decoding: bytes[..<count].map { UInt8(truncatingIfNeeded: $0) }, as: UTF8.self)
    }

    private func waitUntilListening(_ daemon: ChildProcess) async throws {
        try await eventually("the control socket") { () throws -> Bool in
            if let exit = daemon.pollExit() { throw WaitedInVain("prsnld ended (\(exit)): \(daemon.stderr)") }
            do throws(UserFacingError) {
                _ = try ControlClient(path: fixture.socket)
                return true
            } catch {
                return false
            }
        }
    }

    /// `prsnlctl` as this user; `nil` for root. With paths in place of the configuration, which strangers may not read.
    func control(_ user: OtherUser?, _ arguments: String..., input: String = "") async throws -> DaemonFixture.Ended {
        try await control(user, arguments, input: input)
    }

    func control(_ user: OtherUser?, _ arguments: [String], input: String = "") async throws -> DaemonFixture.Ended {
        let all = ["--socket", fixture.socket, "--database", fixture.database] + arguments
        let program = try BuiltProducts.executable("prsnlctl")
        let child =
            try user?.start(program, all, environment: environment(), directory: "/", input: input)
            ?? ChildProcess(program, all, environment: environment(), directory: "/", input: input)
        return (try await child.waitForExit(), child.stdout, child.stderr)
    }

    func error(_ ended: DaemonFixture.Ended) throws -> UserFacingError {
        try fixture.decode(FailureReport.self, ended).error
    }
}
