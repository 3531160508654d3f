package import Console
package import Control
package import PRSNLCore
package import Store

/// Accepts many writes, and is answered with numbers alone.
package struct TallyRequest: OutboxRequest {
    package typealias Answer = WriteTally
    package static let command = "write"
    package static let variant: String? = "brief"

    package let writes: [WriteRequest]
    package var isChange: Bool { true }

    package init(_ writes: [WriteRequest]) { self.writes = writes }
    package init(_ members: RequestMembers) throws(RequestRefusal) { writes = try members.writes() }

    package func write(to line: inout RequestLine) { line.add(writes) }

    package func perform(_ outbox: OutboxOperations) async throws(UserFacingError) -> WriteTally {
        WriteTally(
            try await outbox.store.accept(writes, now: outbox.now()), source: outbox.source, sending: outbox.sending())
    }

    package static func hasChanged(_ answer: WriteTally) -> Bool { !answer.entries.isEmpty }
}

/// What became of many writes, in numbers: the answer to a `write` with `brief`.
package struct WriteTally: ControlReply {
    package static let type = "tally"

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
