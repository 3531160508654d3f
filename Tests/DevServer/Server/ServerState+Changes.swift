import PRSNLCore

extension ServerState {
    // MARK: Items

    /// An item that was captured and processed just now.
    mutating func addNewItem(owner: String) -> DevItem {
        mutationCount += 1
        let index = 1_000_000_000 + mutationCount
        let item = DevItem.generate(index: index, seed: 7, createdAt: unusedTime(), owner: owner)
        items.add(item)
        return items.item(item.id) ?? item
    }

    /// The server's time, moved on where an item has it already: additions in one moment are no tie group.
    mutating func unusedTime() -> Timestamp {
        lastCreatedAt = max(now, lastCreatedAt.advanced(by: .microseconds(items.dialect == .express ? 1_000 : 1)))
        return lastCreatedAt
    }

    /// Changes an item and moves its `updatedAt`, unless `change` moves it itself.
    ///
    /// Tags are rows of their own on dialects C and P: a change of them alone moves nothing.
    ///
    /// - Parameter updatesRow: whether the item's own row is written. `nil`: unless tags alone are changed.
    mutating func edit(_ id: String, updatesRow: Bool? = nil, _ change: (inout DevItem) -> Void) -> Bool {
        let stamp = stamp
        let isExpress = items.dialect == .express
        return items.change(id) { item in
            let before = item
            change(&item)
            let isUpdated = isExpress || updatesRow ?? !item.differsInTagsAlone(from: before)
            guard isUpdated, item.updatedAt == before.updatedAt else { return }
            item.updatedAt = stamp.updateTime(
                after: before.updatedAt, atLeast: .microseconds(isExpress ? 1_000 : 1))
        } != nil
    }

    /// What the server has of an item's text. On dialect E it is as it was written.
    func texts(of item: DevItem) -> ItemTexts {
        items.dialect == .express
            ? ItemTexts(content: item.content) : item.texts(configuration.texts, whilePending: quirks.pendingHasText)
    }

    mutating func clearCache() {
        cached = [:]
        keptAnswers = [:]
    }

    /// With every n-th timeline request: see `Mutation`.
    mutating func mutateIfDue() {
        guard let mutation = configuration.mutation, mutationsDone < mutation.limit,
            timelineRequestCount.isMultiple(of: max(1, mutation.everyRequests))
        else { return }
        mutationsDone += 1
        let owner = configuration.accounts.first?.id ?? DevAccount.owner.id
        let slots = items.timeline(owner: owner).slots
        let chosen = slots.isEmpty ? nil : items.item(slot: slots[mutationRandom.below(slots.count)])
        switch (mutationRandom.below(4), chosen) {
        case (0, let chosen?): items.remove(chosen.id)
        case (1, let chosen?):
            let title = "Edited: " + mutationRandom.words(4)
            _ = edit(chosen.id) { $0.title = title }
        case (2, let chosen?):
            // Inserted late, next to an older one.
            var late = DevItem.generate(
                index: 2_000_000_000 + mutationsDone, seed: mutation.seed, createdAt: chosen.createdAt.next,
                owner: owner)
            late.updatedAt = max(now, late.createdAt)
            items.add(late)
        default: _ = addNewItem(owner: owner)
        }
    }

    // MARK: Tokens

    mutating func issueToken(for account: DevAccount, lifetime: Duration?) -> (access: String, refresh: String) {
        tokenCount += 1
        let now = now
        let issuedAt = quirks.tokensSayWhenIssued ? now : nil
        let accessEnd = now.advanced(by: lifetime ?? configuration.tokenLifetime)
        let refreshEnd = now.advanced(by: .seconds(7 * 86_400))
        let access = FakeToken.make(
            account: account, kind: "access", number: tokenCount, issuedAt: issuedAt, expiresAt: accessEnd)
        let refresh = FakeToken.make(
            account: account, kind: "refresh", number: tokenCount, issuedAt: issuedAt, expiresAt: refreshEnd)
        accessTokens[access] = Token(account: account, expiresAt: accessEnd)
        refreshTokens[refresh] = Token(account: account, expiresAt: refreshEnd)
        items.journal?.token(access, isRefresh: false, of: account.id, until: accessEnd)
        items.journal?.token(refresh, isRefresh: true, of: account.id, until: refreshEnd)
        return (access, refresh)
    }

    mutating func expireTokens() {
        for token in accessTokens.keys { accessTokens[token]?.expiresAt = .earliest }
    }
}

extension DevItem {
    fileprivate func differsInTagsAlone(from other: DevItem) -> Bool {
        guard tags != other.tags else { return false }
        var same = self
        same.tags = other.tags
        return same == other
    }
}
