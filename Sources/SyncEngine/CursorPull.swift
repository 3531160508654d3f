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
    /// Called with each page: how many items it had, and where on the timeline the pull stands.
    let onPage: @Sendable (_ items: Int, _ position: Timestamp?) -> Void

    enum End: Sendable, Equatable { case reachedBottom, gaveWay }

    /// Reads the stretch from `top` (nil: the newest) down to `bottom`. What has been read is committed even when it
    /// fails, except where the failure is that it may be somebody else's.
    ///
    /// - Parameters:
    ///   - knownNewest: The newest instant that the copy covers already.
    ///   - pace: Waits between two requests; called with what the last one took.
    ///   - givesWay: Whether something more urgent waits; asked between two requests.
    func run(
        top: Timestamp?, bottom: Timestamp, readAt: Timestamp, pageSize: Int, knownNewest: Timestamp = .earliest,
        pace: (Duration) async throws -> Void = { _ in }, givesWay: () -> Bool = { false }
    ) async throws(PullFailure) -> End {
        var plan = CursorPlan(
            top: top, bottom: bottom, readAt: readAt, limit: pageSize, knownNewest: knownNewest,
            newestPossible: max(time.now(), knownNewest))
        do {
            var step = CursorPlan.Step.request(plan.request)
            while true {
                switch step {
                case .request(let request):
                    let witness = CredentialsWitness()
                    let (page, took, asOf) = try await fetch(request, witness)
                    var (change, next) = try plan.take(page)
                    change.asOf = asOf
                    try await committer.add(change, readWith: witness, fetchTook: took)
                    onPage(page.items.count, page.items.last?.createdAt)
                    step = next
                    if next != .finished {
                        try await pace(took)
                        if givesWay() {
                            try await committer.flush()
                            return .gaveWay
                        }
                    }
                case .crowded(let instant):
                    let witness = CredentialsWitness()
                    let change = try await explore(instant, readAt: readAt, witness)
                    try await committer.add(change, readWith: witness, fetchTook: .zero)
                    step = plan.stepOver(instant)
                case .finished:
                    try await committer.flush()
                    return .reachedBottom
                }
            }
        } catch {
            let failure = PullFailure(error)
            try await keepWhatWasRead(after: failure)
            throw failure
        }
    }

    private func keepWhatWasRead(after failure: PullFailure) async throws(PullFailure) {
        switch failure.error.code {
        case .accountChanged, .serverChanged, .unauthorized, .forbidden, .pagesIgnored, .pageDisordered:
            await committer.abandon()
        default:
            if failure.endpoint == "database" || failure.verdict == .cancelled || failure.isOfRenewal {
                await committer.abandon()
            } else {
                try await committer.flush()
            }
        }
    }

    private func fetch(
        _ request: CursorPlan.Request, _ witness: CredentialsWitness
    ) async throws(PullFailure) -> (page: TimelinePage, took: Duration, asOf: Int) {
        let start = time.uptime()
        let asOf = await store.deliveries
        requests.add()
        do {
            let page = try await client.timeline(
                TimelineRequest(.before(request.before), limit: request.limit), witness: witness)
            try identity.check(page, is: .cursor)
            return (page, time.uptime() - start, asOf)
        } catch {
            throw PullFailure(error)
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
        _ instant: Timestamp, readAt: Timestamp, _ witness: CredentialsWitness
    ) async throws(PullFailure) -> PageChange {
        var found: [ByteText: TimelineItem] = [:]
        var rejected: [RejectedItem] = []
        var fruitless = 0
        var tries = 0
        let asOf = await store.deliveries
        var limit = CursorPlan.largestPage
        while limit > 0, fruitless < Self.fruitlessTries, tries < Self.mostTries {
            let page = try await fetch(CursorPlan.Request(before: instant.next, limit: limit), witness).page
            let before = found.count
            for item in page.items where item.createdAt == instant { found[ByteText(item.id)] = item }
            if tries == 0 { rejected = page.rejected }
            fruitless = found.count > before ? 0 : fruitless + 1
            tries += 1
            limit -= 1
        }
        var change = PageChange(
            items: found.values.sorted { $0.id < $1.id }, rejected: rejected,
            coverage: Coverage.Interval(from: instant, to: instant, readAt: readAt),
            crowded: CrowdedInstant(at: instant, seen: found.count))
        change.asOf = asOf
        return change
    }
}
