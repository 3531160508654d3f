import Configuration
import Glibc
import PRSNLClient
import PRSNLCore
import SyncEngine
import Synchronization

/// What the running daemon shows to the server: where it comes from, how it stands, and what may replace it.
final class LoginKeeper: Sendable {
    /// Where credentials come from. A key file wins over a login.
    enum Source: Sendable, Equatable {
        case none
        case keyFile(path: String)
        case login
    }

    /// How the credentials stand.
    struct State: Sendable {
        var source: Source
        /// Of a login.
        var login: LoginStatus?
        /// The file that a login is stored in, or would be.
        var loginFile: String
    }

    /// What became of a logout: the login is gone from here in any case.
    struct Logout: Sendable {
        /// Whether there was a login.
        var wasLoggedIn: Bool
        /// Why the server could not be told, where it could not.
        var serverFailure: UserFacingError?
    }

    let setup: Setup
    let server: ServerURL
    let storage: LoginStorage
    let client: PRSNLClient
    let engine: SyncEngine
    let log: LogHandler
    private let source: Mutex<Source>

    init(
        _ found: FoundCredentials, setup: Setup, server: ServerURL, storage: LoginStorage, client: PRSNLClient,
        engine: SyncEngine, log: @escaping LogHandler
    ) {
        self.setup = setup
        self.server = server
        self.storage = storage
        self.client = client
        self.engine = engine
        self.log = log
        source = Mutex(found.source)
    }

    var state: State {
        State(source: source.withLock { $0 }, login: client.loginStatus, loginFile: storage.file.path)
    }

    /// Uses a new login from now on, and stores it first. A renewal of the old one that is under way is dropped.
    ///
    /// - Throws: `login_other_server`; `credentials_conflict`; `disk_full` and `login_not_stored`: nothing has changed then.
    func take(_ login: StoredLogin) throws(UserFacingError) {
        try login.check(isFor: server)
        try refuseBesideKeyFile()
        try storage.replace(with: login) { client.replaceCredentials(.login(login.pair)) }
        source.withLock { $0 = .login }
        log(.notice, .config, "a new login is used from now on")
        engine.credentialsChanged()
    }

    /// - Throws: `credentials_conflict` where a login would not be used.
    func refuseBesideKeyFile() throws(UserFacingError) {
        guard case .keyFile(let path) = source.withLock({ $0 }) else { return }
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
    func logout() async throws(UserFacingError) -> Logout {
        let end = try storage.end { client.replaceCredentials(.none) }
        if end.wasInUse {
            source.withLock { if $0 == .login { $0 = .none } }
            engine.credentialsChanged()
        }
        guard end.wasThere else { return Logout(wasLoggedIn: false) }
        log(.notice, .config, "logged out")
        return Logout(wasLoggedIn: true, serverFailure: await tell(end))
    }

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
    /// - Throws: what `Setup.keyFileCredentials` and `LoginStorage.readAgain` throw; nothing has changed then.
    func readAgain(_ configuration: DaemonConfiguration) throws(UserFacingError) {
        if let (credentials, path) = try setup.keyFileCredentials(configuration) {
            storage.forget()
            source.withLock { $0 = .keyFile(path: path) }
            return use(credentials, "the key in api_key_file has changed, and is used from now on")
        }
        client.reconsiderLogin()
        let hasLogin = try storage.readAgain(for: server) { login in
            guard let login else { return }
            use(.login(login.pair), "the stored login has changed, and is used from now on")
        }
        source.withLock { $0 = hasLogin ? .login : .none }
        if !hasLogin { use(.none, "there are no credentials any more") }
    }

    private func use(_ credentials: Credentials, _ message: Advice) {
        guard credentials != client.credentials else { return }
        client.replaceCredentials(credentials)
        engine.credentialsChanged()
        log(.notice, .config, message)
    }
}

/// What there is to show to the server at the start.
struct FoundCredentials {
    var credentials = Credentials.none
    var source = LoginKeeper.Source.none
    /// Where the credentials are one.
    var login: StoredLogin?
    var warnings: [Advice] = []
}

extension Setup {
    /// The key file, else the login beside the database.
    ///
    /// - Throws: what `keyFileCredentials` and `LoginFile.read` throw; `login_other_server`.
    func credentials(
        _ configuration: DaemonConfiguration, server: ServerURL
    ) throws(UserFacingError) -> FoundCredentials {
        let file = LoginFile(database: configuration.database)
        var found = FoundCredentials()
        if let (credentials, path) = try keyFileCredentials(configuration) {
            found.credentials = credentials
            found.source = .keyFile(path: path)
            if file.exists {
                found.warnings.append(
                    "there are credentials in \(path) and a login in \(file.path); the login is not used")
            }
            return found
        }
        guard let login = try file.read() else {
            if !configuration.sync.anonymous {
                found.warnings.append("no api_key_file and no login: log in first with `prsnlctl login`")
            }
            return found
        }
        try login.check(isFor: server)
        found.credentials = .login(login.pair)
        found.source = .login
        found.login = login
        return found
    }

    /// Whether there may be a key that this process cannot see: systemd hides the credentials of a unit from the command that
    /// a reload runs first. A login beside the database may be of no use then, and wrong without any harm.
    func hidesCredentials(_ configuration: DaemonConfiguration) -> Bool {
        guard let folder = environment.variables["CREDENTIALS_DIRECTORY"], access(folder, X_OK) != 0 else {
            return false
        }
        return configuration.apiKeyFile?.hasPrefix(folder + "/") ?? true
    }

    /// - Returns: `nil` where no key file is configured, and systemd gives none.
    /// - Throws: `key_file_unreadable`, `key_file_exposed`, `key_file_invalid`.
    func keyFileCredentials(
        _ configuration: DaemonConfiguration
    ) throws(UserFacingError) -> (credentials: Credentials, path: String)? {
        guard let path = configuration.apiKeyFile else { return nil }
        let text = try KeyFile.read(path: path, credentialsDirectory: environment.variables["CREDENTIALS_DIRECTORY"])
        return (try Credentials.parse(text), path)
    }
}
