package import Console
package import PRSNLCore

/// What a state of the connection means, for people.
package struct ConnectivityWords {
    /// As it is called in a table.
    package let name: String
    /// In the line of systemd.
    package let brief: String
    /// Why nothing is read any more; `nil` where it is, or where that depends on the reason.
    package var sentence: String? = nil
    /// What the daemon does about it; `nil` where it does what it always does.
    package var consequence: String? = nil
    /// What writes wait for.
    package var waitsFor = "for the server"
    /// Why what is due is not sent; `nil` where it is.
    package var due: String? = nil

    package var colour: TextStyle.Colour { name == "online" ? .green : .yellow }

    package func painted(_ style: TextStyle) -> String { style.paint(name, colour) }
}

extension Connectivity.State {
    package var words: ConnectivityWords {
        switch self {
        case .online: ConnectivityWords(name: rawValue, brief: "online", waitsFor: "to be sent")
        case .unknown: ConnectivityWords(name: Formatting.notKnown, brief: "server not asked yet")
        case .offline:
            ConnectivityWords(
                name: rawValue, brief: "offline", sentence: "There has been no network",
                consequence:
                    "Nothing is sent or pulled until this machine has a route to the server again; then at once.",
                waitsFor: "for the network", due: "due when there is a network")
        case .unreachable:
            ConnectivityWords(
                name: rawValue, brief: "server not reachable", sentence: "The server has been unreachable",
                consequence:
                    "The server is asked again and again, at least once a minute, and at once when the network changes.",
                due: "due when the server is reachable")
        case .portal:
            ConnectivityWords(
                name: rawValue, brief: "something other than PRSNL answers",
                sentence: "Something other than PRSNL has answered",
                consequence:
                    "Nothing is sent or pulled: something other than PRSNL answers. The server is asked at least once a minute.",
                due: "due when the server is reachable")
        case .unauthorized:
            ConnectivityWords(
                name: rawValue, brief: "needs login",
                consequence: "Nothing is sent or pulled until the server accepts the credentials.",
                waitsFor: "for a login", due: "due when the server accepts the credentials")
        }
    }
}

extension Connectivity {
    /// `offline since 2026-11-21 01:06:14 (3 h ago)`
    package func headline(_ style: TextStyle, now: Timestamp) -> String {
        state.words.painted(style) + (since.map { " since \(Formatting.timeWithAge($0, now: now))" } ?? "")
    }
}
