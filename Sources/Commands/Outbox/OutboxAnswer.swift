package import Console
import Control
import PRSNLCore
import Store

/// What `retry-queue`, `queue drop` and `undo` have in common: something is done with the outbox, and told.
protocol OutboxRequest: Request where Answer == OutboxAnswer<Outcome> {
    associatedtype Outcome: OutboxOutcome
    /// `nil` for one that always changes something.
    var dryRun: Bool? { get }
    func outcome(_ store: Store, _ context: RequestContext) async throws(UserFacingError) -> Outcome
}

extension OutboxRequest {
    var isChange: Bool { dryRun != true }
    var place: RequestPlace { .lock }

    func answer(_ context: RequestContext) async throws(UserFacingError) -> Answer? {
        let outcome = try await context.withStore(isChange: isChange) { store throws(UserFacingError) -> Outcome in
            try await self.outcome(store, context)
        }
        if isChange { context.daemon?.parts.engine.writesAccepted(manual: Outcome.sendsNow) }
        return Answer(
            outcome, dryRun: dryRun, source: context.source, sending: Outcome.sendsNow ? context.sending : nil)
    }

    func remark(_ answer: Answer, path: String) -> String? {
        isChange ? Remark.change(answer.hasChanged, path: path) : Remark.look(path: path)
    }
}

package protocol OutboxOutcome: Sendable, Equatable, Codable {
    /// Of the answer (`ControlReply`).
    static var type: String { get }
    /// Whether a person wants what waits to be tried now.
    static var sendsNow: Bool { get }
    var hasChanged: Bool { get }
    func text(_ answer: OutboxAnswer<Self>, _ style: TextStyle) -> String
}

extension OutboxOutcome {
    package static var sendsNow: Bool { false }
}

package struct OutboxAnswerHead: Sendable, Equatable, Codable {
    package var schemaVersion = 1
    package var source: StatusReport.Source
    /// Only where an outcome `sendsNow`.
    package var sending: Sending?
    /// Only where there is such an option.
    package var dryRun: Bool?
}

/// An outcome, and who tells it: one JSON object of both.
@dynamicMemberLookup
package struct OutboxAnswer<Outcome: OutboxOutcome>: ControlReply, Report {
    package static var type: String { Outcome.type }

    package var head: OutboxAnswerHead
    package var outcome: Outcome

    package init(_ outcome: Outcome, dryRun: Bool? = nil, source: StatusReport.Source, sending: Sending? = nil) {
        head = OutboxAnswerHead(source: source, sending: sending, dryRun: dryRun)
        self.outcome = outcome
    }

    package init(from decoder: any Decoder) throws {
        (head, outcome) = (try OutboxAnswerHead(from: decoder), try Outcome(from: decoder))
    }

    package func encode(to encoder: any Encoder) throws {
        try head.encode(to: encoder)
        try outcome.encode(to: encoder)
    }

    package subscript<Value>(dynamicMember member: KeyPath<Outcome, Value>) -> Value { outcome[keyPath: member] }

    package func text(_ style: TextStyle) -> String { outcome.text(self, style) }
}
