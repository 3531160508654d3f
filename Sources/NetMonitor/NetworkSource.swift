package import PRSNLCore

/// What the kernel says about the network: the real one, a scripted one in tests, or nothing at all.
package struct NetworkSource: Sendable {
    /// How the kernel is listened to.
    package enum How: String, Sendable, Codable {
        case netlink
        /// Netlink is not permitted: the route to the server is looked at now and then.
        case polling
        /// Not at all.
        case none
    }

    package var how: How
    /// Why it is not netlink.
    package var reason: String?
    /// One consumer. The first event is the state at the start.
    package var events: AsyncStream<NetworkEvent>
    package var snapshot: @Sendable () -> NetworkSnapshot
    package var route: @Sendable (ServerAddress) -> RouteState
    /// Whether dumps are wanted more often, where the kernel is polled.
    package var setUrgent: @Sendable (Bool) -> Void = { _ in }
    /// Of the source's thread, where it has one.
    package var heartbeat: Heartbeat?
    /// Ends the events.
    package var stop: @Sendable () -> Void = {}

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
        return NetworkSource(
            how: listener.how, reason: listener.reason, events: listener.events, snapshot: { listener.snapshot },
            route: { check.route(to: $0) }, setUrgent: { listener.setUrgent($0) }, heartbeat: listener.heartbeat,
            stop: { listener.stop() })
    }
}

/// A dump of the network, or news of the clock.
package struct NetworkEvent: Sendable, Equatable {
    package enum Clock: Sendable, Equatable {
        /// The wall clock was set; forward is positive.
        case stepped(Duration)
        /// The machine was suspended for so long.
        case woke(Duration)
    }

    package var snapshot: NetworkSnapshot
    /// In words; empty where only something else than links, addresses and default routes has changed.
    package var reasons: [String] = []
    /// The kernel has dropped events: what lies between two dumps is not known.
    package var hasLostEvents = false
    package var clock: Clock?
}

extension NetworkEvent.Clock {
    /// `the clock was set forward by 1 h`
    var words: String {
        switch self {
        case .stepped(let by):
            "the clock was set \(by < .zero ? "back" : "forward") by \((by < .zero ? .zero - by : by).components.seconds) s"
        case .woke(let slept): "the machine was asleep for \(slept.components.seconds) s"
        }
    }
}

/// Where the server, or the proxy towards it, is looked for.
package struct ServerAddress: Sendable, Equatable {
    /// A name or an address, without the brackets that IPv6 has in URLs.
    package var host: String
    package var port: UInt16
    /// The address that the newest connection used; `nil` where there was none.
    package var lastAddress: String?

    package init(host: String, port: UInt16, lastAddress: String? = nil) {
        self.host = host
        self.port = port
        self.lastAddress = lastAddress
    }

    /// Where the host is known to lead: itself, if it is an address. `nil` for a name that nothing was connected to yet.
    package var literal: String? { IPAddress(host) == nil ? lastAddress : host }
}
