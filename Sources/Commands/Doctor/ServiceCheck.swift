import Console
import PRSNLCore

/// The daemon as a service: whether it answers, who may use its socket, and what systemd says of its unit.
struct ServiceCheck: Check, Equatable {
    static let group = DoctorReport.Group.service
    static let name = "unit"

    enum Daemon: Sendable, Equatable {
        case answers(pid: Int32, version: String, since: Timestamp)
        case stopped(UserFacingError)
        /// It is there, and does not answer this user.
        case silent(UserFacingError)
        /// It has not answered in time.
        case hangs(UserFacingError)
    }

    enum Unit: Sendable, Equatable {
        /// In words.
        case notKnown(String)
        case known(SystemdUnit)
    }

    var daemon: Daemon
    var version = ProductVersion.current
    var socketPath: String
    var socket = FilesCheck.Entry.missing
    var unit: Unit
    var now: Timestamp

    @Findings var findings: [DoctorReport.Finding] {
        process
        if case .there(let mode, let owner, let group, _) = socket {
            let text = "\(socketPath), \(owner):\(group), mode 0\(String(mode, radix: 8))"
            if mode & 0o007 == 0 {
                ok("socket", text)
            } else {
                failed(
                    "socket", "everybody may use \(text)",
                    "Restart the daemon: it creates the socket again, for its group only.",
                    next: "sudo systemctl restart prsnld")
            }
        }
        switch unit {
        case .notKnown(let reason): notChecked("unit", reason)
        case .known(let unit): state(of: unit)
        }
    }

    private var process: DoctorReport.Finding {
        switch daemon {
        case .answers(let pid, let running, let since):
            let text = "\(running), pid \(pid), running for \(Formatting.duration(now.duration(since: since)))"
            guard running != version else { return ok("daemon", text) }
            return warning(
                "daemon", "\(text); this prsnlctl is \(version)",
                "Restart the daemon, which still runs what was there before.", next: "sudo systemctl restart prsnld")
        case .stopped(let error):
            return warning(
                "daemon", "\(error.message) Nothing is pulled, and writes wait.", error.recoverySuggestion,
                next: error.nextCommand)
        case .silent(let error):
            if error.code == .databaseReplaced { return failed("daemon", error) }
            return notChecked("daemon", error.message, error.recoverySuggestion)
        case .hangs(let error):
            var restart: NextCommand = "sudo systemctl restart prsnld"
            if case .known(let unit) = unit {
                guard unit.state != .starting else {
                    return notChecked("daemon", error.message, "It is starting: ask again in a moment.")
                }
                restart = unit.command("restart")
            }
            return failed(
                "daemon", "\(error.message) It hangs, or the machine is too busy for it.",
                "Try again. If this persists, restart the daemon, and please report it with the log.", next: restart)
        }
    }

    private func state(of unit: SystemdUnit) -> DoctorReport.Finding {
        let name = (unit.isUser ? "user unit " : "system unit ") + unit.name
        return switch unit.state {
        case .running: ok("unit", "\(name) runs", "Its log:", next: unit.log)
        case .starting, .stopping: warning("unit", "\(name) is \(unit.state)", "Its log says more.", next: unit.log)
        case .stopped: warning("unit", "\(name) is stopped", next: unit.command("start"))
        case .masked:
            warning("unit", "\(name) is masked: systemd does not start it", next: unit.command("unmask"))
        case .failed(let result):
            failed(
                "unit", "\(name) has failed (\(result)); systemd does not start it again", "Its log says why.",
                next: unit.log)
        case .restarting(let result):
            failed(
                "unit", "\(name) ends as soon as it is started, and is started again (\(result))", "Its log says why.",
                next: unit.log)
        }
    }
}

// MARK: Reading

extension ServiceCheck {
    init(_ scene: DoctorScene) {
        self.init(daemon: scene.daemon, socketPath: scene.socket, unit: SystemdUnit.look(scene), now: scene.now)
        socket = FileStatus.entry(scene.socket)
    }
}
