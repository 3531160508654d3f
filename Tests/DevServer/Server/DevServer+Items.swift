package import PRSNLCore

extension DevServer {
    // MARK: Reading

    /// What the timeline should show: visible items, newest first (by `updatedAt` on dialect E).
    ///
    /// - Parameter owner: an account's id. `nil` for everyone's.
    package func items(owner: String? = nil) -> [DevItem] {
        shared.state.withLock { $0.items.items(owner: owner) }
    }

    /// Items in `processing`, which no timeline shows.
    package func hiddenItems() -> [DevItem] { shared.state.withLock { $0.items.hiddenItems() } }

    /// The item, hidden or not. `nil` when it was deleted or never there.
    package func item(_ id: String) -> DevItem? { shared.state.withLock { $0.items.item(id) } }

    /// The text that the server has now, whatever a cache answers. `nil` when there is no such item.
    package func text(of id: String) -> (content: String?, transcription: String?, updatedAt: Timestamp)? {
        shared.state.withLock { state in
            guard let item = state.items.item(id) else { return nil }
            let texts = state.texts(of: item)
            return (texts.content, texts.transcription, item.updatedAt)
        }
    }

    /// All items, hidden ones included.
    package var itemCount: Int { shared.state.withLock { $0.items.count } }

    // MARK: Changing

    /// Adds an item at its own place in time. One with the same id is replaced.
    package func add(_ item: DevItem) { shared.state.withLock { $0.items.add(item) } }

    package func add(_ items: [DevItem]) { shared.state.withLock { $0.items.add(contentsOf: items) } }

    /// Adds generated items with the server's time, one microsecond apart, as if they had just been captured and
    /// processed.
    ///
    /// - Returns: them, newest first.
    @discardableResult
    package func addNew(count: Int = 1, owner: String = DevAccount.owner.id) -> [DevItem] {
        shared.state.withLock { state in (0..<count).map { _ in state.addNewItem(owner: owner) }.reversed() }
    }

    /// Changes an item and moves its `updatedAt` to the server's time, unless `change` moves it itself.
    ///
    /// A change of tags alone moves it on dialect E only.
    ///
    /// - Returns: false when there is no such item.
    @discardableResult
    package func edit(_ id: String, _ change: @Sendable (inout DevItem) -> Void) -> Bool {
        shared.state.withLock { $0.edit(id, change) }
    }

    /// Deletes an item.
    ///
    /// - Parameter cached: `GET /api/items/{id}` goes on to answer 200 until `clearCache()`.
    /// - Returns: false when there is no such item.
    @discardableResult
    package func delete(_ id: String, cached: Bool = false) -> Bool {
        shared.state.withLock { state in
            guard let item = state.items.remove(id) else { return false }
            if cached { state.cached[ByteText(id)] = item }
            return true
        }
    }

    /// `GET /api/items/{id}` answers what the server has now: deleted items are unknown to it too.
    package func clearCache() { shared.state.withLock { $0.clearCache() } }

    /// The database becomes what it was when `items` were listed, restored from a backup. A cache in front of the server keeps
    /// what it has.
    package func restore(_ backup: [DevItem]) {
        shared.state.withLock { state in
            state.items.removeAll()
            state.items.add(contentsOf: backup)
        }
    }

    package func deleteAll() { shared.state.withLock { $0.items.removeAll() } }

    /// `processing`: on no timeline, but found by its id.
    package func hide(_ id: String) { shared.state.withLock { _ = $0.items.change(id, hidden: true) } }

    /// Back on the timeline, at its old place.
    package func show(_ id: String) { shared.state.withLock { _ = $0.items.change(id, hidden: false) } }

    /// Captured items become what the real server makes of them within seconds.
    package func settle() { shared.state.withLock { $0.settleAll() } }

    /// Ids of captured items that are still pending or hidden.
    package var unsettledIDs: [String] { shared.state.withLock { $0.unsettled.elements.map(\.id) } }

    package func setQuirks(_ change: @Sendable (inout Quirks) -> Void) {
        shared.state.withLock { state in
            change(&state.quirks)
            state.items.forgetRendered()
        }
    }

    /// Sets the server's clock: so far ahead of `Configuration.now`.
    package func setClock(ahead: Duration) { shared.state.withLock { $0.setClock(ahead: ahead) } }

    /// Renders all items now (up to 200,000) rather than when they are first asked for, so that the first client to
    /// read them is served as fast as the second.
    package func prepareAnswers() {
        shared.state.withLock { state in
            let style = state.itemStyle
            state.items.renderAll(style: style)
        }
    }

    // MARK: Credentials

    /// A login token that the server accepts (dialect C).
    ///
    /// - Parameter lifetime: `nil` for the configured one.
    package func issueToken(for account: DevAccount = .owner, lifetime: Duration? = nil) -> String {
        shared.state.withLock { $0.issueToken(for: account, lifetime: lifetime).access }
    }

    /// Both tokens of a login, without the request.
    package func issuePair(for account: DevAccount = .owner, lifetime: Duration? = nil) -> TokenPair {
        let tokens = shared.state.withLock { $0.issueToken(for: account, lifetime: lifetime) }
        guard let pair = TokenPair(access: tokens.access, refresh: tokens.refresh) else {
            preconditionFailure("a token of this server does not fit in a header")
        }
        return pair
    }

    /// Refresh tokens given out so far are worth nothing any more: someone has ended the account's logins.
    package func revokeRefreshTokens() { shared.state.withLock { $0.refreshTokens = [:] } }

    /// Takes a login token of an earlier server, as a real one does after a restart.
    package func acceptToken(_ token: String, of account: DevAccount = .owner, lifetime: Duration? = nil) {
        shared.state.withLock { state in
            let end = state.now.advanced(by: lifetime ?? state.configuration.tokenLifetime)
            state.accessTokens[token] = .init(account: account, expiresAt: end)
        }
    }

    /// Login tokens given out so far are now expired: answered as the test user.
    package func expireTokens() { shared.state.withLock { $0.expireTokens() } }

    /// Login tokens given out so far are from now on taken for this account's: the client has not noticed that it reads
    /// someone else's items.
    package func reassignTokens(to account: DevAccount) {
        shared.state.withLock { state in
            for token in state.accessTokens.keys { state.accessTokens[token]?.account = account }
        }
    }
}
