import Console
import PRSNLCore
import Requests

/// The daemon as a service: whether it answers, who may use its socket, and what systemd says of its unit.
struct ServiceCheck: Check {
    static let group = DoctorReport.Group.service
    static let name = "unit"

    /// `nil` where none has answered.
    var daemon: StatusReport.Daemon?
    /// Why not.
    var silence: UserFacingError?
    /// Also where it does not answer.
    var isRunning = true
    var socketPath: String
    var socket = FilesCheck.Entry.missing
    var unit: SystemdUnit
    var now: Timestamp

    @Findings var findings: [Finding] {
        if let daemon { answering(daemon) }
        if let silence { silent(silence) }
        if case .there(let mode, let owner, let group, _) = socket {
            let text = "\(socketPath), \(owner):\(group), mode \(FilesCheck.octal(mode))"
            if mode & 0o007 == 0 {
                ok("socket", text)
            } else {
                failed(
                    "socket", "everybody may use \(text)",
                    "Restart the daemon: it creates the socket again, for its group only.", next: Self.restart)
            }
        }
        switch unit {
        case .notKnown(let reason): notChecked("unit", reason)
        case .known(let name, let isUser, let properties): state(of: name, isUser, properties)
        }
    }

    private static let restart: NextCommand = "sudo systemctl restart prsnld"

    private func answering(_ daemon: StatusReport.Daemon) -> Finding {
        let time = Formatting.duration(now.duration(since: daemon.since))
        let text = "\(daemon.version), pid \(daemon.pid), running for \(time)"
        guard daemon.version != ProductVersion.current else { return ok("daemon", text) }
        return warning(
            "daemon", "\(text); this prsnlctl is \(ProductVersion.current)",
            "Restart the daemon, which still runs what was there before.", next: Self.restart)
    }

    private func silent(_ error: UserFacingError) -> Finding {
        switch error.code {
        case _ where !isRunning:
            warning(
                "daemon", "\(error.message) Nothing is pulled, and writes wait.", error.recoverySuggestion,
                next: error.nextCommand)
        case .daemonBusy where unit.isStarting:
            notChecked("daemon", error.message, "It is starting: ask again in a moment.")
        case .daemonBusy:
            failed(
                "daemon", "\(error.message) It hangs, or the machine is too busy for it.",
                "Try again. If this persists, restart the daemon, and please report it with the log.",
                next: Self.restart)
        case .databaseReplaced: failed("daemon", error)
        default: notChecked("daemon", error.message, error.recoverySuggestion)
        }
    }

    private func state(of name: String, _ isUser: Bool, _ properties: [String: String]) -> Finding {
        let unit = "\(isUser ? "user" : "system") unit \(name)"
        let result = properties["Result"] ?? "unknown"
        let log = SystemdUnit.log
        return switch (properties["LoadState"], properties["ActiveState"], properties["SubState"]) {
        case ("not-found", _, _): notChecked("unit", "no unit \(name) is installed")
        case (_, "failed", _):
            failed(
                "unit", "\(unit) has failed (\(result)); systemd does not start it again", "Its log says why.",
                next: log)
        case (_, _, "auto-restart"):
            failed(
                "unit", "\(unit) ends as soon as it is started, and is started again (\(result))", "Its log says why.",
                next: log)
        case ("masked", _, _):
            warning("unit", "\(unit) is masked: systemd does not start it", next: "sudo systemctl unmask prsnld")
        case (_, "active", _), (_, "reloading", _): ok("unit", "\(unit) runs", "Its log:", next: log)
        case (_, "activating", _): warning("unit", "\(unit) is starting", "Its log says more.", next: log)
        case (_, "deactivating", _): warning("unit", "\(unit) is stopping", "Its log says more.", next: log)
        default: warning("unit", "\(unit) is stopped", next: "sudo systemctl start prsnld")
        }
    }

    static func gather(_ scene: DoctorScene) -> Self {
        Self(
            daemon: scene.status?.daemon, silence: scene.silence, isRunning: scene.isRunning,
            socketPath: scene.socket, socket: FileStatus.entry(scene.socket),
            unit: scene.isManual
                ? .notKnown("the daemon was not started by systemd") : SystemdUnit(of: scene.unit), now: scene.now)
    }
}
