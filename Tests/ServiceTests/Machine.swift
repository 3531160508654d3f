import Glibc
import Synchronization
import TestSupport

/// A machine with a systemd of its own: systemd-nspawn(1) boots the root file system of the machine that tests, which stays
/// as it is, because everything that is written goes into memory (overlayfs). It has a network of its own, with a loopback
/// link alone. Needs root.
///
/// Whatever happens to this process, nothing stays: see `MachineKeeper`.
final class Machine: Sendable {
    typealias Ran = (exit: ChildProcess.Exit, stdout: String, stderr: String)

    /// In CI nothing is skipped: what cannot be made there fails.
    static let isToBeUsed = geteuid() == 0 || getenv("CI") != nil

    /// Of the machine's systemd, as this machine sees it.
    let leader: Int32
    let network: NetworkNamespace
    private let keeper: MachineKeeper

    /// Boots one, which takes about a second and a half, and waits until systemd says that it has.
    static func boot(hiding folders: [String] = []) async throws -> Machine {
        let keeper = try MachineKeeper(hiding: folders)
        let leader = try await keeper.leader()
        let machine = try Machine(keeper, leader)
        try await eventually("the machine to have booted") {
            // Before there is a bus to ask on, this fails at once; then it waits.
            let ran = try await machine.run("systemctl", "is-system-running", "--wait")
            return ["running\n", "degraded\n"].contains(ran.stdout)
        }
        return machine
    }

    private init(_ keeper: MachineKeeper, _ leader: Int32) throws {
        self.keeper = keeper
        self.leader = leader
        network = try NetworkNamespace(joining: "/proc/\(leader)/ns/net")
    }

    /// Halts it, and waits until nothing of it is left.
    func end() async throws { try await keeper.end() }

    // MARK: Commands

    /// Who runs a command: root, unless said otherwise.
    enum User: Sendable {
        case root
        /// With all groups of theirs.
        case named(String)

        fileprivate var words: [String] {
            switch self {
            case .root: []
            // Without PAM, so that no session is made.
            case .named(let name): ["setpriv", "--reuid=\(name)", "--regid=\(name)", "--init-groups"]
            }
        }
    }

    /// Starts a program in the machine. It has no environment but this, and ends with the machine at the latest.
    func start(
        _ command: [String], as user: User = .root, environment: [String: String] = [:], input: String = ""
    ) throws -> ChildProcess {
        let variables = ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "HOME": "/", "NO_COLOR": "1"]
            .merging(environment) { $1 }
        return try ChildProcess(
            "/usr/bin/nsenter", ["--target", "\(leader)", "--all", "--root", "--wd", "--"] + user.words + command,
            environment: variables, directory: "/", input: input)
    }

    func run(
        _ command: [String], as user: User = .root, environment: [String: String] = [:], input: String = ""
    ) async throws -> Ran {
        let child = try start(command, as: user, environment: environment, input: input)
        return (try await child.waitForExit(), child.stdout, child.stderr)
    }

    func run(_ command: String..., as user: User = .root, input: String = "") async throws -> Ran {
        try await run(command, as: user, input: input)
    }

    /// What a command prints that must succeed, without the last end of line.
    @discardableResult
    func must(_ command: [String], as user: User = .root, input: String = "") async throws -> String {
        let ran = try await run(command, as: user, input: input)
        guard ran.exit == .status(0) else { throw WaitedInVain("\(command): \(ran)") }
        return ran.stdout.hasSuffix("\n") ? String(ran.stdout.dropLast()) : ran.stdout
    }

    @discardableResult
    func must(_ command: String..., as user: User = .root, input: String = "") async throws -> String {
        try await must(command, as: user, input: input)
    }

    // MARK: Files

    /// Where this machine finds a file of that one.
    func path(_ path: String) -> String { "/proc/\(leader)/root\(path)" }

    /// Creates or replaces a file of root's, and the folders above it.
    func write(_ text: String, to path: String, mode: UInt32 = 0o644) async throws {
        let folder = path[..<(path.lastIndex(of: "/") ?? path.startIndex)]
        if !folder.isEmpty { try await must("mkdir", "-p", String(folder)) }
        try TestFile.write(text, to: self.path(path), mode: mode)
    }

    /// Copies files of this machine into a folder of that one, with their modes.
    func copy(_ files: [String], to folder: String) async throws {
        try await must("mkdir", "-p", folder)
        let ran = try await ChildProcess.run("/bin/cp", ["-p", "--"] + files + [path(folder)])
        guard ran.exit == .status(0) else { throw WaitedInVain("cp: \(ran)") }
    }
}

/// Runs the body with a machine that is gone afterwards, also when the body fails: then with what the journal says.
func withMachine(hiding folders: [String] = [], _ body: (Machine) async throws -> Void) async throws {
    let machine = try await Machine.boot(hiding: folders)
    do {
        try await body(machine)
    } catch {
        let journal = try await machine.run("journalctl", "--no-pager", "--lines=60", "--output=short-monotonic")
        try await machine.end()
        throw WaitedInVain("\(error)\nthe machine's journal:\n\(journal.stdout)")
    }
    try await machine.end()
}
