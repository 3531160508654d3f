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
        guard let key = RequestKey(text) else { throw RequestRefusal(reason: "command_key is not a key") }
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

    package var hasQueued: Bool { writes.contains { $0.outcome == .accepted && $0.state != .delivered } }
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

/// What became of many writes, in numbers: the answer to a `write` with `brief`.
package struct WriteTally: ControlReply, WriteAnswer {
    package static let type = "tally"
    package static let variant: String? = "brief"
    package static let mostWrites = WriteLimits.talliedTogether

    package struct Refusal: Sendable, Equatable, Codable {
        /// The place among the drafts, from 0.
        package var index: Int
        package var error: UserFacingError
    }

    package var source: StatusReport.Source
    package var sending: Sending
    /// The entries of what was accepted, in the order of the drafts.
    package var entries: [Int64]
    package var refused: [Refusal]

    package var hasQueued: Bool { !entries.isEmpty }

    package init(_ acceptances: [Acceptance], source: StatusReport.Source, sending: Sending) {
        (self.source, self.sending, entries, refused) = (source, sending, [], [])
        entries.reserveCapacity(acceptances.count)
        for (index, acceptance) in acceptances.enumerated() {
            switch acceptance {
            case .accepted(let write): entries.append(write.entry)
            case .refused(let error): refused.append(Refusal(index: index, error: error))
            }
        }
    }
}

/// Waits for deliveries. Answered when nothing of them waits any more, or after `atMost`. Without a daemon nothing is
/// delivered: the file says at once how far they are.
package struct DeliveryRequest: Request {
    package typealias Update = WaitingReport
    package static let command = "wait"

    /// A century has no end, and can be calculated with.
    private static let longest: Int64 = 100 * 366 * 86_400_000

    package let entries: [Int64]
    package let atMost: Duration?
    package var isChange: Bool { false }
    package var patience: Duration? { nil }

    package init(entries: [Int64], atMost: Duration?) { (self.entries, self.atMost) = (entries, atMost) }

    package init(_ members: RequestMembers) throws(RequestRefusal) {
        entries = try members.entries()
        atMost = try members.number("at_most_milliseconds").map { .milliseconds(min($0, Self.longest)) }
    }

    package func write(to line: inout RequestLine) {
        line.add("entries", entries)
        if let atMost { line.add("at_most_milliseconds", Int64(atMost.wholeMilliseconds)) }
    }

    package func answer(_ context: RequestContext) async throws(UserFacingError) -> DeliveryReport? {
        var last: QueueReport?
        try await context.daemon?.parts.engine.waitForDelivery(entries, atMost: atMost) { first in
            let list = OutboxList(entries: [context.asOfNow(first)], total: 1)
            let report = QueueReport(list, filter: .open, context)
            if let last, report.timeless == last.timeless { return }
            last = report
            context.send(WaitingReport(report))
        }
        let entries = try context.reader().outboxEntries(entries).map(context.asOfNow)
        return DeliveryReport(entries, sending: context.sending)
    }

    package func remark(_ answer: DeliveryReport, path: String) -> String? {
        Remark.writes(answer.deliveries.contains { $0.state.isWaiting }, path: path)
    }
}

extension QueueReport {
    /// Without what changes as time passes, although nothing happens.
    fileprivate var timeless: QueueReport {
        var report = self
        report.generatedAt = .earliest
        for index in entries.indices {
            (report.entries[index].nextAttemptAt, report.entries[index].reachableAge) = (nil, 0)
        }
        return report
    }
}

/// The first of the entries that still waits, and why.
package struct WaitingReport: ControlReply {
    package static let type = "waiting"

    package var queue: QueueReport

    package init(_ queue: QueueReport) { self.queue = queue }
    package init(from decoder: any Decoder) throws { queue = try QueueReport(from: decoder) }
    package func encode(to encoder: any Encoder) throws { try queue.encode(to: encoder) }
}

/// How far some entries are: the answer to a `wait`.
package struct DeliveryReport: ControlReply {
    package static let type = "delivery"

    /// Entries that are no longer there are left out.
    package var deliveries: [OutboxEntry.Status]
    /// When those that wait will be sent; `null` from a daemon of an older release.
    @Nullable package var sending: Sending? = nil

    package init(_ entries: [OutboxEntry], sending: Sending? = nil) {
        deliveries = entries.map(\.shown)
        self.sending = sending
    }
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
            case .online: state.blocker == nil ? .inTurn : .whenPossible
            case .unauthorized: .whenAuthorized
            case .unknown, .offline, .unreachable, .portal: .whenReachable
            }
    }
}
