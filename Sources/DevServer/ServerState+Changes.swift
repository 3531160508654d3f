import PRSNLCore

extension ServerState {
    mutating func addNewItem(owner: String) -> DevItem {
        mutationCount += 1
        let time = unusedTime()
        let item = DevItem.generate(index: 1_000_000_000 + mutationCount, seed: 7, createdAt: time, owner: owner)
        items.add(item)
        return items.item(item.id) ?? item
    }

    /// Now, or just after the newest item where that is not older than now.
    private func unusedTime() -> Timestamp { now }

    mutating func edit(_ id: String, _ change: (inout DevItem) -> Void) -> Bool {
        let now = now
        return items.change(id) { item in
            let before = item.updatedAt
            change(&item)
            if item.updatedAt == before { item.updatedAt = max(now, before.next) }
        } != nil
    }

    mutating func settleAll() { unsettled = [] }

    mutating func issueToken(for account: DevAccount, lifetime: Duration?) -> (access: String, refresh: String) {
        ("", "")
    }

    mutating func expireTokens() {}
}
