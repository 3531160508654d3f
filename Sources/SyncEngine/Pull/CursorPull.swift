import PRSNLClient
import PRSNLCore
import Store

/// Carries out a `CursorPlan`: requests pages, hands them to the committer, and looks into timestamp collisions.
struct CursorPull {
    let store: Store
    let identity: Identity
    let time: TimeSource
    let committer: PageCommitter
    let size: PageSize
    /// Called with each page: how many items it had, and where on the timeline the pull stands.
    let onPage: @Sendable (_ items: Int, _ position: Timestamp?) -> Void

    enum End: Sendable, Equatable { case reachedBottom, gaveWay }

    /// Reads the interval from `top` (nil: the newest) down to `bottom`. What has been read is committed even when it
    /// fails, except where the failure is that it may be another account's.
    ///
    /// - Parameters:
    ///   - floor: Asked after each answer: reads down to there, where that is below `bottom`.
    /// - Returns: The oldest instant down to which all was read, too.
    func run(
        top: Timestamp?, bottom: Timestamp, floor: @Sendable () -> Timestamp = { .latest }, readAt: Timestamp,
        pageSize: Int, pacing: Pacing? = nil
    ) async throws(SyncFailure) -> (end: End, lowest: Timestamp) {
        do {
            var known: [KnownItem] = []
            if let top { known = try await store.known(from: top, limit: CursorPlan.largestPage) }
            let knownNewest = await store.coverage.newest ?? .earliest
            var plan = CursorPlan(
                top: top, bottom: bottom, readAt: readAt, limit: pageSize, knownNewest: knownNewest,
                newestPossible: max(time.now(), knownNewest), known: known)
            var step = CursorPlan.Step.request(plan.request)
            var bound = PageBound(store: store)
            var pages = 0
            var lowest = Timestamp.latest
            var session = try await identity.session()
            while true {
                try await bound.add(plan.request.limit)
                switch step {
                case .request:
                    let read = try await inSession(&session, &plan) { plan, session throws(SyncFailure) in
                        try await self.read(&plan, floor, session)
                    }
                    lowest = min(lowest, read.change.proven?.lowerBound ?? lowest)
                    try await committer.add(read.change, readIn: session, fetchTook: read.took)
                    onPage(read.change.items.count, read.change.items.last?.createdAt)
                    step = read.next
                    if step != .finished, let pacing {
                        pages += 1
                        let isSpent = pages >= pacing.mostPages
                        if !isSpent {
                            try await pacing.pause(after: read.took)
                            plan.asOf = nil
                        }
                        if isSpent || pacing.givesWay {
                            try await committer.flush()
                            return (.gaveWay, lowest)
                        }
                    }
                case .collision(let instant):
                    let change = try await inSession(&session, &plan) { plan, session throws(SyncFailure) in
                        try await explore(instant, plan, session)
                    }
                    try await committer.add(change, readIn: session, fetchTook: .zero)
                    step = plan.stepOver(instant)
                case .finished:
                    try await committer.flush()
                    return (.reachedBottom, lowest)
                }
            }
        } catch {
            let failure = SyncFailure(error)
            try await keepWhatWasRead(after: failure)
            throw failure
        }
    }

    private func keepWhatWasRead(after failure: SyncFailure) async throws(SyncFailure) {
        switch (failure.error.code, failure.origin) {
        case (.accountChanged, _), (.serverChanged, _), (.unauthorized, _), (.forbidden, _), (_, .session),
            (_, .database):
            await committer.abandon()
        case _ where failure.discreditsPages || failure.verdict == .cancelled: await committer.abandon()
        default: try await committer.flush()
        }
    }

    /// A session lasts for one group of pages, which are proven together.
    ///
    /// Where it ends, the rest is read in another one. What was read before is committed first, as far as it only repeats
    /// what the copy holds. Its proof fails where it does not.
    private func inSession<Answer>(
        _ session: inout ClientSession, _ plan: inout CursorPlan,
        _ read: (inout CursorPlan, ClientSession) async throws(SyncFailure) -> Answer
    ) async throws(SyncFailure) -> Answer {
        if committer.isBetweenGroups { session = try await identity.session() }
        let before = plan
        do throws(SyncFailure) {
            return try await read(&plan, session)
        } catch {
            guard error.origin == .session else { throw error }
            try await committer.flush()
            session = try await identity.session()
            plan = before
            return try await read(&plan, session)
        }
    }

    /// - Parameter asOf: deliveries when it was asked for.
    typealias Fetched = (page: TimelinePage, took: Duration, asOf: Int)

    func fetch(
        _ request: CursorPlan.Request, asOf known: Int? = nil, _ session: ClientSession
    ) async throws(SyncFailure) -> Fetched {
        let start = time.uptime()
        let asOf = if let known { known } else { await store.deliveries }
        committer.requests.add()
        let page = try await SyncFailure.from(
            try await session.timeline(TimelineRequest(.before(request.before), limit: request.limit)))
        try identity.check(page, is: .cursor)
        return (page, time.uptime() - start, asOf)
    }

    // MARK: Timestamp collisions

    /// How many limits in a row may bring nothing new before the rest is given up.
    private static let fruitlessTries = 4
    /// The most requests that one instant is worth.
    private static let mostTries = 24

    /// Which members of a timestamp collision a server shows depends on the limit: other limits reach others, if few. What is
    /// reached is kept, and the instant is reported, because nothing says whether it is all.
    private func explore(
        _ instant: Timestamp, _ plan: CursorPlan, _ session: ClientSession
    ) async throws(SyncFailure) -> PageChange {
        var found: [ByteText: TimelineItem] = [:]
        var rejected: [RejectedItem] = []
        var fruitless = 0
        var tries = 0
        let asOf = await store.deliveries
        var limit = plan.largestReadable
        while limit > 0, fruitless < Self.fruitlessTries, tries < Self.mostTries {
            tries += 1
            let page: TimelinePage
            do throws(SyncFailure) {
                page = try await fetch(.from(instant, limit: limit), session).page
            } catch {
                guard error.error.code == .answerTooLarge else { throw error }
                limit /= 2
                continue
            }
            let before = found.count
            for item in page.items where item.createdAt == instant { found[ByteText(item.id)] = item }
            if rejected.isEmpty { rejected = page.rejected }
            fruitless = found.count > before ? 0 : fruitless + 1
            limit -= 1
        }
        var change = PageChange(
            items: found.values.sorted { $0.id < $1.id }, rejected: rejected,
            coverage: plan.covered(instant, instant), collision: TimestampCollision(at: instant, seen: found.count))
        change.asOf = asOf
        return change
    }
}

// MARK: - One page

/// Reads one page, and believes it only where it fits what is known.
extension CursorPull {
    /// A page that may be believed, and what it proves.
    typealias Read = (change: PageChange, next: CursorPlan.Step, took: Duration)

    /// What speaks against a page.
    private enum Doubt {
        /// It breaks the API's promises by itself.
        case broken(SyncFailure)
        /// It lacks everything that it has to show: these.
        case lacks([String])
        /// It shows nothing of what the copy has there, among others these.
        case shares([String])
        /// Nothing is known that it would have to show.
        case unanchored(TimelinePage)
    }

    /// Asks for the plan's next page. One that contradicts itself, or what is known, is asked for again; if it still
    /// does, it proves nothing.
    func read(
        _ plan: inout CursorPlan, _ floor: () -> Timestamp, _ session: ClientSession
    ) async throws(SyncFailure) -> Read {
        var doubted: Doubt?
        var isRaised = false
        while true {
            guard let fetched = try await fetchWhatFits(&plan, session) else {
                return (PageChange(items: []), .collision(plan.request.top), .zero)
            }
            var after = plan
            after.lower(to: floor())
            let (read, doubt) = try await judge(fetched, &after)
            guard let doubt else {
                plan = after
                return read
            }
            guard let first = doubted else {
                doubted = doubt
                continue
            }
            switch doubt {
            case .broken(let failure): throw failure
            case .unanchored(let page):
                guard case .unanchored(let other) = first, other.isSame(as: page) else {
                    throw CursorPlan.contradictory("asked for twice, it is another one each time")
                }
                plan = after
                return read
            case .shares(let ids):
                if try await hasAny(of: ids, session) {
                    throw CursorPlan.contradictory("it shows nothing of what the server still has in that interval")
                }
                plan = after
                return read
            case .lacks(let ids):
                if try await !hasAny(of: ids, session) {
                    plan.forgetAnchors()
                } else if isRaised {
                    throw CursorPlan.contradictory("it does not go on where the page before it has ended")
                } else if plan.raise() {
                    isRaised = true
                } else {
                    // A single item is known, and the server hides it.
                    plan.forgetAnchors()
                }
                doubted = nil
            }
        }
    }

    private func judge(
        _ fetched: Fetched, _ plan: inout CursorPlan
    ) async throws(SyncFailure) -> (read: Read, doubt: Doubt?) {
        let before = plan
        var read: Read = (PageChange(items: []), .finished, fetched.took)
        do throws(SyncFailure) {
            (read.change, read.next) = try plan.take(fetched.page)
        } catch {
            return (read, .broken(error))
        }
        read.change.asOf = fetched.asOf
        read.change.bytes = fetched.page.bytes
        guard before.isAnchored(fetched.page) else { return (read, .lacks(before.anchors.map(\.id))) }
        let unshared = try await SyncFailure.from(
            try await store.unshared(by: read.change, moreThan: Self.believableAbsence))
        if !unshared.ids.isEmpty { return (read, .shares(unshared.ids)) }
        plan.asOf = unshared.deliveries
        return (read, before.isUnanchored ? .unanchored(fetched.page) : nil)
    }

    /// So many items that are known in an interval may all be gone from the list at once: they become deletion candidates, and
    /// are asked for one by one.
    private static let believableAbsence = 5
    /// How many items are asked for by their id, to see who is right.
    static let witnesses = 3

    /// Whether the server still has one of these items.
    private func hasAny(of ids: [String], _ session: ClientSession) async throws(SyncFailure) -> Bool {
        for id in ids.prefix(Self.witnesses) {
            committer.requests.add()
            do throws(APIError) {
                guard try await session.itemExists(id) else { continue }
            } catch {
                // A server that cannot answer for this item has not said that it is gone.
                guard !error.saysNothingOfTheItem else { throw SyncFailure(error) }
            }
            // Items of any account are found by their id. The page may be another account's, and that is then the failure.
            try await identity.prove(session, counting: committer.requests)
            return true
        }
        return false
    }

    // MARK: Pages that are too large

    /// - Returns: `nil` where not all of an instant can be read, because it is too large.
    private func fetchWhatFits(
        _ plan: inout CursorPlan, _ session: ClientSession
    ) async throws(SyncFailure) -> Fetched? {
        plan.allow(size.limit)
        while true {
            do throws(SyncFailure) {
                let fetched = try await fetch(plan.request, asOf: plan.asOf, session)
                size.noteGood()
                return fetched
            } catch {
                guard error.error.code == .answerTooLarge, let step = plan.reduce() else { throw error }
                guard case .request(let smaller) = step else { return nil }
                size.reduce(to: smaller.limit)
            }
        }
    }
}

extension APIError {
    /// Whether the next request would probably fail as well, whatever it asks for.
    fileprivate var saysNothingOfTheItem: Bool {
        switch kind {
        case .networkError, .rateLimitExceeded, .serviceUnavailable, .unauthorized, .loginExpired, .loginFailed,
            .forbidden, .sessionEnded:
            true
        case .notFound, .invalidInput, .conflict, .serverError, .decodingError, .unknown: false
        }
    }
}

extension TimelinePage {
    /// Whether both have the same place on the timeline.
    fileprivate func isSame(as other: TimelinePage) -> Bool {
        nextCursor == other.nextCursor && items.map { ByteText($0.id) } == other.items.map { ByteText($0.id) }
    }
}
