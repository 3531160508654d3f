import Configuration
import DevServer
import NetMonitor
import PRSNLClient
import PRSNLCore
import TestSupport
import Testing

@testable import Store
@testable import SyncEngine

/// A server, a file, and time that does not pass: what a pull needs, all of it real but the clock.
final class PullFixture: Sendable {
    let server: DevServer
    let directory = TemporaryDirectory("pull")
    let time: VirtualTime
    var path: String { directory.file("prsnl.sqlite") }

    init(
        _ dialect: Dialect = .cursor, items: [DevItem] = [],
        configure: (inout DevServer.Configuration) -> Void = { _ in }
    ) throws {
        // Each engine and store of the tests before this one has ended.
        try expectFewDescriptors()
        // Past the generated items' times.
        let time = VirtualTime(start: DevItem.generationStart.advanced(by: .seconds(400 * 86_400)))
        self.time = time
        var configuration = DevServer.Configuration(dialect: dialect)
        configuration.now = { time.now }
        configuration.tokenLifetime = .seconds(1_000 * 86_400)
        configure(&configuration)
        server = try DevServer.start(configuration, items: items)
    }

    deinit {
        server.stop()
    }

    /// What the server lets its owner in with.
    var credentials: Credentials {
        server.configuration.dialect == .cursor
            ? .loginToken(server.issueToken(for: .owner)) : .apiKey(DevAccount.owner.apiKey)
    }

    /// Runs `body` with an engine over a store that is opened for it and closed after it.
    func withEngine<Result: Sendable>(
        credentials: Credentials? = nil, pageSize: Int = 100, maximumAnswerSize: Int = 32 << 20,
        requestTimeout: Duration? = nil, source: NetworkSource = .none, anonymous: Bool = false,
        texts: Bool = false, searchIndex: Bool = false,
        log: @escaping LogHandler = { _, _, _ in }, _ body: (SyncEngine, Store) async throws -> Result
    ) async throws -> Result {
        let store = try Store(path: path)
        let used = credentials ?? self.credentials
        var configuration = ClientConfiguration(serverURL: server.url, credentials: used)
        configuration.maximumAnswerSize = maximumAnswerSize
        if let requestTimeout { configuration.totalTimeout = requestTimeout }
        let client = try PRSNLClient(configuration: configuration, time: time.source, seed: 7)
        var settings = SyncSettings()
        settings.pageSize = pageSize
        settings.anonymous = anonymous
        settings.texts = texts
        // It follows the commits at its own pace, and what these tests count is not about it.
        settings.searchIndex = searchIndex
        let engine = SyncEngine(
            store: store, client: client, serverURL: server.url, source: source, settings: settings,
            time: time.source, seed: 7, log: log)
        do {
            let result = try await body(engine, store)
            client.shutdown()
            await store.close()
            return result
        } catch {
            client.shutdown()
            await store.close()
            throw error
        }
    }

    /// One `prsnld --once`.
    @discardableResult
    func pull(
        full: Bool = false, credentials: Credentials? = nil, pageSize: Int = 100, anonymous: Bool = false,
        texts: Bool = false
    ) async throws -> SyncResult {
        try await withEngine(credentials: credentials, pageSize: pageSize, anonymous: anonymous, texts: texts) {
            engine, _ in
            await engine.runOnce(full: full)
        }
    }

    /// Runs the engine's loop for so long of virtual time.
    func run(for duration: Duration, texts: Bool = false) async throws {
        try await withEngine(texts: texts) { engine, _ in
            // The engine waits in three places: for the next pull, for something to send, and for the next probe.
            time.setParticipants(3)
            defer { time.setParticipants(1) }
            let run = Task { await engine.run() }
            time.stop(after: time.elapsed + duration) { run.cancel() }
            await run.value
        }
    }

    /// Runs `body` beside the engine's loop, whose time does not pass by itself.
    func whileRunning(
        texts: Bool = false, pullingFirst: Bool = false, _ body: (SyncEngine) async throws -> Void
    ) async throws {
        try await withEngine(texts: texts) { engine, _ in
            if pullingFirst {
                let result = await engine.runOnce()
                #expect(result.isComplete)
            }
            time.stand()
            let run = Task { await engine.run() }
            do {
                try await body(engine)
            } catch {
                run.cancel()
                await run.value
                throw error
            }
            run.cancel()
            await run.value
        }
    }

    func query(_ sql: String) throws -> String? {
        do {
            return try Connection(path: path, mode: .readOnly).text(sql)
        } catch {
            throw error.userFacing(path: path)
        }
    }

    /// The copy's live items, a line each with every field.
    func copy() throws -> [String] {
        do {
            return try lines("timeline", Connection(path: path, mode: .readOnly))
        } catch {
            throw error.userFacing(path: path)
        }
    }

    private func lines(_ table: String, _ connection: Connection) throws -> [String] {
        let columns = ItemColumn.all.map(\.name).filter { $0 != "extra" }
            .map { $0 == "duration" ? "CAST(duration AS INTEGER)" : $0 }
        return try connection.prepare("SELECT \(columns.joined(separator: ", ")) FROM \(table)")
            .all { row in columns.indices.map { row.text(Int32($0)) ?? "-" }.joined(separator: "|") }.sorted()
    }

    /// The server's own list in the same form.
    func truth(owner: String? = DevAccount.owner.id) throws -> [String] {
        let dialect = server.configuration.dialect
        do {
            let memory = try Schema.current.empty(at: Schema.current.version)
            let names = ItemColumn.all.map(\.name)
            let insert = try memory.prepare(
                "INSERT INTO item (\(names.joined(separator: ", "))) VALUES (\(names.map { _ in "?" }.joined(separator: ", ")))"
            )
            for item in server.items(owner: dialect == .cursor ? owner : nil) {
                var expected = item.expected(in: dialect)
                if dialect == .express {
                    (expected.createdAt, expected.updatedAt) = (
                        item.createdAt.wholeMilliseconds, item.updatedAt.wholeMilliseconds
                    )
                }
                for column in ItemColumn.all { column.bind(expected, insert) }
                try insert.run()
            }
            return try lines("item", memory)
        } catch {
            throw error.userFacing(path: path)
        }
    }

    func expectExact(sourceLocation: SourceLocation = #_sourceLocation) throws {
        let copy = try copy()
        let truth = try truth()
        #expect(copy.count == truth.count, sourceLocation: sourceLocation)
        let difference = zip(copy, truth).first { $0 != $1 }
        #expect(difference == nil, sourceLocation: sourceLocation)
        #expect(try query("PRAGMA integrity_check") == "ok", sourceLocation: sourceLocation)
    }
}

extension Timestamp {
    fileprivate var wholeMilliseconds: Timestamp { Timestamp(microseconds: microseconds / 1_000 * 1_000) }
}
