import Console
import PRSNLCore

/// The daemon as a service: whether it answers, what systemd says of it, and what its log holds.
struct ServiceCheck: Check, Equatable {
    enum Daemon: Sendable, Equatable {
        case answers(pid: Int32, version: String, since: Timestamp)
        case stopped(UserFacingError)
        /// It is there, and does not answer this user.
        case silent(UserFacingError)
        /// It has not answered in time.
        case hangs(UserFacingError)
    }

    /// What `systemctl show` says (systemd.service(5), org.freedesktop.systemd1(5)).
    enum Unit: Sendable, Equatable {
        /// In words.
        case notKnown(String)
        /// - Parameter properties: as they are printed, by name.
        case known(name: String, isUser: Bool, properties: [String: String])
    }

    /// What the journal has of the last day at the level of errors.
    enum Journal: Sendable, Equatable {
        case notKnown(String)
        /// - Parameter messages: the oldest first.
        case read([Message])
    }

    struct Message: Sendable, Equatable {
        var at: Timestamp
        var text: String
        /// It is systemd's word about the unit, and not the unit's own.
        var isSystemd = false
    }

    var daemon: Daemon
    var version = ProductVersion.current
    var socketPath: String
    var socket = FilesCheck.Entry.missing
    var unit: Unit
    var journal: Journal
    /// When the unit last became active; `nil` where it never did, or where that is not known.
    var lastStart: Timestamp?
    var now: Timestamp

    var findings: [DoctorReport.Finding] {
        process + [controlSocket].compactMap(\.self) + unitFindings + [watchdog, log].compactMap(\.self)
    }

    // MARK: The process

    private var process: [DoctorReport.Finding] {
        switch daemon {
        case .answers(let pid, let running, let since):
            let text = "\(running), pid \(pid), running for \(Figures.duration(now.duration(since: since)))"
            guard running != version else { return [.ok(.service, "daemon", text)] }
            return [
                .warning(
                    .service, "daemon", "\(text); this prsnlctl is \(version)",
                    "Restart the daemon, which still runs what was there before.", next: "sudo systemctl restart prsnld"
                )
            ]
        case .stopped(let error):
            return [
                .warning(
                    .service, "daemon", "\(error.message) Nothing is pulled, and writes wait.",
                    error.recoverySuggestion,
                    next: error.nextCommand)
            ]
        case .silent(let error):
            if error.code == .databaseReplaced { return [.failed(.service, "daemon", error)] }
            return [.notChecked(.service, "daemon", error.message, error.recoverySuggestion)]
        case .hangs(let error):
            var restart: NextCommand = "sudo systemctl restart prsnld"
            if case .known(let name, let isUser, let properties) = unit {
                guard properties["ActiveState"] != "activating" else {
                    return [.notChecked(.service, "daemon", error.message, "It is starting: ask again in a moment.")]
                }
                restart = isUser ? "systemctl --user restart \(name)" : "sudo systemctl restart \(name)"
            }
            return [
                .failed(
                    .service, "daemon", "\(error.message) It hangs, or the machine is too busy for it.",
                    "Try again. If this persists, restart the daemon, and please report it with the log.", next: restart
                )
            ]
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

    // MARK: The unit

    private var unitFindings: [DoctorReport.Finding] {
        switch unit {
        case .notKnown(let reason): return [.notChecked(.service, "unit", reason)]
        case .known(let name, let isUser, let properties):
            let control = isUser ? ["systemctl", "--user"] : ["sudo", "systemctl"]
            func command(_ verb: String) -> NextCommand { NextCommand(control + [verb, name]) }
            let kind = isUser ? "user unit" : "system unit"
            guard properties["LoadState"] != "not-found" else {
                return [.notChecked(.service, "unit", "no unit \(name) is installed")]
            }
            return [
                state(name, kind, properties, command), restarts(properties), reload(properties, control),
            ].compactMap(\.self)
        }
    }

    private func state(
        _ name: String, _ kind: String, _ properties: [String: String], _ command: (String) -> NextCommand
    ) -> DoctorReport.Finding {
        let active = properties["ActiveState"] ?? "unknown"
        let result = properties["Result"] ?? "unknown"
        let log: NextCommand = kind == "user unit" ? "journalctl --user -u \(name) -e" : "journalctl -u \(name) -e"
        switch active {
        case "active", "reloading":
            let file = properties["UnitFileState"] ?? ""
            if file == "disabled" {
                return .warning(
                    .service, "unit", "\(kind) \(name) runs, but does not start with the machine",
                    next: command("enable"))
            }
            return .ok(.service, "unit", "\(kind) \(name) runs, \(file.isEmpty ? "no unit file" : file)")
        case "failed":
            if result == "start-limit-hit" {
                return .failed(
                    .service, "unit", "\(kind) \(name) was started too often, and systemd has given up",
                    "Find out why in its log, then:", next: command("reset-failed"))
            }
            return .failed(
                .service, "unit", "\(kind) \(name) has failed (\(result)); systemd does not start it again",
                "Its log says why.", next: log)
        case "activating" where properties["SubState"] == "auto-restart":
            return .failed(
                .service, "unit", "\(kind) \(name) ends as soon as it is started, and is started again (\(result))",
                "Its log says why.", next: log)
        case "activating", "deactivating":
            return .warning(
                .service, "unit", "\(kind) \(name) is \(active) (\(properties["SubState"] ?? "?"), \(result))",
                "Its log says why.", next: log)
        default:
            return .warning(.service, "unit", "\(kind) \(name) is stopped", next: command("start"))
        }
    }

    private func restarts(_ properties: [String: String]) -> DoctorReport.Finding? {
        guard let count = properties["NRestarts"].flatMap({ Int($0) }), count > 0 else { return nil }
        return .warning(
            .service, "restarts", "systemd has restarted it \(Figures.count(count, "time")) by itself",
            "Its log says why each time.")
    }

    private func reload(_ properties: [String: String], _ control: [String]) -> DoctorReport.Finding? {
        guard properties["NeedDaemonReload"] == "yes" else { return nil }
        return .warning(
            .service, "unit", "its unit file was changed, and systemd has not read it again",
            next: NextCommand(control + ["daemon-reload"]))
    }

    /// Whether systemd would notice a daemon that hangs, and whether it had to.
    private var watchdog: DoctorReport.Finding? {
        guard case .known(_, _, let properties) = unit, properties["ActiveState"] == "active" else { return nil }
        if case .read(let messages) = journal {
            let kills = messages.filter { $0.text.contains("Watchdog timeout") }
            if let last = kills.last {
                return .warning(
                    .service, "watchdog",
                    "it has hung \(Figures.count(kills.count, "time")) in the last day, last "
                        + Figures.timeWithAge(last.at, now: now) + ", and was restarted",
                    "Please report this with the log.")
            }
        }
        let time = properties["WatchdogUSec"] ?? ""
        guard !["", "0", "infinity"].contains(time) else {
            return .warning(
                .service, "watchdog", "off: a daemon that hangs is not noticed", "Set WatchdogSec= in the unit.")
        }
        return .ok(.service, "watchdog", "on: \(time) without a sign of life ends it")
    }

    // MARK: The log

    private var errorLog: NextCommand {
        guard case .known(let name, let isUser, _) = unit else { return "journalctl -u prsnld -p err --since -1d" }
        let place = (isUser ? ["--user"] : []) + ["-u", name]
        return NextCommand(["journalctl"] + place + ["-p", "err", "--since", "-1d"])
    }

    private var log: DoctorReport.Finding {
        switch journal {
        case .notKnown(let reason): return .notChecked(.service, "log", reason)
        case .read(let all):
            // What went wrong before it last started well is over.
            let isRecent = lastStart.map { now.duration(since: $0) < .seconds(86_400) } ?? false
            let when = isRecent ? "since its last start" : "in the last day"
            let recent = all.filter { message in lastStart.map { message.at >= $0 } ?? true }
            // systemd repeats in its own words that the unit has failed.
            let own = recent.filter { !$0.isSystemd }
            let messages = own.isEmpty ? recent : own
            guard let last = messages.last else { return .ok(.service, "log", "no errors \(when)") }
            let lines = messages.suffix(2).map { "\(Figures.time($0.at)) \(TextLayout.cut($0.text, to: 160))" }
            return .warning(
                .service, "log",
                (["\(Figures.count(messages.count, "error")) \(when); the last:"] + lines).joined(separator: "\n"),
                now.duration(since: last.at) > .seconds(3_600) ? "None in the last hour." : nil,
                next: errorLog)
        }
    }
}

// MARK: Looking

extension ServiceCheck {
    init(_ scene: DoctorScene) {
        let unit = SystemdUnit.look(scene)
        self.init(
            daemon: scene.daemon, socketPath: scene.socket, unit: unit, journal: JournalErrors.read(unit),
            now: scene.now)
        lastStart = SystemdUnit.lastStart(unit, now: scene.now)
        socket = FileLook.entry(scene.socket)
    }
}
