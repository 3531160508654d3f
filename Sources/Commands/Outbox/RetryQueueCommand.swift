package import Console
import Control
import PRSNLCore
package import Store

/// `prsnlctl retry-queue`
enum RetryQueueCommand {
    static let command = Command(
        "retry-queue", "Send waiting writes again now, instead of at their next attempt.", operands: .any("N"),
        options: [
            CommandOption("--parked", nil, "Give the parked ones one more attempt, too."),
            CommandOption("--dry-run", nil, "Only say what would be done."),
        ], asks: [RetryRequest.self]
    ) { context, arguments throws(UserFacingError) in
        let numbers = try EntryNumbers.parse(arguments)
        try context.write(
            try context.answer(
                RetryRequest(
                    entries: numbers.isEmpty ? nil : numbers, parked: arguments.has("--parked"),
                    dryRun: arguments.has("--dry-run"))))
        return .fine
    }
}

/// Sends writes again now, instead of at their next attempt.
struct RetryRequest: Request {
    typealias Answer = RetryReport
    static let command = "retry"

    /// `nil`: all that wait.
    let entries: [Int64]?
    let parked: Bool
    let dryRun: Bool
    var isChange: Bool { !dryRun }
    var place: RequestPlace { .lock }
}

extension RetryRequest {
    init(_ members: RequestMembers) throws(RequestRefusal) {
        entries = try members.hasValue("entries") ? members.entries() : nil
        parked = try members.bool("parked")
        dryRun = try members.bool("dry_run")
    }

    func write(to line: inout RequestLine) {
        if let entries { line.add("entries", entries) }
        line.add("parked", parked)
        line.add("dry_run", dryRun)
    }

    func answer(_ context: RequestContext) async throws(UserFacingError) -> RetryReport? {
        let outcome = try await context.withStore(isChange: isChange) { store throws(UserFacingError) in
            try await store.retry(entries, parked: parked, dryRun: dryRun, now: context.now)
        }
        // A person wants what waits to be tried now.
        if isChange { context.daemon?.parts.engine.writesAccepted(manual: true) }
        return RetryReport(outcome, dryRun: dryRun, source: context.source, sending: context.sending)
    }

    func remark(_ answer: RetryReport, path: String) -> String? {
        dryRun ? Remark.look(path: path) : Remark.change(answer.touched > 0, path: path)
    }
}

/// What `retry-queue` did, or with `dry_run` would do: the JSON of `prsnlctl retry-queue --json`.
package struct RetryReport: ControlReply {
    package static let type = "retry"

    package struct Skipped: Sendable, Equatable, Codable {
        package var entry: Int64
        /// A `RetryOutcome.Reason`.
        package var reason: String
    }

    package var schemaVersion = 1
    package var source: StatusReport.Source
    package var sending: Sending
    package var dryRun: Bool
    package var touched: Int
    /// The first 50.
    package var touchedEntries: [Int64]
    /// The first 50.
    package var skipped: [Skipped]
    package var skippedByReason: [String: Int]

    package init(_ outcome: RetryOutcome, dryRun: Bool, source: StatusReport.Source, sending: Sending) {
        self.source = source
        self.sending = sending
        self.dryRun = dryRun
        touched = outcome.touched
        touchedEntries = outcome.touchedEntries
        skipped = outcome.skipped.map { Skipped(entry: $0.entry, reason: $0.reason.rawValue) }
        skippedByReason = Dictionary(
            outcome.skippedByReason.map { ($0.key.rawValue, $0.value) }, uniquingKeysWith: +)
    }
}

extension RetryReport: Report {
    package func text(_ style: TextStyle) -> String {
        var lines: [String] = []
        if touched == 0 {
            // The daemon is told anyway, and does not wait for its next look at a server that was away.
            let isTried = !dryRun && source == .daemon && (skippedByReason["already_due"] ?? 0) > 0
            let next =
                sending == .inTurn
                ? "will be tried within ten seconds, or when the server's own wait is over: see \(style.command("prsnlctl queue"))"
                : sending.text(style)
            lines.append(isTried ? "Nothing to change: what is due \(next)." : "Nothing to do.")
        } else {
            let verb = dryRun ? "would be" : touched == 1 ? "is" : "are"
            // The total counts all; the numbers are the first of them.
            let more = touched - touchedEntries.count
            let numbers =
                OutboxWords.numbers(touchedEntries, most: 50) + (more > 0 ? " and \(Formatting.count(more)) more" : "")
            lines.append(
                "\(Formatting.count(touched)) \(touched == 1 ? "write" : "writes") \(verb) due now: \(numbers).")
            if !dryRun, sending != .inTurn { lines.append("\(touched == 1 ? "It" : "They") \(sending.text(style)).") }
        }
        for (reason, count) in skippedByReason.sorted(by: { $0.key < $1.key }) where count > 0 {
            let entries = skipped.filter { $0.reason == reason }.map(\.entry)
            let named = entries.prefix(10)
            let more = count > named.count ? " and \(Formatting.count(count - named.count)) more" : ""
            let numbers = entries.isEmpty ? "" : ": \(OutboxWords.numbers(Array(named)))\(more)"
            lines.append(
                "\(Formatting.count(count)) \(count == 1 ? "is" : "are") \(style.text(Self.words(reason)))\(numbers).")
        }
        return paragraphs(lines.map(style.safe), style)
    }

    private static func words(_ reason: String) -> Advice {
        switch RetryOutcome.Reason(rawValue: reason) {
        case .isBeingSent: "being sent at this moment"
        case .isDue: "due already"
        case .isBehind: "left behind another write of the same item"
        case .awaitsItem: "left until the server has processed the item (give the number to try now)"
        case .wasTriedJustNow: "left alone: tried less than ten seconds ago"
        case .wouldDeleteCapture:
            "left alone: a later capture became a part of the item (`prsnlctl queue` says how to delete or keep both)"
        case .isParked: "parked (give the number, or --parked)"
        case .isOver: "finished already"
        case nil: "\(reason)"
        }
    }
}
