import PRSNLClient
import PRSNLCore
import Store

/// Asks the server what became of a write, and what an edit would overwrite. Each answer is followed by a proof that it
/// was given to the pinned account.
struct OutboxLookup: Sendable {
    let store: Store
    /// What was proven to be the account's before the entry's turn. All is read in it, and the write is sent in it.
    let session: ClientSession
    let identity: Identity
    let time: TimeSource
    let dialect: Dialect
    /// Between two lookups that do not find a creation, before it is believed that it is not there. A server may work on it for
    /// minutes before it inserts it, also when the connection is long gone.
    let interval: Duration

    /// Between the first lookup and the second: most answers are lost after the item was inserted, or a moment before.
    private static let secondLookup: Duration = .seconds(30)
    /// Clocks are set by minutes wrong. Where no ids are known, an item may be older by this than the send that made it.
    private static let clockTolerance: Duration = .seconds(3_600)
    /// Where the server names the item of a URL, an older one may be older by this only: another client's is then not ours.
    private static let urlTolerance: Duration = .seconds(120)

    /// What became of a write whose answer was lost.
    func conclude(_ task: OutboxTask) async throws -> WriteOutcome {
        switch task.entry.payload {
        // A URL that the server has refused is of an item that was there before, and the question is of which.
        case .create(let item) where item.url != nil && (dialect == .cursor || task.isOfExistingURL):
            return try await lookForURL(task)
        case .create(let item): return try await search(item, task)
        case .edit(let edit): return try await compare(edit, task).outcome
        case .delete: return try await lookForDeleted(task)
        }
    }

    /// A server may show a deleted item for half an hour: then the deletion is sent once more, which does no harm.
    private func lookForDeleted(_ task: OutboxTask) async throws -> WriteOutcome {
        let item: ItemDetail?
        do throws(APIError) {
            item = try await session.item(task.entry.itemID)
        } catch {
            let failure = SyncFailure(error)
            if failure.concernsEverything || failure.verdict == .cancelled || failure.origin == .session {
                throw failure
            }
            // The answer to the deletion itself will tell.
            return .queued(.notApplied())
        }
        try await prove()
        return item == nil ? .delivered(WriteOutcome.Delivery()) : .queued(.notApplied())
    }

    /// What a lookup means that has not found a creation: one is not enough, because servers insert late and hide new items
    /// while they work on them.
    ///
    /// - Parameter sure: what it means once the interval has passed since the first such lookup.
    private func undecided(_ task: OutboxTask, wasThere: Bool = false, sure: WriteOutcome) -> WriteOutcome {
        // By the server's clock, as its last answer gave it, and by ours: a step of either must not make ten minutes of one.
        let now = UndecidedSince(server: identity.client.serverTime ?? ServerTime(time.now()), here: time.now())
        guard let since = task.undecidedSince, let passed = since.passed(until: now) else {
            let wait = min(Self.secondLookup, interval)
            return .unknown(.notFoundYet(lookupAfter: wait, undecidedSince: now, wasThere: wasThere))
        }
        if passed >= interval { return sure }
        // The server tells its time in whole seconds.
        let wait = max(interval - passed, .seconds(1))
        return .unknown(.notFoundYet(lookupAfter: wait, undecidedSince: since, wasThere: wasThere))
    }

    // MARK: Edits

    /// - Returns: Also the edit as it is to be sent, with all tags that the item then has. And what the server has in its fields.
    func compare(
        _ edit: ItemEdit, _ task: OutboxTask
    ) async throws -> (outcome: WriteOutcome, edit: ItemEdit, theirs: ItemEdit) {
        let entry = task.entry
        let item = try await session.item(entry.itemID)
        try await prove()
        guard let item else { return (.parked(.itemGone), edit, ItemEdit()) }
        if try await isStale(item) {
            throw SyncFailure(
                UserFacingError(
                    .staleAnswer, "The server's answer about the item is older than its list: it comes from a cache.",
                    consequence: "The edit waits."), verdict: .retry(after: nil),
                origin: .server(endpoint: Store.textEndpoint))
        }
        var base = entry.base
        let theirs = ItemEdit(item, expecting: [edit.summary, base?.summary])
        base = base?.overlaid(by: task.unseen.sameFields(of: theirs))
        if !edit.tagChange.isEmpty { base?.tags = theirs.tags }
        let whole = edit.resolved(with: theirs.tags)
        let fields = whole.sameFields(of: theirs)
        let tagCount = edit.tagChange.isEmpty ? 0 : whole.tags?.count ?? 0
        var outcome = WriteOutcome.queued(.notApplied())
        switch EditComparison(whole, base: base, known: task.known, theirs: theirs, wasSent: entry.attempts > 0) {
        // The server would cut the list in silence. What only takes tags away is sent.
        case _ where tagCount > max(WriteLimits.tagCount, theirs.tags?.count ?? 0):
            outcome = .parked(.tooManyTags(tagCount))
        case .done where item.updatedAt != nil && (entry.attempts > 0 || entry.onlyAdds):
            let delivery = WriteOutcome.Delivery(fields: fields, updatedAt: item.updatedAt)
            outcome = .delivered(delivery, remark: entry.attempts == 0 ? "the server had it already" : nil)
        // Perhaps out of a cache that the server's own processing has not cleared. What a person asked for is sent, and so is
        // all of which the answer does not say how old it is: a second time changes nothing, and its answer is the proof.
        case .done: break
        case .send: if entry.base == nil { try await store.setBase(fields, of: entry.id, now: time.now()) }
        case .conflict(let theirs): outcome = .parked(.conflict(theirs: theirs))
        }
        return (outcome, whole, fields)
    }

    /// An answer that is older than the item's row comes from a cache, and says nothing of what the server has.
    private func isStale(_ item: ItemDetail) async throws -> Bool {
        guard let answered = item.updatedAt, let known = try await store.textQuestion(of: item.id) else { return false }
        return answered < known.rowVersion
    }

    // MARK: URLs, dialect C

    private func lookForURL(_ task: OutboxTask) async throws -> WriteOutcome {
        // After "already exists", the one question is under which id.
        let exists = task.isOfExistingURL
        switch try await whereIs(task.entry) {
        case .was(let delivery):
            let outcome = WriteOutcome.delivered(delivery, remark: OutboxEntry.wasThere)
            guard try await store.firstUnknownSend(of: task.entry.id) != nil, let id = delivery.serverID,
                // What is to follow has to be known before the server has processed the item.
                try await !store.isUnsettled(id, now: time.now())
            else { return outcome }
            return undecided(task, wasThere: true, sure: outcome)
        case .ours(let delivery): return .delivered(delivery, remark: "found on the server")
        case .nowhere where exists:
            let saysMore = task.entry.saysMoreThanItsURL
            // What its person has deleted since need not be made.
            if !saysMore, try await openDeletion(of: task.entry.itemID) != nil {
                return .delivered(WriteOutcome.Delivery(there: ItemEdit()), remark: OutboxEntry.wasThere)
            }
            // The server may hide it while it works on it, or have lost it since, by a deletion of ours too. Sent again, it will tell.
            let isTold = task.entry.attempts > 1 && saysMore
            return undecided(
                task, sure: isTold ? .parked(.thereUnderNoID) : .queued(.notApplied()))
        case .toBeDeleted(let deletion) where exists: return .queued(.behindDeletion(deletion))
        case .nowhere, .toBeDeleted: return undecided(task, sure: .queued(.notApplied()))
        case .ambiguous: return undecided(task, sure: .parked(.undecidable))
        }
    }

    /// Which item of the server has a URL that was captured here.
    enum Whereabouts: Sendable {
        /// It was there before, or another entry has made it.
        case was(WriteOutcome.Delivery)
        /// An attempt whose answer was lost has probably made it.
        case ours(WriteOutcome.Delivery)
        case nowhere
        /// It was there before, and an entry is still to delete it.
        case toBeDeleted(by: Int64)
        /// Several could be ours.
        case ambiguous
    }

    func whereIs(_ entry: OutboxEntry) async throws -> Whereabouts {
        guard case .create(let item) = entry.payload, let url = item.url else { return .nowhere }
        let found = try await find(item, url, entry)
        guard case .was(let delivery) = found, let id = delivery.serverID else { return found }
        // Its person has meant the item that was there, and not the one that waits, whichever was asked for first.
        return try await openDeletion(of: id).map(Whereabouts.toBeDeleted) ?? found
    }

    /// One that was given up may still come, as any request without an answer.
    private func openDeletion(of item: String) async throws -> Int64? {
        try await store.openDeletion(of: item, givenUpSince: time.now().advanced(by: .zero - interval))
    }

    private func find(_ item: NewItem, _ url: String, _ entry: OutboxEntry) async throws -> Whereabouts {
        let existing = try await existing(url)
        let copied = try await store.itemID(url: url)
        // No attempt of ours can have made it.
        guard let sentAt = try await store.firstUnknownSend(of: entry.id) else {
            if let there = existing?.id ?? copied { return .was(try await delivery(of: there)) }
            let others = try await candidates(of: search(item, since: entry.acceptedAt)).sorted
            guard let other = others.first else { return .nowhere }
            try await prove()
            return .was(try await delivery(of: other.id))
        }
        // Where clocks were set in between, our own may be taken for an older one: then its title and tags follow, and nothing of it
        // is deleted.
        if let existing, let created = existing.createdAt,
            ServerTime(created) < serverTime(of: sentAt, tolerance: Self.urlTolerance)
        {
            return .was(try await delivery(of: existing.id))
        }
        let search = search(item, since: sentAt)
        let newest = try await candidates(of: search)
        var found = newest.sorted
        if let existing, !found.contains(where: { ByteText($0.id) == ByteText(existing.id) }) {
            var item = TimelineItem(id: existing.id, createdAt: existing.createdAt ?? .latest)
            (item.title, item.url) = (existing.title, url)
            found.append(item)
        }
        let free = try await free(found, for: entry)
        if let theirs = free.first, !free.contains(where: search.hasNoForeignTag) {
            return .was(try await delivery(of: theirs.id))
        }
        try await prove()
        switch search.outcome(free) {
        case .found(let id): return .ours(WriteOutcome.Delivery(serverID: id))
        case .absent:
            guard let other = found.first?.id ?? copied else {
                return try await self.free(newest.rewritten, for: entry).isEmpty ? .nowhere : .ambiguous
            }
            return .was(try await delivery(of: other))
        case .unsettled, .ambiguous: return .ambiguous
        }
    }

    /// Those that may be the entry's work: no other entry has made them, and the copy did not have them before it was sent.
    private func free(_ items: [TimelineItem], for entry: OutboxEntry) async throws -> [TimelineItem] {
        let ids = items.map(\.id)
        let others = try await store.boundIDs(among: ids).union(try await store.knownIDs(among: ids, before: entry.id))
        return items.filter { !others.contains(ByteText($0.id)) }
    }

    /// Without ids from before the send, only the time is left to tell new items from old ones.
    private func search(_ item: NewItem, since sentAt: Timestamp) -> CreationSearch {
        CreationSearch(item: item, evidence: nil, dialect: dialect, oldest: serverTime(of: sentAt))
    }

    /// What the server's clock would have said at a time of this machine, as both go now, and a little less. A time that is yet
    /// to come was noted before our clock was set back: it says only that it has passed.
    private func serverTime(of here: Timestamp, tolerance: Duration = clockTolerance) -> ServerTime {
        let now = time.now()
        let ahead = identity.client.serverTime?.ahead(of: now) ?? .zero
        return ServerTime(at: min(here, now), ahead: ahead - tolerance)
    }

    /// The item that the server names for the URL. It asks for a cleaned URL, and keeps and compares the raw one: that it has none proves
    /// nothing, and one of another spelling is another item.
    private func existing(_ url: String) async throws -> ExistingItem? {
        guard dialect == .cursor else { return nil }
        var named: ExistingItem?
        do throws(APIError) { named = try await session.existing(url: url) } catch {
            // A server without the endpoint: the newest pages tell, as on dialects P and E.
            guard [404, 405, 501].contains(error.status) else { throw error }
            return nil
        }
        if let id = named?.id, let kept = try await session.item(id)?.url, ByteText(kept) != ByteText(url) {
            named = nil
        }
        try await prove()
        return named
    }

    /// An item that is not this entry's work, with what the server has in its fields, as far as its answer tells.
    private func delivery(of id: String) async throws -> WriteOutcome.Delivery {
        let there = try await session.item(id)
        try await prove()
        guard let there, try await !isStale(there) else {
            return WriteOutcome.Delivery(serverID: id, there: ItemEdit())
        }
        return WriteOutcome.Delivery(serverID: id, there: ItemEdit(there))
    }

    // MARK: Notes, and URLs on dialects P and E

    private func search(_ item: NewItem, _ task: OutboxTask) async throws -> WriteOutcome {
        guard let evidence = task.evidence else { return .parked(.undecidable) }
        switch try await outcome(item, task, evidence) {
        case .found(let id): return found(id)
        case .absent:
            // Far below what was read, where a clock that was set has put it, a sweep may have found it.
            let isHere = try await store.hasReceived(item, for: task.entry.id)
            return undecided(task, sure: isHere ? .parked(.undecidable) : .queued(.notApplied()))
        case .unsettled, .ambiguous: return undecided(task, sure: .parked(.undecidable))
        }
    }

    /// A creation that was not found may have come since, before it has its turn to be sent again.
    ///
    /// - Returns: `nil` for what is sent.
    func lookOnceMore(_ task: OutboxTask) async throws -> WriteOutcome? {
        guard task.entry.state == .queued, let evidence = task.evidence,
            let item = try await store.sentItem(of: task.entry.id)
        else { return nil }
        switch try await outcome(item, task, evidence) {
        case .found(let id): return found(id)
        case .absent: return nil
        case .unsettled, .ambiguous: return undecided(task, sure: .parked(.undecidable))
        }
    }

    private func found(_ id: String) -> WriteOutcome {
        .delivered(WriteOutcome.Delivery(serverID: id), remark: "found on the server")
    }

    private func outcome(
        _ item: NewItem, _ task: OutboxTask, _ evidence: SendEvidence
    ) async throws -> CreationSearch.Outcome {
        let sentAt = try await store.firstUnknownSend(of: task.entry.id)
        let search = CreationSearch(
            item: item, evidence: evidence, dialect: dialect, sentAt: sentAt.map { serverTime(of: $0) })
        let newest = try await candidates(of: search)
        var found = try await free(newest.sorted, for: task.entry)
        for (index, there) in found.enumerated() where there.content == nil && item.url == nil {
            found[index].content = try await store.content(of: there.id, version: there.updatedAt)
            if found[index].content == nil { found[index].content = try await session.item(there.id)?.content }
        }
        try await prove()
        let outcome = search.outcome(found)
        if outcome == .absent, try await !free(newest.rewritten, for: task.entry).isEmpty { return .ambiguous }
        return outcome == .absent && !newest.isWhole ? .unsettled : outcome
    }

    /// Proves the account that the answers of this session were given to.
    func prove() async throws(SyncFailure) {
        try await identity.prove(session, counting: RequestCounter())
    }
}

extension OutboxEntry {
    /// Whether it puts nothing in the place of what a person may have written: it follows a creation, or changes some tags.
    fileprivate var onlyAdds: Bool {
        guard self.follows == nil, case .edit(let edit) = payload else { return self.follows != nil }
        return edit == ItemEdit(tagChange: edit.tagChange)
    }

    /// The remark of a creation whose item the server had before.
    static let wasThere = "was already there"
}
