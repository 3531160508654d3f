import Configuration
import DevServer
import PRSNLClient
import PRSNLCore
import TestSupport
import Testing

@testable import Store
@testable import SyncEngine

extension PullFixture {
    /// Items with texts of 100 bytes to 20 KB.
    static func withTexts(
        _ dialect: Dialect = .cursor, count: Int = 60, cache: Duration? = nil
    ) throws -> PullFixture {
        try PullFixture(dialect, items: DevItem.generate(count: count)) { configuration in
            configuration.texts = DevServer.TextPlan(bytes: 100...20_000, seed: 3)
            configuration.quirks.itemCache = cache
        }
    }

    /// Requests for a text so far.
    var textsAsked: Int { server.requests(.item).count }

    enum TextEnd { case done, gaveWay }

    /// One pass of texts while the outbox sends, and after it has delivered something.
    func texts(_ manner: Pacing.Manner) async throws -> TextEnd {
        let inbox = EngineInbox()
        inbox.post(.delivered)
        let shared = EngineSharedState(SyncSettings())
        shared.isSending = true
        let client = try PRSNLClient(
            configuration: ClientConfiguration(serverURL: server.url, credentials: credentials), time: time.source)
        return try await withEngine(texts: true) { _, store in
            let identity = Identity(
                store: store, client: client, serverURL: server.url, shared: shared, log: { _, _, _ in })
            let question = TextQuestion(identity: identity, time: time.source, requests: RequestCounter())
            var pull = TextPull(
                store: store, shared: shared, time: time.source, question: question, onText: {},
                record: PullRecord(kind: .texts, startedAt: time.now))
            let end = try await pull.run(
                .cursor, pacing: Pacing(events: inbox.pulls, time: time.source, pollAt: .latest, manner: manner))
            client.shutdown()
            return if case .done = end { .done } else { .gaveWay }
        }
    }

    /// Each text of the server, byte for byte, with its version.
    func expectTexts(sourceLocation: SourceLocation = #_sourceLocation) throws {
        var stored: [String: [String?]] = [:]
        do {
            let rows = try Connection(path: path, mode: .readOnly).prepare(
                "SELECT item_id, content, transcription, version FROM item_text")
            while try rows.step() { stored[rows.text(0) ?? ""] = [rows.text(1), rows.text(2), rows.text(3)] }
        } catch {
            throw error.userFacing(path: path)
        }
        for item in server.items() where item.status != "pending" {
            let truth = try #require(server.text(of: item.id))
            let expected = [truth.content, truth.transcription, truth.updatedAt.description]
            #expect(stored[item.id] == expected, sourceLocation: sourceLocation)
        }
    }
}
