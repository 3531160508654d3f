import CLinux
import CTestSupport
import Glibc
import Synchronization

/// A running binary on a terminal of its own (pty(7)), as a person in front of a shell has it: with a session, so that
/// /dev/tty is that terminal, and signals from its keys. Killed and reaped when the last reference goes.
package final class TerminalProcess: Sendable {
    package let processID: Int32
    private let name: String
    /// The end that a terminal emulator has.
    private let master: Int32
    /// The child's end, held open so that its settings can be looked at when the child is gone.
    private let slave: Int32
    private let state = Mutex(State())

    private static let unlock: UInt = 0x4004_5431  // TIOCSPTLCK
    private static let getNumber: UInt = 0x8004_5430  // TIOCGPTN

    private struct State {
        var shown: [UInt8] = []
        var exit: ChildProcess.Exit?
    }

    /// - Parameters:
    ///   - environment: all of it.
    ///   - input: a file for stdin in place of the terminal; `nil` for the terminal.
    package init(
        _ path: String, _ arguments: [String] = [], environment: [String: String], directory: String,
        input: String? = nil
    ) throws {
        name = path.split(separator: "/").last.map(String.init) ?? path
        // What posix_openpt(3) and its like do, which are declared for _XOPEN_SOURCE only: ioctl_tty(2).
        master = prsnl_open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK, 0)
        var lock: Int32 = 0
        var number: UInt32 = 0
        guard master >= 0, prsnl_ioctl_pointer(master, Self.unlock, &lock) == 0,
            prsnl_ioctl_pointer(master, Self.getNumber, &number) == 0
        else { throw ChildProcess.Failure(description: "no pseudo terminal: errno \(errno)") }
        let terminal = "/dev/pts/\(number)"
        slave = prsnl_open(terminal, O_RDWR | O_NOCTTY | O_CLOEXEC, 0)
        guard slave >= 0 else { throw ChildProcess.Failure(description: "\(terminal): errno \(errno)") }
        processID = try Self.spawn(
            path, arguments, environment: environment, directory: directory, terminal: terminal, input: input)
    }

    deinit {
        if pollExit() == nil {
            kill(processID, SIGKILL)
            var status: Int32 = 0
            while waitpid(processID, &status, 0) < 0 && errno == EINTR {}
        }
        close(slave)
        close(master)
    }

    /// All that the terminal showed so far, echo included.
    package var shown: String {
        state.withLock { state in
            var chunk = [UInt8](repeating: 0, count: 4_096)
            while case let count = read(master, &chunk, chunk.count), count > 0 { state.shown += chunk[..<count] }
            return String(decoding: state.shown, as: UTF8.self)
        }
    }

    /// Types.
    package func type(_ text: String) throws {
        let bytes = Array(text.utf8)
        guard write(master, bytes, bytes.count) == bytes.count else {
            throw ChildProcess.Failure(description: "typing: errno \(errno)")
        }
    }

    /// Waits until the terminal has shown a text so many times.
    package func waitUntilShown(_ text: String, times: Int = 1) async throws {
        try await eventually("\"\(text)\" on the terminal of \(name)") { () throws -> Bool in
            let ended = pollExit()
            let shown = shown
            if shown.split(separator: text, omittingEmptySubsequences: false).count > times { return true }
            if let ended { throw ChildProcess.Failure(description: "\(name) ended (\(ended)); shown: \(shown)") }
            return false
        }
    }

    /// Whether what is typed is shown.
    package var echoes: Bool {
        var settings = termios()
        tcgetattr(slave, &settings)
        return settings.c_lflag & tcflag_t(ECHO) != 0
    }

    package func signal(_ number: Int32) {
        state.withLock { state in
            if state.exit == nil { kill(processID, number) }
        }
    }

    package func pollExit() -> ChildProcess.Exit? {
        state.withLock { state in
            if state.exit == nil {
                var status: Int32 = 0
                if waitpid(processID, &status, WNOHANG) == processID {
                    state.exit =
                        prsnl_wait_exited(status) != 0
                        ? .status(prsnl_wait_exit_status(status)) : .signal(prsnl_wait_signal(status))
                }
            }
            return state.exit
        }
    }

    package func waitForExit() async throws -> ChildProcess.Exit {
        try await eventually("\(name) to end; shown: \(shown)") {
            _ = shown  // a full terminal would hold it
            return pollExit()
        }
    }

    /// Waits until it is stopped by a signal (`T` in /proc/PID/stat), or runs again.
    package func waitUntilStopped(_ isStopped: Bool = true) async throws {
        try await eventually("\(name) to be \(isStopped ? "stopped" : "running")") { () throws -> Bool in
            let stat = try TestFile.text("/proc/\(processID)/stat")
            return (stat.split(separator: ")").last?.split(separator: " ").first == "T") == isStopped
        }
    }

    private static func spawn(
        _ path: String, _ arguments: [String], environment: [String: String], directory: String, terminal: String,
        input: String?
    ) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // The first terminal that the leader of a session opens becomes the session's (setsid(2)).
        posix_spawn_file_actions_addopen(&actions, 1, terminal, O_RDWR, 0)
        if let input {
            posix_spawn_file_actions_addopen(&actions, 0, input, O_RDONLY, 0)
        } else {
            posix_spawn_file_actions_adddup2(&actions, 1, 0)
        }
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        prsnl_spawn_chdir(&actions, directory)
        var arguments = ([path] + arguments).map { strdup($0) }
        var variables = environment.map { strdup("\($0.key)=\($0.value)") }
        defer { (arguments + variables).forEach { free($0) } }
        arguments.append(nil)
        variables.append(nil)
        var processID = pid_t()
        let code = withSpawnAttributes(flags: prsnl_spawn_setsid) { attributes in
            posix_spawn(&processID, path, &actions, &attributes, arguments, variables)
        }
        guard code == 0 else {
            throw ChildProcess.Failure(description: "start \(path): \(String(cString: strerror(code)))")
        }
        return processID
    }
}
