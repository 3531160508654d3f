import Commands
import Control
import DevServer
import Glibc
import PRSNLCore
import Requests
import Store
import TestSupport
import Testing

/// A machine before the first login: a server, a configuration without a key, and the two binaries.
final class LoginScene: Sendable {
    let fixture: DaemonFixture
    var server: DevServer { fixture.server }
    var loginFile: String { fixture.database + ".login" }

    /// - Parameter items: what the account has, so that a copy can be told from another's.
    init(
        items: [DevItem] = DevItem.generate(count: 4), dialect: Dialect = .cursor,
        _ change: (inout DevServer.Configuration) -> Void = { _ in }
    ) throws {
        fixture = try DaemonFixture(items: items, dialect: dialect) { configuration in
            WriteScene.makeQuick(&configuration)
            change(&configuration)
        }
        try configure()
    }

    /// - Parameter server: `nil` for a configuration that names none.
    func configure(server: String?, _ lines: String = "") throws {
        try TestFile.write(
            """
            # What prsnld does on this machine.
            \(server.map { "server_url = \($0)" } ?? "#server_url = https://prsnl.example.org")
            database = \(fixture.database)
            control_socket = \(fixture.socket)
            \(lines)

            """, to: fixture.configuration, mode: 0o644)
    }

    func configure(_ lines: String = "") throws { try configure(server: fixture.server.url, lines) }

    /// prsnlctl on a terminal of its own.
    func terminal(_ arguments: [String], input: String? = nil) throws -> TerminalProcess {
        try TerminalProcess(
            BuiltProducts.executable("prsnlctl"), ["--config", fixture.configuration] + arguments,
            environment: ["HOME": fixture.folder.path, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"],
            directory: fixture.folder.path, input: input)
    }

    /// Logs in without a terminal.
    func logIn(
        _ account: DevAccount = .owner, _ more: [String] = [], environment: [String: String] = [:]
    ) async throws -> DaemonFixture.Ended {
        let child = try fixture.startControl(
            ["login", "--email", account.email, "--password-stdin"] + more, environment: environment,
            input: account.password + "\n")
        return (try await child.waitForExit(), child.stdout, child.stderr)
    }

    /// A copy of the owner's timeline, complete, made by a daemon that runs.
    func startWithCopy() async throws -> ChildProcess {
        let first = try await logIn()
        try #require(first.exit == .status(0), "\(first)")
        let daemon = try await fixture.startReady()
        try await fixture.waitUntilComplete()
        return daemon
    }

    /// The same, and the daemon is stopped again.
    func makeCopy() async throws {
        let daemon = try await startWithCopy()
        #expect(try await daemon.terminate() == .status(0))
    }

    func whoami() async throws -> WhoamiReport {
        try fixture.decode(WhoamiReport.self, try await fixture.control("whoami", "--json"))
    }

    func account() async throws -> AccountReport {
        try fixture.decode(AccountReport.self, try await fixture.control("account", "--json"))
    }

    /// Files beside the database that were set aside.
    var setAside: [String] {
        get throws {
            let folder = Descriptors.folder(of: fixture.database)
            guard let stream = opendir(folder) else { throw WaitedInVain("\(folder): errno \(errno)") }
            defer { closedir(stream) }
            var names: [String] = []
            while let entry = readdir(stream) {
                let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
                    name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                }
                if name.hasPrefix("prsnl-"), name.hasSuffix(".sqlite") { names.append("\(folder)/\(name)") }
            }
            return names.sorted()
        }
    }
}
