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

    /// What the server has just before a creation is sent.
    func evidence() async throws(SyncFailure) -> SendEvidence {
        let (page, limit) = try await PageSize.fitting(Self.pageSize) { limit throws(SyncFailure) in
            (try await self.page(firstPage, limit), limit)
        }
        return SendEvidence(
            knownIDs: page.items.map(\.id) + page.rejected.compactMap(\.id),
            knownDownTo: page.count >= limit ? page.items.last.map(place) : nil)
    }

    /// What the timeline is sorted by. The small server's is the last change, which is never before the creation.
    private func place(_ item: TimelineItem) -> Timestamp {
        dialect == .express ? item.updatedAt ?? item.createdAt : item.createdAt
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
        var position = firstPage
        var boundary: Timestamp?
        var number = 1
        var reachedPast = false
        while !reachedPast {
            guard number <= Self.mostPages * Self.pageSize / limit else {
                throw SyncFailure(
                    UserFacingError(
                        .timelineUnsettled, "So many items are newer than the write that it could not be looked for."),
                    verdict: .retry(after: nil))
            }
            let page = try await page(position, limit)
            // Each page begins with what the one before it has ended with.
            if let boundary, page.items.first?.createdAt != boundary {
                throw CursorPlan.contradictory("it does not go on where the page before it has ended")
            }
            for item in page.items where search.isCandidate(item) { found[ByteText(item.id)] = item }
            number += 1
            guard page.count >= limit, let last = page.items.last else { break }
            reachedPast = place(last) < search.oldest
            // One microsecond above the last: items that share its time are not skipped. A page of nothing but that time
            // is stepped over.
            let next = TimelineRequest.Position.before(last.createdAt.next)
            let isCrowded = position == next
            boundary = dialect == .cursor && !isCrowded ? last.createdAt : nil
            position = dialect != .cursor ? .page(number) : isCrowded ? .before(last.createdAt) : next
        }
        return found.values.sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }
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
