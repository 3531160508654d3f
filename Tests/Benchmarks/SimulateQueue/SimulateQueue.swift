import Configuration
import DevServer
import PRSNLClient
import PRSNLCore
import Store
import SyncEngine
import Synchronization
import TestSupport

/// How long 1,000 captures that wait need to get to a server that takes 30 in a minute, and how often it has to refuse one:
/// the real engine, client and server, in virtual time. Prints one line of JSON.
@main
enum SimulateQueue {
    static func main() async throws {
        let waiting = 1_000
        let directory = TemporaryDirectory("queue")
        let time = VirtualTime(start: DevItem.generationStart.advanced(by: .seconds(400 * 86_400)))
        let refused = Counter()
        var configuration = DevServer.Configuration(dialect: .cursor)
        configuration.now = { time.now }
        configuration.tokenLifetime = .seconds(1_000 * 86_400)
        configuration.log = { if $0.status == 429 { refused.add() } }
        let limit = configuration.quirks.capturesPerMinute ?? 0
        let server = try DevServer.start(configuration, items: DevItem.generate(count: 100))
        let credentials = Credentials.loginToken(server.issueToken())
        let store = try Store(path: directory.file("prsnl.sqlite"))
        let client = try PRSNLClient(
            configuration: ClientConfiguration(serverURL: server.url, credentials: credentials), time: time.source)
        let engine = SyncEngine(
            store: store, client: client, serverURL: server.url, settings: .withoutIndex, time: time.source)
        _ = await engine.runOnce()

        let drafts = (0..<waiting).map { WriteDraft.create(NewItem(url: "https://example.org/\($0)")) }
        _ = try await store.accept(drafts, now: time.now)
        let start = time.now
        // The pulls and the outbox.
        time.setParticipants(3)
        let run = Task { await engine.run() }
        time.stop(after: time.elapsed + .seconds(2 * 3_600)) { run.cancel() }
        await run.value

        let captures = server.captures
        let took = (captures.last?.receivedAt ?? start).duration(since: start)
        client.shutdown()
        await store.close()
        server.stop()
        // The first window is open at once, so that the last ones go out at the beginning of the last window.
        let ideal = 60 * ((waiting + limit - 1) / limit - 1)
        print(
            "{\"entries\":\(waiting),\"delivered\":\(Set(captures.map(\.url)).count),\"applied\":\(captures.count),"
                + "\"limit\":\(limit),\"seconds\":\(Double(took.wholeMilliseconds) / 1_000),\"ideal\":\(ideal),"
                + "\"refused\":\(refused.value)}")
    }
}

/// The server logs from a thread of its own.
private final class Counter: Sendable {
    private let count = Atomic<Int>(0)
    var value: Int { count.load(ordering: .relaxed) }
    func add() { count.wrappingAdd(1, ordering: .relaxed) }
}

extension SyncSettings {
    /// The index follows the commits at its own pace, asks the server for nothing, and would be one more who waits.
    fileprivate static var withoutIndex: SyncSettings {
        var settings = SyncSettings()
        settings.searchIndex = false
        return settings
    }
}
