import Configuration
import Control
import Glibc

/// Which unit the daemon is, or would be, and what systemd says of it.
enum SystemdUnit {
    private static let properties = [
        "LoadState", "ActiveState", "SubState", "Result", "UnitFileState", "NRestarts", "WatchdogUSec",
        "NeedDaemonReload",
    ]
    private static let patience: Duration = .seconds(5)

    /// sd_booted(3).
    static var isRunning: Bool { access("/run/systemd/system", F_OK) == 0 }

    /// The unit that goes by the configuration: `prsnld`, or `prsnld@NAME` for /etc/prsnld/NAME.conf.
    static func name(_ scene: DoctorScene) -> String {
        let folder = Folder.containing(DefaultPaths.systemConfiguration) + "/"
        guard let file = scene.loaded.file, file.hasPrefix(folder), file.hasSuffix(".conf") else { return "prsnld" }
        let instance = file.dropFirst(folder.count).dropLast(".conf".count)
        return instance == "prsnld" || instance.contains("/") ? "prsnld" : "prsnld@\(instance)"
    }

    static func look(_ scene: DoctorScene) -> DoctorService.Unit {
        guard isRunning else { return .notKnown("systemd does not run here") }
        if let process = scene.processID {
            guard let (name, isUser) = unit(of: process) else {
                return .notKnown("the daemon was not started by systemd")
            }
            return show(name, isUser: isUser)
        }
        let system = show(name(scene), isUser: false)
        guard case .known(_, _, let properties) = system, properties["LoadState"] == "not-found", geteuid() != 0 else {
            return system
        }
        let own = show("prsnld", isUser: true)
        if case .known(_, _, let properties) = own, properties["LoadState"] != "not-found" { return own }
        return system
    }

    /// By the control group (cgroups(7)), whose last part systemd names like the unit.
    private static func unit(of process: Int32) -> (name: String, isUser: Bool)? {
        guard let groups = SmallText.read("/proc/\(process)/cgroup") else { return nil }
        for line in groups.split(separator: "\n") {
            let parts = line.split(separator: "/")
            guard let last = parts.last, last.hasPrefix("prsnld"), last.hasSuffix(".service") else { continue }
            return (String(last.dropLast(".service".count)), parts.contains { $0.hasPrefix("user@") })
        }
        return nil
    }

    private static func show(_ name: String, isUser: Bool) -> DoctorService.Unit {
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
