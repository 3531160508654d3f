import PRSNLClient
import PRSNLCore
import Store

/// Reads one stretch of a dialect C timeline, newest first: decides what each page proves and what to ask for next.
///
/// The server's cursor is strict (`created_at < cursor`) and knows no tie-break, so that the items that share a page's
/// last timestamp may be cut in two. Each page therefore proves only what lies above its last timestamp, and the next
/// request begins one microsecond above it. A value without I/O.
struct CursorPlan: Sendable, Equatable {
    /// What the next request asks for.
    struct Request: Sendable, Equatable {
        /// Strictly before this; `nil` for the top of the timeline.
        var before: Timestamp?
        var limit: Int
    }

    enum Step: Sendable, Equatable {
        case request(Request)
        /// All of a full page has this one timestamp: there may be more of them than the server shows.
        case crowded(Timestamp)
        case finished
    }

    /// The most that dialect C gives at once.
    static let largestPage = 100

    /// Read down to here, included.
    let bottom: Timestamp
    /// When the read began, for the coverage.
    let readAt: Timestamp
    /// The newest instant that the copy covers already: a page from the top proves up to there too, also where the
    /// server has nothing so new any more.
    private let knownNewest: Timestamp
    /// What lies above this can still be added to.
    private let newestPossible: Timestamp
    private let limit: Int
    private(set) var request: Request

    /// - Parameters:
    ///   - top: The newest instant to read, or `nil` for whatever is newest.
    ///   - bottom: The oldest.
    init(
        top: Timestamp?, bottom: Timestamp, readAt: Timestamp, limit: Int, knownNewest: Timestamp = .earliest,
        newestPossible: Timestamp = .latest
    ) {
        self.bottom = bottom
        self.newestPossible = newestPossible
        self.knownNewest = knownNewest
        self.readAt = readAt
        self.limit = min(max(limit, 1), Self.largestPage)
        request = Request(before: top?.next, limit: self.limit)
    }

    /// Takes the answer to `request`.
    ///
    /// - Throws: `PullFailure` with `pages_ignored` or `page_disordered` for an answer that breaks the API's order, of
    ///   which nothing may be believed.
    mutating func take(_ page: TimelinePage) throws(PullFailure) -> (change: PageChange, next: Step) {
        try check(page)
        let top = request.before?.previous ?? .latest
        // Not beyond the time of reading: an item dated tomorrow does not mean that today has been read.
        let newest =
            request.before == nil
            ? min(max(page.items.first?.createdAt ?? .earliest, knownNewest), newestPossible) : top
        guard let last = page.nextCursor else {
            let change = PageChange(
                items: page.items, rejected: page.rejected, proven: .earliest...top,
                coverage: Coverage.Interval(from: .earliest, to: newest, readAt: readAt))
            return (change, .finished)
        }
        if let before = request.before, last.next == before {
            return (PageChange(items: page.items, rejected: page.rejected), crowded(last))
        }
        let lowest = last.next
        let change = PageChange(
            items: page.items, rejected: page.rejected, proven: lowest...top,
            coverage: lowest <= newest ? Coverage.Interval(from: lowest, to: newest, readAt: readAt) : nil)
        if lowest <= bottom { return (change, .finished) }
        request = Request(before: lowest, limit: limit)
        return (change, .request(request))
    }

    /// A full page of one timestamp. With smaller pages than the server allows, ask for the largest before giving up.
    private mutating func crowded(_ instant: Timestamp) -> Step {
        if request.limit < Self.largestPage {
            request.limit = Self.largestPage
            return .request(request)
        }
        return .crowded(instant)
    }

    /// Goes on below an instant that could not be read whole.
    mutating func stepOver(_ instant: Timestamp) -> Step {
        if instant <= bottom { return .finished }
        request = Request(before: instant, limit: limit)
        return .request(request)
    }

    private func check(_ page: TimelinePage) throws(PullFailure) {
        var previous = request.before?.previous ?? .latest
        if let first = page.items.first, first.createdAt > previous {
            throw Self.broken(.pagesIgnored, "The server ignores the cursor: it repeats items that were already read.")
        }
        for item in page.items {
            if item.createdAt > previous {
                throw Self.broken(.pageDisordered, "The server's page is not in the order of createdAt.")
            }
            previous = item.createdAt
        }
        if let cursor = page.nextCursor, cursor > previous {
            throw Self.broken(.pageDisordered, "The server's next_cursor is newer than the page's last item.")
        }
    }

    private static func broken(_ code: ErrorCode, _ message: String) -> PullFailure {
        PullFailure(
            UserFacingError(code, message, consequence: "Nothing of that page was written."),
            verdict: .retry(after: nil))
    }
}
