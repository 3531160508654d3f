package import Console
package import Control
package import PRSNLCore
package import Store

/// Accepts writes. Answered when all of them are on disk.
package struct WritesRequest: OutboxRequest {
    package typealias Answer = WriteReport
    package static let command = "write"

    package let writes: [WriteRequest]
    package var isChange: Bool { true }

    package init(_ writes: [WriteRequest]) { self.writes = writes }
    package init(_ members: RequestMembers) throws(RequestRefusal) { writes = try members.writes() }

    package func write(to line: inout RequestLine) { line.add(writes) }

    package func perform(_ outbox: OutboxOperations) async throws(UserFacingError) -> WriteReport {
        WriteReport(
            try await outbox.store.accept(writes, now: outbox.now()), source: outbox.source, sending: outbox.sending())
    }

    package static func hasChanged(_ answer: WriteReport) -> Bool {
        answer.writes.contains { $0.outcome == .accepted && $0.state != OutboxEntry.State.delivered.rawValue }
    }
}

/// What became of some writes: the JSON of `capture`, `note`, `edit` and `delete`.
package struct WriteReport: ControlReply {
    package static let type = "write"

    package struct Write: Sendable, Equatable, Codable {
        package enum Outcome: String, Sendable, Codable {
            /// On disk.
            case accepted
            /// Nothing was queued for it: see `error`.
            case refused
        }

        package var outcome: Outcome
        @Nullable package var entry: Int64? = nil
        /// A state of the outbox (docs/outbox.md).
        @Nullable package var state: String? = nil
        /// `capture`, `note`, `edit`, `delete`.
        @Nullable package var kind: String? = nil
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
    /// Whether delivery was waited for.
    package var waited = false
    /// In the order of the drafts.
    package var writes: [Write]

    package init(_ acceptances: [Acceptance], source: StatusReport.Source, sending: Sending) {
        self.source = source
        self.sending = sending
        writes = acceptances.map(Write.init)
    }

    /// The entries whose end is still to come.
    package var waiting: [Int64] {
        writes.filter { write in write.state.flatMap(OutboxEntry.State.init)?.isWaiting ?? false }.compactMap(\.entry)
    }

    /// Takes over how far the entries are by now.
    package mutating func update(_ report: DeliveryReport) {
        let found = Dictionary(report.deliveries.map { ($0.entry, $0) }) { first, _ in first }
        for index in writes.indices {
            guard let delivery = writes[index].entry.flatMap({ found[$0] }) else { continue }
            writes[index].state = delivery.state
            writes[index].itemID = delivery.itemID
            writes[index].behind = delivery.behind
            writes[index].awaitsDecision = delivery.awaitsDecision
            writes[index].remark = delivery.remark
            writes[index].error = delivery.error
        }
    }

    package var exitCode: ExitCode {
        if writes.contains(where: { $0.outcome == .refused }) { return .error }
        let states = writes.compactMap { $0.state.flatMap(OutboxEntry.State.init) }
        if states.contains(.parked) { return .needsAttention }
        let isOver = states.allSatisfy { $0 == .delivered || $0 == .superseded }
        return waited && !isOver ? .notDelivered : .fine
    }
}

extension WriteReport.Write {
    init(_ acceptance: Acceptance) {
        switch acceptance {
        case .accepted(let write):
            outcome = .accepted
            entry = write.entry
            state = write.state.rawValue
            kind = write.kind.rawValue
            itemID = write.itemID
            wasQueued = write.wasQueued
            supersedes = write.supersedes
            behind = write.behind
        case .refused(let error):
            outcome = .refused
            self.error = error
        }
    }
}
