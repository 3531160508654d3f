package import Console
import PRSNLCore
package import Store

/// When the daemon will send what is queued, as far as that can be known.
package enum Sending: String, Sendable, Codable {
    /// The server is reachable.
    case inTurn = "in_turn"
    case whenReachable = "when_reachable"
    /// The server refuses the credentials.
    case whenAuthorized = "when_authorized"
    case whenDaemonRuns = "when_daemon_runs"

    func text(_ style: TextStyle) -> String {
        switch self {
        case .inTurn: "will be sent in turn"
        case .whenReachable: "will be sent when the server is reachable"
        case .whenAuthorized:
            "will be sent when the server accepts the credentials: see \(style.command("prsnlctl whoami"))"
        case .whenDaemonRuns: "will be sent when the daemon runs"
        }
    }
}

/// What became of some writes: the JSON of `capture`, `note`, `edit` and `delete`.
package struct WriteReport: Sendable, Equatable, Codable {
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
        @Nullable package var remark: String? = nil
        /// Why it was refused, or what the last attempt failed with.
        @Nullable package var error: ErrorReport? = nil

        enum CodingKeys: String, CodingKey {
            case outcome, entry, state, kind, supersedes, behind, remark, error
            case itemID = "item_id"
            case wasQueued = "was_queued"
        }
    }

    package var schemaVersion = 1
    package var source: StatusReport.Source
    package var sending: Sending
    /// Whether delivery was waited for.
    package var waited = false
    /// In the order of the drafts.
    package var writes: [Write]

    enum CodingKeys: String, CodingKey {
        case source, sending, waited, writes
        case schemaVersion = "schema_version"
    }

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
            self.error = ErrorReport(error)
        }
    }
}

/// What became of many writes, in numbers: the answer to a `write` with `brief`.
package struct WriteTally: Sendable, Equatable, Codable {
    package struct Refusal: Sendable, Equatable, Codable {
        /// The place among the drafts, from 0.
        package var index: Int
        package var error: ErrorReport
    }

    package var source: StatusReport.Source
    package var sending: Sending
    /// The entries of what was accepted, in the order of the drafts.
    package var entries: [Int64]
    package var refused: [Refusal]

    package init(_ acceptances: [Acceptance], source: StatusReport.Source, sending: Sending) {
        self.source = source
        self.sending = sending
        entries = []
        refused = []
        entries.reserveCapacity(acceptances.count)
        for (index, acceptance) in acceptances.enumerated() {
            switch acceptance {
            case .accepted(let write): entries.append(write.entry)
            case .refused(let error): refused.append(Refusal(index: index, error: ErrorReport(error)))
            }
        }
    }
}

/// How far some entries are: the answer to a `wait`.
package struct DeliveryReport: Sendable, Equatable, Codable {
    package struct Delivery: Sendable, Equatable, Codable {
        package var entry: Int64
        package var state: String
        package var itemID: String
        @Nullable package var behind: Int64? = nil
        @Nullable package var remark: String? = nil
        @Nullable package var error: ErrorReport? = nil

        enum CodingKeys: String, CodingKey {
            case entry, state, behind, remark, error
            case itemID = "item_id"
        }
    }

    /// Entries that are no longer there are left out.
    package var deliveries: [Delivery]

    package init(_ entries: [OutboxEntry]) {
        deliveries = entries.map { entry in
            Delivery(
                entry: entry.id, state: entry.state.rawValue, itemID: entry.itemID, behind: entry.behind,
                remark: entry.remark, error: entry.error)
        }
    }
}

extension OutboxEntry {
    /// What its last attempt failed with, or why it is parked.
    var error: ErrorReport? {
        errorCode.map { ErrorReport(code: $0, message: errorMessage, entry: id) }
    }
}

extension ErrorReport {
    /// Of a write.
    init(code: String, message: String?, entry: Int64) {
        let known = ErrorCode(rawValue: code) ?? .unexpectedStatus
        // The suggestions say N where they mean the entry.
        let suggestion = known.recoverySuggestion.split(separator: " N`", omittingEmptySubsequences: false)
            .joined(separator: " \(entry)`")
        self.init(UserFacingError(known, message ?? "", recoverySuggestion: suggestion))
        self.code = code
    }
}
