import Configuration
package import Console
import Glibc
package import PRSNLCore
package import Reports

/// Which unit the daemon is, or would be, and what systemd says of it.
package enum SystemdUnit {
    private static let properties = [
        "LoadState", "ActiveState", "SubState", "Result", "UnitFileState", "NRestarts", "WatchdogUSec",
        "NeedDaemonReload", "ActiveEnterTimestampMonotonic", "StatusText",
    ]
    private static let patience: Duration = .seconds(5)

    /// sd_booted(3).
    static var isRunning: Bool { access("/run/systemd/system", F_OK) == 0 }

    static func look(_ scene: DoctorScene) -> ServiceCheck.Unit {
        guard isRunning else { return .notKnown("systemd does not run here") }
        if let process = scene.processID {
            switch kind(of: process) {
            case .system(let name)?: return show(name, isUser: false)
            case .user?: return show("prsnld", isUser: true)
            case .byHand?, nil: return .notKnown("the daemon was not started by systemd")
            }
        }
        return known(scene.unit)
    }

    /// Why no daemon has answered: what systemd says of the unit, else what the file says.
    ///
    /// - Parameters:
    ///   - error: what the attempt to ask it ended with.
    ///   - closedCopy: whether the copy was closed by its last owner.
    package static func absence(
        after error: UserFacingError, of unit: ServiceUnit, closedCopy: Bool
    ) -> StatusReport.Absence {
        switch error.code {
        case .daemonBusy: return .init(.notResponding)
        case .controlRefused: return .init(.refused, reason: error.message)
        default: break
        }
        if case .known(let name, let isUser, let properties) = known(unit), properties["LoadState"] != "not-found" {
            let scope = isUser ? ["--user"] : []
            let log = NextCommand(["journalctl"] + scope + ["-u", name, "-e"])
            let status = properties["StatusText"].flatMap { $0.isEmpty ? nil : $0 }
            if properties["ActiveState"] == "failed" || properties["SubState"] == "auto-restart" {
                return .init(.failed, reason: status ?? properties["Result"], nextCommand: log)
            }
        }
        return closedCopy ? .init(.stopped) : .init(.failed, reason: "It ended without closing the copy.")
    }

    private static func known(_ unit: ServiceUnit) -> ServiceCheck.Unit {
        guard isRunning else { return .notKnown("systemd does not run here") }
        switch unit.kind {
        case .system(let name): return show(name, isUser: false)
        case .user: return show("prsnld", isUser: true)
        case .byHand(let file): return .notKnown("which unit starts prsnld with \(file) is not known")
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

    /// When it was last active, which is after a start that succeeded.
    static func lastStart(_ unit: ServiceCheck.Unit, now: Timestamp) -> Timestamp? {
        guard case .known(_, _, let properties) = unit,
            let since = properties["ActiveEnterTimestampMonotonic"].flatMap({ Int64($0) }), since > 0
        else { return nil }
        return now.advanced(by: .microseconds(since) - TimeSource.clock(CLOCK_MONOTONIC))
    }

    private static func show(_ name: String, isUser: Bool) -> ServiceCheck.Unit {
        let scope = isUser ? ["--user"] : []
        let arguments = scope + ["show", "\(name).service"] + properties.map { "--property=\($0)" }
        do throws(ToolRun.Failure) {
            let run = try ToolRun("/usr/bin/systemctl", arguments, within: patience)
            guard run.status == 0 else { return .notKnown("systemctl: \(run.complaint ?? "it failed")") }
            var values: [String: String] = [:]
            for line in String(decoding: run.output, as: UTF8.self).split(separator: "\n") {
                guard let equals = line.firstIndex(of: "=") else { continue }
                values[String(line[..<equals])] = String(line[line.index(after: equals)...])
            }
            return .known(name: name, isUser: isUser, properties: values)
        } catch {
            return .notKnown(error.reason)
        }
    }
}
