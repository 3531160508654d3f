package import Console
import Control
package import PRSNLCore
package import Requests
import Store

/// Many writes of one command: they are counted, and on a terminal one line tells how far they are.
struct Batch: ~Copyable {
    var outbox: RequestClient
    let interruption: Interruption?
    var report = BatchReport()
    /// What was accepted, for `--wait`.
    private var entries: [Int64] = []
    var display: ProgressDisplay

    init(_ outbox: consuming RequestClient) {
        self.outbox = outbox
        interruption = Interruption.watch()
        display = ProgressDisplay(style: self.outbox.context.errorStyle, isQuiet: !self.outbox.context.isText)
    }

    var context: CommandContext { outbox.context }

    /// - Parameters:
    ///   - answers: to the writes of one request, in their order.
    ///   - count: how many writes these were.
    ///   - refusal: of the write with this number, from 0.
    mutating func take(_ answers: [WriteTally], of count: Int, refusal: (Int, UserFacingError) -> BatchReport.Refusal) {
        var first = 0
        for tally in answers {
            report.accept(tally)
            entries += tally.entries
            for refused in tally.refused where (0..<count).contains(first + refused.index) {
                refuse(refusal(first + refused.index, refused.error))
            }
            first += tally.entries.count + tally.refused.count
        }
    }

    mutating func refuse(_ refusal: BatchReport.Refusal) {
        report.refuse(refusal)
        display.end()
        let name = refusal.line.map { "line \($0)" } ?? refusal.item ?? ""
        context.say("\(name): \(refusal.error.message)")
    }

    mutating func end(_ wait: WaitOption?) throws(UserFacingError) -> ExitCode {
        if let wait, interruption?.signal == nil {
            var (report, display) = (self.report, self.display)
            report.add(DeliveryReport([]), asked: 0)
            let ended = WriteFlow.wait(for: entries, wait, &outbox, interruption) { answer, asked in
                report.add(answer, asked: asked)
                display.show(.delivery, report.delivered ?? 0, of: report.accepted)
            }
            display.end()
            if let ended { context.say(ended) }
            (self.report, self.display) = (report, display)
        }
        display.end()
        try context.write(report)
        interruption?.endProcess()
        return report.exitCode
    }
}

/// How many writes at once ended: the JSON of `prsnlctl capture --stdin --json` and `prsnlctl tag --json`.
package struct BatchReport: Sendable, Equatable, Codable {
    package struct Refusal: Sendable, Equatable, Codable {
        /// Of `capture --stdin`, from 1.
        @Nullable package var line: Int? = nil
        /// Of `tag`: its id. Of `import`: where it stands.
        @Nullable package var item: String? = nil
        package var error: UserFacingError
    }

    /// So many are in the report; all are on stderr.
    package static let mostRefusals = 100

    package var schemaVersion = 1
    /// Of `import`: what it found.
    @Nullable package var plan: ImportPlan? = nil
    /// `null` where nothing had to be written.
    @Nullable package var source: StatusReport.Source? = nil
    @Nullable package var sending: Sending? = nil
    /// Of `capture --stdin`: lines read, blank ones included.
    @Nullable package var lines: Int? = nil
    /// Of `tag`: the items that were meant.
    @Nullable package var items: Int? = nil
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
    package var refusals: [Refusal] = []

    package mutating func refuse(_ refusal: Refusal) {
        refused += 1
        if refusals.count < Self.mostRefusals { refusals.append(refusal) }
    }

    package mutating func accept(_ tally: WriteTally) {
        (source, sending) = (tally.source, tally.sending)
        accepted += tally.entries.count
        (firstEntry, lastEntry) = (firstEntry ?? tally.entries.first, tally.entries.last ?? lastEntry)
    }

    package mutating func add(_ report: DeliveryReport, asked: Int) {
        func count(_ state: OutboxEntry.State) -> Int { report.deliveries.count { $0.state == state } }
        sending = report.sending ?? sending
        delivered = (delivered ?? 0) + count(.delivered)
        parked = (parked ?? 0) + count(.parked)
        superseded = (superseded ?? 0) + count(.superseded)
        dropped = (dropped ?? 0) + count(.dropped) + asked - report.deliveries.count
    }

    package var exitCode: ExitCode {
        if refused > 0 { return .error }
        if let parked, parked > 0 { return .needsAttention }
        if let delivered, delivered + (superseded ?? 0) < accepted { return .notDelivered }
        return .fine
    }
}

extension BatchReport: Report {
    package func text(_ style: TextStyle) -> String {
        if items == 0 { return "" }
        var summary = "queued \(Formatting.count(accepted))"
        if let firstEntry, let lastEntry {
            summary = accepted == 1 ? "queued #\(firstEntry)" : summary + " (#\(firstEntry) to #\(lastEntry))"
        }
        let attention = " (\(style.command("prsnlctl queue --state parked")))"
        let counts: [(word: String, number: Int?, more: String)] = [
            ("refused", refused, ""), ("delivered", delivered, ""), ("parked", parked, attention),
            ("dropped", dropped, ""), ("replaced", superseded, ""),
        ]
        for (word, number, more) in counts {
            if let number, number > 0 || word == "delivered" {
                summary += ", \(word) \(Formatting.count(number))\(more)"
            }
        }
        let over = (delivered ?? 0) + (parked ?? 0) + (dropped ?? 0) + (superseded ?? 0)
        if accepted > over {
            if delivered != nil { summary += "; \(Formatting.count(accepted - over)) on disk and not delivered yet" }
            summary += sending.map { "; \($0.text(style))" } ?? ""
        }
        return paragraphs([summary], style)
    }
}
