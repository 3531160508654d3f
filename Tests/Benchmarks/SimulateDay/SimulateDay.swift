import Configuration
import DevServer
import PRSNLClient
import PRSNLCore
import Store
import SyncEngine
import TestSupport

/// How many requests an idle account costs its server in a day, on average: the real engine, client and server, in virtual time.
/// Prints one line of JSON.
@main
enum SimulateDay {
    static func main() async throws {
        let items = 10_000
        let directory = TemporaryDirectory("day")
        let time = VirtualTime(start: DevItem.generationStart.advanced(by: .seconds(400 * 86_400)))
        var configuration = DevServer.Configuration(dialect: .cursor)
        configuration.now = { time.now }
        configuration.tokenLifetime = .seconds(1_000 * 86_400)
        let server = try DevServer.start(configuration, items: DevItem.generate(count: items))
        let credentials = Credentials.loginToken(server.issueToken())
        let store = try Store(path: directory.file("prsnl.sqlite"))
        let client = try PRSNLClient(
            configuration: ClientConfiguration(serverURL: server.url, credentials: credentials), time: time.source)
        let engine = SyncEngine(
            store: store, client: client, serverURL: server.url, settings: .withoutIndex, time: time.source)
        let first = await engine.runOnce()
        let pulled = server.requestCount
        // The first pull counts as news, so the first day is not one of an idle account. A sweep falls now into one day and now
        // into two.
        server.clearLog()
        let start = time.now
        let idleDays = 9
        time.setParticipants(3)
        let run = Task { await engine.run() }
        time.stop(after: time.elapsed + .seconds(86_400 * (1 + idleDays))) { run.cancel() }
        await run.value
        var days = Array(repeating: 0, count: 2 + idleDays)
        for request in server.requests() {
            days[Int(request.receivedAt.duration(since: start) / .seconds(86_400))] += 1
        }
        let counts = server.requestCounts()
        client.shutdown()
        await store.close()
        server.stop()
        let perEndpoint = counts.sorted { $0.key < $1.key }.map { "\(JSONText.string($0.key)):\($0.value)" }
        print(
            "{\"requests\":\(days[1...].reduce(0, +) / idleDays),\"first_day\":\(days[0]),\"items\":\(items),"
                + "\"complete\":\(first.isComplete),"
                + "\"first_pull\":\(pulled),\(perEndpoint.joined(separator: ","))}")
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
