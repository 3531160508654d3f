package import Console
import PRSNLCore
import Store

/// How `capture --stdin` ended: the JSON of `prsnlctl capture --stdin --json`.
package struct CaptureReport: Sendable, Equatable, Codable {
    package struct Refusal: Sendable, Equatable, Codable {
        /// From 1.
        package var line: Int
        package var error: ErrorReport

        package init(line: Int, error: ErrorReport) {
            self.line = line
            self.error = error
        }
    }

    /// So many are in the report; all are on stderr.
    package static let mostRefusals = 100

    package var schemaVersion = 1
    /// `null` where nothing had to be written.
    @Nullable package var source: StatusReport.Source? = nil
    @Nullable package var sending: Sending? = nil
    /// Lines read, blank ones included.
    package var lines = 0
    package var accepted = 0
    package var refused = 0
    /// `null` without `--wait`.
    @Nullable package var delivered: Int? = nil
    @Nullable package var parked: Int? = nil
    /// Given up while they were waited for, or since then no longer in the file.
    @Nullable package var dropped: Int? = nil
    /// Another write took their place.
    @Nullable package var superseded: Int? = nil
    @Nullable package var firstEntry: Int64? = nil
    @Nullable package var lastEntry: Int64? = nil
    /// The first 100.
    package var refusals: [Refusal] = []

    package init() {}

    package mutating func refuse(_ refusal: Refusal) {
        refused += 1
        if refusals.count < Self.mostRefusals { refusals.append(refusal) }
    }

    package mutating func accept(_ tally: WriteTally) {
        let entries = tally.entries
        source = tally.source
        sending = tally.sending
        accepted += entries.count
        firstEntry = firstEntry ?? entries.first
        lastEntry = entries.last ?? lastEntry
    }

    package var exitCode: ExitCode {
        if refused > 0 { return .error }
        if let parked, parked > 0 { return .needsAttention }
        if let delivered, delivered + (superseded ?? 0) < accepted { return .notDelivered }
        return .fine
    }

    /// Takes over what became of some of the entries.
    package mutating func add(_ report: DeliveryReport, asked: Int) {
        func count(_ states: OutboxEntry.State...) -> Int {
            report.deliveries.count { delivery in states.contains { $0.rawValue == delivery.state } }
        }
        delivered = (delivered ?? 0) + count(.delivered)
        parked = (parked ?? 0) + count(.parked)
        superseded = (superseded ?? 0) + count(.superseded)
        dropped = (dropped ?? 0) + count(.dropped) + asked - report.deliveries.count
    }
}

extension CaptureReport: Report {
    package func text(_ style: TextStyle) -> String {
        var summary = "accepted \(Figures.count(accepted))"
        if let firstEntry, let lastEntry {
            summary += firstEntry == lastEntry ? " (#\(firstEntry))" : " (#\(firstEntry) to #\(lastEntry))"
        }
        let future = sending.map { "; \($0.text(style))" } ?? ""
        summary += ", refused \(Figures.count(refused))"
        if let delivered {
            summary += ", delivered \(Figures.count(delivered))"
            if let parked, parked > 0 {
                summary += ", parked \(Figures.count(parked)) (\(style.command("prsnlctl queue --state parked")))"
            }
            if let dropped, dropped > 0 { summary += ", dropped \(Figures.count(dropped))" }
            if let superseded, superseded > 0 { summary += ", replaced \(Figures.count(superseded))" }
            let open = accepted - delivered - (parked ?? 0) - (dropped ?? 0) - (superseded ?? 0)
            if open > 0 { summary += "; \(Figures.count(open)) on disk and not delivered yet" + future }
        } else if accepted > 0 {
            summary += future
        }
        return TextLayout.wrap(summary, width: style.width).map { $0 + "\n" }.joined()
    }
}
