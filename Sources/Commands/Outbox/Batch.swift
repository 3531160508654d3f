import Console
import Control
import PRSNLCore

/// Many writes of one command: they are counted, and on a terminal one line tells how far they are.
struct Batch: ~Copyable {
    var outbox: RequestClient
    let interruption: Interruption?
    var report = BatchReport()
    /// What was accepted, for `--wait`.
    private var entries: [Int64] = []
    var display: ProgressDisplay

    /// Entries that are waited for at once, so that the line of progress moves.
    private static let waitedTogether = 250

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
        if let wait, interruption?.signal == nil { try self.wait(wait) }
        display.end()
        try context.write(report)
        interruption?.endProcess()
        return report.exitCode
    }

    private mutating func wait(_ wait: WaitOption) throws(UserFacingError) {
        let end = wait.limit.map { ContinuousClock.now + $0 }
        report.add(DeliveryReport([]), asked: 0)
        for chunk in entries.groups(of: Self.waitedTogether) {
            let left = end.map { max(.zero, $0 - ContinuousClock.now) }
            do throws(UserFacingError) {
                guard let answer = try outbox.wait(for: chunk, atMost: left, interruption: interruption) else { break }
                report.add(answer, asked: chunk.count)
            } catch {
                guard error.code == .cancelled || error.code == .daemonNotRunning else { throw error }
                display.end()
                if error.code == .daemonNotRunning { report.sending = .whenDaemonRuns }
                context.say(
                    error.code == .cancelled
                        ? "interrupted; the writes stay queued and will be sent"
                        : "the daemon stopped before the delivery")
                break
            }
            display.show(.delivery, report.delivered ?? 0, of: report.accepted)
        }
    }
}

extension [Int64] {
    /// As many as one request may be about, or fewer.
    func groups(of size: Int = WriteLimits.together) -> [[Int64]] {
        stride(from: 0, to: count, by: size).map { Array(self[$0...].prefix(size)) }
    }
}
