package import Console
import Glibc
import PRSNLCore
package import Requests
package import Store

enum QueueDropCommand {
    static let command = Command(
        "queue drop", "Give up writes that are not sent.", examples: [("12", "Give this write up.")],
        operands: .some("N"),
        options: [CommandOption("--yes", nil, "Do not ask; drop what is queued behind them, too.")]
    ) { context, arguments throws(UserFacingError) in
        var numbers = try EntryNumbers.parse(arguments)
        var outbox = RequestClient(context)
        let isAsked = !arguments.has("--yes")
        if isAsked {
            guard let confirmation = Confirmation(arguments) else {
                throw UserFacingError(
                    .usage, "queue drop asks before it drops, and there is no terminal to ask on.",
                    consequence: "Nothing was dropped.", recoverySuggestion: "Give --yes.",
                    nextCommand: NextCommand(["prsnlctl", "queue", "drop", "--yes"] + numbers.map(String.init)))
            }
            let plan = try outbox.ask(DropRequest(entries: numbers, withDependents: true, dryRun: true))
            try show(plan, context)
            guard confirmation.ask("Give up \(plan.dropped.count == 1 ? "this write" : "these writes")?") else {
                context.say("nothing was dropped")
                return .error
            }
            numbers = plan.dropped
        }
        // Only what was shown: what was queued behind it since then is not dropped unseen.
        let report = try outbox.ask(DropRequest(entries: numbers, withDependents: !isAsked, dryRun: false))
        try context.write(report)
        return report.exitCode
    }

    private static func show(_ plan: DropReport, _ context: CommandContext) throws(UserFacingError) {
        var lines: [String] = []
        for number in plan.dropped.prefix(QueueRequest.usuallyListed) {
            let entry = try context.answer(EntryRequest(entry: number)).entry
            let front = plan.dependents.contains(number) ? "waits for one of them: " : ""
            lines.append("\(front)#\(number) \(entry.kind) \(entry.what)")
        }
        NamedItems.show(lines, of: plan.dropped.count, context)
        if let back = plan.revivedSentence { context.say("\(back)") }
        if let may = plan.maybeAppliedSentence { context.say("\(may)") }
    }
}

package typealias DropReport = OutboxAnswer<DropOutcome>

extension DropOutcome: OutboxText {
    fileprivate var maybeAppliedSentence: String? {
        maybeApplied.isEmpty
            ? nil
            : "The server may have applied \(OutboxWords.numbers(maybeApplied)) already. The next sweep shows it then."
    }

    fileprivate var revivedSentence: String? {
        revived.isEmpty ? nil : "no longer replaced: \(OutboxWords.numbers(revived))"
    }

    private var needsMore: Bool { dropped.isEmpty && !dependents.isEmpty }
    package var exitCode: ExitCode { needsMore ? .error : .fine }

    package func text(_ answer: DropReport, _ style: TextStyle) -> String {
        if needsMore {
            return answer.paragraphs(
                ["Nothing was dropped: \(OutboxWords.numbers(dependents)) would have to go, too (--yes)."], style)
        }
        let isPlan = answer.head.dryRun == true
        let all = dropped + dependents.filter { !dropped.contains($0) }
        var lines = [(isPlan ? "would drop " : "dropped ") + OutboxWords.numbers(all, most: 50)]
        if let revivedSentence { lines.append(revivedSentence) }
        if let may = maybeAppliedSentence, !isPlan { lines.append(may) }
        return answer.paragraphs(lines, style)
    }
}
