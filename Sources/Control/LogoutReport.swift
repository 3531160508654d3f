/// What `prsnlctl logout` did: its JSON, and the daemon's answer.
public struct LogoutReport: Sendable, Equatable, Codable {
    public var schemaVersion = 1
    public var source: StatusReport.Source
    /// There was a login to forget.
    public var wasLoggedIn: Bool
    /// The server of the login.
    @Nullable public var server: String? = nil
    /// The server was told, so that the login is worth nothing to anybody any more; `null` where there was none.
    @Nullable public var serverTold: Bool? = nil
    /// Why it could not be told.
    @Nullable public var error: ErrorReport? = nil
    /// What stays: items, and writes that are not delivered. `null` where there is no copy.
    @Nullable public var items: Int? = nil
    @Nullable public var undelivered: Int? = nil

    enum CodingKeys: String, CodingKey {
        case source, server, error, items, undelivered
        case schemaVersion = "schema_version"
        case wasLoggedIn = "was_logged_in"
        case serverTold = "server_told"
    }

    public init(source: StatusReport.Source, wasLoggedIn: Bool, server: String?) {
        self.source = source
        self.wasLoggedIn = wasLoggedIn
        self.server = server
    }

    public var exitCode: ExitCode { .fine }
}

extension LogoutReport: Report {
    public mutating func fit(_ unit: ServiceUnit) { error?.fit(unit) }

    public func text(_ style: TextStyle) -> String {
        var lines: [String] = []
        if wasLoggedIn {
            lines.append("logged out" + (server.map { " of \(style.safe($0))" } ?? ""))
        } else {
            lines.append("nobody was logged in")
        }
        if serverTold == false {
            lines.append(
                style.paint("The server could not be told", .yellow)
                    + (error.map { " (\(style.safe($0.message)))" } ?? "")
                    + ". The login is gone from this machine; on the server it ends by itself within a week.")
        }
        if let items {
            lines.append(
                "The copy stays: \(Figures.count(items, "item"))"
                    + (undelivered.map { $0 > 0 ? ", and \(Figures.count($0, "undelivered write"))" : "" } ?? "")
                    + ". It is brought up to date after the next login.")
        }
        return lines.flatMap { TextLayout.wrap($0, width: style.width) }.map { $0 + "\n" }.joined()
    }
}
