/// Whether the kernel knows a way to the server. No packet is sent to find out.
package enum RouteVerdict: Sendable, Equatable {
    /// `path` is a text that changes when the way does: source address, interface, gateway.
    case routable(path: String)
    /// In words: `v0: carrier lost`.
    case unroutable(reason: String)
    /// The server has a name that was never resolved, or leads elsewhere now. `hasNetwork`: some address other than this
    /// machine's own can be reached.
    case notKnown(hasNetwork: Bool)

    var isKnown: Bool {
        if case .notKnown = self { false } else { true }
    }
}
