import PRSNLClient
import PRSNLCore
import Store

/// Tells from the server's items whether a creation was applied: a value that is given what was found and says what it means.
///
/// Where the ids are known that were there before the send, a clock says only how far down to read. Tags are no evidence against an item: the
/// main server inserts the item first and its tags afterwards, and may fail in between.
struct CreationSearch: Sendable {
    enum Outcome: Sendable, Equatable {
        case found(id: String)
        case absent
        /// The server is still working on what could be it.
        case unsettled
        /// Several could be it, or one whose text is another although its title says that it is ours.
        case ambiguous
    }

    let item: NewItem
    /// The small server keeps title and tags as they were sent, in one statement.
    private let isKeptAsSent: Bool
    /// How far down the newest items have to be read: no older item can be it.
    let oldest: ServerTime
    private let known: Set<ByteText>

    /// - Parameter oldest: of the candidates, where no ids are known.
    /// - Parameter sentAt: of the candidates by the server's clock as it is now, where ids are known: it may have been set back.
    init(
        item: NewItem, evidence: SendEvidence?, dialect: Dialect = .cursor, oldest: ServerTime = .earliest,
        sentAt: ServerTime? = nil
    ) {
        self.item = item
        isKeptAsSent = dialect == .express
        self.oldest = evidence.map { min($0.knownDownTo ?? .earliest, sentAt ?? $0.knownDownTo ?? .earliest) } ?? oldest
        known = Set((evidence?.knownIDs ?? []).map(ByteText.init))
    }

    /// Whether the server had nothing before the send, as far as is known.
    var knowsNone: Bool { known.isEmpty }

    /// Whether the server had the item before the send.
    func knows(_ id: String) -> Bool { known.contains(ByteText(id)) }

    /// Whether the item was not there before the send, by what is known of that moment, and is of our kind.
    func isCandidate(_ other: TimelineItem) -> Bool {
        guard ServerTime(other.createdAt) >= oldest, !knows(other.id), hasOurURL(other) else { return false }
        if item.url != nil || other.status != TimelineItem.pendingStatus || ServerText.isPlaceholder(other.title) {
            return true
        }
        // One that was changed since may be ours, and retitled elsewhere. Its text is not there yet to tell.
        return hasOurTitle(other) || other.updatedAt ?? other.createdAt > other.createdAt
    }

    /// Whether it may be ours although its URL is another one: servers clean addresses, or follow a redirect. To take it for ours could
    /// lose ours, and to take it for another could double ours.
    func mayBeRewritten(_ other: TimelineItem) -> Bool {
        guard let url = item.url, let theirs = other.url, !theirs.isEmpty, !hasOurURL(other),
            ServerTime(other.createdAt) >= oldest, !knows(other.id)
        else { return false }
        return ServerText.isSameAddress(theirs, url)
            || item.title != nil && ServerText.isSame(other.title, item.title) && hasOurTags(other)
    }

    /// Whether the answer to the creation shows what was sent, or what a server may have made of it. Only the small server shows the item.
    func isShown(by other: TimelineItem) -> Bool {
        if let url = item.url { return hasOurTitle(other) || ServerText.isSameAddress(url, other.url ?? "") }
        return (other.url ?? "").isEmpty && isLike(other, other.content ?? "")
    }

    private func hasOurURL(_ other: TimelineItem) -> Bool {
        // Byte for byte, as servers compare them.
        ByteText(item.url ?? "") == ByteText(other.url ?? "")
    }

    /// Without their `content`, the server has no text for the candidates yet, or never shows it.
    func outcome(_ candidates: [TimelineItem]) -> Outcome {
        item.url == nil ? outcomeOfNote(candidates) : outcomeOfURL(candidates)
    }

    /// Another client may have captured the same URL: of several, ours is the one with our title and tags.
    private func outcomeOfURL(_ candidates: [TimelineItem]) -> Outcome {
        if candidates.isEmpty { return .absent }
        if candidates.count == 1, !isKeptAsSent || isAsSent(candidates[0]) { return .found(id: candidates[0].id) }
        let tagged = candidates.filter(hasOurTags)
        let titled = tagged.filter { item.title == nil || ServerText.isSame($0.title, item.title) }
        if titled.count == 1 { return .found(id: titled[0].id) }
        // The page's title may have taken the place of ours.
        if titled.isEmpty, tagged.count == 1, !item.tags.isEmpty, !isKeptAsSent { return .found(id: tagged[0].id) }
        return .ambiguous
    }

    private func outcomeOfNote(_ candidates: [TimelineItem]) -> Outcome {
        let outcomes = candidates.map(outcome(of:)).filter { $0 != .absent }
        if outcomes.contains(.unsettled) { return .unsettled }
        let found = outcomes.filter { $0 != .ambiguous }
        return found.count == 1 ? found[0] : outcomes.isEmpty ? .absent : .ambiguous
    }

    private func outcome(of other: TimelineItem) -> Outcome {
        if let content = other.content, !content.isEmpty {
            if ServerText.isSqueezedSame(content, item.note) {
                // Else it is another client's note of the same words, or was edited elsewhere.
                return (isKeptAsSent ? isAsSent(other) : hasNoForeignTag(other)) ? .found(id: other.id) : .ambiguous
            }
            return isLike(other, content) ? .ambiguous : .absent
        }
        if other.status == TimelineItem.pendingStatus { return .unsettled }
        if hasDerivedTitle(other) { return .found(id: other.id) }
        // Any number of notes may be called "Groceries": to take another one for ours would lose ours. And one of
        // another title may be ours, and retitled elsewhere: to take it for another would double ours.
        return hasTagsLikeOurs(other) ? .ambiguous : .absent
    }

    /// As the person named it, or as a server would.
    private func hasOurTitle(_ other: TimelineItem) -> Bool {
        hasDerivedTitle(other) || item.title != nil && ServerText.isSame(other.title, item.title)
    }

    /// Servers derive it from the text as it came, or with squeezed white space.
    private func hasDerivedTitle(_ other: TimelineItem) -> Bool {
        guard let title = other.title, let note = item.note else { return false }
        return [note, ServerText.squeezed(note)].contains { NoteTitle.isDerived(title, from: $0) }
    }

    /// Whether it is our note as a server cleans it, or puts it into other words: with our title, just our tags, or more than half of the
    /// words of the shorter text. It may also be another note that begins the same way.
    private func isLike(_ other: TimelineItem, _ content: String) -> Bool {
        if ServerText.isSame(content, item.note) || hasOurTitle(other) { return true }
        guard hasTagsLikeOurs(other) else { return false }
        // The small server puts nothing into other words. But someone may have changed it there since.
        if isKeptAsSent ? other.updatedAt ?? other.createdAt > other.createdAt : !ourTags.isEmpty && hasOurTags(other) {
            return true
        }
        let (ours, theirs) = (Self.words(item.note ?? ""), Self.words(content))
        return 2 * ours.intersection(theirs).count > min(ours.count, theirs.count)
    }

    /// From U+0E00 on are the scripts without spaces (Thai, Chinese, Japanese): each of their characters counts as a word.
    private static func words(_ text: String) -> Set<String> {
        var words: Set<String> = []
        for run in text.lowercased().split(whereSeparator: { !$0.isLetter && !$0.isNumber }) {
            let isSpaced = run.unicodeScalars.allSatisfy { $0.value < 0x0E00 }
            if isSpaced { words.insert(String(run)) } else { words.formUnion(run.map(String.init)) }
        }
        return words
    }

    private func isAsSent(_ other: TimelineItem) -> Bool {
        hasOurTags(other) && ServerText.isSame(other.title, WriteBody.expressTitle(item))
    }

    private func hasOurTags(_ other: TimelineItem) -> Bool { tags(other) == ourTags }

    /// All of ours, or a part of them.
    private func hasTagsLikeOurs(_ other: TimelineItem) -> Bool {
        hasNoForeignTag(other) || tags(other).isSuperset(of: ourTags)
    }

    /// Servers may lose tags of ours, and never add any.
    func hasNoForeignTag(_ other: TimelineItem) -> Bool { tags(other).isSubset(of: ourTags) }

    private var ourTags: Set<ByteText> { Tags.set(item.tags) }

    private func tags(_ other: TimelineItem) -> Set<ByteText> { Tags.set(Tags.parse(other.tags) ?? []) }
}

// Reads the newest items of the server: before a creation is sent, to know what is there, and afterwards to look for it.
extension OutboxLookup {
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
                // What it makes next may have a time so much earlier.
                return place(last) < now.advanced(by: .zero - .seconds(60))
            }
            evidence.knownDownTo = end.map(place)
            return evidence
        }
    }

    /// What the timeline is sorted by. The small server's is the last change, which is never before the creation.
    private func place(_ item: TimelineItem) -> ServerTime {
        ServerTime(dialect == .express ? item.updatedAt ?? item.createdAt : item.createdAt)
    }

    /// What the newest pages have.
    struct Candidates {
        var items: [ByteText: TimelineItem] = [:]
        /// Items of other URLs that may be it (`mayBeRewritten`).
        var rewritten: [TimelineItem] = []
        /// Whether the list has anything of what was there before the send. A list that has nothing proves nothing.
        var isWhole: Bool

        var sorted: [TimelineItem] { items.values.sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) } }
    }

    /// Reads the newest pages, as far down as a candidate can be.
    func candidates(of search: CreationSearch) async throws(SyncFailure) -> Candidates {
        try await PageSize.fitting(Self.pageSize) { limit throws(SyncFailure) in
            var found = Candidates(isWhole: search.knowsNone)
            _ = try await readDown(limit) { page in
                for item in page.items where search.isCandidate(item) { found.items[ByteText(item.id)] = item }
                found.rewritten += page.items.filter(search.mayBeRewritten)
                found.isWhole = found.isWhole || page.items.contains { search.knows($0.id) }
                return page.items.last.map { place($0) < search.oldest } ?? true
            }
            return found
        }
    }

    /// Reads page by page from the newest item on.
    ///
    /// - Parameter isEnough: is given each page; whether nothing below it is wanted.
    /// - Returns: the last item that was read, where there may be more below it.
    private func readDown(
        _ limit: Int, _ isEnough: (TimelinePage) -> Bool
    ) async throws(SyncFailure) -> TimelineItem? {
        var position = dialect == .cursor ? TimelineRequest.Position.before(nil) : .page(1)
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
    private func page(_ position: TimelineRequest.Position, _ limit: Int) async throws(SyncFailure) -> TimelinePage {
        let request = TimelineRequest(position, limit: limit)
        let page = try await SyncFailure.from(try await session.timeline(request))
        try identity.check(page, is: dialect)
        try page.requireConsistency(request)
        return page
    }
}
