package import Console
import PRSNLCore
package import Requests

extension StatusReport: Report {
    /// 0; 3 where the daemon runs and could not be asked; 4 where `attention` has a reason.
    package var exitCode: ExitCode {
        noDaemon?.state == .unreachable ? .daemonNotRunning : attention.isEmpty ? .fine : .needsAttention
    }

    package func text(_ style: TextStyle) -> String {
        var rows: [TextLayout.Field] = []
        for fact in StatusFact.all where !fact.label.isEmpty {
            let said = fact.say(self).compactMap { $0.paragraph(style) }
            if let row = rows.firstIndex(where: { $0.label == fact.label }) {
                rows[row].paragraphs += said
            } else {
                rows.append((fact.label, said))
            }
        }
        return TextLayout.wrap(sentence, width: style.width).map { $0 + "\n" }.joined() + "\n" + fields(rows, style)
    }

    /// Whether everything of a person's own is sent, and whether what others wrote is here.
    var sentence: String {
        switch (whatWaits, whatIsMissing) {
        case (nil, nil): attention.isEmpty ? "Up to date; nothing waits." : "Something needs your attention."
        case (let mine?, nil): "Up to date, but \(mine)."
        case (nil, let theirs?): "\(theirs). Nothing waits to be sent."
        case (let mine?, let theirs?): "\(theirs). \(mine.prefix(1).uppercased() + mine.dropFirst())."
        }
    }

    private var whatWaits: String? {
        guard let outbox else { return nil }
        var parts: [String] = []
        if outbox.waiting > 0 {
            let isHeld = daemon?.connectivity.state == .online && outbox.problem != nil
            let reason = isHeld ? "and nothing is sent at the moment" : daemon?.connectivity.state.words.waitsFor
            parts.append("\(Count.text(outbox.waiting, "write", "waits")) \(reason ?? "for the daemon")")
        }
        if outbox.parked > 0 {
            parts.append("\(Count.text(outbox.parked, "write", "needs")) your decision")
        }
        return parts.isEmpty ? nil : parts.joined(separator: ", and ")
    }

    /// Younger than this is as good as now: polls and sweeps have their pauses.
    private static let recent: Duration = .seconds(3_600)

    private var whatIsMissing: String? {
        if copy.newAsOf == nil, copy.live == 0, daemon == nil { return "Nothing was pulled yet" }
        if let blocker { return blocker }
        guard copy.complete, let newAsOf = copy.newAsOf else {
            return copy.newAsOf == nil && copy.live == 0 ? "Nothing was pulled yet" : "The copy is not complete yet"
        }
        func missing(_ what: String, since time: Timestamp) -> String? {
            let age = generatedAt.duration(since: time)
            return age > Self.recent ? "\(what) of the last \(Formatting.duration(age)) may be missing" : nil
        }
        guard let editsAsOf = copy.editsAsOf else { return "Edits and deletions may be missing" }
        let edits = missing("Edits", since: editsAsOf).map { $0 + nextSweep }
        return missing("New items", since: newAsOf) ?? edits ?? missingTexts
            ?? (copy.search?.problem == nil ? nil : "Search does not find what is new")
    }

    private var nextSweep: String {
        guard let next = daemon?.nextSweepAt else { return "" }
        let wait = next.duration(since: generatedAt)
        return wait > .zero ? "; the next sweep begins in \(Formatting.duration(wait))" : "; the next sweep is due"
    }

    /// Why nothing is read any more, or not all of it.
    private var blocker: String? {
        guard let daemon else {
            let time = copy.newAsOf.map { "; this copy is of \(Formatting.time($0))" } ?? ""
            return (noDaemon?.state ?? .stopped).sentence + time
        }
        let time = daemon.connectivity.since
        let since = time.map { " since \(Formatting.clock($0))" } ?? ""
        let span =
            time.map { " for \(Formatting.duration(generatedAt.duration(since: $0))) (\(since.dropFirst()))" } ?? ""
        if let sentence = daemon.connectivity.state.words.sentence { return sentence + span }
        if daemon.connectivity.state == .unauthorized {
            switch daemon.connectivity.reason?.code {
            case .needsLogin?: return "The daemon has no login that the server takes\(since)"
            case .accountChanged?: return "The login and this copy are of different accounts\(since)"
            case .loginExpired?: return "The login has expired\(since)"
            default: return "The server has refused the login\(since)"
            }
        }
        if copy.deletionsHeld > 0 {
            return "\(Count.text(copy.deletionsHeld, "deletion", "needs")) your decision"
        }
        return attention.contains(.problem) ? daemon.problem.map { SafeText.harmless($0.message.withoutFullStop) } : nil
    }

    private var missingTexts: String? {
        guard let texts = copy.texts, texts.enabled != false, texts.asOf == nil, texts.missing > 0 else { return nil }
        return "\(texts.present == nil ? "At least " : "")\(Count.text(texts.missing, "text", "is")) not here yet"
    }
}
