import Configuration
import PRSNLClient
import PRSNLCore
import Requests

/// `prsnld --check-config`: everything that is checked at the start without touching file or server.
enum CheckConfiguration {
    /// - Parameter view: the unit as which to look; `nil`: as this very process.
    /// - Returns: the values in effect, each with its source.
    static func run(_ setup: Setup, as view: ServiceView? = nil) throws(UserFacingError) -> String {
        let handedOver = try view.flatMap { view throws(UserFacingError) in try keyHandedOver(to: view) }
        let seesCredentials = try view?.becomeItsUser() ?? true
        let loaded = try setup.load()
        let server = try setup.server(loaded.configuration)
        var lines = view.map { ["as the user of \($0.unit).service, with its folders"] } ?? []
        lines += ["configuration file: \(loaded.file ?? "none")", ""]
        let nameWidth = (ConfigurationKey.all.map(\.name.count).max() ?? 0) + 2
        for key in ConfigurationKey.all {
            let padding = String(repeating: " ", count: nameWidth - key.name.count)
            let value = SafeText.harmless(key.value(loaded.configuration) ?? "(\(plain(key.defaultText)))")
            lines.append("\(key.name)\(padding)\(value)  [\(loaded.origin(of: key))]")
        }
        lines.append("")
        lines += loaded.warnings.map { "warning: \($0)" }
        if !seesCredentials {
            lines.append("not checked: the credentials, which only root and the daemon's user may read")
        } else if FoundCredentials.areHidden(loaded.configuration, setup.environment) {
            lines.append("not checked: the credentials, because only the daemon sees what systemd has handed over")
        } else if let handedOver, loaded.configuration.apiKeyFile == nil {
            if LoginFile(database: loaded.configuration.database).exists {
                lines.append("warning: there is an API key in \(handedOver) and a login; the login is not used")
            }
            lines.append("systemd hands over the API key in \(handedOver)")
        } else {
            lines += try credentials(setup, loaded, server)
        }
        lines.append("The configuration is in order.")
        return lines.map { $0 + "\n" }.joined()
    }

    private static func credentials(
        _ setup: Setup, _ loaded: LoadedConfiguration, _ server: ServerURL
    ) throws(UserFacingError) -> [String] {
        let found = try FoundCredentials(loaded.configuration, setup.environment, server: server)
        let warnings = found.warnings.map { "warning: \($0)" }
        if found.credentials == .none { return warnings }
        return warnings + ["\(found.keyFile == nil ? "there is" : "api_key_file holds") \(found.credentials)"]
    }

    /// The path of the key that systemd has for the unit, which it reads as root.
    ///
    /// - Throws: `key_file_unreadable`, `key_file_exposed`, `key_file_invalid`.
    private static func keyHandedOver(to view: ServiceView) throws(UserFacingError) -> String? {
        guard let key = CredentialStore.key(ofUnit: view.unit) else { return nil }
        if !key.isEncrypted {
            _ = try Credentials.parse(
                try KeyFile.read(path: key.path, credentialsDirectory: CredentialStore.folder))
        }
        return key.path
    }

    private static func plain(_ text: String) -> String { text.filter { $0 != "`" } }
}
