package import Console
import Control
import PRSNLCore
package import Requests

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

extension Array {
    /// As many as one request may be about, or fewer.
    func groups(of size: Int = WriteLimits.together) -> [[Element]] {
        stride(from: 0, to: count, by: size).map { Array(self[$0...].prefix(size)) }
    }
}

extension WriteReport: Report {
    /// Of the answers to one command's requests: at least one.
    init(joining answers: [WriteReport]) {
        self = answers[0]
        for answer in answers.dropFirst() {
            sending = answer.sending
            writes += answer.writes
        }
    }

    /// The entries whose end is still to come.
    package var waiting: [Int64] { writes.filter { $0.state?.isWaiting == true }.compactMap(\.entry) }

    package mutating func update(_ report: DeliveryReport) {
        sending = report.sending ?? sending
        let found = Dictionary(report.deliveries.map { ($0.entry, $0) }) { first, _ in first }
        for index in writes.indices {
            guard let entry = writes[index].entry.flatMap({ found[$0] }) else { continue }
            (writes[index].state, writes[index].itemID) = (entry.state, entry.itemID)
            (writes[index].behind, writes[index].awaitsDecision) = (entry.behind, entry.awaitsDecision)
            (writes[index].remark, writes[index].error) = (entry.remark, entry.error)
        }
    }

    package var exitCode: ExitCode {
        if writes.contains(where: { $0.outcome == .refused }) { return .error }
        let states = writes.compactMap(\.state)
        if states.contains(.parked) { return .needsAttention }
        let isOver = states.allSatisfy { $0 == .delivered || $0 == .superseded }
        return waited && !isOver ? .notDelivered : .fine
    }

    /// What was accepted, a line each. What was refused is talk, not data: `refusals`.
    package func text(_ style: TextStyle) -> String {
        writes.filter { $0.outcome == .accepted }.map { line($0, style) + "\n" }.joined()
    }

    /// The refused writes, for stderr.
    ///
    /// - Parameter names: what the person called each write, where there are several.
    package func refusals(_ style: TextStyle, names: [String]) -> String {
        // What holds for many is said once.
        var groups: [(error: UserFacingError, names: [String])] = []
        for (write, name) in zip(writes, names) {
            guard write.outcome == .refused, let error = write.error else { continue }
            if let group = groups.firstIndex(where: { $0.error == error }) {
                groups[group].names.append(name)
            } else {
                groups.append((error, [name]))
            }
        }
        return groups.map { error, names in
            var report = FailureReport(error)
            if writes.count > 1 {
                report.error.message = "\(OutboxWords.list(names, most: 3)): \(error.message)"
                // The others were.
                report.error.consequence = "\(names.count == 1 ? "This one was" : "These were") not queued."
            }
            return report.text(program: "prsnlctl", style)
        }.joined()
    }

    private func line(_ write: Write, _ style: TextStyle) -> String {
        let number = "#\(write.entry ?? 0)"
        let remark = write.remark.map { " (\(style.safe($0)))" } ?? ""
        switch write.state {
        case .delivered:
            return "\(style.paint("delivered", .green)) \(number) → "
                + style.safe(OutboxWords.shortID(write.itemID ?? "")) + remark
        case .parked:
            return "\(style.paint("parked", .red)) \(number): \(reason(write, style).withoutFullStop) "
                + "(" + style.command("prsnlctl queue show \(write.entry ?? 0)") + ")"
        case .superseded:
            let others = write.supersedes.isEmpty ? "" : ": takes back \(OutboxWords.numbers(write.supersedes))"
            return "nothing to send for \(number)\(others)" + remark
        case .dropped: return "dropped \(number)" + remark
        case .queued, .sending, .unknown, nil: return waitingLine(write, number, style)
        }
    }

    private func waitingLine(_ write: Write, _ number: String, _ style: TextStyle) -> String {
        // A server that answered with an error is reachable, which says nothing about this write.
        let wasTried = waited && write.error != nil && sending == .inTurn
        let verb = write.state == .unknown ? "looked up" : "tried"
        let parts: [String?] = [
            write.wasQueued ? "was waiting already" : nil,
            write.supersedes.isEmpty ? nil : "takes the place of \(OutboxWords.numbers(write.supersedes))",
            waited ? "on disk, not delivered yet" : nil,
            waited && write.error != nil ? reason(write, style).withoutFullStop : nil,
            write.awaitsDecision.map { "waits for your decision about #\($0)" }
                ?? write.behind.map { "waits for #\($0)" },
            // What waits for a decision has no turn.
            write.awaitsDecision != nil ? nil : wasTried ? "will be \(verb) again" : sending.text(style),
        ]
        let words = parts.compactMap(\.self).joined(separator: "; ")
        return "\((write.state ?? .queued).rawValue) \(number) (\(words))"
    }

    private func reason(_ write: Write, _ style: TextStyle) -> String {
        guard let error = write.error else { return style.safe(write.remark ?? "for a reason that is not known") }
        return style.safe(error.message.isEmpty ? error.codeName : error.message)
    }
}

/// Words that several reports about the outbox share.
enum OutboxWords {
    /// As much of a server's id as a person needs: ids may be shortened to what only one item has.
    static func shortID(_ id: String) -> String { String(id.prefix(id.hasPrefix("local-") ? 24 : 8)) }

    /// `#10, #11 and 12 more`
    static func numbers(_ entries: [Int64], of count: Int? = nil, most: Int = 10) -> String {
        list(entries.map { "#\($0)" }, of: count, most: most)
    }

    /// - Parameter count: of all, where `words` are only the first.
    static func list(_ words: [String], of count: Int? = nil, most: Int = 10) -> String {
        let listed = words.prefix(most)
        let more = (count ?? words.count) - listed.count
        return listed.joined(separator: ", ") + (more > 0 ? " and \(Formatting.count(more)) more" : "")
    }
}

extension String {
    /// As a part of a longer sentence.
    var withoutFullStop: String { hasSuffix(".") ? String(dropLast()) : self }
}

extension Sending {
    func text(_ style: TextStyle) -> String {
        switch self {
        case .inTurn: "will be sent by the daemon"
        case .whenReachable: "will be sent when the server is reachable"
        case .whenAuthorized:
            "will be sent when the server accepts the credentials: see \(style.command("prsnlctl whoami"))"
        case .whenPossible: "will be sent later: see \(style.command("prsnlctl queue"))"
        case .whenDaemonRuns: "will be sent when the daemon runs"
        }
    }
}
