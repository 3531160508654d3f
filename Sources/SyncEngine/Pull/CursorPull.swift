import PRSNLClient
import PRSNLCore
import Store

/// Carries out a `CursorPlan`: requests pages, hands them to the committer, and looks into crowded instants.
struct CursorPull {
    let store: Store
    let client: PRSNLClient
    let identity: Identity
    let time: TimeSource
    let committer: PageCommitter
    let requests: RequestCounter
    let size: PageSize
    /// Called with each page: how many items it had, and where on the timeline the pull stands.
    let onPage: @Sendable (_ items: Int, _ position: Timestamp?) -> Void

    enum End: Sendable, Equatable { case reachedBottom, gaveWay }

    /// Reads the stretch from `top` (nil: the newest) down to `bottom`. What has been read is committed even when it
    /// fails, except where the failure is that it may be somebody else's.
    ///
    /// - Parameters:
    ///   - knownNewest: The newest instant that the copy covers already.
    func run(
        top: Timestamp?, bottom: Timestamp, readAt: Timestamp, pageSize: Int, knownNewest: Timestamp = .earliest,
        pacing: SweepPacing? = nil
    ) async throws(SyncFailure) -> End {
        do {
            var known: [KnownItem] = []
            if let top { known = try await store.known(from: top, limit: CursorPlan.largestPage) }
            var plan = CursorPlan(
                top: top, bottom: bottom, readAt: readAt, limit: pageSize, knownNewest: knownNewest,
                newestPossible: max(time.now(), knownNewest), known: known)
            var step = CursorPlan.Step.request(plan.request)
            var bound = PageBound(store: store)
            var session = client.session()
            while true {
                try await bound.add(plan.request.limit)
                switch step {
                case .request:
                    let read = try await inSession(&session, &plan) { plan, session throws(SyncFailure) in
                        try await self.read(&plan, session)
                    }
                    try await committer.add(read.change, readIn: session, fetchTook: read.took)
                    onPage(read.change.items.count, read.change.items.last?.createdAt)
                    step = read.next
                    if step != .finished, let pacing {
                        try await pacing.pause(after: read.took)
                        if pacing.givesWay {
                            try await committer.flush()
                            return .gaveWay
                        }
                    }
                case .crowded(let instant):
                    let change = try await inSession(&session, &plan) { plan, session throws(SyncFailure) in
                        try await explore(instant, plan, session)
                    }
                    try await committer.add(change, readIn: session, fetchTook: .zero)
                    step = plan.stepOver(instant)
                case .finished:
                    try await committer.flush()
                    return .reachedBottom
                }
            }
        } catch {
            let failure = SyncFailure(error)
            try await keepWhatWasRead(after: failure)
            throw failure
        }
    }

    private func keepWhatWasRead(after failure: SyncFailure) async throws(SyncFailure) {
        switch failure.error.code {
        case .accountChanged, .serverChanged, .unauthorized, .forbidden, .pagesIgnored, .pageDisordered:
            await committer.abandon()
        default:
            switch failure.origin {
            case .server, .renewal: break
            case .session, .database: return await committer.abandon()
            }
            if failure.verdict == .cancelled { return await committer.abandon() }
            try await committer.flush()
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
        if committer.isBetweenGroups { session = client.session() }
        let before = plan
        do throws(SyncFailure) {
            return try await read(&plan, session)
        } catch {
            guard error.origin == .session else { throw error }
            try await committer.flush()
            session = client.session()
            plan = before
            return try await read(&plan, session)
        }
    }

    struct Fetched {
        var page: TimelinePage
        var took: Duration
        /// Deliveries when it was asked for.
        var asOf: Int
    }

    func fetch(
        _ request: CursorPlan.Request, _ session: ClientSession
    ) async throws(SyncFailure) -> Fetched {
        let start = time.uptime()
        let asOf = await store.deliveries
        requests.add()
        do {
            let page = try await session.timeline(TimelineRequest(.before(request.before), limit: request.limit))
            try identity.check(page, is: .cursor)
            return Fetched(page: page, took: time.uptime() - start, asOf: asOf)
        } catch {
            throw SyncFailure(error)
        }
    }

    // MARK: Crowded instants

    /// How many limits in a row may bring nothing new before the rest is given up.
    private static let fruitlessTries = 4
    /// The most requests that one instant is worth.
    private static let mostTries = 24

    /// Which members of a crowded instant a server shows depends on the limit: other limits reach others, if few. What is
    /// reached is kept, and the instant is reported, because nobody can say whether it is all.
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
            coverage: plan.covered(instant, instant), crowded: CrowdedInstant(at: instant, seen: found.count))
        change.asOf = asOf
        return change
    }
}
