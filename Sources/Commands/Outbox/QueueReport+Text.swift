package import Console
import PRSNLCore
package import Requests
import Store

extension QueueReport: Report {
    package func text(_ style: TextStyle) -> String {
        guard !entries.isEmpty else { return emptyText }
        var lines: [String] = []
        let reason = headline(style) ?? problem.map { "Nothing is sent: \(style.safe($0.message))" }
        if let reason, entries.contains(where: \.state.isWaiting) {
            lines += TextLayout.wrap(reason, width: style.width)
        }
        // A server that fails at every edit fails at all of these: they wait together.
        let together = entries.filter(\.isFailingFollowUp)
        let single = together.count > 1 ? entries.filter { !$0.isFailingFollowUp } : entries
        lines += single.enumerated().flatMap {
            $1.lines(style, next: whatNext($1), said: problem?.message, now: generatedAt, isFirst: $0 == 0)
        }
        if together.count > 1 { lines += TextLayout.wrap(togetherText(together), width: style.width) }
        if total > entries.count { lines.append("and \(Formatting.count(total - entries.count)) more") }
        return lines.map { $0 + "\n" }.joined()
    }

    /// `14 titles and tags wait: the server fails at every edit; next attempt in 5 h (#3, #7 and 12 more)`
    private func togetherText(_ entries: [OutboxEntry.Status]) -> String {
        let next = entries.compactMap(\.nextAttemptAt).min()
        let first = entries.first { $0.nextAttemptAt == next } ?? entries[0]
        let what = whatNext(first).map { "; \($0)" } ?? ""
        return "\(Formatting.count(entries.count)) titles and tags wait: the server fails at every edit\(what) "
            + "(\(OutboxWords.numbers(entries.map(\.entry))))"
    }

    /// What a person who waits for the first entry is told: `#7 waits: Server error: …; next attempt in 60 s`. `nil` where it
    /// takes its course.
    package func waitingText(_ style: TextStyle) -> String? {
        guard let entry = entries.first else { return nil }
        let isHeld = wait != nil || hold != nil
        guard isHeld || entry.error != nil || entry.awaitsItem || entry.behind != nil else { return nil }
        let next = whatNext(entry)
        if next == dueNow { return nil }
        var parts = [entry.error?.message ?? entry.remark, next].compactMap(\.self)
        if hold != nil, let reason = connectivity?.reason?.message, reason != parts.first {
            parts.insert(reason, at: 0)
        }
        guard !parts.isEmpty else { return nil }
        // What it waits for is a sentence of its own.
        let isWhole = parts.count == 1 && (entry.behind != nil || entry.awaitsItem)
        return "#\(entry.entry) \(isWhole ? "" : "waits: ")"
            + style.safe(parts.map(\.withoutFullStop).joined(separator: "; "))
    }

    /// `Nothing is sent: offline since … (3 h ago). No route to …`; the line that a stopped daemon gets is on stderr.
    private func headline(_ style: TextStyle) -> String? {
        guard hold != nil, let connectivity else { return nil }
        return "Nothing is sent: \(connectivity.headline(style, now: generatedAt)). "
            + style.safe(connectivity.reason?.message ?? "")
    }

    private var emptyText: String {
        switch filter {
        case .open: "The queue is empty.\n"
        case .all: "There are no writes yet.\n"
        default: "No write is \(filter.rawValue).\n"
        }
    }
}

/// What says why nothing of the queue is sent at the moment, or no new items, whatever is due.
private protocol TimedReport {
    var source: StatusReport.Source { get }
    var generatedAt: Timestamp { get }
    var connectivity: Connectivity? { get }
    var wait: ServerWait? { get }
}

extension QueueReport: TimedReport {}
extension EntryReport: TimedReport {}

extension TimedReport {
    /// `due when there is a network`; `nil` where only the server's wait holds, or nothing.
    var hold: String? {
        source == .file
            ? "due when the daemon runs" : connectivity.flatMap { $0.state.words.due }
    }

    func whatNext(_ entry: OutboxEntry.Status) -> String? {
        if let other = entry.supersededBy { return "replaced by #\(other)" }
        if let decision = entry.awaitsDecision { return "waits for your decision about #\(decision)" }
        if let behind = entry.behind { return "waits for #\(behind)" }
        if let end = entry.endedAt { return "ended \(Formatting.duration(generatedAt.duration(since: end))) ago" }
        guard let dueAt = entry.nextAttemptAt else { return nil }
        if entry.awaitsItem { return "waits until the server has processed the item" }
        // When that is over, waiting writes are due at once.
        if let hold { return hold }
        if let until = entry.kind.isCreation ? wait?.creationsUntil : wait?.othersUntil, until > max(generatedAt, dueAt)
        {
            return "the server asks to wait until \(Formatting.time(until))"
        }
        let left = dueAt.duration(since: generatedAt)
        return left > .zero ? "next attempt in \(Formatting.duration(left))" : dueNow
    }
}

private let dueNow = "due now"

extension OutboxEntry.Status {
    /// - Parameter said: The reason that stands above all entries.
    fileprivate func lines(
        _ style: TextStyle, next: String?, said: String?, now: Timestamp, isFirst: Bool
    ) -> [String] {
        let since = "since \(Formatting.timeWithAge(acceptedAt, now: now, named: isFirst))"
        let colours: [OutboxEntry.State: TextStyle.Colour] = [.parked: .red, .unknown: .yellow, .delivered: .green]
        let shownState = colours[state].map { style.paint(state.rawValue, $0) } ?? state.rawValue
        let front = "\(style.paint("#\(entry)", .yellow))  \(shownState)  \(style.paint(kind.rawValue, .cyan))  "
        let frontWidth = TextLayout.width("#\(entry)  \(state)  \(kind)  ")
        var lines = [front + TextLayout.cut(style.safe(what), to: max(20, style.rowWidth - frontWidth))]
        lines.append(
            "    "
                + [since, next, attempts == 0 ? nil : Formatting.count(attempts, "attempt")].compactMap(
                    \.self
                ).joined(separator: "; "))
        func add(_ text: String) { lines += TextLayout.wrap(text, width: style.width - 4).map { "    " + $0 } }
        if let reason = error?.message ?? remark, !reason.isEmpty, reason != said { add(style.safe(reason)) }
        if state == .parked { add(style.text(choices)) }
        return lines
    }

    private var choices: Advice {
        let show: Advice = "`prsnlctl queue show \(entry)`"
        let drop: Advice = "To give it up: `prsnlctl queue drop \(entry)`."
        let retry: Advice = "`prsnlctl retry-queue \(entry)`"
        switch error?.code {
        case .editConflict: return "To overwrite the server's values: \(retry). \(drop) To compare: \(show)."
        case .itemGone:
            return """
                The server has no such item any more. To have it again, capture it. \
                To read what was to be written: \(show). \(drop)
                """
        // Where `retry-queue` leaves a deletion alone, the entry says why. A new one is always sent.
        case _ where error?.recoverySuggestion.commands.contains(NextCommand(["prsnlctl", "delete", itemID])) == true:
            return "\(error?.recoverySuggestion ?? "") To look at it: \(show)."
        case .writeInvalid:
            return "To send it: \(retry), once the server can take it. \(drop) To look at it: \(show)."
        default: return "To send it: \(retry). \(drop) To look at it: \(show)."
        }
    }

    fileprivate var isFailingFollowUp: Bool {
        follows != nil && state == .queued && !awaitsItem && error?.code == .serverError
    }
}

extension EntryReport: Report {
    package func text(_ style: TextStyle) -> String {
        // Of what is over nothing is to be decided any more.
        let isOpen = entry.state.isWaiting || entry.state == .parked
        let error = entry.error.map {
            [style.safe($0.codeName), style.safe($0.message)] + (isOpen ? [style.text($0.recoverySuggestion)] : [])
        }
        let reachable = "the server, for \(Formatting.duration(.seconds(entry.reachableAge))) since it was accepted"
        let numbered = requests.enumerated().map { "\($0 + 1). \($1.line(style))" }
        let state = [entry.state.rawValue, whatNext(entry)].compactMap(\.self).joined(separator: "; ")
        let head: [TextLayout.Field] = [
            ("Write", ["#\(entry.entry), \(entry.kind)"]),
            ("State", [state] + [entry.remark].compactMap(\.self).map(style.safe)),
            ("Item", [style.safe(entry.itemID)]),
        ]
        let rows: [TextLayout.Field] = [
            ("Accepted", [Formatting.timeWithAge(entry.acceptedAt, now: generatedAt, named: true)]),
            ("Reachable", isOpen ? [reachable] : []),
            ("Error", error ?? []),
            ("Key", [style.safe(idempotencyKey)]),
            ("Conflict", conflictLines(style)),
            ("Requests", numbered.isEmpty ? ["none yet"] : numbered),
        ]
        return fields(head + write.lines(style) + rows, style)
    }

    /// Field by field: what it was, what is on the server, what was to be written.
    private func conflictLines(_ style: TextStyle) -> [String] {
        guard let theirs else { return [] }
        func text(_ fields: EntryReport.Fields?, _ label: String) -> String? {
            fields?.lines(style).first { $0.label == label }?.paragraphs.joined(separator: " ")
        }
        return theirs.lines(style).flatMap { label, paragraphs -> [String] in
            // What it does not set stays on the server.
            guard let ours = text(write, label) else { return [] }
            return [
                "\(label), on the server: \(paragraphs.joined(separator: " "))",
                "\(label), from here: \(ours)",
                "\(label), before both: \(text(base, label) ?? Formatting.notKnown)",
            ]
        }
    }
}

extension EntryReport.Fields {
    fileprivate func lines(_ style: TextStyle) -> [TextLayout.Field] {
        WriteDraft.fieldNames.compactMap { name in
            switch self[name] {
            // Each line is a paragraph.
            case .text(let text) where name == "note" || name == "summary":
                (Self.label(name), text.split(whereSeparator: \.isNewline).map { style.safe(String($0)) })
            case .text(let text):
                (
                    Self.label(name),
                    [style.safe(text) + (name == "type" && self["summarize"] == .flag(true) ? ", with a summary" : "")]
                )
            case .texts(let texts):
                (Self.label(name), [texts.isEmpty ? "none" : style.safe(texts.joined(separator: ", "))])
            case .flag, .null, .other, nil: nil
            }
        }
    }

    private static func label(_ name: String) -> String {
        ["url": "URL", "add_tags": "Adds tags", "remove_tags": "Removes tags"][name]
            ?? name.prefix(1).uppercased() + name.dropFirst()
    }
}

extension OutboxAttempt {
    fileprivate func line(_ style: TextStyle) -> String {
        let end = endedAt.map { "took \($0.duration(since: startedAt).wholeMilliseconds) ms" }
        let parts = [
            "\(Formatting.clock(startedAt)), \(purpose.rawValue)", end ?? "no answer was recorded",
            status.map { "HTTP \($0)" }, errorCode.map(style.safe), verdict.map(style.safe),
        ]
        return parts.compactMap(\.self).joined(separator: ", ")
    }
}

/// An outcome of `retry-queue`, `queue drop` or `undo`, as text.
package protocol OutboxText: OutboxOutcome {
    func text(_ answer: OutboxAnswer<Self>, _ style: TextStyle) -> String
    var exitCode: ExitCode { get }
}

extension OutboxText {
    package var exitCode: ExitCode { .fine }
}

extension OutboxAnswer: Report where Outcome: OutboxText {
    package func text(_ style: TextStyle) -> String { outcome.text(self, style) }
    package var exitCode: ExitCode { outcome.exitCode }
}
