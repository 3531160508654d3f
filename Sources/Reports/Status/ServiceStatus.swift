package import Console
import Glibc
package import PRSNLCore

/// The daemon in one line, as `systemctl status` shows it: `online, 12,431 items, complete as of 10:42, 3 queued`.
package struct ServiceStatus: Sendable, Equatable {
    package var connectivity = Connectivity()
    package var live = 0
    package var isComplete = false
    /// New items are complete as of this time.
    package var newAsOf: Timestamp?
    /// Items read by the pull under way, and how many there are to read, where that is known; `nil`: none is under way.
    package var pull: (read: Int, of: Int?)?
    package var queued = 0
    package var parked = 0
    package var deletionsHeld = 0
    /// What needs a person, or what went wrong last.
    package var problem: ErrorCode?
    /// The daemon whose commands the line names.
    package var unit = ServiceUnit()

    private static let queue: NextCommand = "prsnlctl queue"

    package init() {}

    package static func == (left: ServiceStatus, right: ServiceStatus) -> Bool {
        left.connectivity == right.connectivity && left.live == right.live && left.isComplete == right.isComplete
            && left.newAsOf == right.newAsOf && left.pull?.read == right.pull?.read && left.pull?.of == right.pull?.of
            && left.queued == right.queued && left.parked == right.parked && left.deletionsHeld == right.deletionsHeld
            && left.problem == right.problem && left.unit == right.unit
    }

    /// A time as the clock on the wall shows it.
    package struct LocalTime: Sendable, Equatable {
        /// `2026-11-21`
        package var day: String
        /// `10:42`
        package var time: String

        package init(day: String, time: String) {
            self.day = day
            self.time = time
        }

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

    /// - Parameter local: What the clock shows at a time.
    package func text(now: Timestamp, local: (Timestamp) -> LocalTime = LocalTime.system) -> String {
        func clock(_ moment: Timestamp) -> String {
            let shown = local(moment)
            return shown.day == local(now).day ? shown.time : "\(shown.day) \(shown.time)"
        }
        let since = connectivity.since.map { " since \(clock($0))" } ?? ""
        var parts = [connectivityWords(since)]
        if let pull {
            let whole = pull.of.map { " of \(Figures.count($0))" } ?? ""
            parts.append("pulling (\(Figures.count(pull.read))\(whole) read)")
        }
        parts.append(Figures.count(live, "item"))
        parts.append(isComplete ? "complete" + (newAsOf.map { " as of \(clock($0))" } ?? "") : "incomplete")
        if queued > 0 { parts.append("\(Figures.count(queued)) queued") }
        if parked > 0 { parts.append("\(Figures.count(parked)) parked: see \(unit.fit(Self.queue) ?? Self.queue)") }
        if deletionsHeld > 0 { parts.append("\(Figures.count(deletionsHeld, "deletion")) held back") }
        // The state of the connection says some of it already.
        if let problem, problem != connectivity.reason?.code, deletionsHeld == 0 {
            parts.append("problem: \(problem.rawValue.split(separator: "_").joined(separator: " "))")
        }
        return parts.joined(separator: ", ")
    }

    private func connectivityWords(_ since: String) -> String {
        switch connectivity.state {
        case .online: "online"
        case .unknown: "server not asked yet"
        case .offline: "offline\(since)"
        case .unreachable: "server not reachable\(since)"
        case .portal: "something else answers in the server's place\(since)"
        case .unauthorized: "needs login\(since)"
        }
    }
}
