import Console
import Glibc
package import PRSNLCore
package import Store

/// The daemon in one line, as `systemctl status` shows it: `online, 12,431 items, complete as of 10:42, 3 queued`.
package enum ServiceStatus {
    private static let queue: NextCommand = "prsnlctl queue"

    /// A time as the clock on the wall shows it.
    package struct LocalTime: Sendable, Equatable {
        /// `2026-11-21`
        package var day: String
        /// `10:42`
        package var time: String

        /// In the time zone of `$TZ`, or of the machine (localtime(3)).
        package static let system: @Sendable (Timestamp) -> LocalTime = { timestamp in
            var seconds = time_t(timestamp.microseconds / 1_000_000)
            var parts = tm()
            localtime_r(&seconds, &parts)
            func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
            return LocalTime(
                day: "\(parts.tm_year + 1_900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))",
                time: "\(two(parts.tm_hour)):\(two(parts.tm_min))")
        }
    }

    /// - Parameters:
    ///   - unit: The daemon whose commands the line names.
    ///   - local: What the clock shows at a time.
    package static func text(
        _ engine: EngineState, _ counts: CopyCounts, unit: ServiceUnit, now: Timestamp,
        local: (Timestamp) -> LocalTime = LocalTime.system
    ) -> String {
        func clock(_ moment: Timestamp) -> String {
            let shown = local(moment)
            return shown.day == local(now).day ? shown.time : "\(shown.day) \(shown.time)"
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
