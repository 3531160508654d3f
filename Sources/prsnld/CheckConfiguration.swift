import Configuration
import Control
import PRSNLClient
import PRSNLCore

/// `prsnld --check-config`: everything that is checked at the start without touching file or server.
enum CheckConfiguration {
    /// - Returns: what holds, each value with where it comes from.
    static func run(_ setup: Setup) throws(UserFacingError) -> String {
        let loaded = try setup.load()
        let server = try setup.server(loaded.configuration)
        let found = try setup.credentials(loaded.configuration, server: server)
        var lines = ["configuration file: \(loaded.file ?? "none")", ""]
        let nameWidth = (ConfigurationKey.all.map(\.name.count).max() ?? 0) + 2
        for key in ConfigurationKey.all {
            let padding = String(repeating: " ", count: nameWidth - key.name.count)
            let value = SafeText.harmless(key.value(in: loaded.configuration) ?? "(\(plain(key.defaultText)))")
            lines.append("\(key.name)\(padding)\(value)  [\(loaded.origin(of: key))]")
        }
        lines.append("")
        lines += loaded.warnings.map { "warning: \($0)" }
        lines += found.warnings.map { "warning: \($0)" }
        switch found.credentials {
        case .none: break
        case .apiKey: lines.append("api_key_file holds an API key")
        case .loginToken: lines.append("api_key_file holds a login token")
        case .login: lines.append("there is a login")
        }
        lines.append("The configuration is in order.")
        return lines.map { $0 + "\n" }.joined()
    }

    private static func plain(_ text: String) -> String { text.filter { $0 != "`" } }
}
