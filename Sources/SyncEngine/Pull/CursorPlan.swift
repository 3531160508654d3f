import PRSNLClient
import PRSNLCore
import Store
import Synchronization

/// Reads one interval of a dialect C timeline, newest first: decides what each page proves and what to ask for next.
///
/// The server's cursor is strict (`created_at < cursor`) and knows no tie-break, so that the items that share a page's
/// last timestamp may be cut in two. Each page therefore proves only what lies above its last timestamp, and the next
/// request begins one microsecond above it. So the next page has to show again what this one ended with, which detects
/// a page of another position. A value without I/O.
struct CursorPlan: Sendable, Equatable {
    struct Request: Sendable, Equatable {
        /// Strictly before this; `nil` for the top of the timeline.
        var before: Timestamp?
        var limit: Int

        /// Everything down from this instant, itself included.
        static func from(_ instant: Timestamp, limit: Int) -> Request { Request(before: above(instant), limit: limit) }

        /// The cursor that just includes an instant; nothing can be above the last instant of time.
        static func above(_ instant: Timestamp) -> Timestamp? { instant < .latest ? instant.next : nil }

        /// The newest instant that the answer may show.
        var top: Timestamp { before?.previous ?? .latest }
    }

    enum Step: Sendable, Equatable {
        case request(Request)
        /// All of a full page has this one timestamp: there may be more of them than the server shows.
        case collision(Timestamp)
        case finished
    }

    /// The most that dialect C gives at once.
    static let largestPage = 100

    /// Read down to here, included.
    private(set) var bottom: Timestamp
    /// When the read began, for the coverage.
    let readAt: Timestamp
    /// The newest instant that the copy covers already: a page from the top proves up to there too, also where the
    /// server has nothing so new any more.
    private let knownNewest: Timestamp
    /// What lies above this can still be added to: the time of reading.
    private let newestPossible: Timestamp
    private let limit: Int
    private(set) var request: Request
    /// Items at and above the place where the next page begins, as they were seen last: oldest first.
    private var overlap: [KnownItem]
    /// The next page has to show one of these.
    private(set) var anchors: [KnownItem]
    /// `Store.deliveries` when the page before was looked at, where the next one is asked for at once.
    var asOf: Int?
    /// The smallest limit of a page from here that was too large to be read.
    private var tooLarge: Int?
    /// The largest limit of a page from here that was full of one instant.
    private var full = 0

    /// - Parameters:
    ///   - top: The newest instant to read, or `nil` for whatever is newest.
    ///   - bottom: The oldest.
    ///   - known: What the copy has at `top` and above, oldest first: the first page begins with the nearest of them.
    init(
        top: Timestamp?, bottom: Timestamp, readAt: Timestamp, limit: Int, knownNewest: Timestamp = .earliest,
        newestPossible: Timestamp = .latest, known: [KnownItem] = []
    ) {
        self.bottom = bottom
        self.newestPossible = newestPossible
        self.knownNewest = knownNewest
        self.readAt = readAt
        self.limit = min(max(limit, 1), Self.largestPage)
        overlap = known
        anchors = []
        request = Request(before: top?.next, limit: self.limit)
        guard top != nil, let nearest = known.first?.createdAt else { return }
        let group = known.prefix { $0.createdAt == nearest }
        // With more of them than half a page it would make no headway.
        guard group.count <= self.limit / 2 else { return }
        anchors = Array(group)
        request = .from(nearest, limit: self.limit)
    }

    /// Whether nothing is known that the next page would have to show.
    var isUnanchored: Bool { anchors.isEmpty && request.before != nil }

    /// Takes the answer to `request`.
    ///
    /// - Throws: `SyncFailure` with `page_contradictory` for an answer that breaks
    ///   the API's promises, of which nothing may be believed.
    mutating func take(_ page: TimelinePage) throws(SyncFailure) -> (change: PageChange, next: Step) {
        try check(page)
        let top = request.top
        // What is dated in the future covers nothing yet: else each poll would cover a little more, and be news.
        let newestShown = page.items.first { $0.createdAt <= newestPossible }?.createdAt ?? .earliest
        let newest = request.before == nil ? max(newestShown, knownNewest) : top
        guard let cursor = page.nextCursor else {
            let change = PageChange(
                items: page.items, rejected: page.rejected, proven: .earliest...top,
                coverage: covered(.earliest, newest))
            return (change, .finished)
        }
        let last = boundary(of: page, cursor)
        guard let lowest = Request.above(last), lowest != request.before else {
            return (PageChange(items: page.items, rejected: page.rejected), collision(last))
        }
        let change = PageChange(
            items: page.items, rejected: page.rejected, proven: lowest...top, coverage: covered(lowest, newest))
        if lowest <= bottom { return (change, .finished) }
        overlap = page.items.reversed().map { KnownItem(id: $0.id, createdAt: $0.createdAt) }
        goOn(with: Request(before: lowest, limit: limit))
        anchors = overlap.filter { $0.createdAt == last }
        return (change, .request(request))
    }

    /// Where a page ends: at its last item. What could not be read has no time that is known for sure, so a page that
    /// ends with it is taken to end above it, where that makes any headway.
    private func boundary(of page: TimelinePage, _ cursor: Timestamp) -> Timestamp {
        guard page.lastCreatedAt == nil, let readable = page.items.last?.createdAt else { return cursor }
        return Request.above(readable) == request.before ? cursor : readable
    }

    /// Coverage never reaches beyond the time of reading: an item dated tomorrow does not mean that today has been read.
    func covered(_ from: Timestamp, _ to: Timestamp) -> Coverage.Interval? {
        let to = min(to, newestPossible)
        return from <= to ? Coverage.Interval(from: from, to: to, readAt: readAt) : nil
    }

    /// Reads on to here, where that is lower: an answer may tell a clock that was not known before.
    mutating func lower(to floor: Timestamp) { bottom = min(bottom, floor) }

    private mutating func goOn(with next: Request) {
        request = next
        anchors = []
        tooLarge = nil
        full = 0
    }

    // MARK: Timestamp collisions

    /// A full page of one timestamp. With smaller pages than the server allows, larger ones are asked for before giving up.
    private mutating func collision(_ instant: Timestamp) -> Step {
        full = max(full, request.limit)
        let larger = tooLarge.map { (full + $0) / 2 } ?? Self.largestPage
        guard larger > full else { return .collision(instant) }
        request.limit = larger
        return .request(request)
    }

    /// The largest page that an instant may be asked for with.
    var largestReadable: Int { min(Self.largestPage, (tooLarge ?? .max) - 1) }

    /// Goes on below an instant that could not be read whole.
    mutating func stepOver(_ instant: Timestamp) -> Step {
        if instant <= bottom { return .finished }
        goOn(with: Request(before: instant, limit: limit))
        return .request(request)
    }

    // MARK: Pages that are too large

    /// The answer to `request` was too large to be read.
    ///
    /// - Returns: What to do now; `nil` where a single item is too large.
    mutating func reduce() -> Step? {
        tooLarge = request.limit
        let smaller = (full + request.limit) / 2
        if full > 0, smaller <= full { return .collision(request.top) }
        guard smaller > 0 else { return nil }
        request.limit = smaller
        return .request(request)
    }

    /// Asks for no more than this many items at once, for now.
    mutating func allow(_ largest: Int) {
        if full == 0 { request.limit = min(request.limit, max(largest, 1)) }
    }

    // MARK: What a page has to show

    /// Whether a page shows what it has to. Call before `take`.
    func isAnchored(_ page: TimelinePage) -> Bool {
        anchors.isEmpty
            || anchors.contains { anchor in
                page.items.contains { ByteText($0.id) == ByteText(anchor.id) }
            }
    }

    /// Begins the next page higher, so that it has to show more of what is known: the item at its boundary is hidden, as
    /// servers hide items that they work on.
    ///
    /// - Returns: False where nothing above is known.
    mutating func raise() -> Bool {
        let half = overlap.prefix(limit / 2)
        guard let highest = half.last?.createdAt, highest > request.top else { return false }
        goOn(with: .from(highest, limit: limit))
        anchors = overlap.filter { $0.createdAt <= highest }
        return true
    }

    /// Nothing is known for sure at the next page's beginning.
    mutating func forgetAnchors() { anchors = [] }

    private func check(_ page: TimelinePage) throws(SyncFailure) {
        var previous = request.top
        if let first = page.items.first, first.createdAt > previous {
            throw Self.discrediting("The server ignores the cursor: it repeats items that were already read.")
        }
        for item in page.items {
            if item.createdAt > previous {
                throw Self.discrediting("The server's page is not in the order of createdAt.")
            }
            previous = item.createdAt
        }
        if let cursor = page.nextCursor, page.count == request.limit, cursor > previous {
            throw Self.discrediting("The server's next_cursor is newer than the page's last item.")
        }
        try page.requireConsistency(TimelineRequest(.before(request.before), limit: request.limit))
    }

    static func contradictory(_ what: String) -> SyncFailure {
        broken("The server's page contradicts itself: \(what).")
    }

    /// Of a server that gives other pages than were asked for, so that those before are not believed either.
    static func discrediting(_ message: String) -> SyncFailure {
        var failure = broken(message)
        failure.discreditsPages = true
        return failure
    }

    private static func broken(_ message: String) -> SyncFailure {
        SyncFailure(
            .pageContradictory, message, consequence: "Nothing of that page was written.", verdict: .retry(after: nil))
    }
}

extension TimelinePage {
    /// Whether the page says the same in all that it says: the API's own promises, which a page keeps by itself.
    ///
    /// Dialect C gives a cursor exactly with a full page, and it is the time of the last item. Dialects P and E give as many
    /// items as their total leaves for the page.
    ///
    /// - Throws: `SyncFailure` with `page_contradictory`.
    func requireConsistency(_ request: TimelineRequest) throws(SyncFailure) {
        switch request.position {
        case .before:
            guard let cursor = nextCursor else {
                if count < request.limit { return }
                throw CursorPlan.contradictory("it has \(count) items of \(request.limit), and no next_cursor")
            }
            if count != request.limit {
                throw CursorPlan.contradictory("it has \(count) items of \(request.limit), and a next_cursor")
            }
            if let last = lastCreatedAt, cursor != last {
                throw CursorPlan.contradictory("its next_cursor is not the time of its last item")
            }
        case .page(let number):
            guard let total else { return }
            let expected = min(request.limit, max(0, total - (number - 1) * request.limit))
            if count != expected {
                throw CursorPlan.contradictory("it has \(count) items where \(expected) of \(total) belong")
            }
        }
    }
}

/// How many items a page may have: fewer once one was too large to be read, and slowly more again.
final class PageSize: Sendable {
    private struct State {
        var limit: Int
        /// Good ones since the limit was changed.
        var good = 0
        /// So many good ones let it grow.
        var needed: Int
        /// Whether it was let grow, which may turn out to have been too early.
        var hasGrown = false
    }

    let largest: Int
    let smallest: Int
    private let patience: Int
    private let state: Mutex<State>

    /// - Parameter patience: How many pages, or passes, are read with a smaller limit before a larger one is tried.
    init(largest: Int, smallest: Int, patience: Int) {
        self.largest = largest
        self.smallest = smallest
        self.patience = patience
        state = Mutex(State(limit: largest, needed: patience))
    }

    var limit: Int { state.withLock(\.limit) }
    var isReduced: Bool { limit < largest }

    /// Where growing fails again and again, it is tried after this many times the patience.
    private static let longestPatience = 64

    func reduce(to smaller: Int) {
        state.withLock { state in
            guard smaller < state.limit else { return }
            if state.hasGrown { state.needed = min(state.needed * 2, patience * Self.longestPatience) }
            state.hasGrown = false
            state.limit = max(smaller, smallest)
            state.good = 0
        }
    }

    /// - Returns: False where they are as small as they can be.
    func reduce(below current: Int) -> Bool {
        guard current > smallest else { return false }
        reduce(to: max(current / 2, smallest))
        return true
    }

    func noteGood() {
        state.withLock { state in
            state.good += 1
            guard state.good >= state.needed else { return }
            state.good = 0
            if state.limit < largest {
                state.limit = min(state.limit * 2, largest)
                state.hasGrown = true
            } else {
                state.needed = patience
                state.hasGrown = false
            }
        }
    }

    /// Reads pages that nothing is remembered of: with half as many items each where one was too large to be read.
    static func fitting<Answer>(
        _ largest: Int, _ read: (_ limit: Int) async throws(SyncFailure) -> Answer
    ) async throws(SyncFailure) -> Answer {
        var limit = largest
        while true {
            do throws(SyncFailure) {
                return try await read(limit)
            } catch {
                guard error.error.code == .answerTooLarge, limit > 1 else { throw error }
                limit /= 2
            }
        }
    }
}

/// How much any reader of the list may ask for: some times as many items as the copy has, those included that the read has
/// brought.
///
/// A server can make a list that never ends, of items that the copy has already, and so keep it reading without end.
struct PageBound {
    let store: Store
    private var asked = 0
    private var most = Self.atLeast

    private static let atLeast = 100_000
    private static let factor = 4

    init(store: Store) { self.store = store }

    /// Call before each page.
    ///
    /// - Parameter limit: How many items it is asked for.
    /// - Throws: `page_contradictory`.
    mutating func add(_ limit: Int) async throws(SyncFailure) {
        asked += limit
        guard asked > most else { return }
        most = Self.atLeast + Self.factor * (try await SyncFailure.from(try await store.rowCount()))
        guard asked > most else { return }
        throw CursorPlan.contradictory(
            "its list does not end, or has more than \(Count.text(most, "item")), far more than the copy")
    }
}
