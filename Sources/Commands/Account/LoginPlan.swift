import Configuration
import Console
import Glibc
import PRSNLClient
import PRSNLCore

/// What a login is about, decided before a password is typed: which server, with what settings, and whether the
/// configuration has yet to name it.
struct LoginPlan {
    let server: ServerURL
    /// Where to write `server_url`; `nil` where it stands already.
    let writesServerTo: String?
    let configuration: DaemonConfiguration

    /// - Throws: `no_server`, `bad_server_url`, `login_not_possible` for another server than the configured one,
    ///   `credentials_conflict` where the login would not be used, `config_unreadable` where it could not be written down.
    init(_ context: CommandContext, given: String?) throws(UserFacingError) {
        let loaded = try context.configuration()
        configuration = loaded.configuration
        if let path = configuration.apiKeyFile {
            throw UserFacingError(
                .credentialsConflict,
                "api_key_file names \(path)\(Self.place(loaded, "api_key_file")): the daemon would use that and no login.",
                consequence: "No login was made.")
        }
        if let key = context.unit.nameForCredentials.flatMap(CredentialStore.key(ofUnit:)) {
            throw UserFacingError(
                .credentialsConflict,
                "There is an API key in \(key.path), which systemd hands to the daemon at its start: it would use that and "
                    + "no login.",
                consequence: "No login was made.",
                recoverySuggestion: "Remove the file, restart the daemon where it runs, then log in again.",
                nextCommand: "sudo rm \(key.path)")
        }
        guard let given else {
            guard let configured = configuration.serverURL else {
                throw UserFacingError(
                    .noServer, "No server is configured.", consequence: "No login was made.",
                    recoverySuggestion: "Say which: `prsnlctl login --server https://prsnl.example.org`.")
            }
            server = configured
            writesServerTo = nil
            return
        }
        do throws(Rejection) {
            server = try ServerURL(given)
        } catch {
            throw UserFacingError(.badServerURL, "--server \(error.reason).", consequence: "No login was made.")
        }
        if let configured = configuration.serverURL {
            guard configured == server else {
                throw UserFacingError(
                    .loginNotPossible,
                    "server_url is \(configured.text)\(Self.place(loaded, "server_url")), not \(server.text).",
                    consequence: "No login was made, and the configuration is as it was.",
                    recoverySuggestion: "Leave --server out, or change server_url there and restart the daemon.")
            }
            writesServerTo = nil
        } else {
            writesServerTo = try Self.writableConfiguration(loaded, context)
        }
    }

    private static func place(_ loaded: LoadedConfiguration, _ key: String) -> String {
        loaded.origins[key].map { " (\($0))" } ?? ""
    }

    /// The file that was read; where there is none, the machine's for root, and else the person's own, which is also what
    /// a person gets who has none yet.
    private static func writableConfiguration(
        _ loaded: LoadedConfiguration, _ context: CommandContext
    ) throws(UserFacingError) -> String {
        let own = geteuid() == 0 ? nil : DefaultPaths.ownConfiguration(context.environment)
        let path = loaded.file ?? own ?? DefaultPaths.systemConfiguration
        // It is replaced in its folder, or made in the first one that is there.
        var folder = Descriptors.folder(of: path)
        while access(folder, F_OK) != 0, folder != "/", folder != "." { folder = Descriptors.folder(of: folder) }
        guard access(folder, W_OK) == 0 else {
            throw UserFacingError(
                .configUnreadable, "server_url has to be written to \(path), which this user may not change.",
                consequence: "No login was made.", recoverySuggestion: "Give the command as root.",
                nextCommand: CommandContext.sudo())
        }
        return path
    }

    /// For the one or two requests that prsnlctl makes itself, with the settings that the daemon has.
    ///
    /// - Throws: `insecure_server_url` among others.
    static func client(
        _ server: String, _ network: NetworkSettings, _ credentials: Credentials
    ) throws(UserFacingError) -> PRSNLClient {
        try PRSNLClient(
            configuration: ClientConfiguration(
                serverURL: server, credentials: credentials, network: network,
                userAgent: "prsnlctl/\(ProductVersion.current)"), time: TaskLoop.start().time)
    }
}
