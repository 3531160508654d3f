import NetMonitor
import PRSNLClient
import PRSNLCore

extension NetMonitor {
    /// Watches the way that the client's connections take, and asks the server through it.
    convenience init(
        source: NetworkSource, client: PRSNLClient, probe: ServerProbe, time: TimeSource, random: SeededGenerator,
        save: @escaping @Sendable ([ConnectivityTransition]) async -> Void, log: @escaping LogHandler
    ) {
        let peer = client.peer
        self.init(
            source: source, address: ServerAddress(host: peer.host, port: peer.port),
            probe: { () async throws(Failure) in
                if let failure = await probe.run().failure { throw failure }
            },
            lastAddress: { client.lastAddress }, save: save, time: time, random: random, log: log)
    }
}
