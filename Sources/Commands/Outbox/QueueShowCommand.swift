import Console
import Control
package import PRSNLCore
package import Store

enum QueueShowCommand {
    static let command = Command(
        "queue show", "Show everything about one write, with every attempt to send it.", operands: .one("N"),
        asks: [EntryRequest.self], onlyReads: true
    ) { context, arguments throws(UserFacingError) in
        try context.write(try context.answer(EntryRequest(entry: EntryNumbers.parse(arguments)[0])))
        return .fine
    }
}

struct EntryRequest: Request {
    typealias Answer = EntryReport
    static let command = "entry"

    let entry: Int64
    var isChange: Bool { false }
}

extension EntryRequest {
    init(_ members: RequestMembers) throws(RequestRefusal) {
        guard let entry = try members.number("entry") else { throw RequestRefusal(reason: "entry is missing") }
        self.entry = entry
    }

    func write(to line: inout RequestLine) { line.add("entry", entry) }

    func answer(_ context: RequestContext) throws(UserFacingError) -> EntryReport? {
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
