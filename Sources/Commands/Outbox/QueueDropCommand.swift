package import Console
import Control
import Glibc
import PRSNLCore
package import Store

/// `prsnlctl queue drop`: asks, unless told not to.
enum QueueDropCommand {
    static let command = Command(
        "queue drop", "Give up writes that are not sent.", operands: .some("N"),
        options: [CommandOption("--yes", nil, "Do not ask; drop what is queued behind them, too.")],
        asks: [DropRequest.self], run: run)

    private static func run(_ context: CommandContext, _ arguments: ParsedArguments) throws(UserFacingError) -> ExitCode
    {
        let numbers = try EntryNumbers.parse(arguments)
        var outbox = RequestClient(context)
        if arguments.has("--yes") { return try drop(numbers, withDependents: true, &outbox) }
        guard let confirmation = Confirmation(arguments) else {
            throw UserFacingError(
                .usage, "queue drop asks before it drops, and there is no terminal to ask on.",
                consequence: "Nothing was dropped.", recoverySuggestion: "Give --yes.",
                nextCommand: NextCommand(["prsnlctl", "queue", "drop", "--yes"] + numbers.map(String.init)))
        }
        let plan = try outbox.ask(DropRequest(entries: numbers, withDependents: true, dryRun: true))
        guard try confirm(plan, confirmation, context) else {
            context.say("nothing was dropped")
            return .error
        }
        // Only what was shown: what was queued behind it since then is not dropped unseen.
        return try drop(plan.dropped, withDependents: false, &outbox)
    }

    private static func drop(
        _ numbers: [Int64], withDependents: Bool, _ outbox: inout RequestClient
    ) throws(UserFacingError) -> ExitCode {
        let report = try outbox.ask(DropRequest(entries: numbers, withDependents: withDependents, dryRun: false))
        try outbox.context.write(report)
        return report.exitCode
    }

    /// Shows what would go, and asks.
    private static func confirm(
        _ plan: DropReport, _ confirmation: Confirmation, _ context: CommandContext
    ) throws(UserFacingError) -> Bool {
        for number in plan.dropped.prefix(QueueRequest.usuallyListed) {
            let report = try context.answer(EntryRequest(entry: number))
            let front = plan.dependents.contains(number) ? "  waits for one of them: " : "  "
            let what = context.errorStyle.safe("#\(number) \(report.entry.kind) \(report.entry.what)")
            StandardStream.error.write(front + what + "\n")
        }
        if plan.dropped.count > QueueRequest.usuallyListed {
            StandardStream.error.write("  and \(plan.dropped.count - QueueRequest.usuallyListed) more\n")
        }
        if let may = plan.maybeAppliedSentence { context.say("\(may)") }
        return confirmation.ask("Give up \(plan.dropped.count == 1 ? "this write" : "these writes")?")
    }
}

/// Gives writes up that are not sent.
struct DropRequest: Request {
    typealias Answer = DropReport
    static let command = "drop"

    let entries: [Int64]
    /// Also what is queued behind them.
    let withDependents: Bool
    let dryRun: Bool
    var isChange: Bool { !dryRun }
    var place: RequestPlace { .lock }
}

extension DropRequest {
    init(_ members: RequestMembers) throws(RequestRefusal) {
        entries = try members.entries()
        withDependents = try members.bool("with_dependents")
        dryRun = try members.bool("dry_run")
    }

    func write(to line: inout RequestLine) {
        line.add("entries", entries)
        line.add("with_dependents", withDependents)
        line.add("dry_run", dryRun)
    }

    func answer(_ context: RequestContext) async throws(UserFacingError) -> DropReport? {
        let outcome = try await context.withStore(isChange: isChange) { store throws(UserFacingError) in
            try await store.drop(entries, withDependents: withDependents, dryRun: dryRun, now: context.now)
        }
        if isChange { context.daemon?.parts.engine.writesAccepted() }
        return DropReport(outcome, dryRun: dryRun, source: context.source)
    }

    func remark(_ answer: DropReport, path: String) -> String? {
        dryRun ? Remark.look(path: path) : Remark.change(!answer.dropped.isEmpty, path: path)
    }
}

/// What `queue drop` did, or with `dry_run` would do: the JSON of `prsnlctl queue drop --json`.
package struct DropReport: ControlReply {
    package static let type = "drop"

    package var schemaVersion = 1
    package var source: StatusReport.Source
    package var dryRun: Bool
    /// Given up; empty where dependents were found that were not to be dropped.
    package var dropped: [Int64]
    /// What is queued behind a dropped creation, and can only go with it.
    package var dependents: [Int64]
    /// Whose place a dropped deletion had taken, and that wait again.
    package var revived: [Int64] = []
    /// Of the dropped ones, those that the server may have applied.
    package var maybeApplied: [Int64] = []

    package init(_ outcome: DropOutcome, dryRun: Bool, source: StatusReport.Source) {
        self.source = source
        self.dryRun = dryRun
        dropped = outcome.dropped
        dependents = outcome.dependents
        revived = outcome.revived
        maybeApplied = outcome.maybeApplied
    }

    fileprivate var maybeAppliedSentence: String? {
        maybeApplied.isEmpty
            ? nil
            : "The server may have applied \(OutboxWords.numbers(maybeApplied)) already. The next sweep shows it then."
    }

    /// 1 where nothing was dropped because of dependents.
    package var exitCode: ExitCode { dropped.isEmpty && !dependents.isEmpty ? .error : .fine }
}

extension DropReport: Report {
    package func text(_ style: TextStyle) -> String {
        let all = dropped + dependents.filter { !dropped.contains($0) }
        var lines: [String]
        if dropped.isEmpty, !dependents.isEmpty {
            lines = ["Nothing was dropped: \(OutboxWords.numbers(dependents)) would have to go, too (--yes)."]
        } else {
            lines = [(dryRun ? "would drop " : "dropped ") + OutboxWords.numbers(all, most: 50)]
            if !revived.isEmpty { lines.append("waits again: \(OutboxWords.numbers(revived))") }
            if let may = maybeAppliedSentence, !dryRun { lines.append(may) }
        }
        return paragraphs(lines, style)
    }
}
