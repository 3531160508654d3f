public import PRSNLCore

extension DevServer {
    public struct Configuration: Sendable {
        public var dialect: Dialect = .cursor
        /// IPv4 or IPv6, of the network that the starting thread is in.
        public var address = "127.0.0.1"
        /// 0 lets the kernel choose.
        public var port: UInt16 = 0
        /// In front of every path: "/prsnl". Empty for none.
        public var pathPrefix = ""
        public var accounts: [DevAccount] = [.owner, .other]
        public var testUser: DevAccount = .testUser
        /// How long a login token is valid, by its own `exp`.
        public var tokenLifetime: Duration = .seconds(1_800)
        public var pageCost: PageCost = .none
        public var settling: Settling = .onCommand
        public var mutation: Mutation?
        public var quirks = Quirks()
        /// A connection without a request for this long is closed; the real servers take 5 s. `nil`: never.
        public var idleTimeout: Duration? = .seconds(5)
        /// The newest requests that the log keeps; 0 for none (the counts per endpoint stay).
        public var requestLogLimit = 1_000_000
        /// The server's wall clock: token expiry, rate limits, the times of new items.
        public var now: @Sendable () -> Timestamp = TimeSource.system.now
        /// How far ahead the Date header is of the clock that stamps items: they may be two machines'.
        public var dateAhead: Duration = .zero
        /// Where rows are kept, so that they outlive the server; `nil`: they do not.
        public var journal: String?
        /// Faults by chance from the start.
        public var storm: StormPlan?
        /// Called for each answered request, on the server's thread.
        public var log: (@Sendable (LoggedRequest) -> Void)?

        public init(dialect: Dialect = .cursor) {
            self.dialect = dialect
        }
    }

    /// Faults by chance, the same for the same seed and requests.
    public struct StormPlan: Sendable, Equatable {
        public var seed: UInt64
        /// How many of the writes, from 0 to 1; of other requests a quarter of that.
        public var rate: Double
        /// The longest that an INSERT is late.
        public var slowest: Duration

        public init(seed: UInt64, rate: Double, slowest: Duration = .milliseconds(800)) {
            self.seed = seed
            self.rate = rate
            self.slowest = slowest
        }
    }

    /// How long the timeline takes to answer a page, as a wait and not as work.
    public enum PageCost: Sendable, Equatable {
        case none
        case fixed(Duration)
        /// For each item of the whole timeline: 6.6 µs is what the real server was measured at.
        case perItem(Duration)
    }

    /// When a captured item stops being `pending` (dialect C and P).
    public enum Settling: Sendable, Equatable {
        /// When `settle` is called.
        case onCommand
        /// With the n-th timeline request after the capture.
        case afterRequests(Int)
        /// With the first request that comes so long after the capture.
        case after(Duration)
    }

    /// The server changes by itself while it is read: with every n-th timeline request, before answering, one item is
    /// added, edited or deleted, or one is added with an older time.
    public struct Mutation: Sendable, Equatable {
        public var everyRequests: Int
        public var seed: UInt64
        /// Stops after so many changes.
        public var limit: Int

        public init(everyRequests: Int, seed: UInt64, limit: Int = .max) {
            self.everyRequests = everyRequests
            self.seed = seed
            self.limit = limit
        }
    }

    /// What servers of one dialect do differently from each other, or only sometimes. May be changed while serving.
    public struct Quirks: Sendable, Equatable {
        /// Which members of a tie group a page shows that has no room for all.
        public var tieChoice: TieChoice = .varying
        /// The order of `tags` changes with every request.
        public var shufflesTags = false
        /// Dialect C: the first item of every page stands in it twice (within the limit: the last one gives way).
        public var repeatsAnItem = false
        /// Dialect C: `item_type` in place of `type`, as older releases say.
        public var saysItemType = false
        /// Dialects P and E: the key is only accepted as `Authorization: Bearer`.
        public var bearerKeysOnly = false
        /// Dialect C: login tokens carry `iat`; those of the main server do not.
        public var tokensSayWhenIssued = false
        /// Dialect C: `PATCH` answers 500, as the current release does. False: it works.
        public var patchFails = true
        /// Dialect C: a URL captured without an explicit content type answers 500, as the current release does.
        public var autoTypeFails = true
        /// Dialect C: `GET /api/auth/me` refuses expired and forged tokens with 401 in place of naming the test user.
        public var accountRefusesBadTokens = false
        /// Dialects P and E: `page` is ignored, every page is the first.
        public var ignoresPage = false
        /// Dialects P and E: the key is not asked for.
        public var keysOptional = false
        /// Dialect C: captures in one minute; `nil` for no limit.
        public var capturesPerMinute: Int? = 30
        /// Dialect E: answers `If-None-Match`.
        public var etags = true
        /// Captured items are hidden (`processing`) until they settle, in place of `pending`.
        public var hidesCaptured = false
        /// Dialect C: a captured item has the title "Untitled" until it is processed, whatever was asked for.
        public var untitledWhilePending = false
        /// A note's text loses line breaks and repeated white space when it is processed.
        public var squeezesText = false
        /// Dialect C: no `POST /api/capture/check-duplicate`.
        public var lacksCheckDuplicate = false
        /// Dialect C: a list that never ends, in which the same hundred items come again, each time a little older.
        public var timelineIsEndless = false
        /// The title of a note without a usable first line ends with "..." where it was cut, as one release has it.
        public var marksCutTitles = false

        public init() {}
    }

    public enum TieChoice: Sendable, Equatable {
        /// The smallest ids: varying the limit reaches no more.
        case smallestIDs
        /// The smallest ids, but near the cut the choice depends on the limit and on the newer items of the page.
        case varying
    }
}
