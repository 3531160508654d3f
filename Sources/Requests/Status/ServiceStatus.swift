import Glibc
package import PRSNLCore
package import Store

/// The daemon in one line, as `systemctl status` shows it: `online, 12,431 items, complete as of 10:42, 3 queued`.
package enum ServiceStatus {
    /// - Parameters:
    ///   - unit: The daemon whose commands the line names.
    package static func text(
        _ engine: EngineState, _ counts: CopyCounts, unit: ServiceUnit, now: Timestamp,
        zone: @escaping LocalZone = LocalTime.system
    ) -> String {
        var summary = CopySummary()
        (summary.copy.live, summary.copy.complete) = (counts.live, counts.isComplete)
        summary.copy.deletionsHeld = counts.deletionsHeld
        (summary.outbox.waiting, summary.outbox.parked) = (counts.waiting, counts.parked)
        let daemon = StatusReport.Daemon(pid: getpid(), since: now, engine: engine.shown)
        let report = StatusReport(summary, daemon: daemon, engine: engine, now: now)
        let today = LocalTime(now, zone).day
        let parts = StatusFact.all.flatMap { $0.say(report) }.compactMap(\.brief).map { text, since, time in
            let fitted = unit.fit(text)
            let words = zip(fitted.texts, fitted.commands.map(\.line) + [""]).map { $0 + $1 }.joined()
            guard let shown = time.map({ LocalTime($0, zone) }) else { return words }
            return "\(words) \(since) " + (shown.day == today ? "" : "\(shown.day) ") + shown.time.prefix(5)
        }
        return parts.joined(separator: ", ")
    }
}
