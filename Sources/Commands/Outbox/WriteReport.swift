package import Console
package import Control
package import PRSNLCore
package import Store

/// What a write may be answered with.
package protocol WriteAnswer: ControlReply {
    /// `ControlRequest.variant`
    static var variant: String? { get }
    /// So many writes may be answered so.
    static var mostWrites: Int { get }
    var hasQueued: Bool { get }

    init(_ acceptances: [Acceptance], source: StatusReport.Source, sending: Sending)
}

/// Accepts writes. Answered when all of them are on disk.
package struct AcceptRequest<Answer: WriteAnswer>: Request {
    package static var command: String { "write" }
    package static var variant: String? { Answer.variant }
    package static var refused: String { "Nothing was queued." }

    package let writes: [WriteRequest]
    /// Of the command that they belong to; `nil` where they are all of it.
    package var command: RequestKey?
    package var isChange: Bool { true }

    package init(_ writes: [WriteRequest]) { self.writes = writes }
    package init(_ members: RequestMembers) throws(RequestRefusal) {
        writes = try members.writes(most: Answer.mostWrites)
        guard let text = try members.text("command_key") else { return }
        guard let key = RequestKey(text) else { throw RequestRefusal(reason: "command_key is no key") }
        command = key
    }

    package func write(to line: inout RequestLine) {
        if let command { line.add("command_key", command.text) }
        line.add(writes)
    }

    package func part(of command: RequestKey) -> Self {
        var part = self
        part.command = command
        return part
    }

    package func answer(_ context: RequestContext) async throws(UserFacingError) -> Answer? {
        // Time in which the server could be reached counts for those that waited, and not for these.
        await context.daemon?.parts.engine.countReachable()
        let accepted = try await context.withStore { store throws(UserFacingError) in
            try await store.accept(writes, command: command, now: context.now)
        }
        context.daemon?.parts.engine.writesAccepted()
        return Answer(accepted, source: context.source, sending: context.sending)
    }

    package func remark(_ answer: Answer, path: String) -> String? { Remark.writes(answer.hasQueued, path: path) }
}

/// Answered with each of them.
package typealias WritesRequest = AcceptRequest<WriteReport>
/// For many: answered with numbers alone.
package typealias TallyRequest = AcceptRequest<WriteTally>

/// What became of some writes: the JSON of `capture`, `note`, `edit` and `delete`.
package struct WriteReport: ControlReply, WriteAnswer {
    package static let type = "write"
    package static let variant: String? = nil
    package static let mostWrites = WriteLimits.together

    package struct Write: Sendable, Equatable, Codable {
        package enum Outcome: String, Sendable, Codable {
            /// On disk.
            case accepted
            /// Nothing was queued for it: see `error`.
            case refused
        }

        package var outcome: Outcome
        @Nullable package var entry: Int64? = nil
        @Nullable package var state: OutboxEntry.State? = nil
        @Nullable package var kind: OutboxEntry.Kind? = nil
        @Nullable package var itemID: String? = nil
        package var wasQueued = false
        package var supersedes: [Int64] = []
        @Nullable package var behind: Int64? = nil
        /// The parked entry that it waits for.
        @Nullable package var awaitsDecision: Int64? = nil
        @Nullable package var remark: String? = nil
        /// Why it was refused, or what the last attempt failed with.
        @Nullable package var error: UserFacingError? = nil
    }

    package var schemaVersion = 1
    package var source: StatusReport.Source
    package var sending: Sending
    package var waited = false
    /// In the order of the drafts.
    package var writes: [Write]

    package init(_ acceptances: [Acceptance], source: StatusReport.Source, sending: Sending) {
        (self.source, self.sending, writes) = (source, sending, acceptances.map(Write.init))
    }

    /// Of the answers to one command's requests: at least one.
    init(joining answers: [WriteReport]) {
        self = answers[0]
        for answer in answers.dropFirst() {
            sending = answer.sending
            writes += answer.writes
        }
    }

    package var hasQueued: Bool { writes.contains { $0.outcome == .accepted && $0.state != .delivered } }

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
}

extension WriteReport.Write {
    init(_ acceptance: Acceptance) {
        switch acceptance {
        case .accepted(let write):
            self.init(
                outcome: .accepted, entry: write.entry, state: write.state, kind: write.kind, itemID: write.itemID,
                wasQueued: write.wasQueued, supersedes: write.supersedes, behind: write.behind)
        case .refused(let error): self.init(outcome: .refused, error: error)
        }
    }
}

extension WriteReport: Report {
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

extension RequestMembers {
    func entries() throws(RequestRefusal) -> [Int64] {
        guard let entries = try numbers("entries"), !entries.isEmpty, entries.count <= WriteLimits.together else {
            throw RequestRefusal(reason: "entries must have 1 to \(WriteLimits.together) numbers")
        }
        return entries
    }

    func writes(most: Int) throws(RequestRefusal) -> [WriteRequest] {
        let writes = try value("writes") { reader in
            var writes: [WriteRequest] = []
            try reader.array { reader in
                guard writes.count < most else { throw RequestRefusal(reason: "writes has more than \(most)") }
                do { writes.append(try .init(try JSONFields(&reader))) } catch let failure as JSONFields.Failure {
                    throw RequestRefusal(reason: "writes[\(writes.count)]: \(failure.reason)")
                }
            }
            return writes
        }
        guard let writes, !writes.isEmpty else { throw RequestRefusal(reason: "writes must have 1 to \(most) objects") }
        return writes
    }
}

extension RequestLine {
    mutating func add(_ writes: [WriteRequest]) {
        add("writes") { bytes in
            bytes.reserveCapacity(writes.count * 192)
            bytes.append(UInt8(ascii: "["))
            for (index, write) in writes.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                write.fields.append(to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        }
    }
}

/// When the daemon will send what is queued, as far as that can be known.
package enum Sending: String, Sendable, Codable {
    /// The server is reachable.
    case inTurn = "in_turn"
    case whenReachable = "when_reachable"
    /// The server refuses the credentials.
    case whenAuthorized = "when_authorized"
    /// The server is reachable, and something else keeps all writes back.
    case whenPossible = "when_possible"
    case whenDaemonRuns = "when_daemon_runs"

    init(_ state: EngineState) {
        self =
            switch state.connectivity.state {
            case .online: state.hindrance == nil ? .inTurn : .whenPossible
            case .unauthorized: .whenAuthorized
            case .unknown, .offline, .unreachable, .portal: .whenReachable
            }
    }

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
