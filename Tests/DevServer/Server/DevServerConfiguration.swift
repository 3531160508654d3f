package import PRSNLCore

extension DevServer {
    package struct Configuration: Sendable {
        package var dialect: Dialect = .cursor
        /// IPv4 or IPv6, of the network that the starting thread is in.
        package var address = "127.0.0.1"
        /// 0 lets the kernel choose.
        package var port: UInt16 = 0
        /// In front of every path: "/prsnl". Empty for none.
        package var pathPrefix = ""
        package var accounts: [DevAccount] = [.owner, .other]
        package var testUser: DevAccount = .testUser
        /// How long a login token is valid, by its own `exp`.
        package var tokenLifetime: Duration = .seconds(1_800)
        package var pageCost: PageCost = .none
        package var settling: Settling = .onCommand
        package var mutation: Mutation?
        package var quirks = Quirks()
        /// A connection without a request for this long is closed. The real servers take 5 s. `nil`: never.
        package var idleTimeout: Duration? = .seconds(5)
        /// The newest requests that the log keeps. 0 for none (the counts per endpoint stay).
        package var requestLogLimit = 1_000_000
        /// The server's wall clock: token expiry, rate limits, the times of new items.
        package var now: @Sendable () -> Timestamp = TimeSource.system.now
        /// How far ahead of `now` the server's clock is at the start. `setClock` sets it.
        package var clockAhead: Duration = .zero
        /// How far ahead the Date header is of the clock that stamps items: they may be two machines'.
        package var dateAhead: Duration = .zero
        /// Where rows are kept, so that they outlive the server. `nil`: they do not.
        package var journal: String?
        /// Faults by chance from the start.
        package var storm: StormPlan?
        /// Dialects C and P: texts for processed items that have none. `nil`: they have none.
        package var texts: TextPlan?
        /// Called for each answered request, on the server's thread.
        package var log: (@Sendable (LoggedRequest) -> Void)?

        package init(dialect: Dialect = .cursor) {
            self.dialect = dialect
        }
    }

    /// Faults by chance, the same for the same seed and requests.
    package struct StormPlan: Sendable, Equatable {
        package var seed: UInt64
        /// How many of the writes, from 0 to 1. Of other requests a quarter of that.
        package var rate: Double
        /// The longest that an INSERT is late.
        package var slowest: Duration

        package init(seed: UInt64, rate: Double, slowest: Duration = .milliseconds(800)) {
            self.seed = seed
            self.rate = rate
            self.slowest = slowest
        }
    }

    /// How long the timeline takes to answer a page, as a wait and not as work.
    package enum PageCost: Sendable, Equatable {
        case none
        case fixed(Duration)
        /// For each item of the whole timeline: 6.6 µs is what the real server was measured at.
        case perItem(Duration)
    }

    /// When a captured item stops being `pending` (dialect C and P).
    package enum Settling: Sendable, Equatable {
        /// When `settle` is called.
        case onCommand
        /// With the n-th timeline request after the capture.
        case afterRequests(Int)
        /// With the first request that comes so long after the capture.
        case after(Duration)
    }

    /// The server changes by itself while it is read: with every n-th timeline request, before answering, one item is
    /// added, edited or deleted, or one is added with an older time.
    package struct Mutation: Sendable, Equatable {
        package var everyRequests: Int
        package var seed: UInt64
        /// Stops after so many changes.
        package var limit: Int

        package init(everyRequests: Int, seed: UInt64, limit: Int = .max) {
            self.everyRequests = everyRequests
            self.seed = seed
            self.limit = limit
        }
    }

    /// What servers of one dialect do differently from each other, or only sometimes. May be changed while serving.
    package struct Quirks: Sendable, Equatable {
        /// Which members of a tie group a page shows that has no room for all.
        package var tieChoice: TieChoice = .varying
        /// The order of `tags` changes with every request.
        package var shufflesTags = false
        /// Dialect C: the first item of every page stands in it twice (within the limit: the last one gives way).
        package var repeatsAnItem = false
        /// Dialect C: `item_type` in place of `type`, as older releases say.
        package var saysItemType = false
        /// Dialects P and E: the key is only accepted as `Authorization: Bearer`.
        package var bearerKeysOnly = false
        /// Dialect C: login tokens carry `iat`. Those of the main server do not.
        package var tokensSayWhenIssued = false
        /// Dialect C: `PATCH` answers 500, as the current release does. False: it works.
        package var patchFails = true
        /// Dialect C: a URL captured without an explicit content type answers 500, as the current release does.
        package var autoTypeFails = true
        /// Dialect C: `GET /api/auth/me` refuses expired and forged tokens with 401 in place of naming the test user.
        package var accountRefusesBadTokens = false
        /// Dialects P and E: `page` is ignored, every page is the first.
        package var ignoresPage = false
        /// Dialects P and E: the key is not asked for.
        package var keysOptional = false
        /// Dialect C: captures in one window, which begins with the first of them. `nil` for no limit.
        package var capturesPerMinute: Int? = 30
        package var captureWindow: Duration = .seconds(60)
        /// Dialect E: answers `If-None-Match`.
        package var etags = true
        /// Captured items are hidden (`processing`) until they settle, in place of `pending`.
        package var hidesCaptured = false
        /// Dialect C: a captured item has the title "Untitled" until it is processed, also where another one was asked for.
        package var untitledWhilePending = false
        /// A note's text loses line breaks and repeated white space when it is processed.
        package var squeezesText = false
        /// A note's text is put into other words when it is processed, and its title is made of these.
        package var rewritesText = false
        /// A captured address is kept with its host in small letters, a slash behind a bare host, and without a fragment.
        package var cleansURLs = false
        /// Texts and titles of new items are kept with `&amp;` for `&`.
        package var escapesText = false
        /// Dialect C: no `POST /api/capture/check-duplicate`.
        package var lacksCheckDuplicate = false
        /// Dialects C and P: the text of a pending item is there, as that of old rows which stay so.
        package var pendingHasText = false
        /// Dialect C: a list that never ends, in which the same items come again, each time a little older.
        package var timelineIsEndless = false
        /// So many.
        package var endlessItems: Int64 = 100
        /// The title of a note without a usable first line ends with "..." where it was cut, as one release has it.
        package var marksCutTitles = false
        /// Dialects C and P: how long a cache keeps an answer of `GET /api/items/{id}`. Real ones keep it for 1,800 s.
        /// `PATCH` alone clears it. `nil`: there is no cache.
        package var itemCache: Duration?
        /// Dialects C and P: `GET /api/items/{id}` does not say when the item was changed.
        package var detailLacksUpdatedAt = false
        /// Dialects C and P: the timeline does not say when items were changed.
        package var timelineLacksUpdatedAt = false
        /// Dialects C and P: there is no `GET /api/items/{id}`.
        package var lacksItemDetail = false
        /// Dialects C and P: to another account `GET /api/items/{id}` answers 404. The main server does not ask who reads.
        package var hidesOthersItems = false

        package init() {}
    }

    package enum TieChoice: Sendable, Equatable {
        /// The smallest ids: varying the limit reaches no more.
        case smallestIDs
        /// The smallest ids, but near the cut the choice depends on the limit and on the newer items of the page.
        case varying
    }
}
