package import Configuration
import Console
import Glibc
package import PRSNLClient
package import PRSNLCore
package import Store

/// An account as the server names it.
package struct AccountName: Sendable, Equatable, Codable {
    @Nullable package var id: String? = nil
    /// The e-mail address, else the name.
    @Nullable package var name: String? = nil

    package init(id: String?, name: String?) { (self.id, self.name) = (id, name) }
}

extension AccountName {
    /// `nil` where nothing is known.
    package init?(known id: String?, _ name: String?) {
        guard id != nil || name != nil else { return nil }
        self.init(id: id, name: name)
    }

    /// Whose timeline a copy is of; `nil` where it is not bound.
    package init?(_ copy: CopySummary) { self.init(known: copy.server.accountID, copy.server.accountName) }

    package var words: String { name ?? id ?? Formatting.notKnown }

    /// By the id, which stays when people change their address; `nil` where one of them is not known.
    static func isSame(_ left: AccountName?, _ right: AccountName?) -> Bool? {
        guard let left = left?.id, let right = right?.id else { return nil }
        return left == right
    }
}

/// What the daemon shows to the server to be let in, without the secret itself.
package struct CredentialsReport: Sendable, Equatable, Codable {
    package enum Kind: String, Sendable, Codable {
        case none
        /// In `api_key_file`.
        case apiKey = "api_key"
        /// In `api_key_file`, put there by a person, and not renewed.
        case loginToken = "login_token"
        /// Of `prsnlctl login`: the daemon renews it.
        case login
        /// Only the daemon's user and root may see what they are.
        case notReadable = "not_readable"
    }

    package var kind: Kind
    /// The file that they are read from.
    @Nullable package var path: String? = nil
    /// When the token expires that is shown to the server.
    @Nullable package var expiresAt: Timestamp? = nil
    /// The server has refused them; `null` where it was not asked.
    @Nullable package var refused: Bool? = nil

    package init(kind: Kind, path: String? = nil, expiresAt: Timestamp? = nil, refused: Bool? = nil) {
        (self.kind, self.path, self.expiresAt, self.refused) = (kind, path, expiresAt, refused)
    }
}

extension CredentialsReport {
    /// - Parameter path: the file that they are read from.
    package init(_ credentials: Credentials, in path: String) {
        switch credentials {
        case .none: self.init(kind: .none)
        case .apiKey: self.init(kind: .apiKey, path: path)
        case .loginToken(let token):
            self.init(kind: .loginToken, path: path, expiresAt: AccessToken(token)?.expiresAt)
        case .login(let pair): self.init(kind: .login, path: path, expiresAt: AccessToken(pair.access)?.expiresAt)
        }
    }
}

/// What there is to show to the server at the start.
package struct FoundCredentials {
    package var credentials = Credentials.none
    /// The file of the key or token; `nil` without one.
    package var keyFile: String?
    /// `nil` unless the credentials are a login.
    var login: StoredLogin?
    package var warnings: [Advice] = []

    /// The key file, else the login beside the database.
    ///
    /// - Throws: what `keyFile` and `LoginFile.read` throw; `login_other_server`.
    package init(
        _ configuration: DaemonConfiguration, _ environment: ProcessEnvironment, server: ServerURL
    ) throws(UserFacingError) {
        let file = LoginFile(database: configuration.database)
        if let (credentials, path) = try Self.keyFile(configuration, environment) {
            (self.credentials, keyFile) = (credentials, path)
            if file.exists {
                warnings.append("there are credentials in \(path) and a login in \(file.path); the login is not used")
            }
            return
        }
        guard let login = try file.read() else {
            if !configuration.sync.anonymous {
                warnings.append("no api_key_file and no login: log in first with `prsnlctl login`")
            }
            return
        }
        try login.check(isFor: server)
        credentials = .login(login.pair)
        self.login = login
    }

    /// - Returns: `nil` where no key file is configured, and systemd gives none.
    /// - Throws: `key_file_unreadable`, `key_file_exposed`, `key_file_invalid`.
    static func keyFile(
        _ configuration: DaemonConfiguration, _ environment: ProcessEnvironment
    ) throws(UserFacingError) -> (credentials: Credentials, path: String)? {
        guard let path = configuration.apiKeyFile else { return nil }
        let text = try KeyFile.read(path: path, credentialsDirectory: environment.variables["CREDENTIALS_DIRECTORY"])
        return (try Credentials.parse(text), path)
    }

    /// Whether there may be a key that this process cannot see: systemd hides the credentials of a unit from the command that
    /// a reload runs first. A login beside the database may be of no use then, and wrong without any harm.
    package static func areHidden(_ configuration: DaemonConfiguration, _ environment: ProcessEnvironment) -> Bool {
        guard let folder = environment.variables["CREDENTIALS_DIRECTORY"], access(folder, X_OK) != 0 else {
            return false
        }
        return configuration.apiKeyFile?.hasPrefix(folder + "/") ?? true
    }
}
