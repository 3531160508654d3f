import Console

/// When the daemon will send what is queued, as far as that can be known.
package enum Sending: String, Sendable, Codable {
    /// The server is reachable.
    case inTurn = "in_turn"
    case whenReachable = "when_reachable"
    /// The server refuses the credentials.
    case whenAuthorized = "when_authorized"
    /// The server is reachable, and something else keeps all writes back.
    case whenPossible = "when_possible"
    case whenDaemonRuns = "when_daemon_runs"

    func text(_ style: TextStyle) -> String {
        switch self {
        case .inTurn: "will be sent in turn"
        case .whenReachable: "will be sent when the server is reachable"
        case .whenAuthorized:
            "will be sent when the server accepts the credentials: see \(style.command("prsnlctl whoami"))"
        case .whenPossible: "nothing is sent at the moment: see \(style.command("prsnlctl queue"))"
        case .whenDaemonRuns: "will be sent when the daemon runs"
        }
    }
}
