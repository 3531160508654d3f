import Console
import PRSNLCore

/// The daemon as a service: whether it answers, who may use its socket, and what systemd says of its unit.
struct ServiceCheck: Check, Equatable {
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

    var findings: [DoctorReport.Finding] { [process] + [controlSocket].compactMap(\.self) + [unitFinding] }

    private var process: DoctorReport.Finding {
        switch daemon {
        case .answers(let pid, let running, let since):
            let text = "\(running), pid \(pid), running for \(Formatting.duration(now.duration(since: since)))"
            guard running != version else { return .ok(.service, "daemon", text) }
            return .warning(
                .service, "daemon", "\(text); this prsnlctl is \(version)",
                "Restart the daemon, which still runs what was there before.", next: "sudo systemctl restart prsnld")
        case .stopped(let error):
            return .warning(
                .service, "daemon", "\(error.message) Nothing is pulled, and writes wait.", error.recoverySuggestion,
                next: error.nextCommand)
        case .silent(let error):
            if error.code == .databaseReplaced { return .failed(.service, "daemon", error) }
            return .notChecked(.service, "daemon", error.message, error.recoverySuggestion)
        case .hangs(let error):
            var restart: NextCommand = "sudo systemctl restart prsnld"
            if case .known(let unit) = unit {
                guard unit.state != .starting else {
                    return .notChecked(.service, "daemon", error.message, "It is starting: ask again in a moment.")
                }
                restart = unit.command("restart")
            }
            return .failed(
                .service, "daemon", "\(error.message) It hangs, or the machine is too busy for it.",
                "Try again. If this persists, restart the daemon, and please report it with the log.", next: restart)
        }
    }

    private var controlSocket: DoctorReport.Finding? {
        guard case .there(let mode, let owner, let group, _) = socket else { return nil }
        let text = "\(socketPath), \(owner):\(group), mode 0\(String(mode, radix: 8))"
        guard mode & 0o007 != 0 else { return .ok(.service, "socket", text) }
        return .failed(
            .service, "socket", "everybody may use \(text)",
            "Restart the daemon: it creates the socket again, for its group only.",
            next: "sudo systemctl restart prsnld")
    }

    private var unitFinding: DoctorReport.Finding {
        switch unit {
        case .notKnown(let reason): return .notChecked(.service, "unit", reason)
        case .known(let unit):
            let name = (unit.isUser ? "user unit " : "system unit ") + unit.name
            switch unit.state {
            case .running:
                return DoctorReport.Finding(
                    group: .service, check: "unit", level: .ok, found: "\(name) runs", advice: "Its log:",
                    nextCommand: unit.log)
            case .starting, .stopping:
                return .warning(.service, "unit", "\(name) is \(unit.state)", "Its log says more.", next: unit.log)
            case .stopped: return .warning(.service, "unit", "\(name) is stopped", next: unit.command("start"))
            case .masked:
                return .warning(
                    .service, "unit", "\(name) is masked: systemd does not start it", next: unit.command("unmask"))
            case .failed(let result):
                return .failed(
                    .service, "unit", "\(name) has failed (\(result)); systemd does not start it again",
                    "Its log says why.", next: unit.log)
            case .restarting(let result):
                return .failed(
                    .service, "unit", "\(name) ends as soon as it is started, and is started again (\(result))",
                    "Its log says why.", next: unit.log)
            }
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
