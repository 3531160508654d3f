import Console
import Control
import PRSNLCore
import Store

/// What `capture`, `note`, `edit`, `delete` and `restore` have in common: journal, wait if asked to, report.
enum WriteFlow {
    static let requests: [any Request.Type] = [WritesRequest.self, DeliveryRequest.self]

    /// - Parameters:
    ///   - names: what the person calls each write; for the messages about those that are refused.
    ///   - queued: is told the answer, before a delivery is waited for.
    static func run(
        _ context: CommandContext, _ arguments: ParsedArguments, _ writes: [WriteRequest], names: [String],
        queued: (WriteReport) throws(UserFacingError) -> Void = { _ in }
    ) throws(UserFacingError) -> ExitCode {
        let wait = try WaitOption(arguments)
        var outbox = RequestClient(context)
        var report = try write(writes, &outbox)
        try queued(report)
        if let wait {
            try deliver(writes, &report, wait, &outbox)
            report.waited = true
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

    /// - Throws: Says what of them is on disk.
    static func write(
        _ writes: [WriteRequest], _ outbox: inout RequestClient
    ) throws(UserFacingError) -> WriteReport {
        var answers = try journal(WritesRequest(writes), &outbox)
        var report = answers.removeFirst()
        for answer in answers {
            report.sending = answer.sending
            report.writes += answer.writes
        }
        return report
    }

    /// - Returns: one answer for each transaction that it took.
    /// - Throws: Says what of them is on disk.
    static func journal<Answer: WriteAnswer>(
        _ request: AcceptRequest<Answer>, _ outbox: inout RequestClient
    ) throws(UserFacingError) -> [Answer] {
        let words = outbox.context.unit.fit("prsnlctl: interrupted. \(unknown) \(lookFirst)").description
        do throws(Unwritten) {
            return try Interruption.saying("\n\(words)\n") { () throws(Unwritten) in try outbox.write(request) }
        } catch {
            throw explained(error)
        }
    }

    static func explained(_ failure: Unwritten) -> UserFacingError {
        let (error, queued) = (failure.error, failure.queued)
        let first = "The first \(Formatting.count(queued)) of \(Formatting.count(failure.total)) writes"
        if failure.isUnknown {
            return error.with(
                consequence: queued == 0 ? unknown : "\(first) are on disk. It is not known whether the others are.",
                suggestion: lookFirst, next: "prsnlctl queue --all")
        }
        return error.with(
            consequence: queued == 0
                ? WritesRequest.refused : "\(first) were queued, as far as they were not refused. The others were not.",
            suggestion: error.code == .diskFull ? "Free some space, then give the command again." : nil)
    }

    static let unknown = "It is not known whether it is on disk."
    private static let lookFirst: Advice = "Look with `prsnlctl queue --all` before you give the command again."

    private static func deliver(
        _ writes: [WriteRequest], _ report: inout WriteReport, _ wait: WaitOption, _ outbox: inout RequestClient
    ) throws(UserFacingError) {
        guard !report.waiting.isEmpty else { return }
        let context = outbox.context
        if context.isText {
            let numbers = OutboxWords.numbers(report.waiting)
            context.say("\(numbers) on disk; waiting for the delivery. Ctrl-C ends the waiting, not the write.")
        }
        do throws(UserFacingError) {
            guard let deliveries = try outbox.wait(for: report.waiting, atMost: wait.limit) else { return }
            report.update(deliveries)
        } catch {
            // The writes are on disk, whatever became of the daemon.
            guard error.code == .daemonNotRunning else { throw error }
            context.say("the daemon stopped before it said what became of it")
            report.sending = .whenDaemonRuns
            // It may have delivered it. What was refused is not asked for again. Where that cannot be asked, what is known stands.
            guard report.writes.allSatisfy({ $0.outcome == .accepted }), let now = try? write(writes, &outbox) else {
                return
            }
            report = now
        }
    }
}
