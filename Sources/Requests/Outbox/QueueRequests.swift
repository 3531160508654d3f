package import Control
import Glibc
package import PRSNLCore
package import Store

package struct QueueRequest: Request {
    package static let command = "queue"

    private static let mostListed: Int64 = 1_000
    package static let usuallyListed = 50

    package let filter: OutboxFilter
    package let limit: Int
    package var isChange: Bool { false }

    package init(filter: OutboxFilter, limit: Int = usuallyListed) { (self.filter, self.limit) = (filter, limit) }

    package init(_ members: RequestMembers) throws(RequestRefusal) {
        guard let filter = OutboxFilter(rawValue: try members.text("filter") ?? "open") else {
            throw RequestRefusal(reason: "filter must be open, all or a state")
        }
        self.filter = filter
        limit = Int(min(try members.number("limit") ?? Int64(Self.usuallyListed), Self.mostListed))
    }

    package func write(to line: inout RequestLine) {
        line.add("filter", filter.rawValue)
        line.add("limit", Int64(limit))
    }

    package func answer(_ context: RequestContext) throws(UserFacingError) -> QueueReport? {
        var list = try context.reader().outbox(filter, limit: limit)
        list.entries = list.entries.map(context.asOfNow)
        var report = QueueReport(list, filter: filter, context)
        report.entries = try context.named(report.entries)
        return report
    }
}

extension RequestContext {
    /// What has no title of its own is known by its item's.
    func named(_ entries: [OutboxEntry.Status]) throws(UserFacingError) -> [OutboxEntry.Status] {
        let places = entries.indices.filter { entries[$0].what.hasSuffix(entries[$0].itemID) }
        guard !places.isEmpty else { return entries }
        var entries = entries
        for (place, title) in zip(places, try reader().titles(of: places.map { entries[$0].itemID })) {
            guard let title else { continue }
            entries[place].what = entries[place].what.dropLast(entries[place].itemID.count) + title
        }
        return entries
    }

    /// An entry with what only the replayer knows: until when it is left alone, and what keeps all that is due from being
    /// sent.
    func asOfNow(_ entry: OutboxEntry) -> OutboxEntry {
        guard let state = engine, let dueAt = entry.nextAttemptAt else { return entry }
        let now = now
        var entry = entry
        if let until = state.refusedUntil[entry.id] { entry.nextAttemptAt = until }
        let nextTry = state.blocker?.until ?? now
        if let blocker = state.blocker, dueAt <= max(now, nextTry) {
            entry.nextAttemptAt = max(dueAt, nextTry)
            entry.errorCode = blocker.error.code.rawValue
            entry.errorMessage = blocker.error.message
        }
        return entry
    }
}

/// A part of the outbox: the JSON of `prsnlctl queue --json`.
package struct QueueReport: ControlReply {
    package static let type = "queue"

    package var schemaVersion = 1
    package var source: StatusReport.Source
    package var generatedAt: Timestamp
    /// Whether the server can be used; `null` where the file answered.
    @Nullable package var connectivity: Connectivity? = nil
    /// `null` where it has not, or where the file answered.
    @Nullable package var wait: ServerWait? = nil
    /// What keeps all entries from being sent, though the server can be reached.
    @Nullable package var problem: UserFacingError? = nil
    package var filter: OutboxFilter
    /// How many entries there are; `entries` may hold fewer.
    package var total: Int
    package var entries: [OutboxEntry.Status]

    init(_ list: OutboxList, filter: OutboxFilter, _ context: RequestContext) {
        let state = context.engine
        self.init(
            list, filter: filter, source: context.source, connectivity: state?.connectivity, wait: state?.serverWait,
            problem: state?.blocker?.error, now: context.now)
    }

    package init(
        _ list: OutboxList, filter: OutboxFilter, source: StatusReport.Source, connectivity: Connectivity? = nil,
        wait: ServerWait? = nil, problem: UserFacingError? = nil, now: Timestamp
    ) {
        (self.source, generatedAt, self.filter) = (source, now, filter)
        (total, entries) = (list.total, list.entries.map(\.shown))
        (self.connectivity, self.wait, self.problem) = (connectivity, wait, problem)
    }
}

package struct EntryRequest: Request {
    package static let command = "entry"

    package let entry: Int64
    package var isChange: Bool { false }

    package init(entry: Int64) { self.entry = entry }

    package init(_ members: RequestMembers) throws(RequestRefusal) {
        guard let entry = try members.number("entry") else { throw RequestRefusal(reason: "entry is missing") }
        self.entry = entry
    }

    package func write(to line: inout RequestLine) { line.add("entry", entry) }

    package func answer(_ context: RequestContext) throws(UserFacingError) -> EntryReport? {
        let (entry, attempts) = try context.reader().outboxEntry(entry)
        let state = context.engine
        return EntryReport(
            context.asOfNow(entry), attempts, source: context.source, connectivity: state?.connectivity,
            wait: state?.serverWait, now: context.now)
    }
}

/// Everything about one entry: the JSON of `prsnlctl queue show --json`.
package struct EntryReport: ControlReply {
    package static let type = "entry"

    /// What it writes, with `null` for every other field. Of an edit, the fields that change.
    package typealias Fields = [String: JSONFields.Value]

    package var schemaVersion = 1
    package var source: StatusReport.Source
    package var generatedAt: Timestamp
    /// As in `QueueReport`.
    @Nullable package var connectivity: Connectivity? = nil
    @Nullable package var wait: ServerWait? = nil
    package var entry: OutboxEntry.Status
    package var write: Fields
    /// What an edited item's fields were when the edit was accepted.
    @Nullable package var base: Fields? = nil
    /// In a conflict, what the server has there.
    @Nullable package var theirs: Fields? = nil
    package var idempotencyKey: String
    /// The oldest first.
    package var requests: [OutboxAttempt]

    package init(
        _ entry: OutboxEntry, _ attempts: [OutboxAttempt], source: StatusReport.Source,
        connectivity: Connectivity? = nil, wait: ServerWait? = nil, now: Timestamp
    ) {
        (self.source, generatedAt, self.entry) = (source, now, entry.shown)
        (idempotencyKey, requests, write) = (entry.idempotencyKey, attempts, entry.shownFields.all)
        (self.connectivity, self.wait) = (connectivity, wait)
        (base, theirs) = (entry.base?.fields.all, entry.theirs?.fields.all)
    }
}

extension JSONFields {
    fileprivate var all: EntryReport.Fields {
        Dictionary(uniqueKeysWithValues: WriteDraft.fieldNames.map { ($0, self[$0] ?? .null) })
    }
}

extension OutboxEntry {
    /// Of a new item, also what is said by being absent.
    fileprivate var shownFields: JSONFields {
        guard case .create(let item) = payload else { return payload.fields }
        var fields = item.fields
        if item.tags.isEmpty { fields.add("tags", item.tags) }
        if !item.summarize { fields.add("summarize", .flag(false)) }
        return fields
    }
}

/// What `retry-queue`, `queue drop` and `undo` have in common: something is done with the outbox, and told.
package protocol OutboxRequest: Request where Answer == OutboxAnswer<Outcome> {
    associatedtype Outcome: OutboxOutcome
    /// `nil` for one that always changes something.
    var dryRun: Bool? { get }
    func outcome(_ store: Store, _ context: RequestContext) async throws(UserFacingError) -> Outcome
}

extension OutboxRequest {
    package var isChange: Bool { dryRun != true }
    package var place: RequestPlace { .lock }

    package func answer(_ context: RequestContext) async throws(UserFacingError) -> Answer? {
        let outcome = try await context.withStore(isChange: isChange) { store throws(UserFacingError) -> Outcome in
            try await self.outcome(store, context)
        }
        if isChange { context.daemon?.parts.engine.writesAccepted(manual: Outcome.sendsNow) }
        return Answer(
            outcome, dryRun: dryRun, source: context.source, sending: Outcome.sendsNow ? context.sending : nil)
    }

    package func remark(_ answer: Answer, path: String) -> String? {
        isChange ? Remark.change(answer.hasChanged, path: path) : Remark.look(path: path)
    }
}

package protocol OutboxOutcome: Sendable, Equatable, Codable {
    /// Of the answer (`ControlReply`).
    static var type: String { get }
    /// Whether a person wants what waits to be tried now.
    static var sendsNow: Bool { get }
    var hasChanged: Bool { get }
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
package struct OutboxAnswer<Outcome: OutboxOutcome>: ControlReply {
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
}

package struct DropRequest: OutboxRequest {
    package static let command = "drop"

    package let entries: [Int64]
    /// Also what is queued behind them.
    package let withDependents: Bool
    package let dryRun: Bool?

    package init(entries: [Int64], withDependents: Bool, dryRun: Bool) {
        (self.entries, self.withDependents, self.dryRun) = (entries, withDependents, dryRun)
    }

    package init(_ members: RequestMembers) throws(RequestRefusal) {
        entries = try members.entries()
        withDependents = try members.bool("with_dependents")
        dryRun = try members.bool("dry_run")
    }

    package func write(to line: inout RequestLine) {
        line.add("entries", entries)
        line.add("with_dependents", withDependents)
        line.add("dry_run", dryRun ?? false)
    }

    package func outcome(_ store: Store, _ context: RequestContext) async throws(UserFacingError) -> DropOutcome {
        try await store.drop(entries, withDependents: withDependents, dryRun: !isChange, now: context.now)
    }
}

extension DropOutcome: OutboxOutcome {
    package static let type = "drop"
    package var hasChanged: Bool { !dropped.isEmpty }
}

package struct RetryRequest: OutboxRequest {
    package static let command = "retry"

    /// `nil`: all that wait.
    package let entries: [Int64]?
    package let parked: Bool
    package let dryRun: Bool?

    package init(entries: [Int64]?, parked: Bool, dryRun: Bool) {
        (self.entries, self.parked, self.dryRun) = (entries, parked, dryRun)
    }

    package init(_ members: RequestMembers) throws(RequestRefusal) {
        entries = try members.hasValue("entries") ? members.entries() : nil
        parked = try members.bool("parked")
        dryRun = try members.bool("dry_run")
    }

    package func write(to line: inout RequestLine) {
        if let entries { line.add("entries", entries) }
        line.add("parked", parked)
        line.add("dry_run", dryRun ?? false)
    }

    package func outcome(_ store: Store, _ context: RequestContext) async throws(UserFacingError) -> RetryOutcome {
        try await store.retry(entries, parked: parked, dryRun: !isChange, now: context.now)
    }
}

extension RetryOutcome: OutboxOutcome {
    package static let type = "retry"
    package static let sendsNow = true
    package var hasChanged: Bool { touched > 0 }
}

package struct UndoRequest: OutboxRequest, BareRequest {
    package static let command = "undo"
    package var dryRun: Bool? { nil }
    package init() {}

    package func outcome(_ store: Store, _ context: RequestContext) async throws(UserFacingError) -> UndoOutcome {
        var outcome = try await store.undo(now: context.now)
        (outcome.writes, outcome.kept) = (try context.named(outcome.writes), try context.named(outcome.kept))
        return outcome
    }
}

extension UndoOutcome: OutboxOutcome {
    package static let type = "undo"
    package var hasChanged: Bool { taken > 0 }
}
