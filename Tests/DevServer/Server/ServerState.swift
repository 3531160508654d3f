import PRSNLCore

/// Everything the server knows, behind one lock.
struct ServerState: Sendable {
    struct Token: Sendable {
        var account: DevAccount
        var expiresAt: Timestamp
    }

    /// What a cache has kept of an answer of `GET /api/items/{id}`: the item that it was made from.
    struct KeptAnswer: Sendable {
        let item: DevItem
        let at: Timestamp
    }

    struct Script: Sendable {
        let number: Int
        let fault: Fault
        let matcher: RequestMatcher
        var skip: Int
        var times: Int
        var applied = 0
        var isReleased = false
    }

    /// A captured item on its way from `pending` to what becomes of it.
    struct Unsettled: Sendable {
        let id: String
        let number: Int
        /// The timeline request with which it settles.
        var dueRequest: Int?
        var dueTime: Timestamp?
    }

    let configuration: DevServer.Configuration
    var quirks: DevServer.Quirks
    /// How far the server's clock is ahead of `configuration.now`.
    private(set) var clockAhead: Duration
    /// Times of items follow a clock that was set; one that only runs never stamps two changes of an item alike.
    private(set) var wasClockSet: Bool
    /// Of the answer that is being made.
    var pageLie: PageLie?
    var items: ItemTable
    /// Deleted, but `GET /api/items/{id}` still finds them.
    var cached: [ByteText: DevItem] = [:]
    /// By id. See `Quirks.itemCache`.
    var keptAnswers: [ByteText: KeptAnswer] = [:]
    var unsettled = Queue<Unsettled>()
    var captures: [DevServer.Capture] = []
    var appliedWrites = DevServer.AppliedWrites()
    var captureCount = 0
    var captureWindowStart: Timestamp?
    var capturesInWindow = 0

    var accessTokens: [String: Token] = [:]
    var refreshTokens: [String: Token] = [:]
    var tokenCount = 0

    var script: [Script] = []
    var scriptCount = 0
    var randomFault: RandomFault?
    var storm: Storm?
    var lateInserts: [LateInsert] = []
    /// While a slow INSERT is carried out: what is there was looked at before.
    var insertsDuplicates = false

    var log: [LoggedRequest] = []
    var requestCount = 0
    var timelineRequestCount = 0
    var endpointCounts: [String: Int] = [:]

    var mutationRandom: ItemRandom
    var mutationsDone = 0
    /// Items made by `addNewItem`.
    var mutationCount = 0
    /// Of the newest item that was created while serving.
    var lastCreatedAt = Timestamp.earliest

    init(configuration: DevServer.Configuration, items: [DevItem]) {
        self.configuration = configuration
        quirks = configuration.quirks
        clockAhead = configuration.clockAhead
        wasClockSet = clockAhead != .zero
        self.items = ItemTable(dialect: configuration.dialect)
        self.items.add(contentsOf: items)
        mutationRandom = ItemRandom(state: configuration.mutation?.seed ?? 0)
    }

    var now: Timestamp { configuration.now().advanced(by: clockAhead) }

    /// Sets the server's clock. What is under way takes as long as it would have taken; tokens expire at their time.
    mutating func setClock(ahead: Duration) {
        let step = ahead - clockAhead
        clockAhead = ahead
        wasClockSet = true
        items.journal?.setClock(ahead: ahead)
        lastCreatedAt = .earliest
        captureWindowStart = captureWindowStart?.advanced(by: step)
        for index in lateInserts.indices { lateInserts[index].due = lateInserts[index].due.advanced(by: step) }
        keptAnswers = keptAnswers.mapValues { KeptAnswer(item: $0.item, at: $0.at.advanced(by: step)) }
        unsettled.changeAll { $0.dueTime = $0.dueTime?.advanced(by: step) }
    }

    /// Dates the changes of items that are made now.
    var stamp: Stamp { Stamp(now: now, wasClockSet: wasClockSet) }

    struct Stamp: Sendable {
        let now: Timestamp
        let wasClockSet: Bool

        func updateTime(after last: Timestamp, atLeast step: Duration) -> Timestamp {
            wasClockSet && now != last ? now : max(now, last.advanced(by: step))
        }
    }
}
