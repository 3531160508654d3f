import Configuration
import PRSNLClient
import PRSNLCore
import Store

/// Whose timeline it is: finds the server's dialect and account, binds the copy to them once, and proves, after data has
/// been read, that they are still the same.
///
/// Proof comes after the data because dialect C answers an expired token with 200 and another user's items.
struct Identity: Sendable {
    let store: Store
    let client: PRSNLClient
    let serverURL: String
    let shared: EngineSharedState
    let log: LogHandler

    /// The bound dialect; at the very first sync, asks the server and binds the copy.
    ///
    /// - Throws: `SyncFailure`: `needs_login`, `server_changed`, `account_changed`, `dialect_unknown`, or what the
    ///   requests threw. Nothing is written then.
    func establish(pageSize: Int) async throws(SyncFailure) -> Dialect {
        let binding = store.binding
        if let dialect = binding.dialect {
            if binding.serverURL != serverURL { try await bind(Binding(serverURL: serverURL, dialect: dialect)) }
            // The server may take the login again. That is asked first, and nothing else.
            if shared.refusedLogin?.shown == client.credentials {
                try await prove(client.session(), counting: RequestCounter())
            }
            _ = try await session()
            return dialect
        }
        let first = client.session()
        let page = try await PageSize.fitting(pageSize) { limit throws(SyncFailure) in
            try await SyncFailure.from(try await first.timeline(TimelineRequest(.page(1), limit: limit)))
        }
        guard let dialect = page.dialect else {
            throw SyncFailure(.dialectUnknown, "The server's timeline has no form that prsnld knows.")
        }
        try refuseKey(first.first, dialect)
        var new = Binding(serverURL: serverURL, dialect: dialect)
        if dialect == .cursor {
            try refuseNone(first.first)
            if first.first.isLogin {
                let account = try await SyncFailure.from(try await first.account())
                let shown = first.credentials ?? .none
                // A copy is not bound to an account that the token does not name: the server shows a test user to one that
                // it does not take.
                if let subject = shown.subject, account.isCertainlyNot(subject) {
                    throw SyncFailure(
                        .loginExpired,
                        "The server answers as another account than the login's; the login has probably expired.",
                        consequence: "Nothing was written.",
                        verdict: client.distrust(shown) ? .retry(after: nil) : .tryRarely,
                        origin: .server(endpoint: Self.accountEndpoint))
                }
                client.trust(shown)
                new.accountID = account.id
                new.accountName = account.email ?? account.name
                new.accountSubject = shown.subject
            } else {
                log(.notice, .pull, "no credentials, as anonymous = yes: the copy will hold all accounts' items")
            }
        }
        try await bind(new)
        return dialect
    }

    /// A session under the login in use, which is refused before anything is asked with it where it is not the copy's.
    ///
    /// - Throws: `SyncFailure`: `needs_login`, `account_changed`.
    func session(waitsForRateLimit: Bool = true) async throws(SyncFailure) -> ClientSession {
        let binding = store.binding
        let session = client.session(waitsForRateLimit: waitsForRateLimit)
        guard let dialect = binding.dialect else { return session }
        try refuseKey(session.first, dialect)
        if binding.accountID != nil {
            if session.first == .none {
                throw SyncFailure(
                    .needsLogin, "This copy is of an account, and there is no login.",
                    consequence: "Nothing was asked and nothing was written; writes wait in the queue.")
            }
            if let known = binding.accountSubject, let subject = session.subject, ByteText(subject) != ByteText(known) {
                throw SyncFailure(
                    .accountChanged, "The login is of another account than the one this copy is of.",
                    consequence: "Nothing was asked and nothing was written.")
            }
        } else if dialect == .cursor {
            if session.first.isLogin {
                throw SyncFailure(
                    .accountChanged, "This copy was made without a login and holds the items of all accounts.",
                    consequence: "Nothing was written.")
            }
            try refuseNone(session.first)
        }
        if let refused = shared.refusedLogin, refused.shown == session.first { throw refused.failure }
        return session
    }

    /// Dialect C shows the items of all accounts where no credentials are shown.
    private func refuseNone(_ credentials: Credentials) throws(SyncFailure) {
        guard credentials == .none, !shared.settings.anonymous else { return }
        throw SyncFailure(
            UserFacingError(
                .needsLogin, "There is no login, and without one this server shows the items of all accounts.",
                consequence: "Nothing was written.",
                recoverySuggestion:
                    "Log in; or set `anonymous = yes` in the configuration for a copy of the items of all accounts.",
                nextCommand: "prsnlctl login --server \(serverURL)"), verdict: .tryRarely)
    }

    /// Dialect C takes an API key for a bad login and shows a test user's items.
    private func refuseKey(_ credentials: Credentials, _ dialect: Dialect) throws(SyncFailure) {
        guard dialect == .cursor, case .apiKey = credentials else { return }
        throw SyncFailure(
            .needsLogin, "This server needs a login; an API key does not name an account there.",
            consequence: "Nothing was written.")
    }

    /// Asks the server, in this session, whose it takes it for, and compares with the account that the copy is bound to. The
    /// answer is the proof of all that was read in the session before. A copy without an account needs no question.
    ///
    /// - Throws: `SyncFailure.sessionEnded` where the login has changed since.
    func prove(_ session: ClientSession, counting requests: RequestCounter) async throws(SyncFailure) {
        let binding = store.binding
        guard let expected = binding.accountID else {
            return session.pin()
        }
        requests.add()
        let account = try await SyncFailure.from(try await session.account())
        let shown = session.credentials ?? .none
        guard ByteText(account.id) == ByteText(expected) else {
            // The server does not take the token for what it says; a renewed one it may.
            let isRenewed = client.distrust(shown)
            let failure = SyncFailure(
                .accountChanged,
                "The server answers as another account than the one this copy is of; the login has probably expired.",
                consequence: "Nothing of that account was written.",
                verdict: isRenewed ? .retry(after: nil) : .tryRarely, origin: .server(endpoint: Self.accountEndpoint))
            if !isRenewed { shared.refusedLogin = (shown, failure) }
            throw failure
        }
        client.trust(shown)
        if shared.refusedLogin?.shown == shown { shared.refusedLogin = nil }
        // A copy that an earlier version has bound.
        guard binding.accountSubject == nil, let subject = shown.subject else { return }
        var new = binding
        new.accountSubject = subject
        try await bind(new)
    }

    static let accountEndpoint = "GET /api/auth/me"

    /// - Throws: `SyncFailure` where the answer has the form of another dialect than the copy is bound to, or of none: a
    ///   list of items alone does not say whether it is the last page.
    func check(_ page: TimelinePage, is dialect: Dialect) throws(SyncFailure) {
        guard let other = page.dialect else {
            throw SyncFailure(
                .unexpectedShape, "The server's page does not say how it goes on.",
                consequence: "Nothing of that page was written.", verdict: .retry(after: nil))
        }
        guard other != dialect else { return }
        throw SyncFailure(
            .serverChanged,
            "The server answers in dialect \(other.rawValue); this copy is of one that spoke \(dialect.rawValue).",
            consequence: "Nothing was written.")
    }

    private func bind(_ binding: Binding) async throws(SyncFailure) {
        do {
            try await store.bind(binding)
        } catch {
            throw SyncFailure(error, verdict: .tryRarely)
        }
    }
}
