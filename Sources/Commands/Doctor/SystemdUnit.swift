import Glibc
import PRSNLCore

/// What systemd says of the unit that the daemon is, or would be.
enum SystemdUnit: Sendable {
    /// Why it says nothing.
    case notKnown(String)
    /// - Parameter properties: what `systemctl show` prints, by name (org.freedesktop.systemd1(5)).
    case known(name: String, isUser: Bool, properties: [String: String])

    /// As all commands, that of the machine's own unit: `ServiceUnit.fit` makes it that of this one.
    static let log: NextCommand = "journalctl -u prsnld -e"

    private subscript(property: String) -> String? {
        if case .known(_, _, let properties) = self { properties[property] } else { nil }
    }

    /// It has ended by itself, and systemd is about to start it again.
    private var isRestarting: Bool { self["SubState"] == "auto-restart" }
    var isStarting: Bool { self["ActiveState"] == "activating" && !isRestarting }

    /// What a daemon has said last (sd_notify(3), STATUS=) that ended by itself, else systemd's word for its end.
    var failure: String? {
        guard self["LoadState"] != "not-found", self["ActiveState"] == "failed" || isRestarting else { return nil }
        return self["StatusText"] ?? self["Result"] ?? "unknown"
    }

    init(of unit: ServiceUnit) {
        switch unit.kind {
        case .system(let name): self.init(name, isUser: false)
        case .user: self.init("prsnld", isUser: true)
        case .manual(let file?): self = .notKnown("no unit of systemd is known that starts prsnld with \(file)")
        case .manual(nil): self = .notKnown("systemd does not run here, or has no unit prsnld")
        }
    }

    /// By the control group (cgroups(7)), whose last part systemd names like the unit.
    static func kind(of process: Int32) -> ServiceUnit.Kind? {
        guard let groups = Descriptors.text(of: "/proc/\(process)/cgroup") else { return nil }
        for line in groups.split(separator: "\n") {
            let parts = line.split(separator: "/")
            guard let last = parts.last, last.hasPrefix("prsnld"), last.hasSuffix(".service") else { continue }
            if parts.contains(where: { $0.hasPrefix("user@") }) { return .user }
            return .system(String(last.dropLast(".service".count)))
        }
        return nil
    }

    /// Asks systemctl, for five seconds at most.
    private init(_ name: String, isUser: Bool) {
        // Paths are absolute, so that no user's `PATH` decides what root runs. systemctl's words are compared: no translations, no
        // pager, no colours. XDG_RUNTIME_DIR leads to the user's own systemd. In a session of its own, without a terminal: see
        // `CommandContext.terminalBorrower`.
        let names: [String] = ["XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "HOME"]
        let kept = names.compactMap { name in getenv(name).map { "\(name)=\(String(cString: $0))" } }
        let wanted = "--property=LoadState,ActiveState,SubState,Result,StatusText"
        let arguments: [String] = (isUser ? ["--user"] : []) + ["show", "\(name).service", wanted]
        let words: [String] =
            ["/usr/bin/env", "-i", "LC_ALL=C", "SYSTEMD_PAGER=", "SYSTEMD_COLORS=0", "PATH=/usr/bin:/bin"] + kept
            + ["/usr/bin/setsid", "--wait", "/usr/bin/timeout", "-s", "KILL", "5", "/usr/bin/systemctl"] + arguments
        guard let pipe = popen("exec \(ShellText.words(words)) 2>&1 </dev/null", "re") else {
            self = .notKnown("systemctl: \(String(cString: strerror(errno)))")
            return
        }
        let output = String(decoding: Descriptors.read(fileno(pipe), atMost: 65_536).bytes, as: UTF8.self)
        let lines = output.split(separator: "\n")
        guard pclose(pipe) == 0 else {
            self = .notKnown("systemctl: \(lines.first ?? "it did not answer in time")")
            return
        }
        let properties = lines.reduce(into: [String: String]()) { properties, line in
            let parts = line.split(separator: "=", maxSplits: 1)
            if parts.count == 2 { properties[String(parts[0])] = String(parts[1]) }
        }
        self = .known(name: name, isUser: isUser, properties: properties)
    }
}
