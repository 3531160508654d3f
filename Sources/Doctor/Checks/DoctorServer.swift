import Console
import PRSNLCore
package import Reports

/// The way to the server, step by step, and its clock.
package struct DoctorServer: DoctorFacts, Equatable {
    /// `nil` where the server could not be asked.
    package var ping: PingReport?
    /// Why not.
    package var reason = "there is no server to ask"
    /// Whether the daemon asked; else prsnlctl did.
    package var isByDaemon = false
    package var isTLS = true
    /// The proxy that stands in for the server in all but the answer.
    package var hasProxy = false
    /// The server's clock minus ours, in seconds, good to one or two; `nil` where no answer told it.
    package var clockOffset: Double?

    /// The answer has whole seconds and was under way.
    static let clockNotice = 5.0
    static let clockLimit = 300.0

    package init() {}

    package var findings: [DoctorReport.Finding] {
        guard let ping else { return [.notChecked(.server, "way", reason)] }
        return way(ping) + [clock]
    }

    private func way(_ ping: PingReport) -> [DoctorReport.Finding] {
        var findings: [DoctorReport.Finding] = []
        let whose = hasProxy ? " (the proxy's)" : ""
        let steps: [(phase: String, check: String, took: Double?)] = [
            ("ahead", "echo", ping.ahead), ("name", "name", ping.phases.name),
            ("connect", "connect", ping.phases.connect), ("tls", "tls", ping.phases.tls),
        ]
        for step in steps {
            if ping.failedPhase == step.phase, let error = ping.error {
                return findings + [.failed(.server, step.check, error)]
            }
            guard let took = step.took else { continue }
            var text = "in \(Figures.milliseconds(took))"
            if step.check == "connect" { text = (ping.address ?? "") + whose + " " + text }
            findings.append(.ok(.server, step.check, text))
        }
        if !isTLS, ping.phases.connect != nil {
            findings.append(.notChecked(.server, "tls", "the address is http://: there is none"))
        }
        if let error = ping.error {
            findings.append(.failed(.server, "health", error))
        } else {
            let took = ping.phases.firstByte.map { " in \(Figures.milliseconds($0))" } ?? ""
            findings.append(.ok(.server, "health", "PRSNL answers\(took)" + (isByDaemon ? "" : ", asked by prsnlctl")))
        }
        return findings
    }

    private var clock: DoctorReport.Finding {
        guard let clockOffset, clockOffset.isFinite else {
            return .notChecked(.server, "clock", "no answer told the server's time")
        }
        let size = clockOffset.magnitude
        guard size > Self.clockNotice else { return .ok(.server, "clock", "as the server's") }
        let span = Figures.duration(.seconds(Int64(min(size, 1e12))))
        let text = "\(span) \(clockOffset > 0 ? "behind" : "ahead of") the server's"
        let advice =
            "Have one of the two set by NTP: logins seem expired, and what lies in the future is not believed."
        return size > Self.clockLimit
            ? .failed(.server, "clock", text, advice, next: "timedatectl")
            : .warning(.server, "clock", text, advice, next: "timedatectl")
    }
}
