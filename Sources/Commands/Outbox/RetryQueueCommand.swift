package import Console
import PRSNLCore
package import Requests
package import Store

enum RetryQueueCommand {
    static let command = Command(
        "retry-queue", "Send waiting writes again now, instead of at their next attempt.",
        examples: [("12", "Send it now.")], operands: .any("N"),
        options: [
            CommandOption("--parked", nil, "Give the parked ones one more attempt, too."),
            CommandOption("--dry-run", nil, "Only say what would be done."),
        ]
    ) { context, arguments throws(UserFacingError) in
        let numbers = try EntryNumbers.parse(arguments)
        let (parked, dryRun) = (arguments.has("--parked"), arguments.has("--dry-run"))
        let request = RetryRequest(entries: numbers.isEmpty ? nil : numbers, parked: parked, dryRun: dryRun)
        try context.write(try context.answer(request))
        return .fine
    }
}

package typealias RetryReport = OutboxAnswer<RetryOutcome>

extension RetryOutcome: OutboxText {
    package func text(_ answer: RetryReport, _ style: TextStyle) -> String {
        let (isPlan, sending) = (answer.head.dryRun == true, answer.head.sending ?? .inTurn)
        var lines: [String] = []
        if touched == 0 {
            // The daemon is notified anyway: it does not wait for its next probe of a server that was away.
            let isTried = !isPlan && answer.head.source == .daemon && (skippedByReason["already_due"] ?? 0) > 0
            let next =
                sending == .inTurn
                ? "will be tried within ten seconds, or when the server's own wait is over: see \(style.command("prsnlctl queue"))"
                : sending.text(style)
            lines.append(isTried ? "Nothing to change: the due writes \(next)." : "Nothing to do.")
        } else {
            let verb = isPlan ? "would be" : Count.verb("is", touched)
            let numbers = OutboxWords.numbers(touchedEntries, of: touched, most: 50)
            lines.append("\(Formatting.count(touched, "write")) \(verb) due now: \(numbers).")
            if !isPlan, sending != .inTurn { lines.append("\(touched == 1 ? "It" : "They") \(sending.text(style)).") }
        }
        for reason in Reason.allCases.sorted(by: { $0.rawValue < $1.rawValue }) {
            guard let count = skippedByReason[reason.rawValue], count > 0 else { continue }
            let entries = skipped.filter { $0.reason == reason }.map(\.entry)
            let numbers = entries.isEmpty ? "" : ": \(OutboxWords.numbers(entries, of: count))"
            lines.append(
                "\(Formatting.count(count)) \(Count.verb("is", count)) \(style.text(Self.words(reason)))\(numbers).")
        }
        return answer.paragraphs(lines.map(style.safe), style)
    }

    private static func words(_ reason: Reason) -> Advice {
        switch reason {
        case .isBeingSent: "being sent at this moment"
        case .isDue: "due already"
        case .isBehind: "left behind another write of the same item"
        case .awaitsItem: "left until the server has processed the item (give the number to try now)"
        case .wasTriedJustNow: "left alone: tried less than ten seconds ago"
        case .wouldDeleteCapture:
            "left alone: a later capture became a part of the item (`prsnlctl queue` says how to delete or keep both)"
        case .isParked: "parked (give the number, or --parked)"
        case .isOver: "finished already"
        }
    }
}
