import Commands
import DevServer
import PRSNLCore
import Requests
import Store
import TestSupport
import Testing

/// `prsnlctl tag`, and what else is about many items at once, end to end.
@Suite struct TagCommandTests {
    /// A copy of items with the tags `t` and `item`, and those of every second one with `even`.
    private func fixture(count: Int = 6) async throws -> DaemonFixture {
        var items = DevItem.generate(count: count)
        for index in items.indices { items[index].tags = index % 2 == 0 ? ["t", "even"] : ["t"] }
        let fixture = try DaemonFixture(items: items, WriteScene.makeQuick)
        try fixture.configure("lookup_interval = 1s")
        let first = try await fixture.run(["--once"])
        try #require(first.exit == .status(0), "\(first.stderr)")
        return fixture
    }

    private func tags(_ fixture: DaemonFixture) -> [String: Int] {
        fixture.server.items().flatMap(\.tags).reduce(into: [:]) { $0[$1, default: 0] += 1 }
    }

    @Test func itemsThatAreNamedGetAndLoseTags() async throws {
        let fixture = try await fixture()
        let items = fixture.server.items()
        let daemon = try await fixture.startReady()
        let some = try await fixture.control("tag", "+later", "-even", items[0].id, items[1].id, "--wait")
        #expect(some.exit == .status(0) && some.stdout == "queued 2 (#1 to #2), delivered 2\n", "\(some)")
        #expect(fixture.server.item(items[0].id).map { Set($0.tags) } == ["t", "later"])
        #expect(fixture.server.item(items[1].id).map { Set($0.tags) } == ["t", "later"])
        let again = try await fixture.control("tag", "+later", items[0].id, items[2].id, "--wait", "--json")
        let report = try fixture.decode(BatchReport.self, again)
        #expect(report.items == 2 && report.accepted == 2 && report.delivered == 2)
        let edit = try await fixture.control(
            "edit", "-", "--add-tag", "x", "--remove-tag", "t", "--wait", input: "\(items[3].id)\n\(items[4].id)\n")
        #expect(edit.exit == .status(0) && edit.stdout.split(separator: "\n").count == 2, "\(edit)")
        let left = Set(items[3].tags).subtracting(["t"]).union(["x"])
        #expect(fixture.server.item(items[3].id).map { Set($0.tags) } == left)
        let delete = try await fixture.control("delete", "-", "--wait", input: "\(items[4].id)\n\(items[5].id)\n")
        #expect(delete.exit == .status(0), "\(delete)")
        #expect(fixture.server.items().count == 4)
        #expect(try await daemon.terminate() == .status(0))
    }

    @Test func aQueryAndARenameMeanManyItems() async throws {
        let fixture = try await fixture()
        let daemon = try await fixture.startReady()
        let plan = try await fixture.control("tag", "+found", "--query", "tag:even", "--dry-run")
        #expect(plan.exit == .status(0) && plan.stdout.split(separator: "\n").count == 3, "\(plan)")
        let said = plan.stderr.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(said.hasPrefix("prsnlctl: 3 of 3 items would change, as of 20"), "\(plan)")
        #expect(said.hasSuffix(" ago); nothing was written"), "\(plan)")
        #expect(tags(fixture)["found"] == nil)
        let query = try await fixture.control("tag", "+found", "--query", "tag:even", "--wait")
        #expect(query.exit == .status(0) && tags(fixture)["found"] == 3, "\(query)")
        let rename = try await fixture.control("tag", "--rename", "even", "odd", "--wait")
        #expect(rename.exit == .status(0), "\(rename)")
        #expect(tags(fixture) == ["t": 6, "found": 3, "odd": 3])
        let nothing = try await fixture.control("tag", "--rename", "even", "odd")
        #expect(nothing.exit == .status(0) && nothing.stderr.hasPrefix("prsnlctl: No item has the tag even, as of "))
        #expect(try await daemon.terminate() == .status(0))
    }

    /// The copy learns of other clients' edits from a sweep, once a day.
    @Test(arguments: [["tag", "+t", "-even"], ["edit", "--add-tag", "t", "--remove-tag", "even"]])
    func whatIsAskedForIsSentWhateverTheOldCopyHas(command: [String]) async throws {
        let fixture = try await fixture(count: 3)
        let id = fixture.server.items()[1].id  // has `t`, and not `even`
        fixture.server.edit(id) { $0.tags = ["even"] }
        let queued = try await fixture.control(command + [id])
        #expect(queued.exit == .status(0) && queued.stdout.hasPrefix("queued"), "\(queued)")
        #expect(try await fixture.run(["--once"]).exit == .status(0))
        #expect(fixture.server.item(id)?.tags == ["t"])
    }

    @Test func moreItemsThanOneRequestTakesAreOneCommand() async throws {
        let count = 1_100
        let fixture = try await fixture(count: count)
        let ids = fixture.server.items().map(\.id)
        // 2 MiB and more in one request.
        let long = (0..<58).map { "\($0 < 18 ? "+" : "-")\(String(repeating: "x", count: 48))\($0 + 10)" }
        let daemon = try await fixture.startReady()
        let tagged = try await fixture.control(["tag"] + long + ids + ["no-such-item"])
        #expect(tagged.exit == .status(1) && tagged.stdout.hasPrefix("queued 1,100 (#1 to #1100), refused 1"))
        #expect(tagged.stderr.contains("no-such-item: "), "\(tagged.stderr)")
        let deleted = try await fixture.control(
            "delete", "-", "--json", "--wait", input: ids.joined(separator: "\n"))
        let writes = try fixture.decode(WriteReport.self, deleted).writes
        #expect(deleted.exit == .status(0) && deleted.stderr.isEmpty, "\(deleted.stderr)")
        #expect(writes.map(\.itemID) == ids && writes.allSatisfy { $0.state == .delivered })
        #expect(fixture.server.items().isEmpty)
        #expect(try await daemon.terminate() == .status(0))
    }

    @Test func whatCannotBeMeantIsAnError() async throws {
        let fixture = try await fixture(count: 2)
        let id = fixture.server.items()[0].id
        for (words, reason) in [
            (["tag", id], "+TAG or -TAG is missing"), (["tag", "+a"], "an id, or --query, is missing"),
            (["tag", "--rename", "a"], "--rename takes two tags"),
            (["tag", "+a", id, "--query", "b"], "exclude each other"),
            (["edit", id, "--tag", "a", "--add-tag", "b"], "--add-tag and --remove-tag exclude them"),
            (["edit", id, "1234", "--title", "A"], "--title and --summary belong to one item"),
            (["delete", "-"], "there is no id on stdin"),
        ] {
            let ended = try await fixture.control(words)
            let words = ended.stderr.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            #expect(ended.exit == .status(2) && words.contains(reason), "\(words): \(ended)")
        }
        // Words of a title may be the beginnings of other ids.
        let titles = try await fixture.control("delete", "-", input: "\(id)\n\(id)  a title\n")
        #expect(titles.exit == .status(2) && titles.stderr.contains("line 2 of stdin has more than an id"), "\(titles)")
        #expect(try await fixture.control("queue").stdout == "The queue is empty.\n")
        let refused = try await fixture.control("tag", "+a", "-a", id)
        #expect(
            refused.exit == .status(1) && refused.stderr.contains(#""a" is to be added and to be removed"#),
            "\(refused)")
        let unknown = try await fixture.control("tag", "+a", "no-such-item", id)
        #expect(unknown.exit == .status(1) && unknown.stdout.hasPrefix("queued #1, refused 1"), "\(unknown)")
    }

    @Test(arguments: [["--dry-run"], []])
    func aTagThatTheServerWouldDropIsRefusedOnce(options: [String]) async throws {
        let fixture = try await fixture(count: 12)
        let ended = try await fixture.control(["tag", "+köln", "--query", "tag:t"] + options)
        #expect(ended.exit == .status(1) && ended.stdout.isEmpty, "\(ended)")
        #expect(ended.stderr.components(separatedBy: "The tag \"köln\" was refused").count == 2, "\(ended)")
    }

    /// One transaction, and one request: all of them, or none.
    @Test func fiveThousandItemsAreTaggedAtOnce() async throws {
        let fixture = try await fixture(count: 5_000)
        let ended = try await fixture.control("tag", "+later", "--query", "tag:t", "--json")
        let report = try fixture.decode(BatchReport.self, ended)
        #expect(report.accepted == 5_000 && report.refused == 0 && report.firstEntry == 1 && report.lastEntry == 5_000)
        let shown = try await fixture.control("list", "--tag", "later", "--limit", "6000", "--ids")
        #expect(shown.stdout.split(separator: "\n").count == 5_000)
        let accepted = try StoreReader(path: fixture.database).outbox(.open, limit: 6_000).entries.map(\.acceptedAt)
        #expect(Set(accepted).count == 1)
    }
}
