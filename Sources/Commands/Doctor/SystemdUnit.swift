import CLinux
import Glibc
import PRSNLCore

/// Which unit the daemon is, or would be, and what systemd says of it.
struct SystemdUnit: Sendable, Equatable {
    enum State: Sendable, Equatable {
        case running, starting, stopping, stopped, masked
        /// With systemd's word for its end (`Result`).
        case failed(String)
        /// It has ended by itself, and systemd is about to start it again.
        case restarting(String)

        /// - Parameter properties: what `systemctl show` prints, by name (org.freedesktop.systemd1(5)).
        /// - Returns: `nil` where no such unit is installed.
        init?(_ properties: [String: String]) {
            let result = properties["Result"] ?? "unknown"
            switch (properties["LoadState"], properties["ActiveState"], properties["SubState"]) {
            case ("not-found", _, _): return nil
            case (_, "failed", _): self = .failed(result)
            case (_, _, "auto-restart"): self = .restarting(result)
            case ("masked", _, _): self = .masked
            case (_, "active", _), (_, "reloading", _): self = .running
            case (_, "activating", _): self = .starting
            case (_, "deactivating", _): self = .stopping
            default: self = .stopped
            }
        }
    }

    let name: String
    let isUser: Bool
    let state: State
    /// What the daemon said last (sd_notify(3), STATUS=).
    var statusText: String?

    func command(_ verb: String) -> NextCommand {
        NextCommand((isUser ? ["systemctl", "--user"] : ["sudo", "systemctl"]) + [verb, name])
    }

    var log: NextCommand { NextCommand(["journalctl"] + (isUser ? ["--user"] : []) + ["-u", name, "-e"]) }

    // MARK: Reading

    static func look(_ scene: DoctorScene) -> ServiceCheck.Unit {
        // The unit of a daemon that runs is the scene's.
        guard case .answers(let process, _, _) = scene.daemon, kind(of: process) == nil else {
            return known(scene.unit)
        }
        return .notKnown("the daemon was not started by systemd")
    }

    /// Why no daemon has answered: what systemd says of the unit, else what the file says.
    ///
    /// - Parameters:
    ///   - error: what the attempt to ask it ended with.
    ///   - isHeld: whether a process holds the copy.
    ///   - closedCopy: whether the copy was closed by its last owner.
    static func absence(
        after error: UserFacingError, of unit: ServiceUnit, isHeld: Bool, closedCopy: Bool
    ) -> StatusReport.Absence {
        switch error.code {
        case .daemonBusy: return .init(state: .notResponding)
        case .controlRefused: return .init(state: .refused, reason: error.message)
        default: if isHeld { return .init(state: .unreachable, reason: error.message, nextCommand: error.nextCommand) }
        }
        if case .known(let unit) = known(unit) {
            switch unit.state {
            case .failed(let result), .restarting(let result):
                return .init(state: .failed, reason: unit.statusText ?? result, nextCommand: unit.log)
            case .running, .starting, .stopping, .stopped, .masked: break
            }
        }
        return closedCopy
            ? .init(state: .stopped)
            : .init(state: .failed, reason: "It did not stop cleanly (killed or crashed). Nothing is lost.")
    }

    private static func known(_ unit: ServiceUnit) -> ServiceCheck.Unit {
        switch unit.kind {
        case .system(let name): show(name, isUser: false)
        case .user: show("prsnld", isUser: true)
        case .manual(let file?): .notKnown("no unit of systemd is known that starts prsnld with \(file)")
        case .manual(nil): .notKnown("systemd does not run here, or has no unit prsnld")
        }
    }

    /// By the control group (cgroups(7)), whose last part systemd names like the unit.
    static func kind(of process: Int32) -> ServiceUnit.Kind? {
        guard let groups = SmallText.read("/proc/\(process)/cgroup") else { return nil }
        for line in groups.split(separator: "\n") {
            let parts = line.split(separator: "/")
            guard let last = parts.last, last.hasPrefix("prsnld"), last.hasSuffix(".service") else { continue }
            if parts.contains(where: { $0.hasPrefix("user@") }) { return .user }
            return .system(String(last.dropLast(".service".count)))
        }
        return nil
    }

    private static func show(_ name: String, isUser: Bool) -> ServiceCheck.Unit {
        let wanted = "--property=LoadState,ActiveState,SubState,Result,StatusText"
        do throws(Failure) {
            let output = try run((isUser ? ["--user"] : []) + ["show", "\(name).service", wanted])
            var values: [String: String] = [:]
            for line in output.split(separator: "\n") {
                guard let equals = line.firstIndex(of: "=") else { continue }
                values[String(line[..<equals])] = String(line[line.index(after: equals)...])
            }
            guard let state = State(values) else { return .notKnown("no unit \(name) is installed") }
            let statusText = values["StatusText"].flatMap { $0.isEmpty ? nil : $0 }
            return .known(SystemdUnit(name: name, isUser: isUser, state: state, statusText: statusText))
        } catch {
            return .notKnown("systemctl: \(error.reason)")
        }
    }

    // MARK: Running systemctl

    /// Why it told nothing, in words.
    private struct Failure: Error {
        let reason: String
    }

    private static let patience: Duration = .seconds(5)

    /// Its output and its complaints. It is killed when it takes too long.
    private static func run(_ arguments: [String]) throws(Failure) -> String {
        // Absolute, so that no user's `PATH` decides what root runs.
        let path = "/usr/bin/systemctl"
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw Failure(reason: String(cString: strerror(errno))) }
        defer { close(ends[0]) }
        for end in ends { _ = prsnl_fcntl_int(end, F_SETFD, FD_CLOEXEC) }
        let process = try spawn(path, arguments, output: ends[1])
        let output = read(ends[0], until: .now + patience)
        // A program that has closed its output is at its end. One that has not is hanging.
        if output == nil { kill(process, SIGKILL) }
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 && errno == EINTR {}
        guard let output else { throw Failure(reason: "it did not answer in time") }
        let text = String(decoding: output, as: UTF8.self)
        guard prsnl_wait_exited(status) != 0, prsnl_wait_exit_status(status) == 0 else {
            throw Failure(reason: text.split(separator: "\n").first.map(String.init) ?? "it failed")
        }
        return text
    }

    /// Closes the output.
    private static func spawn(_ path: String, _ arguments: [String], output: Int32) throws(Failure) -> pid_t {
        defer { close(output) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO)
        // Its words are compared: no translations, no pager, no colours. XDG_RUNTIME_DIR leads to the user's own systemd.
        var variables = ["LC_ALL=C", "SYSTEMD_PAGER=", "SYSTEMD_COLORS=0", "PATH=/usr/bin:/bin"]
        for name in ["XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "HOME"] {
            if let value = getenv(name) { variables.append("\(name)=\(String(cString: value))") }
        }
        var process = pid_t()
        // In a session of its own, without a terminal: see `CommandContext.terminalBorrower`.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        posix_spawnattr_setflags(&attributes, prsnl_spawn_session)
        let code = withCStrings([path] + arguments) { arguments in
            withCStrings(variables) { posix_spawn(&process, path, &actions, &attributes, arguments, $0) }
        }
        guard code == 0 else { throw Failure(reason: String(cString: strerror(code))) }
        return process
    }

    /// - Returns: `nil` where it did not come to its end in time.
    private static func read(_ descriptor: Int32, until end: ContinuousClock.Instant) -> [UInt8]? {
        var output: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let left = ContinuousClock.now.duration(to: end)
            guard left > .zero else { return nil }
            var readable = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&readable, 1, Int32(clamping: left.wholeMilliseconds + 1)) > 0 else { continue }
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count > 0 { output += buffer[..<count] } else if count == 0 || errno != EINTR { return output }
        }
    }

    private static func withCStrings<Result>(
        _ texts: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
    ) -> Result {
        let pointers = texts.map { strdup($0) }
        defer { pointers.forEach { free($0) } }
        return body(pointers + [nil])
    }
}
