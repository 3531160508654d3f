package import Console
import PRSNLCore
import Store

extension WriteReport: Report {
    /// What was accepted, a line each. What was refused is talk, not data: `refusals`.
    package func text(_ style: TextStyle) -> String {
        writes.filter { $0.outcome == .accepted }.map { line($0, style) + "\n" }.joined()
    }

    /// The refused writes, for stderr.
    ///
    /// - Parameter names: what the person called each write, where there are several.
    package func refusals(_ style: TextStyle, names: [String]) -> String {
        zip(writes, names).map { write, name in
            guard write.outcome == .refused, let error = write.error else { return "" }
            var report = FailureReport(error)
            if writes.count > 1 {
                report.error.message = "\(name): \(error.message)"
                // The others were.
                report.error.consequence = "This one was not queued."
            }
            return report.text(program: "prsnlctl", style)
        }.joined()
    }

    private func line(_ write: Write, _ style: TextStyle) -> String {
        let number = "#\(write.entry ?? 0)"
        let remark = write.remark.map { " (\(style.safe($0)))" } ?? ""
        switch write.state.flatMap(OutboxEntry.State.init) {
        case .delivered:
            return "\(style.paint("delivered", .green)) \(number) \(style.arrow) "
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
        var parts: [String] = []
        if write.wasQueued { parts.append("was waiting already") }
        if write.supersedes.isEmpty == false {
            parts.append("takes the place of \(OutboxWords.numbers(write.supersedes))")
        }
        if waited {
            parts.append("on disk, not delivered yet")
            if write.error != nil { parts.append(reason(write, style).withoutFullStop) }
        }
        if let parked = write.awaitsDecision {
            parts.append("waits for a decision about #\(parked)")
        } else if let behind = write.behind {
            parts.append("waits for #\(behind)")
        }
        // A server that answered with an error is reachable, which says nothing about this write.
        let wasTried = waited && write.error != nil && sending == .inTurn
        parts.append(wasTried ? "will be tried again" : sending.text(style))
        return "\(style.safe(write.state ?? "queued")) \(number) (\(parts.joined(separator: "; ")))"
    }

    private func reason(_ write: Write, _ style: TextStyle) -> String {
        guard let error = write.error else { return style.safe(write.remark ?? "for a reason that is not known") }
        return style.safe(error.message.isEmpty ? error.codeName : error.message)
    }
}

/// Words that several reports about the outbox share.
enum OutboxWords {
    /// As much of a server's id as a person needs: ids may be shortened to what only one item has.
    static func shortID(_ id: String) -> String {
        id.hasPrefix("local-") ? id : String(id.prefix(8))
    }

    /// `#10, #11 and 12 more`
    static func numbers(_ entries: [Int64], most: Int = 10) -> String {
        let listed = entries.prefix(most).map { "#\($0)" }.joined(separator: ", ")
        return entries.count > most ? "\(listed) and \(Formatting.count(entries.count - most)) more" : listed
    }
}

extension String {
    /// As a part of a longer sentence.
    var withoutFullStop: String { hasSuffix(".") ? String(dropLast()) : self }
}

extension TextStyle {
    /// From what was queued to what the server made of it.
    var arrow: String { isUTF8 ? "→" : "->" }
}
