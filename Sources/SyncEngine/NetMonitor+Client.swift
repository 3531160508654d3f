import NetMonitor
import PRSNLClient
import PRSNLCore

extension NetMonitor {
    /// Watches the way that the client's connections take, and asks the server through it.
    convenience init(
        source: NetworkSource, client: PRSNLClient, time: TimeSource, random: SeededGenerator,
        save: @escaping @Sendable ([ConnectivityTransition]) async -> Void, log: @escaping LogHandler
    ) {
        let peer = client.peer
        self.init(
            source: source, address: ServerAddress(host: peer.host, port: peer.port),
            probe: { () async throws(UserFacingError) in
                do throws(APIError) {
                    try await client.health()
                } catch {
                    throw error.userFacing
                }
            },
            lastAddress: { client.lastAddress }, save: save, time: time, random: random, log: log)
    }
}
