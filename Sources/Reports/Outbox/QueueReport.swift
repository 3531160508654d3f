package import Console
package import PRSNLCore
package import Store

/// A part of the outbox: the JSON of `prsnlctl queue --json`.
package struct QueueReport: Sendable, Equatable, Codable {
    package struct Entry: Sendable, Equatable, Codable {
        package var entry: Int64
        package var state: String
        package var kind: String
        package var itemID: String
        /// What a person knows it by: the title, else the URL, else a note's first line, else the item's id.
        package var what: String
        package var acceptedAt: Timestamp
        @Nullable package var endedAt: Timestamp? = nil
        @Nullable package var nextAttemptAt: Timestamp? = nil
        @Nullable package var behind: Int64? = nil
        /// Of an edit that carries what a creation asked for and the server replaced: the creation.
        @Nullable package var follows: Int64? = nil
        /// It waits until the server has processed the item.
        package var awaitsItem: Bool
        @Nullable package var supersededBy: Int64? = nil
        package var attempts: Int
        @Nullable package var lastAttemptAt: Timestamp? = nil
        /// Seconds for which the server could be reached while it waited.
        package var reachableAge: Int
        @Nullable package var remark: String? = nil
        @Nullable package var error: ErrorReport? = nil

        enum CodingKeys: String, CodingKey {
            case entry, state, kind, what, behind, follows, attempts, remark, error
            case itemID = "item_id"
            case awaitsItem = "awaits_item"
            case acceptedAt = "accepted_at"
            case endedAt = "ended_at"
            case nextAttemptAt = "next_attempt_at"
            case supersededBy = "superseded_by"
            case lastAttemptAt = "last_attempt_at"
            case reachableAge = "reachable_age"
        }
    }

    /// Until when the server has asked not to send: it limits how many items are made in a minute, say.
    package struct Wait: Sendable, Equatable, Codable {
        @Nullable package var creationsUntil: Timestamp? = nil
        @Nullable package var othersUntil: Timestamp? = nil

        enum CodingKeys: String, CodingKey {
            case creationsUntil = "creations_until"
            case othersUntil = "others_until"
        }

        package init(creationsUntil: Timestamp?, othersUntil: Timestamp?) {
            self.creationsUntil = creationsUntil
            self.othersUntil = othersUntil
        }
    }

    package var schemaVersion = 1
    package var source: StatusReport.Source
    package var generatedAt: Timestamp
    /// Whether the server can be used; `null` where the file answered.
    @Nullable package var connectivity: StatusReport.Connectivity? = nil
    /// `null` where it has not, or where the file answered.
    @Nullable package var wait: Wait? = nil
    /// `open`, `all`, or a state.
    package var filter: String
    /// How many entries there are; `entries` may hold fewer.
    package var total: Int
    package var entries: [Entry]

    enum CodingKeys: String, CodingKey {
        case source, connectivity, wait, filter, total, entries
        case schemaVersion = "schema_version"
        case generatedAt = "generated_at"
    }

    package init(
        _ list: OutboxList, filter: OutboxFilter, source: StatusReport.Source,
        connectivity: StatusReport.Connectivity? = nil, wait: Wait? = nil, now: Timestamp
    ) {
        self.source = source
        self.connectivity = connectivity
        self.wait = wait
        generatedAt = now
        self.filter = filter.name
        total = list.total
        entries = list.entries.map(Entry.init)
    }
}

extension QueueReport.Entry {
    init(_ entry: OutboxEntry) {
        self.entry = entry.id
        state = entry.state.rawValue
        kind = entry.kind.rawValue
        itemID = entry.itemID
        what = entry.what
        acceptedAt = entry.acceptedAt
        endedAt = entry.endedAt
        nextAttemptAt = entry.nextAttemptAt
        behind = entry.behind
        follows = entry.follows
        awaitsItem = entry.awaitsItem
        supersededBy = entry.supersededBy
        attempts = entry.attempts
        lastAttemptAt = entry.lastAttemptAt
        reachableAge = Int(entry.reachableAge.wholeMilliseconds / 1_000)
        remark = entry.remark
        error = entry.error
    }
}

extension OutboxEntry {
    private static let shown = 200

    fileprivate var what: String {
        switch payload {
        case .create(let item):
            let firstLine = item.note?.split(whereSeparator: \.isNewline).first.map(String.init)
            return String((item.title ?? item.url ?? firstLine ?? itemID).prefix(Self.shown))
        case .edit(let edit): return edit.title.map { String($0.prefix(Self.shown)) } ?? itemID
        case .delete: return itemID
        }
    }
}

/// Everything about one entry: the JSON of `prsnlctl queue show --json`.
package struct EntryReport: Sendable, Equatable, Codable {
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

        enum CodingKeys: String, CodingKey {
            case purpose, verdict, status
            case startedAt = "started_at"
            case endedAt = "ended_at"
            case errorCode = "error_code"
            case requestID = "request_id"
        }
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

    enum CodingKeys: String, CodingKey {
        case source, connectivity, wait, entry, write, base, theirs, requests
        case schemaVersion = "schema_version"
        case generatedAt = "generated_at"
        case idempotencyKey = "idempotency_key"
    }

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

extension OutboxFilter {
    /// `open`, `all`, or a state.
    package var name: String {
        switch self {
        case .open: "open"
        case .all: "all"
        case .state(let state): state.rawValue
        }
    }

    package init?(name: String) {
        switch name {
        case "open": self = .open
        case "all": self = .all
        default:
            guard let state = OutboxEntry.State(rawValue: name) else { return nil }
            self = .state(state)
        }
    }
}
