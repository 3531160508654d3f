package import Control
package import PRSNLCore
package import Store

/// Asks for a part of the outbox.
package struct QueueRequest: ControlRequest {
    package typealias Answer = QueueReport
    package static let command = "queue"

    /// Entries in one answer.
    private static let mostListed: Int64 = 1_000
    /// What a list has where nothing else is asked for.
    package static let usuallyListed = 50

    package let filter: OutboxFilter
    package let limit: Int
    package var isChange: Bool { false }

    package init(_ filter: OutboxFilter, limit: Int = usuallyListed) {
        self.filter = filter
        self.limit = limit
    }

    package init(_ members: RequestMembers) throws(RequestRefusal) {
        let name = try members.text("filter") ?? "open"
        guard let filter = OutboxFilter(name: name) else {
            throw RequestRefusal(reason: "filter must be open, all or a state")
        }
        self.filter = filter
        limit = Int(min(try members.number("limit") ?? Int64(Self.usuallyListed), Self.mostListed))
    }

    package func write(to line: inout RequestLine) {
        line.add("filter", filter.name)
        line.add("limit", Int64(limit))
    }
}

/// A part of the outbox: the JSON of `prsnlctl queue --json`.
package struct QueueReport: ControlReply {
    package static let type = "queue"

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
        /// The parked entry that it waits for.
        @Nullable package var awaitsDecision: Int64? = nil
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
        @Nullable package var error: UserFacingError? = nil
    }

    package var schemaVersion = 1
    package var source: StatusReport.Source
    package var generatedAt: Timestamp
    /// Whether the server can be used; `null` where the file answered.
    @Nullable package var connectivity: Connectivity? = nil
    /// `null` where it has not, or where the file answered.
    @Nullable package var wait: ServerWait? = nil
    /// What keeps all entries from being sent, though the server can be reached.
    @Nullable package var problem: UserFacingError? = nil
    /// `open`, `all`, or a state.
    package var filter: String
    /// How many entries there are; `entries` may hold fewer.
    package var total: Int
    package var entries: [Entry]

    package init(
        _ list: OutboxList, filter: OutboxFilter, source: StatusReport.Source,
        connectivity: Connectivity? = nil, wait: ServerWait? = nil, problem: UserFacingError? = nil,
        now: Timestamp
    ) {
        self.source = source
        self.connectivity = connectivity
        self.wait = wait
        self.problem = problem
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
        awaitsDecision = entry.awaitsDecision
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
