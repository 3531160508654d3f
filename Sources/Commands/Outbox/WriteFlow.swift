import Console
import Control
import PRSNLCore
import Requests

/// What every command that writes goes through: journal, wait if asked to, report.
enum WriteFlow {
    /// Entries that are waited for at once, so that a line of progress moves.
    private static let waitedTogether = 250

    /// - Parameters:
    ///   - names: what the person calls each write; for the messages about those that are refused.
    ///   - queued: is told what became of the writes, before a delivery is waited for.
    static func run(
        _ context: CommandContext, _ arguments: ParsedArguments, _ writes: [WriteRequest], names: [String],
        queued: (Result<WriteReport, Unwritten>) throws(UserFacingError) -> Void = { _ in }
    ) throws(UserFacingError) -> ExitCode {
        let wait = try WaitOption(arguments)
        var outbox = RequestClient(context)
        let written = Result { () throws(Unwritten) in try write(writes, &outbox) }
        try queued(written)
        var report = try written.mapError(\.userFacing).get()
        if let wait {
            report.waited = true
            let waiting = report.waiting
            if context.isText, !waiting.isEmpty {
                let numbers = OutboxWords.numbers(waiting)
                context.say("\(numbers) on disk; waiting for the delivery. Ctrl-C ends the waiting, not the write.")
            }
            let ended = self.wait(for: waiting, wait, &outbox) { answer, _ in report.update(answer) }
            if let ended { context.say(ended) }
        }
        if context.isText {
            StandardStream.error.write(report.refusals(context.errorStyle, names: names))
            for (write, name) in zip(report.writes, names) where write.error?.code == .itemUnknown {
                guard let item = context.itemFound(by: name) else { continue }
                context.say("\(CommandContext.offer(item)) Its id is \(item.id).")
            }
        }
        try context.write(report)
        return report.exitCode
    }

    static func write(_ writes: [WriteRequest], _ outbox: inout RequestClient) throws(Unwritten) -> WriteReport {
        WriteReport(joining: try journal(WritesRequest(writes), &outbox))
    }

    /// - Returns: one answer for each transaction that it took.
    static func journal<Answer: WriteAnswer>(
        _ request: AcceptRequest<Answer>, _ outbox: inout RequestClient
    ) throws(Unwritten) -> [Answer] {
        let words = outbox.context.unit.fit("prsnlctl: interrupted. \(Unwritten.unknown) \(Unwritten.lookFirst)")
        return try Interruption.saying("\n\(words)\n") { () throws(Unwritten) in try outbox.write(request) }
    }

    /// Whatever ends the waiting, the writes are on disk: it is never an error of the command.
    ///
    /// - Parameter answered: is called with each answer, and how many entries it is about.
    /// - Returns: what is to be said where the waiting has ended early.
    static func wait(
        for entries: [Int64], _ wait: WaitOption, _ outbox: inout RequestClient, _ interruption: Interruption? = nil,
        answered: (DeliveryReport, Int) -> Void
    ) -> Advice? {
        let end = wait.limit.map { ContinuousClock.now + $0 }
        let context = outbox.context
        var said: String?
        do throws(UserFacingError) {
            for some in entries.groups(of: waitedTogether) {
                let request = DeliveryRequest(entries: some, atMost: end.map { max(.zero, $0 - .now) })
                let answer = try outbox.ask(request, interruption: interruption) { waiting in
                    guard context.isText, let text = waiting.queue.waitingText(context.errorStyle), text != said else {
                        return
                    }
                    context.say("\(text)")
                    said = text
                }
                answered(answer, some.count)
            }
            return nil
        } catch {
            return "\(error.message) What is queued stays queued, and will be sent."
        }
    }
}

extension [Int64] {
    /// As many as one request may be about, or fewer.
    func groups(of size: Int = WriteLimits.together) -> [[Int64]] {
        stride(from: 0, to: count, by: size).map { Array(self[$0...].prefix(size)) }
    }
}
