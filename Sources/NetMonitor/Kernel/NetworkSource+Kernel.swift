package import PRSNLCore

extension NetworkSource {
    /// The real network. It ends with `stop()`, or when nobody holds the source any longer.
    ///
    /// - Throws: `limit_reached`.
    package static func kernel(log: @escaping LogHandler = { _, _, _ in }) throws(UserFacingError) -> NetworkSource {
        let listener = try NetworkListener(log: log)
        let check = RouteCheck(usesNetlink: listener.how == .netlink) { listener.snapshot }
        var source = NetworkSource(
            how: listener.how, events: listener.events, snapshot: { listener.snapshot },
            route: { check.route(to: $0) }, setUrgent: { listener.setUrgent($0) }, stop: { listener.stop() })
        source.roundTrip = { listener.roundTrip($0) }
        return source
    }
}
