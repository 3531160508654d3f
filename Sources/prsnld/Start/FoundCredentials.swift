import Configuration
import Glibc
import PRSNLClient
import PRSNLCore

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
