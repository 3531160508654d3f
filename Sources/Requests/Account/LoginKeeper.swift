package import Configuration
package import PRSNLClient
package import PRSNLCore
package import SyncEngine
import Synchronization

/// What the running daemon shows to the server: where it comes from, how it stands, and what may replace it.
package final class LoginKeeper: Sendable {
    private let environment: ProcessEnvironment
    let server: ServerURL
    let storage: LoginStorage
    let client: PRSNLClient
    let engine: SyncEngine
    let log: LogHandler
    /// The file of the key or token that is used; `nil` without one. It wins over a login.
    private let keyFile: Mutex<String?>

    package init(
        _ found: FoundCredentials, environment: ProcessEnvironment, server: ServerURL, storage: LoginStorage,
        client: PRSNLClient, engine: SyncEngine, log: @escaping LogHandler
    ) {
        (self.environment, self.server, self.storage, self.client) = (environment, server, storage, client)
        (self.engine, self.log) = (engine, log)
        keyFile = Mutex(found.keyFile)
    }

    /// How the credentials stand.
    var report: CredentialsReport {
        var report = CredentialsReport(client.credentials, in: keyFile.withLock { $0 } ?? storage.file.path)
        if client.loginStatus?.isRefused == true { report.refused = true }
        return report
    }

    /// Uses a new login from now on, and stores it first. A renewal of the old one that is under way is dropped.
    ///
    /// - Throws: `login_other_server`; `credentials_conflict`; `disk_full` and `login_not_stored`: nothing has changed then.
    func take(_ login: StoredLogin) throws(UserFacingError) {
        try login.check(isFor: server)
        try refuseBesideKeyFile()
        try storage.replace(with: login) { client.replaceCredentials(.login(login.pair)) }
        log(.notice, .config, "a new login is used from now on")
        engine.credentialsChanged()
    }

    /// - Throws: `credentials_conflict` where a login would not be used.
    func refuseBesideKeyFile() throws(UserFacingError) {
        guard let path = keyFile.withLock({ $0 }) else { return }
        throw UserFacingError(
            .credentialsConflict, "The daemon uses the key or token in \(path), and not a login.",
            consequence: "Nothing was changed.")
    }

    /// For each of the requests that tell the server. The answer to the logout waits for them.
    private static let tellingTime: Duration = .seconds(10)

    /// Forgets the login, here first, so that it is that one and no newer one; then tells the server, as far as it can be
    /// told. Also one that is stored and not used, because a key file stands above it.
    ///
    /// - Throws: `login_not_stored` where the file could not be removed: the login is still in use then.
    func logout() async throws(UserFacingError) -> LogoutReport {
        let end = try storage.end { client.replaceCredentials(.none) }
        if end.wasInUse { engine.credentialsChanged() }
        var report = LogoutReport(source: .daemon, wasLoggedIn: end.wasThere)
        guard end.wasThere else { return report }
        log(.notice, .config, "logged out")
        (report.server, report.error) = (server.text, await tell(end))
        report.serverTold = report.error == nil
        return report
    }

    /// - Returns: why the server could not be told, where it could not.
    private func tell(_ end: LoginStorage.End) async -> UserFacingError? {
        guard let login = end.login else { return end.failure }
        do throws(UserFacingError) {
            // The pair is not sent to another server.
            try login.check(isFor: server)
            let client = try client.sibling(.login(login.pair), atMost: Self.tellingTime)
            defer { client.shutdown() }
            do throws(APIError) { try await client.logout() } catch {
                // A login that is worth nothing need not be ended.
                return error.kind == .loginExpired ? nil : error.userFacing
            }
            return nil
        } catch {
            return error
        }
    }

    /// Looks again at key file and login. A login that was refused is tried once more: a reload may follow a repair.
    ///
    /// - Throws: what `FoundCredentials.keyFile` and `LoginStorage.readAgain` throw; nothing has changed then.
    package func readAgain(_ configuration: DaemonConfiguration) throws(UserFacingError) {
        if let (credentials, path) = try FoundCredentials.keyFile(configuration, environment) {
            storage.forget()
            keyFile.withLock { $0 = path }
            return use(credentials, "the key in api_key_file has changed, and is used from now on")
        }
        client.reconsiderLogin()
        let hasLogin = try storage.readAgain(for: server) { login in
            guard let login else { return }
            use(.login(login.pair), "the stored login has changed, and is used from now on")
        }
        keyFile.withLock { $0 = nil }
        if !hasLogin { use(.none, "there are no credentials any more") }
    }

    private func use(_ credentials: Credentials, _ message: Advice) {
        guard credentials != client.credentials else { return }
        client.replaceCredentials(credentials)
        engine.credentialsChanged()
        log(.notice, .config, message)
    }
}

/// The login that is in use and the one that the file holds: the same, unless the disk does not take it.
///
/// One lock is held over every change of the file together with what follows from it, so that a renewal whose answer comes
/// late never overwrites a login that was just made, or brings back one that was ended.
package final class LoginStorage: Sendable {
    private struct State {
        var live: StoredLogin?
        var stored: StoredLogin?
    }

    let file: LoginFile
    private let state: Mutex<State>

    package init(_ file: LoginFile, of found: FoundCredentials? = nil) {
        self.file = file
        state = Mutex(State(live: found?.login, stored: found?.login))
    }

    /// Stores a renewed pair, unless the pair that it replaces is no longer the one in use.
    ///
    /// - Throws: `disk_full`, `login_not_stored`; to be called again then.
    package func save(_ new: TokenPair, replacing old: TokenPair) throws(UserFacingError) {
        try state.withLock { state throws(UserFacingError) in
            guard var login = state.live, login.pair == old || login.pair == new else { return }
            login.pair = new
            // Another program has put another one into the file, or removed it. The next reload finds out.
            guard holds(state.stored, orElse: login) else { return }
            state.live = login
            try file.write(login)
            state.stored = login
        }
    }

    /// Whether the file holds one of the two. One that cannot be read is worth nothing to anybody.
    private func holds(_ stored: StoredLogin?, orElse other: StoredLogin) -> Bool {
        do throws(UserFacingError) {
            let found = try file.read()
            return found == stored || found == other
        } catch {
            return true
        }
    }

    /// Stores another login, and then lets `use` make it the one in use. Where it throws, nothing has changed.
    ///
    /// - Throws: `disk_full`, `login_not_stored`.
    func replace(with login: StoredLogin, use: () -> Void) throws(UserFacingError) {
        try state.withLock { state throws(UserFacingError) in
            try file.write(login)
            state = State(live: login, stored: login)
            use()
        }
    }

    /// What was removed.
    package struct End: Sendable {
        /// The one in use, else the one that the file held.
        package var login: StoredLogin?
        var wasInUse: Bool
        /// Why the file's could not be read.
        package var failure: UserFacingError?
        package var wasThere: Bool { login != nil || failure != nil }
    }

    /// Removes the login, and then lets `use` make none the one in use, where one was.
    ///
    /// - Throws: `login_not_stored`; nothing has changed then.
    package func end(use: () -> Void) throws(UserFacingError) -> End {
        try state.withLock { state throws(UserFacingError) in
            var end = End(login: state.live, wasInUse: state.live != nil)
            if !end.wasInUse {
                // One that cannot be read goes too: that is what was asked for.
                do throws(UserFacingError) { end.login = try file.read() } catch { end.failure = error }
            }
            try file.remove()
            state = State()
            if end.wasInUse { use() }
            return end
        }
    }

    /// Reads the file again. Where it holds what it held, nothing happens: a pair that is newer than the file, because the
    /// disk did not take it, stays in use.
    ///
    /// - Parameter use: called with another login, or with none where there was one.
    /// - Returns: whether there is a login.
    /// - Throws: `login_file_unreadable`, `key_file_exposed`, `login_other_server`.
    func readAgain(for server: ServerURL, use: (StoredLogin?) -> Void) throws(UserFacingError) -> Bool {
        try state.withLock { state throws(UserFacingError) in
            let found = try file.read()
            try found?.check(isFor: server)
            if found != state.stored || state.live == nil, found != state.live {
                state = State(live: found, stored: found)
                use(found)
            }
            return state.live != nil
        }
    }

    /// Something else is used in its place; the file stays.
    func forget() { state.withLock { $0 = State() } }
}
