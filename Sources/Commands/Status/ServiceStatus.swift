import Console
import Glibc
package import PRSNLCore
package import Store

/// The daemon in one line, as `systemctl status` shows it: `online, 12,431 items, complete as of 10:42, 3 queued`.
package enum ServiceStatus {
    private static let queue: NextCommand = "prsnlctl queue"

    /// - Parameters:
    ///   - unit: The daemon whose commands the line names.
    package static func text(
        _ engine: EngineState, _ counts: CopyCounts, unit: ServiceUnit, now: Timestamp,
        zone: @escaping LocalZone = LocalTime.system
    ) -> String {
        func clock(_ moment: Timestamp) -> String {
            let shown = LocalTime(moment, zone)
            let time = shown.time.prefix(5)
            return shown.day == LocalTime(now, zone).day ? "\(time)" : "\(shown.day) \(time)"
        }
        let connectivity = engine.connectivity
        let since = connectivity.since.map { " since \(clock($0))" } ?? ""
        var parts = [words(connectivity.state, since)]
        if let pull = engine.pull {
            let whole = pull.expectedItems.map { " of \(Formatting.count($0))" } ?? ""
            parts.append("pulling (\(Formatting.count(pull.items))\(whole) read)")
        }
        parts.append(Formatting.count(counts.live, "item"))
        parts.append(
            counts.isComplete ? "complete" + (engine.newAsOf.map { " as of \(clock($0))" } ?? "") : "incomplete")
        if counts.waiting > 0 { parts.append("\(Formatting.count(counts.waiting)) queued") }
        if counts.parked > 0 {
            parts.append("\(Formatting.count(counts.parked)) parked: see \(unit.fit(queue) ?? queue)")
        }
        if counts.deletionsHeld > 0 { parts.append("\(Formatting.count(counts.deletionsHeld, "deletion")) held back") }
        // The state of the connection says some of it already.
        if let problem = engine.problem?.code, problem != connectivity.reason?.code, counts.deletionsHeld == 0 {
            parts.append("problem: \(problem.rawValue.split(separator: "_").joined(separator: " "))")
        }
        return parts.joined(separator: ", ")
    }

    private static func words(_ state: Connectivity.State, _ since: String) -> String {
        switch state {
        case .online: "online"
        case .unknown: "server not asked yet"
        case .offline: "offline\(since)"
        case .unreachable: "server not reachable\(since)"
        case .portal: "something other than PRSNL answers\(since)"
        case .unauthorized: "needs login\(since)"
        }
    }
}
