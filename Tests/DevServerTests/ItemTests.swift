import DevServer
import PRSNLCore
import TestSupport
import Testing

@Suite struct ItemTests {
    @Test func generatedItemsAreTheSameForTheSameSeed() {
        let items = DevItem.generate(count: 500, seed: 3, tieGroup: 7)
        #expect(items == DevItem.generate(count: 500, seed: 3, tieGroup: 7))
        #expect(items.map(\.id) != DevItem.generate(count: 500, seed: 4, tieGroup: 7).map(\.id))
        #expect(Set(items.map(\.id)).count == 500)
        #expect(items.map(\.createdAt) == items.map(\.createdAt).sorted(by: >))
        #expect(Set(items.map(\.createdAt)).count == 72)
    }

    @Test func generatedItemsAreAsVariedAsRealOnes() throws {
        let items = DevItem.generate(count: 2_000)
        #expect(items.contains { $0.createdAt.microseconds % 1_000_000 == 0 })
        #expect(items.contains { $0.updatedAt > $0.createdAt })
        #expect(items.contains { $0.summary == nil } && items.contains { $0.url == nil })
        #expect(items.contains { $0.tags.isEmpty } && items.contains { $0.tags.count > 2 })
        let server = try DevServer.start(items: items)
        let size = try server.get("/__dev/items").body.count / items.count
        #expect((600...1_000).contains(size), "bytes per item")
    }

    /// The server's order and pages against a plain sorted array, under random changes.
    @Test func theTableAgreesWithAModel() throws {
        var random = SeededRandom()
        let server = try DevServer.start()
        let client = try RawClient(server)
        var model: [DevItem] = []
        for step in 0..<400 {
            switch model.isEmpty ? 0 : Int.random(in: 0..<5, using: &random) {
            case 0, 1:
                let time = Timestamp(microseconds: 1_750_000_000_000_000 + Int64.random(in: 0..<40, using: &random))
                let id = DevItem.generate(count: 1, seed: UInt64(step) &+ random.seed)[0].id
                let item = DevItem(id: id, createdAt: time, title: "\(step)")
                model.append(item)
                server.add(item)
            case 2:
                server.delete(model.remove(at: Int.random(in: 0..<model.count, using: &random)).id)
            case 3:
                let index = Int.random(in: 0..<model.count, using: &random)
                model[index].title = "edited \(step)"
                model[index].updatedAt = model[index].updatedAt.next
                let (title, time) = (model[index].title, model[index].updatedAt)
                server.edit(model[index].id) {
                    $0.title = title
                    $0.updatedAt = time
                }
            default:
                let id = model[Int.random(in: 0..<model.count, using: &random)].id
                server.hide(id)
                server.show(id)
            }
            let expected = model.sorted { ($1.createdAt, $0.id) < ($0.createdAt, $1.id) }
            try #require(server.items() == expected, "step \(step)")
            let before = Timestamp(microseconds: 1_750_000_000_000_000 + Int64.random(in: 0...40, using: &random))
            let older = expected.filter { $0.createdAt < before }
            try #require(
                try client.page("?limit=100&cursor=\(before)").ids.sorted() == older.prefix(100).map(\.id).sorted()
                    || older.count > 100)
        }
    }

    @Test(arguments: Dialect.allCases) func whatAClientShouldReadIsWhatIsSent(dialect: Dialect) throws {
        var configuration = DevServer.Configuration(dialect: dialect)
        configuration.quirks.keysOptional = true
        let server = try DevServer.start(configuration, items: DevItem.generate(count: 60))
        let page = try RawClient(server).page("?limit=60")
        let expected = server.items().map { $0.expected(in: dialect) }
        #expect(page.ids == expected.map(\.id))
        #expect(page.titles == expected.map(\.title))
        #expect(page.types == expected.map(\.type))
        #expect(page.times.map { Timestamp($0) } == expected.map(\.createdAt))
        let tags = page.tags.map { "[" + $0.sorted().map { JSONText.string($0) }.joined(separator: ",") + "]" }
        #expect(tags == expected.map(\.tags))
    }

    @Test func additionsInOneMomentAreNoTieGroup() throws {
        for dialect in Dialect.allCases {
            let server = try DevServer.start(.init(dialect: dialect))
            server.addNew(count: 50)
            #expect(Set(server.items().map(\.createdAt)).count == 50, "\(dialect)")
        }
    }
}
