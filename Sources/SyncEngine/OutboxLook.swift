import PRSNLClient
import PRSNLCore
import Store

/// Asks the server what became of a write, and what an edit would overwrite. Each answer is followed by a proof that it
/// was given to the pinned account.
struct OutboxLook: Sendable {
    let store: Store
    let client: PRSNLClient
    let identity: Identity
    let time: TimeSource
    let dialect: Dialect
    /// What was proven to be the account's before the entry's turn: the write goes with nothing else.
    let proven: Credentials?
    /// What was read since the last proof, and with what.
    private let witness = CredentialsWitness()

    /// What a look concluded about a write whose outcome was not known.
    enum Conclusion: Sendable {
        case applied(Settlement.Delivery, remark: String?)
        case notApplied
        case lookAgain(after: Duration, absentSince: Timestamp?)
        case undecidable
        case gone
        case conflict(theirs: ItemEdit)
    }

    /// How long a request may be under way on the server after it was sent from here: a look before that proves nothing.
    static let settleTime: Duration = .seconds(5)
    /// An item that the server has not finished after this long will not be told apart any more.
    private static let patience: Duration = .seconds(86_400)
    private static let pageSize = 100
    private static let mostPages = 50

    /// - Parameter interval: Between two looks that find nothing, before it is believed.
    func conclude(_ task: OutboxTask, interval: Duration) async throws(PullFailure) -> Conclusion {
        switch task.entry.payload {
        case .create(let item):
            if item.url != nil, dialect == .cursor { return try await lookForURL(item, task) }
            return try await search(item, task, interval: interval)
        case .edit(let edit): return try await compare(edit, task)
        case .delete: return try await lookForDeleted(task)
        }
    }

    /// A server may show a deleted item for half an hour: then the deletion is sent once more, which does no harm.
    private func lookForDeleted(_ task: OutboxTask) async throws(PullFailure) -> Conclusion {
        let item: ItemDetail?
        do throws(PullFailure) {
            item = try await ask { () async throws(APIError) in
                try await client.item(task.entry.itemID, witness: witness)
            }
        } catch {
            // The answer to the deletion itself will tell.
            if !error.concernsEverything, error.verdict != .cancelled { return .notApplied }
            throw error
        }
        try await prove()
        return item == nil ? .applied(Settlement.Delivery(), remark: nil) : .notApplied
    }

    // MARK: Edits

    func compare(_ edit: ItemEdit, _ task: OutboxTask) async throws(PullFailure) -> Conclusion {
        let item = try await ask { () async throws(APIError) in
            try await client.item(task.entry.itemID, witness: witness)
        }
        try await prove()
        guard let item else { return .gone }
        let theirs = ItemEdit(item)
        switch EditComparison(edit, base: task.byHand == .overwrite ? nil : task.entry.base, theirs: theirs) {
        case .done:
            var delivery = Settlement.Delivery()
            delivery.fields = theirs.fields(of: edit)
            delivery.updatedAt = item.updatedAt
            return .applied(delivery, remark: task.entry.attempts == 0 ? "the server had it already" : nil)
        case .send:
            if task.entry.base == nil {
                do {
                    try await store.setBase(theirs.fields(of: edit), of: task.entry.id)
                } catch {
                    throw PullFailure(store: error)
                }
            }
            return .notApplied
        case .conflict(let theirs): return .conflict(theirs: theirs)
        }
    }

    // MARK: URLs, dialect C

    private func lookForURL(_ item: NewItem, _ task: OutboxTask) async throws(PullFailure) -> Conclusion {
        guard let url = item.url else { return .undecidable }
        if let existing = try await existing(url) {
            let delivery = try await delivery(of: existing, item, sentAt: task.entry.lastAttemptAt)
            return .applied(delivery, remark: "found on the server")
        }
        return tooSoon(task) ?? .notApplied
    }

    /// What the answer "already exists" means: it was there before, or an earlier attempt has made it whose answer was lost.
    func whatWasThere(_ item: NewItem, _ entry: OutboxEntry) async throws(PullFailure) -> Settlement.Delivery {
        let sentAt: Timestamp?
        do {
            sentAt = try await store.doubtfulSend(of: entry.id)
        } catch {
            throw PullFailure(store: error)
        }
        guard let url = item.url else { return Settlement.Delivery() }
        guard let existing = try await existing(url) else {
            // The server compares the raw text when it refuses, and a cleaned one when it is asked.
            do {
                if let known = try await store.itemID(url: url) {
                    return try await delivery(of: ExistingItem(id: known), item, sentAt: sentAt)
                }
            } catch {
                throw PullFailure(error)
            }
            guard sentAt != nil else { return Settlement.Delivery() }
            // Not pulled yet: one that an earlier attempt has made is among the newest.
            let offset = client.serverClockOffset ?? .zero
            let search = CreationSearch(
                item: item, evidence: SendEvidence(serverTime: entry.acceptedAt.advanced(by: offset), knownIDs: []))
            guard case .found(let id) = search.finding(try await candidates(search)) else {
                return Settlement.Delivery()
            }
            try await prove()
            return Settlement.Delivery(serverID: id)
        }
        return try await delivery(of: existing, item, sentAt: sentAt)
    }

    private func existing(_ url: String) async throws(PullFailure) -> ExistingItem? {
        guard dialect == .cursor else { return nil }
        let existing = try await ask { () async throws(APIError) in
            try await client.existing(url: url, witness: witness)
        }
        try await prove()
        return existing
    }

    /// - Parameter sentAt: When it was sent from here; an item that is older than that was there already.
    private func delivery(
        of existing: ExistingItem, _ item: NewItem, sentAt: Timestamp?
    ) async throws(PullFailure) -> Settlement.Delivery {
        var delivery = Settlement.Delivery(serverID: existing.id)
        let offset = client.serverClockOffset ?? .zero
        // A minute for clocks that are not set well: an item of ours is hardly older than that when it is looked for.
        let isOurs = sentAt.map { sent in
            existing.createdAt.map { $0 >= sent.advanced(by: offset - .seconds(60)) } ?? true
        }
        guard !(isOurs ?? false), item.title != nil || !item.tags.isEmpty || item.note != nil else { return delivery }
        let there = try await ask { () async throws(APIError) in try await client.item(existing.id, witness: witness) }
        try await prove()
        guard let there else { return delivery }
        let edit = item.edit(over: ItemEdit(there))
        var base = ItemEdit(there).fields(of: edit)
        // A remark becomes the summary of an item that has none; one that is there is not replaced unasked.
        base.summary = nil
        if !edit.isEmpty { delivery.followUp = (edit, base) }
        return delivery
    }

    /// A look that finds nothing says little while the request may still be at work.
    private func tooSoon(_ task: OutboxTask) -> Conclusion? {
        guard let sent = task.entry.lastAttemptAt else { return nil }
        let left = Self.settleTime - time.now().duration(since: sent)
        return left > .zero && left <= Self.settleTime ? .lookAgain(after: left, absentSince: nil) : nil
    }

    // MARK: Notes, and URLs on dialects P and E

    /// What the server has just before a creation is sent.
    func evidence() async throws(PullFailure) -> SendEvidence {
        let page = try await ask { () async throws(APIError) in
            try await client.timeline(TimelineRequest(firstPage, limit: Self.pageSize), witness: witness)
        }
        try identity.check(page, is: dialect)
        // The write goes with what was proven, and with nothing else: what is read for it must have been, too.
        guard let proven, witness.shown == [proven] else { throw PullFailure.renewed }
        witness.forget()
        // A server that does not say what time it is: its newest item does, roughly.
        let newest = page.items.first?.createdAt ?? .latest
        let serverTime = client.serverClockOffset.map { time.now().advanced(by: $0) } ?? min(time.now(), newest)
        return SendEvidence(
            serverTime: serverTime, knownIDs: page.items.map(\.id) + page.rejected.compactMap(\.id),
            knownDownTo: page.count >= Self.pageSize ? page.items.last.map(place) : nil)
    }

    /// What the timeline is sorted by. The small server's is the last change, which is never before the creation.
    private func place(_ item: TimelineItem) -> Timestamp {
        dialect == .express ? item.updatedAt ?? item.createdAt : item.createdAt
    }

    private var firstPage: TimelineRequest.Position { dialect == .cursor ? .before(nil) : .page(1) }

    private func search(
        _ item: NewItem, _ task: OutboxTask, interval: Duration
    ) async throws(PullFailure) -> Conclusion {
        guard let evidence = task.evidence else { return .undecidable }
        let search = CreationSearch(item: item, evidence: evidence)
        let candidates = try await candidates(search)
        try await prove()
        let now = time.now()
        // By the server's clock: a step of ours must not make ten minutes of one.
        let serverNow = now.advanced(by: client.serverClockOffset ?? .zero)
        let isSure = evidence.absentSince.map { serverNow.duration(since: $0) >= interval } ?? false
        switch search.finding(candidates) {
        case .found(let id): return .applied(Settlement.Delivery(serverID: id), remark: "found on the server")
        case .unsettled:
            let sent = task.entry.lastAttemptAt ?? now
            guard now.duration(since: sent) < Self.patience else { return .undecidable }
            let waited = max(1, Int(now.duration(since: sent) / .seconds(15)))
            return .lookAgain(after: WriteBackoff.betweenLooks(waited), absentSince: nil)
        case .absent:
            if let soon = tooSoon(task) { return soon }
            // Servers hide new items while they work on them: one look is not enough.
            return isSure
                ? .notApplied : .lookAgain(after: interval, absentSince: evidence.absentSince ?? serverNow)
        case .ambiguous:
            return isSure
                ? .undecidable : .lookAgain(after: interval, absentSince: evidence.absentSince ?? serverNow)
        }
    }

    /// Reads the newest pages down to the time of the send.
    private func candidates(_ search: CreationSearch) async throws(PullFailure) -> [CreationSearch.Candidate] {
        var found: [String: TimelineItem] = [:]
        var position = firstPage
        var number = 1
        var reachedPast = false
        while !reachedPast {
            guard number <= Self.mostPages else {
                throw PullFailure(
                    UserFacingError(
                        .timelineUnsettled, "So many items are newer than the write that it could not be looked for."),
                    verdict: .retry(after: nil))
            }
            let page = try await ask { [position] () async throws(APIError) in
                try await client.timeline(TimelineRequest(position, limit: Self.pageSize), witness: witness)
            }
            try identity.check(page, is: dialect)
            for item in page.items where search.isCandidate(item) { found[item.id] = item }
            number += 1
            guard page.count >= Self.pageSize, let last = page.items.last else { break }
            reachedPast = place(last) < search.oldest
            // One microsecond above the last: items that share its time are not skipped. A page of nothing but that time
            // is stepped over.
            let next = TimelineRequest.Position.before(last.createdAt.next)
            position = dialect != .cursor ? .page(number) : position == next ? .before(last.createdAt) : next
        }
        do {
            let bound = try await store.boundIDs(among: Array(found.keys))
            return try await contents(found.values.filter { !bound.contains($0.id) }, search)
        } catch {
            throw PullFailure(error)
        }
    }

    private func contents(
        _ items: [TimelineItem], _ search: CreationSearch
    ) async throws -> [CreationSearch.Candidate] {
        var candidates: [CreationSearch.Candidate] = []
        for item in items.sorted(by: { $0.createdAt < $1.createdAt }) {
            var content = item.content
            if content == nil, search.needsContent {
                content = try await client.item(item.id, witness: witness)?.content
            }
            candidates.append(CreationSearch.Candidate(item: item, content: content))
        }
        return candidates
    }

    // MARK: Asking

    private func prove() async throws(PullFailure) {
        defer { witness.forget() }
        try await identity.prove([witness], counting: RequestCounter())
    }

    private func ask<Answer: Sendable>(
        _ question: () async throws(APIError) -> Answer
    ) async throws(PullFailure) -> Answer {
        do {
            return try await question()
        } catch {
            throw PullFailure(error)
        }
    }
}

extension NewItem {
    /// What of it an item that was there already lacks. Its tags are kept, and a remark becomes its summary.
    fileprivate func edit(over there: ItemEdit) -> ItemEdit {
        var edit = ItemEdit()
        if let title, title != there.title { edit.title = title }
        let theirs = Set(there.tags ?? [])
        if !theirs.isSuperset(of: tags) { edit.tags = theirs.union(tags).sorted() }
        if let note, url != nil, note != there.summary { edit.summary = note }
        return edit
    }
}
