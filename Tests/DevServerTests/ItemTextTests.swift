import DevServer
import PRSNLCore
import Testing

/// The text of items, as `GET /api/items/{id}` answers it.
@Suite struct ItemTextTests {
    private static let id = "11111111-1111-4111-8111-111111111111"
    private static let target = "/api/items/\(id)"
    private let clock = Clock(time: 1_800_000_000_000_000)

    private func item(_ type: String = "article", status: String = "completed") -> DevItem {
        DevItem(id: Self.id, createdAt: DevItem.generationStart, type: type, status: status)
    }

    private func start(
        _ items: [DevItem], _ dialect: Dialect = .cursor
    ) throws -> DevServer {
        var configuration = DevServer.Configuration(dialect: dialect)
        let clock = clock
        configuration.now = { clock.now }
        configuration.quirks.patchFails = false
        configuration.quirks.keysOptional = true
        return try DevServer.start(configuration, items: items)
    }

    private func patch(_ server: DevServer, _ body: String) throws -> RawClient.Answer {
        try server.once("PATCH", Self.target, headers: ["Authorization": "Bearer \(server.issueToken())"], body: body)
    }

    /// A change of tags alone moves `updatedAt` on dialect E only; any other change moves it everywhere.
    @Test(arguments: Dialect.allCases) func tagsAloneAreNoNewVersion(dialect: Dialect) throws {
        let server = try start([item()], dialect)
        func version() throws -> Timestamp { try #require(server.item(Self.id)).updatedAt }
        let first = try version()
        server.edit(Self.id) { $0.tags = ["a"] }
        #expect(try (version() == first) == (dialect != .express))
        let second = try version()
        server.edit(Self.id) {
            $0.tags = ["b"]
            $0.status = "failed"
        }
        #expect(try version() > second)
        server.edit(Self.id) {
            $0.tags = []
            $0.updatedAt = first
        }
        #expect(try version() == first)
    }

    /// `PATCH` writes the item's row where it is given a title or a summary, the same ones included.
    @Test func anUpdateOfTagsAloneIsNoNewVersion() throws {
        let server = try start([item()])
        #expect(try member("updated_at", of: patch(server, #"{"tags":["x"]}"#).body) == "2025-01-01T00:00:00+00:00")
        #expect(server.item(Self.id)?.tags == ["x"])
        #expect(try patch(server, #"{"title":"Item","tags":["y"]}"#).status == 200)
        #expect(server.item(Self.id)?.updatedAt == clock.now)
    }
}
