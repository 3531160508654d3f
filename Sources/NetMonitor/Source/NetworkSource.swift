package import PRSNLCore

/// What the kernel says about the network: the real one, a scripted one in tests, or nothing at all.
package struct NetworkSource: Sendable {
    /// How the kernel is listened to.
    package enum How: Sendable, Equatable {
        case netlink
        /// Netlink is not permitted: the route to the server is looked at now and then.
        case polling(errno: Int32)
        /// Not at all.
        case none
    }

    package var how: How
    /// One consumer. The first event is the state at the start.
    package var events: AsyncStream<NetworkEvent>
    package var snapshot: @Sendable () -> NetworkSnapshot
    package var route: @Sendable (ServerAddress) -> RouteState
    /// Whether dumps are wanted more often, where the kernel is polled.
    package var setUrgent: @Sendable (Bool) -> Void
    /// Of the source's thread, where it has one.
    package var heartbeat: Heartbeat?
    /// Ends the events.
    package var stop: @Sendable () -> Void

    package init(
        how: How, events: AsyncStream<NetworkEvent>, snapshot: @escaping @Sendable () -> NetworkSnapshot,
        route: @escaping @Sendable (ServerAddress) -> RouteState,
        setUrgent: @escaping @Sendable (Bool) -> Void = { _ in }, stop: @escaping @Sendable () -> Void = {}
    ) {
        self.how = how
        self.events = events
        self.snapshot = snapshot
        self.route = route
        self.setUrgent = setUrgent
        self.stop = stop
    }

    /// Nothing is known of the network, and every server is asked.
    package static var none: NetworkSource {
        NetworkSource(
            how: .none, events: AsyncStream { $0.finish() }, snapshot: { NetworkSnapshot() },
            route: { _ in .notKnown(hasNetwork: true) })
    }
}

extension NetworkSource {
    /// The real network. It ends with `stop()`, or with the last reference to the source.
    ///
    /// - Throws: `limit_reached`.
    package static func kernel(log: @escaping LogHandler = { _, _, _ in }) throws(UserFacingError) -> NetworkSource {
        let listener = try NetworkListener(log: log)
        let check = RouteCheck(usesNetlink: listener.how == .netlink) { listener.snapshot }
        var source = NetworkSource(
            how: listener.how, events: listener.events, snapshot: { listener.snapshot },
            route: { check.route(to: $0) }, setUrgent: { listener.setUrgent($0) }, stop: { listener.stop() })
        source.heartbeat = listener.heartbeat
        return source
    }
}
