import Configuration
import DevServer
import PRSNLClient
import PRSNLCore
import Store
import SyncEngine
import TestSupport

/// How soon a server is found again that was away for five minutes, at an address that refuses at once and without a word
/// from the kernel, and how often it was asked for: the real engine, client and server, in virtual time. Prints one line of
/// JSON, with the worst of some runs.
@main
enum SimulateReturn {
    struct Run {
        /// From the server's return to the first request that reaches it.
        var seconds: Double
        /// While it was away.
        var probes: Int
    }

    static let outage: Duration = .seconds(300)

    static func main() async throws {
        var runs: [Run] = []
        // Another seed is another jitter, and the outage ends at another place between two probes.
        for seed in 1...UInt64(50) { runs.append(try await simulate(seed)) }
        let slowest = runs.map(\.seconds).max() ?? 0
        let mean = runs.map(\.seconds).reduce(0, +) / Double(runs.count)
        print(
            "{\"runs\":\(runs.count),\"outage\":\(outage.components.seconds),\"slowest\":\(slowest),\"mean\":\(mean),"
                + "\"most_probes\":\(runs.map(\.probes).max() ?? 0),\"fewest_probes\":\(runs.map(\.probes).min() ?? 0)}"
        )
    }

    private static func simulate(_ seed: UInt64) async throws -> Run {
        let directory = TemporaryDirectory("return")
        let time = VirtualTime(start: DevItem.generationStart.advanced(by: .seconds(400 * 86_400)))
        var configuration = DevServer.Configuration(dialect: .cursor)
        configuration.now = { time.now }
        configuration.tokenLifetime = .seconds(1_000 * 86_400)
        let server = try DevServer.start(configuration, items: DevItem.generate(count: 10))
        let credentials = Credentials.loginToken(server.issueToken())
        let store = try Store(path: directory.file("prsnl.sqlite"))
        let client = try PRSNLClient(
            configuration: ClientConfiguration(serverURL: server.url, credentials: credentials), time: time.source)
        let engine = SyncEngine(
            store: store, client: client, serverURL: server.url, settings: .withoutIndex, time: time.source, seed: seed)
        _ = await engine.runOnce()

        // A write makes the daemon notice.
        _ = try await store.accept([.create(NewItem(url: "https://example.org/"))], now: time.now)
        server.refuseConnections()
        server.clearLog()
        let before = engine.network.probes
        // The pulls, the outbox, the network, and what repairs the server.
        time.setParticipants(4)
        let run = Task { await engine.run() }
        try await time.source.sleep(outage)
        let probes = engine.network.probes - before
        let returned = time.now
        try server.acceptConnections()
        time.stop(after: time.elapsed + .seconds(600)) { run.cancel() }
        time.setParticipants(3)
        // Nothing else may be left to let it pass.
        let sleeper = Task { try await time.source.sleep(.seconds(86_400)) }
        await run.value
        sleeper.cancel()

        let first = server.requests().first?.receivedAt
        client.shutdown()
        await store.close()
        server.stop()
        guard let first, server.captures.count == 1 else {
            throw WaitedInVain("seed \(seed): \(server.captures.count) captures after the server's return")
        }
        return Run(seconds: Double(first.duration(since: returned).wholeMilliseconds) / 1_000, probes: probes)
    }
}

extension SyncSettings {
    /// The index follows the commits at its own pace, asks the server for nothing, and would be one more who waits.
    fileprivate static var withoutIndex: SyncSettings {
        var settings = SyncSettings()
        settings.searchIndex = false
        return settings
    }
}
