public import PRSNLCore

extension NetworkSource {
    /// The network that this process is in.
    public static func kernel(log: @escaping LogHandler = { _, _, _ in }) -> NetworkSource {
        let listener = NetworkListener(log: log)
        return NetworkSource(
            how: listener.how, events: listener.events, snapshot: { listener.snapshot },
            route: { _ in .notKnown(hasNetwork: listener.snapshot.hasUsableLink) }, stop: { listener.stop() })
    }
}
