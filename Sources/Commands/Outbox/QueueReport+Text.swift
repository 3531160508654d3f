package import Console
import PRSNLCore
import Store

extension QueueReport: Report {
    package func text(_ style: TextStyle) -> String {
        guard !entries.isEmpty else { return emptyText }
        let hold = QueueHold(source, connectivity, wait)
        var lines: [String] = []
        let reason =
            hold?.headline(style, now: generatedAt) ?? problem.map { "Nothing is sent: \(style.safe($0.message))" }
        if let reason, entries.contains(where: \.state.isWaiting) {
            lines += TextLayout.wrap(reason, width: style.width)
        }
        // A server that fails at every edit fails at all of these: they wait together.
        let together = entries.filter(\.isFailingFollowUp)
        let isOneLine = together.count > 1
        lines += entries.filter { !isOneLine || !$0.isFailingFollowUp }
            .enumerated().flatMap {
                $1.lines(style, hold, said: problem?.message, now: generatedAt, isFirst: $0 == 0)
            }
        if isOneLine { lines += TextLayout.wrap(togetherText(together, style, hold), width: style.width) }
        if total > entries.count { lines.append("and \(Formatting.count(total - entries.count)) more") }
        return lines.map { $0 + "\n" }.joined()
    }

    /// `14 titles and tags wait: the server fails at every edit; next attempt in 5 h (#3, #7 and 12 more)`
    private func togetherText(_ entries: [OutboxEntry.Status], _ style: TextStyle, _ hold: QueueHold?) -> String {
        let next = entries.compactMap(\.nextAttemptAt).min()
        let first = entries.first { $0.nextAttemptAt == next } ?? entries[0]
        let what = first.whatNext(generatedAt, hold).map { "; \($0)" } ?? ""
        return "\(Formatting.count(entries.count)) titles and tags wait: the server fails at every edit\(what) "
            + "(\(OutboxWords.numbers(entries.map(\.entry))))"
    }

    /// What a person who waits for the first entry is told: `#7 waits: Server error: …; next attempt in 60 s`. `nil` where it
    /// takes its course.
    package func waitingText(_ style: TextStyle) -> String? {
        guard let entry = entries.first else { return nil }
        let hold = QueueHold(source, connectivity, wait)
        guard entry.error != nil || entry.awaitsItem || entry.behind != nil || hold != nil else { return nil }
        let next = entry.whatNext(generatedAt, hold)
        if next == OutboxEntry.Status.dueNow { return nil }
        var parts = [entry.error?.message ?? entry.remark, next].compactMap(\.self)
        if hold?.holdsAll == true, let reason = connectivity?.reason?.message, reason != parts.first {
            parts.insert(reason, at: 0)
        }
        guard !parts.isEmpty else { return nil }
        let text = style.safe(parts.map(\.withoutFullStop).joined(separator: "; "))
        return "#\(entry.entry) \(text.hasPrefix("waits ") ? "" : "waits: ")" + text
    }

    private var emptyText: String {
        switch filter {
        case "open": "The queue is empty.\n"
        case "all": "There are no writes yet.\n"
        default: "No write is \(SafeText.harmless(filter)).\n"
        }
    }
}

/// Why nothing of the queue is sent at the moment, or no new items, whatever is due.
private struct QueueHold {
    /// `due when there is a network`; `nil` where only the server's wait holds.
    private let text: String?
    private let connectivity: Connectivity?
    private let wait: ServerWait?

    init?(_ source: StatusReport.Source, _ connectivity: Connectivity?, _ wait: ServerWait?) {
        self.connectivity = connectivity
        self.wait = wait
        text =
            source == .file
            ? "due when the daemon runs" : connectivity.flatMap { ConnectivityWords.whatIsWaitedFor($0.state) }
        if text == nil, wait == nil { return nil }
    }

    var holdsAll: Bool { text != nil }

    /// Why an entry that is due, or will be, is not sent then.
    func text(_ entry: OutboxEntry.Status, dueAt: Timestamp, now: Timestamp) -> String? {
        if let text { return text }
        guard let until = entry.kind.isCreation ? wait?.creationsUntil : wait?.othersUntil, until > max(now, dueAt)
        else {
            return nil
        }
        return "the server asks to wait until \(Formatting.time(until))"
    }

    /// `Nothing is sent: offline since … (3 h ago). No route to …`; the line that a stopped daemon gets is on stderr.
    func headline(_ style: TextStyle, now: Timestamp) -> String? {
        guard text != nil, let connectivity else { return nil }
        return "Nothing is sent: \(connectivity.headline(style, now: now)). "
            + style.safe(connectivity.reason?.message ?? "")
    }
}

extension OutboxEntry.Status {
    /// Two lines, three where there is an error or a remark.
    ///
    /// - Parameter said: The reason that stands above all entries.
    fileprivate func lines(
        _ style: TextStyle, _ hold: QueueHold?, said: String?, now: Timestamp, isFirst: Bool
    ) -> [String] {
        let since = "since \(Formatting.timeWithAge(acceptedAt, now: now, named: isFirst))"
        let front = "\(style.paint("#\(entry)", .yellow))  \(painted(style))  \(style.paint(kind.rawValue, .cyan))  "
        let frontWidth = TextLayout.width("#\(entry)  \(state)  \(kind)  ")
        var lines = [front + TextLayout.cut(style.safe(what), to: max(20, style.rowWidth - frontWidth))]
        lines.append("    " + [since, whatNext(now, hold), tries].compactMap(\.self).joined(separator: "; "))
        if let reason = error?.message ?? remark, !reason.isEmpty, reason != said {
            lines += TextLayout.wrap(style.safe(reason), width: style.width - 4).map { "    " + $0 }
        }
        if state == .parked {
            lines += TextLayout.wrap(style.text(choices), width: style.width - 4).map { "    " + $0 }
        }
        return lines
    }

    /// What a person can do about a parked write.
    private var choices: Advice {
        let show: Advice = "`prsnlctl queue show \(entry)`"
        let drop: Advice = "To give it up: `prsnlctl queue drop \(entry)`."
        let retry: Advice = "`prsnlctl retry-queue \(entry)`"
        switch error?.code {
        case .editConflict: return "To overwrite the server's values: \(retry). \(drop) To compare: \(show)."
        case .itemGone: return "The server has no such item any more. To read what was to be written: \(show). \(drop)"
        // `retry-queue` leaves a deletion alone where a capture became a part of the item since. A new one is always sent.
        case _ where kind == .delete && error?.code != .databaseRestored:
            return "To send it: `prsnlctl delete \(itemID)`. \(drop) To look at it: \(show)."
        default: return "To send it: \(retry). \(drop) To look at it: \(show)."
        }
    }

    private func painted(_ style: TextStyle) -> String {
        switch state {
        case .parked: style.paint(state.rawValue, .red)
        case .unknown: style.paint(state.rawValue, .yellow)
        case .delivered: style.paint(state.rawValue, .green)
        default: state.rawValue
        }
    }

    fileprivate var isFailingFollowUp: Bool {
        follows != nil && state == .queued && !awaitsItem && error?.code == .serverError
    }

    fileprivate func whatNext(_ now: Timestamp, _ hold: QueueHold?) -> String? {
        if let awaitsDecision { return "waits for your decision about #\(awaitsDecision)" }
        if let behind { return "waits for #\(behind)" }
        if let supersededBy { return "replaced by #\(supersededBy)" }
        if let endedAt { return "ended \(Formatting.duration(now.duration(since: endedAt))) ago" }
        guard let nextAttemptAt else { return nil }
        if awaitsItem { return "waits until the server has processed the item" }
        // When that is over, waiting writes are due at once.
        if let text = hold?.text(self, dueAt: nextAttemptAt, now: now) { return text }
        let wait = nextAttemptAt.duration(since: now)
        return wait > .zero ? "next attempt in \(Formatting.duration(wait))" : Self.dueNow
    }

    fileprivate static let dueNow = "due now"

    private var tries: String? { attempts == 0 ? nil : Formatting.count(attempts, "attempt") }
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
        let rows: [TextLayout.Field] = [
            ("Accepted", [Formatting.timeWithAge(entry.acceptedAt, now: generatedAt, named: true)]),
            ("Reachable", isOpen ? [reachable] : []),
            ("Error", error ?? []),
            ("Key", [style.safe(idempotencyKey)]),
            ("Conflict", conflictLines(style)),
            ("Requests", numbered.isEmpty ? ["none yet"] : numbered),
        ]
        let head: [TextLayout.Field] = [
            ("Write", ["#\(entry.entry), \(entry.kind)"]), ("State", stateText(style)),
            ("Item", [style.safe(entry.itemID)]),
        ]
        return fields(head + write.lines(style) + rows, style)
    }

    private func stateText(_ style: TextStyle) -> [String] {
        var words = [entry.state.rawValue]
        if let next = entry.whatNext(generatedAt, QueueHold(source, connectivity, wait)) { words.append(next) }
        return [words.joined(separator: "; ")] + [entry.remark].compactMap(\.self).map(style.safe)
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
    /// Fields of which each line is a paragraph.
    private static let texts = ["note", "summary"]

    fileprivate func lines(_ style: TextStyle) -> [TextLayout.Field] {
        WriteDraft.fieldNames.compactMap { name in
            switch self[name] {
            case .text(let text) where Self.texts.contains(name):
                (Self.label(name), text.split(whereSeparator: \.isNewline).map { style.safe(String($0)) })
            case .text(let text):
                (Self.label(name), [style.safe(text) + (name == "type" ? summaryNote : "")])
            case .texts(let texts):
                (Self.label(name), [texts.isEmpty ? "none" : style.safe(texts.joined(separator: ", "))])
            case .flag, .null, .other, nil: nil
            }
        }
    }

    private var summaryNote: String { self["summarize"] == .flag(true) ? ", with a summary" : "" }

    private static func label(_ name: String) -> String {
        switch name {
        case "url": "URL"
        case "add_tags": "Adds tags"
        case "remove_tags": "Removes tags"
        default: name.prefix(1).uppercased() + name.dropFirst()
        }
    }
}

extension OutboxAttempt {
    fileprivate func line(_ style: TextStyle) -> String {
        var parts = ["\(Formatting.clock(startedAt)), \(purpose.rawValue)"]
        if let endedAt {
            parts.append("took \(endedAt.duration(since: startedAt).wholeMilliseconds) ms")
        } else {
            parts.append("no answer was recorded")
        }
        if let status { parts.append("HTTP \(status)") }
        if let errorCode { parts.append(style.safe(errorCode)) }
        if let verdict { parts.append(style.safe(verdict)) }
        return parts.joined(separator: ", ")
    }
}
