import DevServer
import PRSNLCore
import TestSupport
import Testing

@testable import Store
@testable import SyncEngine

/// Sweeps of dialect C that ride on polls, slice by slice, in virtual time.
@Suite struct SliceTests {
    private static let hour = Duration.seconds(3_600)

    @Test func aSliceRidesOnAPoll() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 3_000))
        try await fixture.pull()
        let items = fixture.server.items()
        fixture.server.edit(items[2_900].id) { $0.title = "Edited" }
        fixture.server.delete(items[1_500].id)
        fixture.server.clearLog()
        let start = fixture.time.now
        try await fixture.run(for: Self.hour * 27)
        // Each time that the daemon woke, it looked at the newest items first.
        var wakes: [[LoggedRequest]] = []
        for request in fixture.server.requests(.timeline) {
            if let last = wakes.last?.last, request.receivedAt.duration(since: last.receivedAt) < .seconds(60) {
                wakes[wakes.count - 1].append(request)
            } else {
                wakes.append([request])
            }
        }
        #expect(wakes.allSatisfy { $0[0].parameter("cursor") == nil })
        let slices = wakes.map(\.count).filter { $0 > 1 }
        #expect(slices.count >= 8 && slices.max()! <= 7, "\(slices)")
        let pages = slices.reduce(0, +) - slices.count
        #expect(pages <= 3_000 / 99 + 2, "no page is read twice")
        try fixture.expectExact()
        let asOf = try #require(try fixture.editsAsOf())
        #expect(asOf >= start.advanced(by: Self.hour * 21) && asOf <= start.advanced(by: .seconds(82_800)))
    }

    @Test func aSweepThatWasPutOffIsMadeUpForWithoutABurst() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 6_000))
        try await fixture.pull()
        let edited = fixture.server.items()[5_900].id
        fixture.server.edit(edited) { $0.title = "Edited" }
        // The machine is off for a week, and then on for an hour a day.
        fixture.time.advance(by: Self.hour * 168)
        fixture.server.clearLog()
        var days = 0
        while try fixture.query("SELECT title FROM item WHERE id = '\(edited)'") != "Edited", days < 5 {
            try await fixture.run(for: Self.hour)
            #expect(fixture.server.requests(.timeline).count < 50)
            fixture.server.clearLog()
            fixture.time.advance(by: Self.hour * 23)
            days += 1
        }
        #expect(days <= 3)
    }

    /// The first sweep that counts after the clock was set back, and what a person waits for, is done at once.
    @Test func aPersonGetsAWholeSweep() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 2_500))
        try await fixture.pull()
        fixture.server.edit(fixture.server.items()[2_400].id) { $0.title = "Edited" }
        try await fixture.whileRunning { engine in
            let result = await engine.sync(SyncRequest(full: true))
            #expect(result.isComplete && result.changed == 1)
        }
        try fixture.expectExact()
    }

    @Test func theNewestThousandAreReadHourlyWhileItemsArrive() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 2_500))
        try await fixture.pull()
        let (server, time) = (fixture.server, fixture.time)
        server.clearLog()
        let edited = server.items()[900].id
        let editAt = time.elapsed + .seconds(4_000)
        // Each poll finds something new.
        let arrivals = server.script(
            .perform {
                server.addNew(count: 1)
                if time.elapsed >= editAt, server.item(edited)?.title != "Edited" {
                    server.edit(edited) { $0.title = "Edited" }
                }
            }, on: .timeline.and { $0.parameter("cursor") == nil }, times: .max)
        try await fixture.run(for: Self.hour * 3)
        #expect(try fixture.query("SELECT title FROM item WHERE id = '\(edited)'") == "Edited")
        let deep = server.requests(.timeline).filter { $0.parameter("cursor") != nil }
        #expect(deep.count >= 2 * 10 && deep.count <= 3 * 10, "\(deep.count)")
        arrivals.remove()
        try await fixture.run(for: Self.hour)
        server.clearLog()
        try await fixture.run(for: Self.hour * 6)
        #expect(server.requests(.timeline).allSatisfy { $0.parameter("cursor") == nil }, "a quiet account")
    }

    @Test func noSequenceOfChangesMakesT2WrongBetweenSlices() async throws {
        var random = SeededRandom()
        for _ in 0..<LongSearch.cases(1, of: 10) {
            let fixture = try PullFixture(items: DevItem.generate(count: 2_300))
            try await fixture.pull()
            var history = ServerHistory(fixture.server)
            var claims: Set<Timestamp> = []
            for _ in 0..<50 {
                for _ in 0..<Int.random(in: 0...4, using: &random) {
                    history.change(fixture.server, at: fixture.time.now, &random)
                }
                // Each is a daemon of its own: it goes on where the one before has ended.
                try await fixture.run(for: .seconds(Int.random(in: 60...9_000, using: &random)))
                guard let asOf = try fixture.editsAsOf() else { continue }
                claims.insert(asOf)
                let wrong = history.contradictions(to: asOf, in: try fixture.rows())
                #expect(wrong.isEmpty, "T2 is \(asOf)")
            }
            #expect(claims.count >= 2, "there were sweeps")
            try await fixture.run(for: Self.hour * 52)
            try fixture.expectExact()
        }
    }
}

/// What the server had, and until when.
private struct ServerHistory {
    private struct Version {
        var text: String
        var until = Timestamp.latest
    }

    /// Of items that were changed, oldest first.
    private var versions: [String: [Version]] = [:]
    private var ids: [String]
    private var moved: Set<String> = []
    private var number = 0

    init(_ server: DevServer) { ids = server.items().map(\.id) }

    mutating func change(_ server: DevServer, at now: Timestamp, _ random: inout SeededRandom) {
        number += 1
        let index = Int.random(in: 0..<ids.count, using: &random)
        let id = ids[index]
        guard !moved.contains(id), var item = server.item(id) else { return }
        versions[id, default: [Version(text: Self.text(item))]].withLast { $0.until = now }
        switch Int.random(in: 0..<8, using: &random) {
        case 0..<5:
            let title = "Edited \(number)"
            server.edit(id) { $0.title = title }
            item.title = title
        case 5..<7:
            server.delete(id)
            return
        default:
            // As an import does it, to any place. What is moved while it is edited is named as missing, and then read by the next sweep.
            guard versions[id]?.count == 1 else { return versions[id]!.withLast { $0.until = .latest } }
            let other = server.item(ids[Int.random(in: 0..<ids.count, using: &random)]) ?? item
            item.createdAt = other.createdAt.advanced(by: .microseconds(Int64(number)))
            item.updatedAt = now
            server.add(item)
            moved.insert(id)
        }
        versions[id]!.append(Version(text: Self.text(item)))
    }

    /// Items of which the copy shows what the server had no more at that time, and that it does not call missing.
    func contradictions(to asOf: Timestamp, in rows: [String: String]) -> [String] {
        versions.compactMap { id, versions in
            guard let row = rows[id] else { return nil }
            return versions.contains { $0.text == row && $0.until >= asOf } ? nil : "\(id): \(row), of \(versions)"
        }
    }

    fileprivate static func text(_ item: DevItem) -> String { "\(item.createdAt)|\(item.title)" }
}

extension Array {
    fileprivate mutating func withLast(_ change: (inout Element) -> Void) {
        change(&self[count - 1])
    }
}

extension PullFixture {
    fileprivate func editsAsOf() throws -> Timestamp? {
        try query("SELECT edits_as_of FROM sync_state").flatMap { Timestamp($0) }
    }

    /// By id: those that are neither deleted nor named as missing.
    fileprivate func rows() throws -> [String: String] {
        do {
            let rows = try Connection(path: path, mode: .readOnly)
                .prepare(
                    "SELECT id, created_at || '|' || title FROM item WHERE deleted_at IS NULL AND missing_since IS NULL"
                )
                .all { row in (row.text(0) ?? "", row.text(1) ?? "") }
            return Dictionary(uniqueKeysWithValues: rows)
        } catch {
            throw error.userFacing(path: path)
        }
    }
}
