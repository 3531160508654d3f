import Glibc
import PRSNLCore
import Requests

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
        let (output, isWell) = run((isUser ? ["--user"] : []) + ["show", "\(name).service", wanted])
        guard isWell else {
            return .notKnown("systemctl: \(output.split(separator: "\n").first ?? "it did not answer in time")")
        }
        var values: [String: String] = [:]
        for line in output.split(separator: "\n") {
            guard let equals = line.firstIndex(of: "=") else { continue }
            values[String(line[..<equals])] = String(line[line.index(after: equals)...])
        }
        guard let state = State(values) else { return .notKnown("no unit \(name) is installed") }
        let statusText = values["StatusText"].flatMap { $0.isEmpty ? nil : $0 }
        return .known(SystemdUnit(name: name, isUser: isUser, state: state, statusText: statusText))
    }

    /// Its output and its complaints, for five seconds at most.
    private static func run(_ arguments: [String]) -> (output: String, isWell: Bool) {
        // Paths are absolute, so that no user's `PATH` decides what root runs. systemctl's words are compared: no translations, no
        // pager, no colours. XDG_RUNTIME_DIR leads to the user's own systemd. In a session of its own, without a terminal: see
        // `CommandContext.terminalBorrower`.
        let names: [String] = ["XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "HOME"]
        let kept = names.compactMap { name in getenv(name).map { "\(name)=\(String(cString: $0))" } }
        let words: [String] =
            ["/usr/bin/env", "-i", "LC_ALL=C", "SYSTEMD_PAGER=", "SYSTEMD_COLORS=0", "PATH=/usr/bin:/bin"] + kept
            + ["/usr/bin/setsid", "--wait", "/usr/bin/timeout", "-s", "KILL", "5", "/usr/bin/systemctl"] + arguments
        guard let pipe = popen("exec \(ShellText.words(words)) 2>&1 </dev/null", "re") else {
            return (String(cString: strerror(errno)), false)
        }
        var output = [UInt8](repeating: 0, count: 65_536)
        let count = fread(&output, 1, output.count, pipe)
        return (String(decoding: output[..<count], as: UTF8.self), pclose(pipe) == 0)
    }
}
