import Commands
import Console
import Control
import DevServer
import PRSNLCore
import Requests
import TestSupport
import Testing

/// A server, a folder, and the two binaries with a configuration between them.
final class DaemonFixture: Sendable {
    typealias Ended = (exit: ChildProcess.Exit, stdout: String, stderr: String)

    let server: DevServer
    let folder = TemporaryDirectory("daemon")
    let database: String
    var configuration: String { folder.file("prsnld.conf") }
    var socket: String { folder.file("control.sock") }

    /// - Parameter database: its path; `nil` for one in the fixture's own folder.
    init(
        items: [DevItem] = DevItem.generate(count: 250), dialect: Dialect = .cursor, database: String? = nil,
        _ change: (inout DevServer.Configuration) -> Void = { _ in }
    ) throws {
        var configuration = DevServer.Configuration(dialect: dialect)
        change(&configuration)
        server = try DevServer.start(configuration, items: items)
        self.database = database ?? folder.file("state/prsnl.sqlite")
        try TestFile.write(
            (dialect == .cursor ? server.issueToken() : DevAccount.owner.apiKey) + "\n", to: folder.file("key"))
        try configure()
    }

    deinit { server.stop() }

    /// Writes the configuration, with more lines at its end.
    ///
    /// - Parameter serverURL: where something stands between the daemon and the server.
    /// What most tests count has nothing to do with texts. Those that need them say `texts = yes`.
    func configure(_ lines: String = "", serverURL: String? = nil) throws {
        try TestFile.write(
            """
            server_url = \(serverURL ?? server.url)
            api_key_file = \(folder.file("key"))
            database = \(database)
            control_socket = \(socket)
            \(lines)
            \(lines.contains("texts") ? "" : "texts = no")

            """, to: configuration)
    }

    /// Nothing of the machine's own settings.
    func environment(_ more: [String: String]) -> [String: String] {
        ["HOME": folder.path, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"].merging(more) { $1 }
    }

    func start(_ arguments: [String] = [], environment more: [String: String] = [:]) throws -> ChildProcess {
        try ChildProcess(
            BuiltProducts.executable("prsnld"), ["--config", configuration] + arguments, environment: environment(more),
            directory: folder.path)
    }

    /// Starts the daemon and waits until it answers on its socket.
    func startReady(environment more: [String: String] = [:]) async throws -> ChildProcess {
        let daemon = try start(environment: more)
        try await eventually("the control socket") { () throws -> Bool in
            if let exit = daemon.pollExit() {
                throw WaitedInVain("prsnld ended (\(exit)): \(daemon.stderr)")
            }
            return isListening
        }
        return daemon
    }

    /// Whether a daemon answers at the socket, which a killed daemon leaves behind.
    var isListening: Bool {
        do throws(UserFacingError) {
            _ = try ControlClient(path: socket)
            return true
        } catch {
            return false
        }
    }

    func run(_ arguments: [String] = [], environment more: [String: String] = [:]) async throws -> Ended {
        let child = try start(arguments, environment: more)
        return (try await child.waitForExit(), child.stdout, child.stderr)
    }

    func startControl(
        _ arguments: [String], environment more: [String: String] = [:], input: String = ""
    ) throws -> ChildProcess {
        try ChildProcess(
            BuiltProducts.executable("prsnlctl"), ["--config", configuration] + arguments,
            environment: environment(more), directory: folder.path, input: input)
    }

    func control(
        _ arguments: String..., environment more: [String: String] = [:], input: String = ""
    ) async throws -> Ended {
        try await control(arguments, environment: more, input: input)
    }

    func control(
        _ arguments: [String], environment more: [String: String] = [:], input: String = ""
    ) async throws -> Ended {
        let child = try startControl(arguments, environment: more, input: input)
        return (try await child.waitForExit(), child.stdout, child.stderr)
    }

    func status() async throws -> StatusReport {
        try decode(StatusReport.self, try await control("status", "--json"))
    }

    /// Waits until the daemon says that the copy is complete.
    @discardableResult
    func waitUntilComplete() async throws -> StatusReport {
        try await eventually("a complete copy") {
            let report = try await status()
            return report.copy.complete && report.source == .daemon ? report : nil
        }
    }

    func decode<Value: Decodable>(_ type: Value.Type, _ ended: Ended) throws -> Value {
        do {
            return try JSONOutput.decode(type, from: Array(ended.stdout.utf8), isOwn: true)
        } catch {
            throw WaitedInVain("not the JSON of \(type): \(ended)")
        }
    }
}
