package import Console
import Control
package import PRSNLCore

/// Forgets the login, here and on the server.
package struct LogoutRequest: BareRequest {
    package typealias Answer = LogoutReport
    package static let command = "logout"
    package var isChange: Bool { true }

    package init() {}
}

/// What `prsnlctl logout` did: its JSON, and the daemon's answer.
package struct LogoutReport: ControlReply {
    package static let type = "logout"

    package var schemaVersion = 1
    package var source: StatusReport.Source
    /// There was a login to forget.
    package var wasLoggedIn: Bool
    /// The server of the login.
    @Nullable package var server: String? = nil
    /// The server was told, so that the login can no longer be used; `null` where there was none.
    @Nullable package var serverTold: Bool? = nil
    /// Why it could not be told.
    @Nullable package var error: UserFacingError? = nil
    /// What stays: items, and writes that are not delivered. `null` where there is no copy.
    @Nullable package var items: Int? = nil
    @Nullable package var undelivered: Int? = nil

    package init(source: StatusReport.Source, wasLoggedIn: Bool, server: String?) {
        self.source = source
        self.wasLoggedIn = wasLoggedIn
        self.server = server
    }

    package var exitCode: ExitCode { .fine }
}

extension LogoutReport: Report {
    package func text(_ style: TextStyle) -> String {
        var lines: [String] = []
        if wasLoggedIn {
            lines.append("logged out" + (server.map { " of \(style.safe($0))" } ?? ""))
        } else {
            lines.append("not logged in")
        }
        if serverTold == false {
            lines.append(
                style.paint("The server could not be told", .yellow)
                    + (error.map { " (\(style.safe($0.message)))" } ?? "")
                    + ". The login is gone from this machine; on the server it ends by itself within a week.")
        }
        if let items {
            lines.append(
                "The copy stays: \(Formatting.count(items, "item"))"
                    + (undelivered.map { $0 > 0 ? ", and \(Formatting.count($0, "undelivered write"))" : "" } ?? "")
                    + ". It is brought up to date after the next login.")
        }
        return paragraphs(lines, style)
    }
}
