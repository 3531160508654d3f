import PRSNLClient
import PRSNLCore
import Store

/// Reads the newest items of the server: before a creation is sent, to know what is there, and afterwards to look for it.
struct NewestItems: Sendable {
    let session: ClientSession
    let identity: Identity
    let dialect: Dialect

    private static let pageSize = 100
    private static let mostPages = 50

    /// What the server has just before a creation is sent: the newest page. Items with times that its clock does not show yet
    /// stand above what is made now, so that it is read on below them.
    func evidence() async throws(SyncFailure) -> SendEvidence {
        try await PageSize.fitting(Self.pageSize) { limit throws(SyncFailure) in
            var evidence = SendEvidence(knownIDs: [])
            let end = try await readDown(limit) { page in
                evidence.knownIDs += page.items.map(\.id) + page.rejected.compactMap(\.id)
                guard let now = identity.client.serverTime, let last = page.items.last else { return true }
                return place(last) < now.advanced(by: .zero - Self.clockTolerance)
            }
            evidence.knownDownTo = end.map(place)
            return evidence
        }
    }

    /// Below the server's clock: what it makes next may have a time so much earlier.
    private static let clockTolerance: Duration = .seconds(60)

    /// What the timeline is sorted by. The small server's is the last change, which is never before the creation.
    private func place(_ item: TimelineItem) -> ServerTime {
        ServerTime(dialect == .express ? item.updatedAt ?? item.createdAt : item.createdAt)
    }

    private var firstPage: TimelineRequest.Position { dialect == .cursor ? .before(nil) : .page(1) }

    /// Reads the newest pages, as far down as a candidate can be.
    func candidates(of search: CreationSearch) async throws(SyncFailure) -> [TimelineItem] {
        try await PageSize.fitting(Self.pageSize) { limit throws(SyncFailure) in try await candidates(of: search, limit)
        }
    }

    private func candidates(
        of search: CreationSearch, _ limit: Int
    ) async throws(SyncFailure) -> [TimelineItem] {
        var found: [ByteText: TimelineItem] = [:]
        _ = try await readDown(limit) { page in
            for item in page.items where search.isCandidate(item) { found[ByteText(item.id)] = item }
            return page.items.last.map { place($0) < search.oldest } ?? true
        }
        return found.values.sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }
    }

    /// Reads page by page from the newest item on.
    ///
    /// - Parameter isEnough: is given each page; whether nothing below it is wanted.
    /// - Returns: the last item that was read, where there may be more below it.
    private func readDown(
        _ limit: Int, _ isEnough: (TimelinePage) -> Bool
    ) async throws(SyncFailure) -> TimelineItem? {
        var position = firstPage
        var boundary: Timestamp?
        var number = 1
        while true {
            guard number <= Self.mostPages * Self.pageSize / limit else {
                throw SyncFailure(
                    UserFacingError(
                        .timelineUnsettled, "So many items are newer than the write that it could not be looked for."),
                    verdict: .retry(after: nil))
            }
            var page = try await page(position, limit)
            // One well-formed empty page proves nothing: it would have a note sent twice.
            if page.count == 0 { page = try await self.page(position, limit) }
            // Each page begins with what the one before it has ended with.
            if let boundary, page.items.first?.createdAt != boundary {
                throw CursorPlan.contradictory("it does not go on where the page before it has ended")
            }
            number += 1
            let isEnough = isEnough(page)
            guard page.count >= limit, let last = page.items.last else { return nil }
            if isEnough { return last }
            // One microsecond above the last: items that share its time are not skipped. A page of nothing but that time
            // is stepped over.
            let next = TimelineRequest.Position.before(last.createdAt.next)
            let isCollision = position == next
            boundary = dialect == .cursor && !isCollision ? last.createdAt : nil
            position = dialect != .cursor ? .page(number) : isCollision ? .before(last.createdAt) : next
        }
    }

    /// One that contradicts itself tells nothing of what is there and what is not.
    private func page(
        _ position: TimelineRequest.Position, _ limit: Int
    ) async throws(SyncFailure) -> TimelinePage {
        let request = TimelineRequest(position, limit: limit)
        let page: TimelinePage
        do {
            page = try await session.timeline(request)
        } catch {
            throw SyncFailure(error)
        }
        try identity.check(page, is: dialect)
        try page.requireConsistency(request)
        return page
    }
}
