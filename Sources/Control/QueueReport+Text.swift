import PRSNLCore
import Store

extension QueueReport: Report {
    public func text(_ style: TextStyle) -> String {
        guard !entries.isEmpty else { return emptyText }
        let hold = QueueHold(source, connectivity)
        var lines: [String] = []
        if let reason = hold?.headline(style, now: generatedAt), entries.contains(where: \.isWaiting) {
            lines += TextLayout.wrap(reason, width: style.width)
        }
        lines += entries.flatMap { $0.lines(style, hold, now: generatedAt) }
        if total > entries.count { lines.append("and \(Figures.count(total - entries.count)) more") }
        return lines.map { $0 + "\n" }.joined()
    }

    private var emptyText: String {
        switch filter {
        case "open": "Nothing waits to be sent.\n"
        case "all": "Nothing was written yet.\n"
        default: "No write is \(SafeText.harmless(filter)).\n"
        }
    }
}

/// Why nothing of the queue is sent at the moment, whatever is due.
private struct QueueHold {
    /// `due when there is a network`
    let text: String
    private let connectivity: StatusReport.Connectivity?

    init?(_ source: StatusReport.Source, _ connectivity: StatusReport.Connectivity?) {
        self.connectivity = connectivity
        if source == .file {
            text = "due when the daemon runs"
        } else if let text = connectivity.flatMap({ ConnectivityWords.whatIsWaitedFor($0.state) }) {
            self.text = text
        } else {
            return nil
        }
    }

    /// `Nothing is sent: offline since … (3 h ago). No way to …`; the line that a stopped daemon gets is on stderr.
    func headline(_ style: TextStyle, now: Timestamp) -> String? {
        guard let connectivity else { return nil }
        return "Nothing is sent: \(connectivity.headline(style, now: now)). "
            + style.safe(connectivity.reason?.message ?? "")
    }
}

extension QueueReport.Entry {
    /// Two lines, three where there is an error or a remark.
    fileprivate func lines(_ style: TextStyle, _ hold: QueueHold?, now: Timestamp) -> [String] {
        let front = "#\(entry)  \(painted(style))  \(style.safe(kind))  "
        let frontWidth = TextLayout.width("#\(entry)  \(state)  \(kind)  ")
        var lines = [front + TextLayout.cut(style.safe(what), to: max(20, style.width - frontWidth))]
        lines.append("    " + [since(now), whatNext(now, hold), tries].compactMap(\.self).joined(separator: "; "))
        if let reason = error?.message ?? remark, !reason.isEmpty {
            lines.append("    " + TextLayout.cut(style.safe(reason), to: style.width - 4))
        }
        return lines
    }

    private func painted(_ style: TextStyle) -> String {
        switch OutboxEntry.State(rawValue: state) {
        case .parked: style.paint(state, .red)
        case .unknown: style.paint(state, .yellow)
        case .delivered: style.paint(state, .green)
        default: style.safe(state)
        }
    }

    private func since(_ now: Timestamp) -> String { "since \(Figures.timeWithAge(acceptedAt, now: now))" }

    fileprivate var isWaiting: Bool { OutboxEntry.State(rawValue: state)?.isWaiting ?? false }

    fileprivate func whatNext(_ now: Timestamp, _ hold: QueueHold?) -> String? {
        if let behind { return "waits for #\(behind)" }
        if let supersededBy { return "replaced by #\(supersededBy)" }
        if let endedAt { return "over for \(Figures.duration(now.duration(since: endedAt)))" }
        guard let nextAttemptAt else { return nil }
        // When that is over, what waits is due at once.
        if let hold { return hold.text }
        let wait = nextAttemptAt.duration(since: now)
        return wait > .zero ? "next attempt in \(Figures.duration(wait))" : "due now"
    }

    private var tries: String? { attempts == 0 ? nil : Figures.count(attempts, "attempt") }
}

extension EntryReport: Report {
    public func text(_ style: TextStyle) -> String {
        var fields: [[String]] = [
            field("Write", ["#\(entry.entry), \(style.safe(entry.kind))"], style),
            field("State", stateText(style), style),
            field("Item", [style.safe(entry.itemID)], style),
        ]
        fields += write.lines(style).map { field($0.label, $0.paragraphs, style) }
        fields.append(field("Accepted", [Figures.timeWithAge(entry.acceptedAt, now: generatedAt)], style))
        fields.append(
            field(
                "Reachable", ["the server, for \(Figures.duration(.seconds(entry.reachableAge))) while it waited"],
                style))
        if let error = entry.error {
            fields.append(
                field("Error", [error.code, error.message, error.recoverySuggestion].map(style.safe), style))
        }
        fields.append(field("Key", [style.safe(idempotencyKey)], style))
        let conflict = conflictLines(style)
        if !conflict.isEmpty { fields.append(field("Conflict", conflict, style)) }
        let numbered = requests.enumerated().map { "\($0 + 1). \($1.line(style))" }
        fields.append(field("Requests", numbered.isEmpty ? ["none yet"] : numbered, style))
        return fields.joined().map { $0 + "\n" }.joined()
    }

    private func field(_ label: String, _ paragraphs: [String], _ style: TextStyle) -> [String] {
        TextLayout.field(label, paragraphs, style: style)
    }

    private func stateText(_ style: TextStyle) -> [String] {
        var words = [style.safe(entry.state)]
        if let next = entry.whatNext(generatedAt, QueueHold(source, connectivity)) { words.append(next) }
        return [words.joined(separator: "; ")] + [entry.remark].compactMap(\.self).map(style.safe)
    }

    /// Field by field: what it was, what is on the server, what was to be written.
    private func conflictLines(_ style: TextStyle) -> [String] {
        guard let theirs else { return [] }
        func text(_ fields: EntryReport.Fields?, _ label: String) -> String? {
            fields?.lines(style).first { $0.label == label }?.paragraphs.joined(separator: " ")
        }
        return theirs.lines(style).flatMap { label, paragraphs -> [String] in
            [
                "\(label), on the server: \(paragraphs.joined(separator: " "))",
                "\(label), from here: \(text(write, label) ?? "-")",
                "\(label), before both: \(text(base, label) ?? Figures.notKnown)",
            ]
        }
    }
}

extension EntryReport.Fields {
    fileprivate func lines(_ style: TextStyle) -> [(label: String, paragraphs: [String])] {
        var lines: [(label: String, paragraphs: [String])] = []
        if let url { lines.append(("URL", [style.safe(url)])) }
        if let title { lines.append(("Title", [style.safe(title)])) }
        if let note { lines.append(("Note", note.split(whereSeparator: \.isNewline).map { style.safe(String($0)) })) }
        if let summary {
            lines.append(("Summary", summary.split(whereSeparator: \.isNewline).map { style.safe(String($0)) }))
        }
        if let tags { lines.append(("Tags", [tags.isEmpty ? "none" : style.safe(tags.joined(separator: ", "))])) }
        if let type { lines.append(("Type", [style.safe(type) + (summarize == true ? ", with a summary" : "")])) }
        return lines
    }
}

extension EntryReport.Attempt {
    fileprivate func line(_ style: TextStyle) -> String {
        var parts = ["\(Figures.time(startedAt)), \(style.safe(purpose))"]
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
