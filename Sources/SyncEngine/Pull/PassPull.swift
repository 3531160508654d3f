import PRSNLClient
import PRSNLCore
import Store

/// Reads dialects P and E, whose pages shift while one reads them: a whole pass counts only when its pages fit together.
struct PassPull {
    let identity: Identity
    let store: Store
    let time: TimeSource
    let dialect: Dialect
    let committer: PageCommitter
    let size: PageSize
    let onPage: @Sendable (_ items: Int, _ total: Int?) -> Void

    /// Passes in a row that may be spoilt by changes before the pull gives up for now.
    static let mostPasses = 5
    /// Below this many items, the small server is asked for all at once: one answer cannot shift.
    static let allAtOnce = 2_000

    private var largestPage: Int { min(size.limit, dialect == .express ? 1_000 : 100) }

    /// Reads everything, until a pass holds.
    ///
    /// - Returns: How many items there are.
    /// - Throws: `SyncFailure` with `timeline_unsettled` after five passes that did not; what they read is kept.
    func run(pacing: Pacing?) async throws(SyncFailure) -> Int {
        do {
            for _ in 0..<Self.mostPasses {
                // These dialects name no account, but pages of two of them do not make a list.
                let session = try await identity.session()
                try await store.beginPass()
                let asOf = await store.deliveries
                let pass = try await onePassWithPagesThatFit(session, pacing)
                try await committer.flush()
                guard let pass else { continue }
                try await finish(startedAt: pass.startedAt, asOf: asOf)
                return pass.total
            }
        } catch {
            let failure = SyncFailure(error)
            switch (failure.error.code, failure.origin) {
            case (.serverChanged, _), (.unauthorized, _), (.forbidden, _), (_, .session): await committer.abandon()
            case _ where failure.discreditsPages: await committer.abandon()
            case (_, .server), (_, .renewal): try await committer.flush()
            case (_, .database): break
            }
            throw failure
        }
        throw SyncFailure(
            .timelineUnsettled, "The timeline changed during each of \(Self.mostPasses) passes.",
            consequence: "New items were kept; deletions are not known.", verdict: .retry(after: nil))
    }

    private func finish(startedAt start: Timestamp, asOf: Int) async throws {
        try await store.forgetUnversionedTexts()
        if try await store.isAsSeen(), await store.coverage.isComplete, !committer.record.hasChanges {
            let all = Coverage.Interval(from: .earliest, to: .latest, readAt: start)
            await store.noteUnchanged([PageChange(items: [], coverage: all)])
            return try await store.saveCoverage()
        }
        committer.record = try await store.finishPass(
            startedAt: start, at: time.now(), record: committer.record, asOf: asOf)
    }

    // MARK: One pass

    /// The small server sends whole texts; a page of them may be larger than an answer may be.
    private func onePassWithPagesThatFit(
        _ session: ClientSession, _ pacing: Pacing?
    ) async throws -> (total: Int, startedAt: Timestamp)? {
        while true {
            do {
                let pass = try await onePass(session, pacing)
                size.noteGood()
                return pass
            } catch let error as APIError {
                guard case .networkError(.answerTooLarge) = error.kind, size.reduce(below: largestPage) else {
                    throw error
                }
                try await store.beginPass()
            }
        }
    }

    /// - Returns: How many items there are, where the pages fit together, and when the first of them was read.
    private func onePass(
        _ session: ClientSession, _ pacing: Pacing?
    ) async throws -> (total: Int, startedAt: Timestamp)? {
        var start = time.now()
        let first = try await fetch(OverlappingPages.Page(number: 1, limit: largestPage), session)
        guard let total = first.page.total else { throw Self.noTotal }
        if first.page.count == 0, try await !isEmpty(session) { return nil }
        if dialect == .express, !size.isReduced, total > largestPage, total < Self.allAtOnce {
            let all = try await fetch(OverlappingPages.Page(number: 1, limit: Self.allAtOnce), session)
            try await take(all, session)
            return all.page.total == total && all.page.count == total ? (total, start) : nil
        }
        let isComplete = await store.coverage.isComplete
        let isFirstPass = dialect == .page && !isComplete
        var last = first
        if isFirstPass, let rest = try await rest(of: first, session) {
            (last, start) = rest
            onPage(last.number.start, total)
            try await store.beginPass(goesOn: true)
        }
        try await take(last, session, since: isFirstPass ? start : nil)
        var bound = PageBound(store: store)
        while last.number.start + last.page.count < total {
            try await pacing?.pause(after: last.took)
            try await bound.add(largestPage)
            let end = last.number.start + last.page.count
            let next = try await fetch(OverlappingPages.following(end, largest: largestPage), session)
            if next.number.start > 0, next.repeats(first) {
                throw CursorPlan.discrediting("The server ignores the page number: each page is the first.")
            }
            try await take(next, session, since: isFirstPass ? start : nil)
            guard next.page.total == total, next.follows(last), next.number.start + next.page.count > end else {
                return nil
            }
            last = next
        }
        guard last.number.start + last.page.count == total else { return nil }
        guard last.number != first.number else { return (total, start) }
        return try await isUnchanged(first, session) ? (total, start) : nil
    }

    /// Where a process was killed that made the first pass, the copy has the first items of the list, and nothing else. If
    /// page 1 is as it is in the copy, and the list goes on with what is new where the copy ends, nothing has shifted.
    ///
    /// - Returns: The page that goes on, and when the pass began.
    private func rest(of first: Fetched, _ session: ClientSession) async throws -> (Fetched, Timestamp)? {
        guard let start = await store.coverage.intervals.first?.readAt else { return nil }
        let end = try await store.liveCount() + store.rejectedCount()
        guard end > first.page.count, try await store.novelty(of: [first.change]) == .repeats else { return nil }
        let next = try await fetch(OverlappingPages.following(end, largest: largestPage), session)
        var (known, new) = (next.change, next.change)
        known.items = Array(next.page.items.prefix(end - next.number.start))
        new.items = Array(next.page.items.dropFirst(known.items.count).prefix(1))
        guard next.page.total == first.page.total, next.page.rejected.isEmpty,
            try await store.novelty(of: [known]) == .repeats
        else { return nil }
        let goesOn = try await store.novelty(of: [new]) == .news
        return goesOn || new.items.isEmpty ? (next, start) : nil
    }

    /// Page 1 once more: on both dialects, what is new (and on E, what was edited) shows there.
    private func isUnchanged(_ first: Fetched, _ session: ClientSession) async throws -> Bool {
        let again = try await fetch(first.number, session, etag: first.page.etag)
        if again.page.notModified { return true }
        return again.page.total == first.page.total && again.page.items == first.page.items && again.ids == first.ids
    }

    /// One well-formed empty list proves nothing: it has to say so twice, and not to contradict what the server has.
    private func isEmpty(_ session: ClientSession) async throws -> Bool {
        let again = try await fetch(OverlappingPages.Page(number: 1, limit: largestPage), session)
        guard again.page.count == 0, again.page.total == 0 else { return false }
        for known in try await store.known(from: .earliest, limit: CursorPull.witnesses) {
            committer.requests.add()
            if try await session.itemExists(known.id) {
                throw CursorPlan.contradictory("it is empty, and the server still has an item of the copy")
            }
        }
        return true
    }

    /// - Parameter start: Of the first pass. The file notes how far it has come, so that another process can go on.
    private func take(_ fetched: Fetched, _ session: ClientSession, since start: Timestamp? = nil) async throws {
        let page = fetched.page
        try await store.noteSeen(page.items.map(\.id) + page.rejected.compactMap(\.id))
        var change = fetched.change
        if let start, let last = page.items.last?.createdAt {
            change.coverage = Coverage.Interval(from: last, to: .latest, readAt: start)
        }
        try await committer.add(change, readIn: session, fetchTook: fetched.took)
        onPage(page.items.count, page.total)
    }

    // MARK: Polling the head

    /// What a poll of the newest pages found.
    struct Head: Sendable {
        /// The server says that its list is as it was.
        var isUnchanged = false
        /// All that was shown since the last poll is here. Else a pass has to find out.
        var isProven = true
        var total = 0
        /// Of a first page that shows all that may be new at the next poll: the same page again then proves as much.
        var etag: String?
    }

    /// Reads from the top until a page brings nothing new and reaches below what may have been added since the last poll.
    ///
    /// A page without news is not enough: items dated in the future may fill it, and an item that was hidden comes back below
    /// newer ones. Nor is the total, which stays the same where as many items were deleted.
    ///
    /// Until then the file says that the head is open: one that was interrupted must be followed by a pass.
    ///
    /// - Parameters:
    ///   - etag: Of the last such answer; the server then says in one short answer that nothing has changed.
    ///   - lastPoll: When the last poll that counts began.
    func head(etag: String?, pageSize: Int, lastPoll: Timestamp) async throws(SyncFailure) -> Head {
        for _ in 0..<Self.mostPasses {
            let limit = min(pageSize, largestPage)
            do throws(SyncFailure) {
                if let head = try await pollHead(etag: etag, limit: limit, lastPoll: lastPoll) { return head }
            } catch {
                guard error.error.code == .answerTooLarge, size.reduce(below: limit) else { throw error }
            }
        }
        return Head(isProven: false)
    }

    /// - Returns: `nil` where the pages shifted while they were read.
    private func pollHead(etag: String?, limit: Int, lastPoll: Timestamp) async throws(SyncFailure) -> Head? {
        let session = try await identity.session()
        let start = time.now()
        do {
            var page = try await fetch(OverlappingPages.Page(number: 1, limit: limit), session, etag: etag)
            if page.page.notModified { return Head(isUnchanged: true, etag: etag) }
            guard let total = page.page.total else { throw Self.noTotal }
            // An empty page of a list that is not.
            if page.page.count == 0, total > 0 { return Head(isProven: false) }
            let isWhole = page.page.count >= total
            let head = Head(
                total: total, etag: isWhole || reaches(page, below: start) ? page.page.etag : nil)
            var isOpen = false
            var bound = PageBound(store: store)
            while true {
                try await bound.add(largestPage)
                let change = page.change
                let end = page.number.start + page.page.count
                let isNews = try await store.novelty(of: [change]) == .news
                let isLast = end >= total || !isNews && reaches(page, below: lastPoll)
                if !isLast, isNews, !isOpen {
                    try await store.setHeadOpen(true)
                    isOpen = true
                }
                try await committer.add(change, readIn: session, fetchTook: page.took)
                onPage(page.page.items.count, page.page.total)
                if isLast { break }
                let next = try await fetch(OverlappingPages.following(end, largest: largestPage), session)
                guard next.page.total == total, next.follows(page) else {
                    try await committer.flush()
                    return nil
                }
                page = next
            }
            try await committer.flush()
            if isOpen { try await store.setHeadOpen(false) }
            return head
        } catch {
            await committer.abandon()
            throw SyncFailure(error)
        }
    }

    /// Whether the page ends with an item that the server dated before a poll, by more than items come late.
    private func reaches(_ page: Fetched, below poll: Timestamp) -> Bool {
        guard let last = page.page.items.last else { return false }
        let place = dialect == .express ? last.updatedAt ?? last.createdAt : last.createdAt
        // Where the server's clock is behind ours, its newest items look older.
        let behind = min(identity.client.serverClockOffset ?? .zero, .zero)
        return place < min(poll, time.now()).advanced(by: behind - Puller.overlap)
    }

    private static let noTotal = SyncFailure(
        .unexpectedShape, "The server's page does not say how many items there are.", verdict: .retry(after: nil))

    // MARK: Requests

    private struct Fetched {
        var number: OverlappingPages.Page
        var page: TimelinePage
        var took: Duration
        /// Deliveries when it was asked for.
        var asOf: Int

        var change: PageChange {
            var change = PageChange(items: page.items, rejected: page.rejected)
            change.asOf = asOf
            change.bytes = page.bytes
            return change
        }

        var ids: [ByteText] { page.items.map { ByteText($0.id) } }

        /// Whether this page is that one again, under another number.
        func repeats(_ other: Fetched) -> Bool {
            let count = min(page.items.count, other.page.items.count)
            return count > 1 && ids.prefix(count) == other.ids.prefix(count)
        }

        /// Whether this page begins with what the other one ended with. Exact by position where every element of both
        /// could be read; else the last item must at least be there.
        func follows(_ other: Fetched) -> Bool {
            guard let last = other.ids.last else { return false }
            let overlap = other.number.start + other.page.count - number.start
            if page.items.count == page.count, other.page.items.count == other.page.count, overlap >= 1,
                overlap <= page.items.count, overlap <= other.page.items.count
            {
                return ids.prefix(overlap) == other.ids.suffix(overlap)
            }
            return ids.contains(last)
        }
    }

    private func fetch(
        _ number: OverlappingPages.Page, _ session: ClientSession, etag: String? = nil
    ) async throws -> Fetched {
        let start = time.uptime()
        let asOf = await store.deliveries
        committer.requests.add()
        let page = try await session.timeline(
            TimelineRequest(.page(number.number), limit: number.limit, etag: etag))
        if !page.notModified { try identity.check(page, is: dialect) }
        return Fetched(number: number, page: page, took: time.uptime() - start, asOf: asOf)
    }
}

/// Pages by number that overlap by at least one item, so that each can be seen to follow the one before it.
///
/// Offsets are (page - 1) × limit, so a page begins only at a multiple of its limit: the limit is varied until a page
/// begins at or a little before the last item that is already known, and reaches as far as possible.
enum OverlappingPages {
    struct Page: Sendable, Equatable {
        /// From 1.
        var number: Int
        var limit: Int
        var start: Int { (number - 1) * limit }
        /// The offset after its last item, if it is full.
        var end: Int { number * limit }
    }

    /// - Parameters:
    ///   - end: The offset after the last item read; at least 1.
    ///   - largest: The largest limit that the server takes; at least 20: some limit then does not divide `end`.
    static func following(_ end: Int, largest: Int) -> Page {
        var best = Page(number: end, limit: 1)
        for limit in stride(from: largest, to: max(1, largest / 2), by: -1) {
            let page = Page(number: (end - 1) / limit + 1, limit: limit)
            if page.end > best.end { best = page }
        }
        return best
    }
}
