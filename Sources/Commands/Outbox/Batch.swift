import Console
import Control
import PRSNLCore

/// Many writes of one command: they are counted, and on a terminal one line tells how far they are.
struct Batch: ~Copyable {
    var outbox: RequestClient
    let interruption: Interruption?
    var report = BatchReport()
    /// What was accepted, for `--wait`: numbers that follow each other, as they mostly do, take no memory.
    private var entries: [ClosedRange<Int64>] = []
    var display: ProgressDisplay

    /// Entries that are waited for at once, so that the line of progress moves.
    private static let waitedTogether: Int64 = 250

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
    mutating func take(
        _ answers: [WriteTally], of count: Int, refusal: (Int, UserFacingError) -> BatchReport.Refusal
    ) {
        var first = 0
        for tally in answers {
            take(tally)
            for refused in tally.refused where (0..<count).contains(first + refused.index) {
                refuse(refusal(first + refused.index, refused.error))
            }
            first += tally.entries.count + tally.refused.count
        }
    }

    private mutating func take(_ tally: WriteTally) {
        report.accept(tally)
        for entry in tally.entries {
            if let last = entries.last, last.upperBound + 1 == entry {
                entries[entries.count - 1] = last.lowerBound...entry
            } else {
                entries.append(entry...entry)
            }
        }
    }

    mutating func refuse(_ refusal: BatchReport.Refusal) {
        report.refuse(refusal)
        display.end()
        let name = refusal.line.map { "line \($0)" } ?? refusal.item ?? ""
        context.say("\(name): \(refusal.error.message)")
    }

    /// Waits, where it is asked to, and prints the report.
    mutating func end(_ wait: WaitOption?) throws(UserFacingError) -> ExitCode {
        if let wait, interruption?.signal == nil { try self.wait(wait) }
        display.end()
        try context.write(report)
        interruption?.endProcess()
        return report.exitCode
    }

    private mutating func wait(_ wait: WaitOption) throws(UserFacingError) {
        let end = wait.limit.map { ContinuousClock.now + $0 }
        report.add(DeliveryReport([]), asked: 0)
        for chunk in chunks() {
            let left = end.map { max(.zero, $0 - ContinuousClock.now) }
            do throws(UserFacingError) {
                guard let answer = try outbox.wait(for: chunk, atMost: left, interruption: interruption) else { break }
                report.add(answer, asked: chunk.count)
            } catch {
                if error.code == .cancelled {
                    display.end()
                    context.say("interrupted; the writes stay queued and will be sent")
                    break
                }
                guard error.code == .daemonNotRunning else { throw error }
                display.end()
                context.say("the daemon stopped before the delivery")
                report.sending = .whenDaemonRuns
                break
            }
            display.show(.delivery, report.delivered ?? 0, of: report.accepted)
        }
    }

    private func chunks() -> [[Int64]] {
        entries.flatMap { range in
            stride(from: range.lowerBound, through: range.upperBound, by: Int64.Stride(Self.waitedTogether)).map {
                start in
                Array(start...min(range.upperBound, start + Self.waitedTogether - 1))
            }
        }
    }
}
