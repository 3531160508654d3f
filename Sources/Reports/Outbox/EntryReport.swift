package import Console
package import Control
package import PRSNLCore
package import Store

/// Asks for everything about one entry of the outbox.
package struct EntryRequest: ControlRequest {
    package typealias Answer = EntryReport
    package static let command = "entry"

    package let entry: Int64
    package var isChange: Bool { false }

    package init(_ entry: Int64) { self.entry = entry }

    package init(_ members: RequestMembers) throws(RequestRefusal) {
        guard let entry = try members.number("entry") else { throw RequestRefusal(reason: "entry is missing") }
        self.entry = entry
    }

    package func write(to line: inout RequestLine) { line.add("entry", entry) }
}

/// Everything about one entry: the JSON of `prsnlctl queue show --json`.
package struct EntryReport: ControlReply {
    package static let type = "entry"

    /// What is to be written; of an edit, the members that change.
    package struct Fields: Sendable, Equatable, Codable {
        @Nullable package var url: String? = nil
        @Nullable package var title: String? = nil
        @Nullable package var note: String? = nil
        @Nullable package var summary: String? = nil
        @Nullable package var tags: [String]? = nil
        @Nullable package var type: String? = nil
        @Nullable package var summarize: Bool? = nil
    }

    package struct Attempt: Sendable, Equatable, Codable {
        /// `send` or `look`.
        package var purpose: String
        package var startedAt: Timestamp
        @Nullable package var endedAt: Timestamp? = nil
        @Nullable package var verdict: String? = nil
        @Nullable package var errorCode: String? = nil
        @Nullable package var status: Int? = nil
        @Nullable package var requestID: String? = nil
    }

    package var schemaVersion = 1
    package var source: StatusReport.Source
    package var generatedAt: Timestamp
    /// As in `QueueReport`.
    @Nullable package var connectivity: StatusReport.Connectivity? = nil
    @Nullable package var wait: QueueReport.Wait? = nil
    package var entry: QueueReport.Entry
    package var write: Fields
    /// What an edited item's fields were when the edit was accepted.
    @Nullable package var base: Fields? = nil
    /// In a conflict, what the server has there.
    @Nullable package var theirs: Fields? = nil
    package var idempotencyKey: String
    /// The oldest first.
    package var requests: [Attempt]

    package init(
        _ entry: OutboxEntry, _ attempts: [OutboxAttempt], source: StatusReport.Source,
        connectivity: StatusReport.Connectivity? = nil, wait: QueueReport.Wait? = nil, now: Timestamp
    ) {
        self.source = source
        self.connectivity = connectivity
        self.wait = wait
        generatedAt = now
        self.entry = QueueReport.Entry(entry)
        write = Fields(entry.payload)
        base = entry.base.map(Fields.init)
        theirs = entry.theirs.map(Fields.init)
        idempotencyKey = entry.idempotencyKey
        requests = attempts.map(Attempt.init)
    }
}

extension EntryReport.Fields {
    fileprivate init(_ payload: OutboxEntry.Payload) {
        self.init()
        switch payload {
        case .create(let item):
            url = item.url
            title = item.title
            note = item.note
            tags = item.tags
            type = item.type
            summarize = item.summarize
        case .edit(let edit): self = EntryReport.Fields(edit)
        case .delete: break
        }
    }

    fileprivate init(_ edit: ItemEdit) {
        self.init()
        title = edit.title
        summary = edit.summary
        tags = edit.tags
    }
}

extension EntryReport.Attempt {
    fileprivate init(_ attempt: OutboxAttempt) {
        purpose = attempt.purpose.rawValue
        startedAt = attempt.startedAt
        endedAt = attempt.endedAt
        verdict = attempt.verdict
        errorCode = attempt.errorCode
        status = attempt.status
        requestID = attempt.requestID
    }
}
