import Configuration
import DevServer
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
