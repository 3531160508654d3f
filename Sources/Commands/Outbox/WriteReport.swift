package import Console
import PRSNLCore
package import Requests

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
            return "\(style.paint("delivered", .green)) \(number) \(style.isUTF8 ? "→" : "->") "
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
        let parts: [String?] = [
            write.wasQueued ? "was waiting already" : nil,
            write.supersedes.isEmpty ? nil : "takes the place of \(OutboxWords.numbers(write.supersedes))",
            waited ? "on disk, not delivered yet" : nil,
            waited && write.error != nil ? reason(write, style).withoutFullStop : nil,
            write.awaitsDecision.map { "waits for your decision about #\($0)" }
                ?? write.behind.map { "waits for #\($0)" },
            // What waits for a decision has no turn.
            write.awaitsDecision != nil ? nil : wasTried ? "will be tried again" : sending.text(style),
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
        case .inTurn: "will be sent in turn"
        case .whenReachable: "will be sent when the server is reachable"
        case .whenAuthorized:
            "will be sent when the server accepts the credentials: see \(style.command("prsnlctl whoami"))"
        case .whenPossible: "will be sent later: see \(style.command("prsnlctl queue"))"
        case .whenDaemonRuns: "will be sent when the daemon runs"
        }
    }
}
