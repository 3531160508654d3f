import Console
import Control
import PRSNLCore
package import Store

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

    static func write(_ writes: [WriteRequest], _ outbox: inout RequestClient) throws(UserFacingError) -> WriteReport {
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

/// Waits for deliveries. Answered when nothing of them waits any more, or after `atMost`.
struct DeliveryRequest: Request {
    typealias Answer = DeliveryReport
    typealias Update = WaitingReport
    static let command = "wait"

    /// A century has no end, and can be calculated with.
    private static let longest: Int64 = 100 * 366 * 86_400_000

    let entries: [Int64]
    let atMost: Duration?
    var isChange: Bool { false }
    var place: RequestPlace { .daemon }
    var patience: Duration? { nil }
}

extension DeliveryRequest {
    init(_ members: RequestMembers) throws(RequestRefusal) {
        entries = try members.entries()
        atMost = try members.number("at_most_milliseconds").map { .milliseconds(min($0, Self.longest)) }
    }

    func write(to line: inout RequestLine) {
        line.add("entries", entries)
        if let atMost { line.add("at_most_milliseconds", Int64(atMost.wholeMilliseconds)) }
    }

    func answer(_ context: RequestContext) async throws(UserFacingError) -> DeliveryReport? {
        let parts = try context.requireDaemon().parts
        var last: QueueReport?
        try await parts.engine.waitForDelivery(entries, atMost: atMost) { first in
            let list = OutboxList(entries: [context.asOfNow(first)], total: 1)
            let report = QueueReport(list, filter: .open, context)
            if let last, report.waitsAs(last) { return }
            last = report
            context.send(WaitingReport(report))
        }
        return DeliveryReport(try await parts.store.outboxEntries(entries).map(context.asOfNow))
    }
}

extension QueueReport {
    /// Whether nothing has happened to its entry since, but that time has passed.
    fileprivate func waitsAs(_ earlier: QueueReport) -> Bool {
        guard let entry = entries.first, let other = earlier.entries.first else { return false }
        return entry.entry == other.entry && entry.state == other.state && entry.attempts == other.attempts
            && entry.error == other.error && entry.awaitsItem == other.awaitsItem && entry.behind == other.behind
            && connectivity?.state == earlier.connectivity?.state && wait == earlier.wait
    }
}

/// The first of the entries that still waits, and why.
package struct WaitingReport: ControlReply {
    package static let type = "waiting"

    package var queue: QueueReport

    package init(_ queue: QueueReport) { self.queue = queue }
    package init(from decoder: any Decoder) throws { queue = try QueueReport(from: decoder) }
    package func encode(to encoder: any Encoder) throws { try queue.encode(to: encoder) }
}

/// How far some entries are: the answer to a `wait`.
package struct DeliveryReport: ControlReply {
    package static let type = "delivery"

    /// Entries that are no longer there are left out.
    package var deliveries: [OutboxEntry.Status]

    package init(_ entries: [OutboxEntry]) { deliveries = entries.map(\.shown) }
}
