import Console
import PRSNLCore

/// What the states of the connection mean, for people.
enum ConnectivityWords {
    static func painted(_ state: String, _ style: TextStyle) -> String {
        let word = style.safe(state == "unknown" ? Figures.notKnown : state)
        return style.paint(word, state == "online" ? .green : .yellow)
    }

    /// What the daemon does about it; `nil` where it does what it always does.
    static func consequence(_ state: String) -> String? {
        switch state {
        case "offline": "Nothing is sent or pulled until this machine has a way to the server again; then at once."
        case "unreachable":
            "The server is asked again and again, at least once a minute, and at once when the network changes."
        case "portal":
            "Nothing is sent or pulled until it is the server that answers; it is asked at least once a minute."
        case "unauthorized": "Nothing is sent or pulled until the server accepts the credentials."
        default: nil
        }
    }

    /// Why what is due is not sent; `nil` where it is.
    static func whatIsWaitedFor(_ state: String) -> String? {
        switch state {
        case "offline": "due when there is a network"
        case "unreachable", "portal": "due when the server is reachable"
        case "unauthorized": "due when the server accepts the credentials"
        default: nil
        }
    }
}

extension StatusReport.Connectivity {
    /// `offline since 2026-11-21 01:06:14 UTC (3 h ago)`
    func headline(_ style: TextStyle, now: Timestamp) -> String {
        ConnectivityWords.painted(state, style)
            + (since.map { " since \(Figures.timeWithAge($0, now: now))" } ?? "")
    }
}
