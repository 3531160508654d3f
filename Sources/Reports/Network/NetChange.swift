import Control
package import NetMonitor
package import PRSNLCore

/// Asks for the state of the network, and then for each change until one side leaves.
package struct NetWatchRequest: BareRequest {
    package typealias Answer = NetChange
    package static let command = "net"
    package static let variant: String? = "watch"
    package var isChange: Bool { false }

    package init() {}
}

/// One change, as `prsnlctl net --watch --json` prints it, one per line.
package struct NetChange: ControlReply {
    package static let type = "net_change"

    package var schemaVersion = 1
    package var at: Timestamp
    /// `current` (as it was when the watch began), `network`, `connectivity`, `clock`.
    package var kind: String
    /// What has changed, in words.
    package var reasons: [String]
    /// As it is after the change.
    package var state: Connectivity.State
    /// The route to the server in words.
    package var route: String

    package init(_ change: NetworkChange, route: String) {
        at = change.at
        kind = change.kind.rawValue
        reasons = change.reasons
        state = change.connectivity.state
        self.route = route
    }

    /// What a watch begins with.
    package init(current connectivity: Connectivity, route: String, now: Timestamp) {
        at = now
        kind = "current"
        reasons = connectivity.reason.map { [$0.message] } ?? []
        state = connectivity.state
        self.route = route
    }
}
