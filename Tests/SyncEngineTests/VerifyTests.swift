import Configuration
import DevServer
import PRSNLCore
import Synchronization
import TestSupport
import Testing

@testable import Store
@testable import SyncEngine

/// `verify` against planted differences, changes under way, and everything that a server hides.
@Suite struct VerifyTests {
    /// In the long search, 10,000 items and 1,000 differences.
    private static let size = LongSearch.cases(1_500, of: 10_000)

    private func fixture(
        _ dialect: Dialect, _ items: Int = size, texts: Bool = false, ties: Int = 1
    ) async throws -> PullFixture {
        let fixture = try PullFixture(dialect, items: DevItem.generate(count: items, tieGroup: ties)) {
            if texts { $0.texts = DevServer.TextPlan(bytes: 100...400, seed: 3) }
        }
        #expect(try await fixture.pull(texts: texts).isComplete || ties > 1)
        return fixture
    }

    private func verify(
        _ fixture: PullFixture, _ texts: VerifiedTexts = .none,
        onProgress: @escaping @Sendable (Progress) -> Void = { _ in }
    ) async throws -> VerifyReport {
        try await fixture.withEngine { engine, _ in
            try await engine.verify(texts, poll: { _ = await engine.runOnce(texts: false) }, onProgress: onProgress)
        }
    }

    @Test(arguments: Dialect.allCases)
    func anEqualCopyIsEqualAndNothingIsWritten(_ dialect: Dialect) async throws {
        let fixture = try await fixture(dialect, 10_000)
        let before = try fixture.query("PRAGMA data_version")
        fixture.server.clearLog()
        let report = try await verify(fixture)
        #expect(report.outcome == .equal && report.items == 10_000 && report.differences.isEmpty, "\(report)")
        #expect(fixture.server.requests(.any).count == report.requests)
        // Pages by number overlap.
        #expect(report.requests <= (dialect == .page ? 120 : 110))
        #expect(fixture.server.requests(.change).isEmpty)
        #expect(try fixture.query("PRAGMA data_version") == before)
    }

    /// Six kinds: an item that is missing, one too many, a title, tags, a time, a text.
    @Test(arguments: Dialect.allCases, [false, true])
    func plantedDifferencesAreFoundAndNoOthers(_ dialect: Dialect, _ whileItChanges: Bool) async throws {
        var random = SeededRandom("VerifyTests")
        let hasTexts = dialect != .express && !whileItChanges
        let fixture = try await fixture(dialect, texts: hasTexts)
        let ids = fixture.server.items(owner: DevAccount.owner.id).map(\.id).shuffled(using: &random)
        var planted: [String: String] = [:]
        var free = ids[...]
        let store = try Connection(path: fixture.path, mode: .readWrite)
        func plant(_ sign: String, _ sql: String) throws {
            guard let id = free.popFirst() else { return }
            try store.execute(sql.replacing("ID", with: "'\(id)'"))
            planted[id] = sign
        }
        for _ in 0..<(Self.size / 60) {
            try plant("-", "DELETE FROM item WHERE id = ID")
            try plant("*", "UPDATE item SET title = title || 'x' WHERE id = ID")
            try plant("*", #"UPDATE item SET tags = '["planted"]' WHERE id = ID"#)
            try plant("*", "UPDATE item SET updated_at = '2099-01-01T00:00:00.000000Z' WHERE id = ID")
            if hasTexts {
                try plant("*", "UPDATE item_body SET content = content || 'x' WHERE item_id = ID")
                try plant(
                    "*",
                    "UPDATE item_body SET content = 'x', version = '2020-01-01T00:00:00.000000Z' WHERE item_id = ID")
                try plant("*", #"UPDATE item_body SET metadata = '{"planted":1}' WHERE item_id = ID"#)
            }
            let extra = UUIDs.next(&random)
            try store.execute(
                "INSERT INTO item (id, created_at, title) SELECT '\(extra)', created_at, 'too many' FROM item WHERE id = '\(free.first ?? "")'"
            )
            planted[extra] = "+"
        }
        // What has come since the copy's last reading is no difference.
        for _ in 0..<3 { fixture.server.addNew() }
        fixture.time.advance(by: .seconds(10))
        for _ in 0..<5 {
            if let id = free.popFirst() { _ = fixture.server.edit(id) { $0.title = "edited before" } }
        }
        fixture.time.advance(by: .seconds(10))
        let broken = UUIDs.next(&random)
        try store.execute("INSERT INTO item (id, created_at, title) VALUES ('\(broken)', '2025-02-30', 'no day')")
        planted[broken] = "+"
        let oldest = UUIDs.next(&random)
        try store.execute(
            "INSERT INTO item (id, created_at, title) VALUES ('\(oldest)', '0000-01-01T00:00:00.000000Z', 'too old')")
        planted[oldest] = "+"
        // What is left may change.
        let server = fixture.server
        let changing = Mutex((random, free, Set<String>()))
        let report = try await verify(fixture, hasTexts ? .all : .none) { _ in
            guard whileItChanges else { return }
            changing.withLock { state in
                for _ in 0..<2 {
                    switch Int.random(in: 0..<4, using: &state.0) {
                    case 0: server.addNew()
                    case 1:
                        guard let id = state.1.popFirst() else { return }
                        _ = server.delete(id)
                        state.2.insert(id)
                    default:
                        guard let id = state.1.randomElement(using: &state.0) else { return }
                        _ = server.edit(id) { $0.title = $0.title + " edited" }
                    }
                }
            }
        }
        let deleted = changing.withLock { $0.2 }
        let found = Dictionary(report.differences.map { ($0.itemID ?? "", $0.sign.rawValue) }) { first, _ in first }
        for (id, sign) in planted {
            let seen = found[id]
            // A poll may have set right what it reads: that is said, too.
            #expect(seen == sign || seen == "~", "\(id) \(sign), found \(seen ?? "nothing")")
        }
        if dialect == .cursor, !whileItChanges {
            let healed = planted.count { found[$0.key] == "~" }
            #expect(healed * 10 < planted.count, "\(healed) of \(planted.count)")
        }
        // No false alarm. What was deleted meanwhile is only here, which is true.
        for (id, sign) in found where planted[id] == nil {
            #expect(sign == "~" || sign == "+" && deleted.contains(id), "\(id) \(sign)")
        }
        #expect(report.outcome == .different)
    }

    /// What the copy reads while it is compared is newer than what it is compared with.
    @Test(arguments: Dialect.allCases, [100, 300, 500, 600])
    func aSweepInTheMidstRaisesNoAlarm(_ dialect: Dialect, _ count: Int) async throws {
        let fixture = try await fixture(dialect, 600)
        fixture.time.advance(by: .seconds(10))
        for id in fixture.server.items(owner: DevAccount.owner.id).map(\.id).prefix(300) {
            #expect(fixture.server.edit(id) { $0.title = "edited before" })
        }
        fixture.time.advance(by: .seconds(10))
        let sweep = Mutex<Task<Void, Never>?>(nil)
        let report = try await fixture.withEngine { engine, _ in
            let report = try await engine.verify(.none, poll: { _ = await engine.runOnce(texts: false) }) { compared in
                sweep.withLock { sweep in
                    guard compared.items >= count, sweep == nil else { return }
                    sweep = Task { _ = await engine.runOnce(full: true, texts: false) }
                }
            }
            await sweep.withLock { $0 }?.value
            return report
        }
        #expect(report.outcome == .equal, "\(report)")
    }

    @Test func anInstantThatTheServerDoesNotShowWholeIsSkippedAndSaid() async throws {
        let fixture = try await fixture(.cursor, 450, ties: 150)
        let report = try await verify(fixture)
        #expect(report.skipped == 3 && report.onlyHere == 0 && report.outcome == .different, "\(report)")
    }

    @Test func anUnfinishedCopyIsNotCompared() async throws {
        let fixture = try PullFixture(.cursor, items: DevItem.generate(count: 10))
        await #expect(throws: UserFacingError.self) { try await verify(fixture) }
        #expect(fixture.server.requests(.any).isEmpty)
    }

    @Test func partsOfTheTextsAreAllOfThemInSevenWeeks() {
        let start = Timestamp(microseconds: 1_790_000_000_000_000)
        let parts = (0..<7).compactMap { week in
            VerifiedTexts("week/7", at: start.advanced(by: .seconds(week * 7 * 86_400)))?.number
        }
        #expect(Set(parts) == Set(1...7))
    }

    /// So a week that failed can be repeated.
    @Test func anyPartOfTheTextsCanBeAskedFor() {
        let parts = (1...7).map { VerifiedTexts("\($0)/7", at: .earliest) }
        #expect(parts.map { $0?.number } == Array(1...7))
        for text in ["0/7", "8/7", "1/1", "1/367", "/7", "week/", "2/7/2", "x/7", "1"] {
            #expect(VerifiedTexts(text, at: .earliest) == nil, "\(text)")
        }
    }

    // MARK: Bounds

    @Test func aListWithoutEndEndsTheComparison() async throws {
        let fixture = try await fixture(.cursor, 3)
        fixture.server.setQuirks { quirks in
            quirks.timelineIsEndless = true
            quirks.endlessItems = .max
        }
        fixture.server.clearLog()
        await #expect { try await verify(fixture) } throws: { ($0 as? UserFacingError)?.code == .pageContradictory }
        #expect(fixture.server.requests(.timeline).count < 1_200)
    }

    /// What is read twice has a bound.
    @Test func thatMoreDiffersThanIsReadTwiceIsSaid() async throws {
        let fixture = try await fixture(.cursor, 3)
        for item in DevItem.generate(count: 10_500, seed: 9) { fixture.server.add(item) }
        let report = try await fixture.withEngine { engine, _ in
            try await engine.verify(.none, poll: {}, onProgress: { _ in })
        }
        #expect(report.outcome == .different && report.inMotion == 10_000 && report.skipped == 1, "\(report.counted)")
        #expect(report.differences.contains { $0.reason == "more items differ than are read twice (10,000 items)" })
    }

    // MARK: Times

    /// A time that the server's own clock does not show yet says nothing of when an item came.
    @Test func anItemThatIsMissingHereIsADifferenceWhateverItsTimeOfChange() async throws {
        let fixture = try await fixture(.cursor, 300)
        let id = fixture.server.items(owner: DevAccount.owner.id)[150].id
        let future = fixture.time.now.advanced(by: .seconds(86_400))
        fixture.server.edit(id) { $0.updatedAt = future }
        try Connection(path: fixture.path, mode: .readWrite).execute("DELETE FROM item WHERE id = '\(id)'")
        let report = try await verify(fixture)
        #expect(report.outcome == .different && report.onlyThere == 1, "\(report)")
    }

    // MARK: Texts

    /// Old rows stay pending for years, and what is in motion is no difference.
    @Test func theTextOfAnItemThatTheServerWorksOnIsInMotion() async throws {
        let fixture = try await fixture(.cursor, 20, texts: true)
        let id = fixture.server.items()[3].id
        fixture.server.setQuirks { $0.pendingHasText = true }
        fixture.server.edit(id) { $0.status = "pending" }
        try await fixture.pull(full: true)
        try Connection(path: fixture.path, mode: .readWrite).execute(
            "UPDATE item_body SET content = 'old' WHERE item_id = '\(id)'")
        let report = try await verify(fixture, .all)
        #expect(report.outcome == .equal && report.inMotion == 1, "\(report)")
        #expect(report.differences.map(\.reason) == ["the server still works on the item"])
    }

    @Test func aTextThatIsTooLargeIsSaidToBe() async throws {
        let fixture = try await fixture(.cursor, 20)
        fixture.server.edit(fixture.server.items()[3].id) { $0.content = String(repeating: "large ", count: 100_000) }
        try await fixture.withEngine(texts: true) { engine, _ in
            var settings = SyncSettings()
            settings.textMaxSize = 64 << 10
            engine.apply(settings)
            _ = await engine.runOnce(full: true)
        }
        let report = try await verify(fixture, .all)
        #expect(report.outcome == .equal && report.inMotion == 1, "\(report)")
        let reason = report.differences.first?.reason
        #expect(reason?.contains("more than text_max_size") == true, "\(reason ?? "-")")
    }

    /// Every column, also where NULL becomes nothing.
    @Test func aDigestIsOfEveryColumn() async throws {
        let fixture = try await fixture(.cursor, 3)
        let store = try Connection(path: fixture.path, mode: .readWrite)
        var seen: Set<String> = []
        for column in ItemColumn.all.map(\.name) where column != "id" {
            let values = column == "duration" ? ["NULL", "0.0", "0.1 + 0.2", "0.3"] : ["'a'", "'b'"]
            for value in values {
                try store.execute("UPDATE item SET \(column) = \(value)")
                let digest = try StoreReader(path: fixture.path).digest(at: .earliest).digest
                #expect(seen.insert(digest).inserted, "\(column) = \(value)")
            }
        }
    }

    /// Equal if, and only if, the timelines are.
    @Test func digestsOfTwoCopiesAreEqualExactlyWhereTheirTimelinesAre() async throws {
        var random = SeededRandom("VerifyTests.digest")
        let one = try PullFixture(.cursor, items: DevItem.generate(count: 30))
        let other = TemporaryDirectory("other")
        _ = try await one.pull(full: true)
        for number in 0..<LongSearch.cases(40, of: 1_000) {
            let before = other.file("\(number)")
            let ids = one.server.items(owner: DevAccount.owner.id).map(\.id)
            if let id = ids.randomElement(using: &random) {
                switch Int.random(in: 0..<3, using: &random) {
                case 0: _ = one.server.edit(id) { $0.tags = ["t\(ids.count)"] }
                case 1 where ids.count > 10: _ = one.server.delete(id)
                default: one.server.addNew()
                }
            }
            let reader = try Connection(path: one.path, mode: .readOnly)
            try reader.prepare("VACUUM INTO ?").bind(before).run()
            _ = try await one.pull(full: true)
            let digests = try [one.path, before].map { try StoreReader(path: $0).digest(at: .earliest).digest }
            let rows = try [one.path, before].map { path in
                let reader = try Connection(path: path, mode: .readOnly)
                return try reader.prepare("SELECT * FROM timeline ORDER BY id").all { row in
                    (0..<17).map { row.text($0) ?? "NULL" }
                }
            }
            #expect((digests[0] == digests[1]) == (rows[0] == rows[1]))
        }
    }
}

private enum UUIDs {
    static func next(_ random: inout SeededRandom) -> String {
        let digits = String(UInt64.random(in: .min ... .max, using: &random), radix: 16)
        let long = String(repeating: "0", count: 16 - digits.count) + digits
        return "\(long.prefix(8))-\(long.dropFirst(8).prefix(4))-4000-8000-00000000\(long.suffix(4))"
    }
}
