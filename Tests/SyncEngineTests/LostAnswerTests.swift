import DevServer
import PRSNLClient
import PRSNLCore
import TestSupport
import Testing

@testable import Store
@testable import SyncEngine

/// Thousands of writes whose answers are lost at random. The oracle is the server's own account of what it was asked to
/// make, and what it has in the end.
@Suite(.serialized) struct LostAnswerTests {
    /// What is wrong with the server.
    enum Trouble: String, Sendable, CaseIterable {
        /// New items are on no list until it has processed and retitled them, and answers get lost on either side of the
        /// write.
        case hidesAndRewrites
        /// Notes get other words and another title when they are processed.
        case putsIntoOtherWords
        /// Connections that were kept alive die after the next request on them was applied.
        case diesKeptAlive
        /// Answers break off in the middle, or are another program's.
        case brokenAnswers
    }

    struct Case: Sendable, CustomTestStringConvertible {
        var number: UInt64
        var dialect: Dialect
        var trouble: Trouble
        var testDescription: String { "\(number): dialect \(dialect.rawValue), \(trouble.rawValue)" }

        /// Each trouble in each dialect once, or 104 in all: four of six in the main server's dialect.
        static let all: [Case] = LongSearch.isOn ? many(104) : each

        private static let each = Dialect.allCases.flatMap { dialect in
            Trouble.allCases.map { ($0, dialect) }
        }.enumerated().map { Case(number: UInt64($0), dialect: $1.1, trouble: $1.0) }

        private static func many(_ count: Int) -> [Case] {
            let dialects: [Dialect] = [.cursor, .cursor, .page, .cursor, .cursor, .express]
            return (0..<count).map { number in
                Case(
                    number: UInt64(number), dialect: dialects[number % 6],
                    trouble: Trouble.allCases[(number / 6) % Trouble.allCases.count])
            }
        }
    }

    private static let seed = SeededRandom("LostAnswerTests").seed

    @Test(arguments: Case.all)
    func everyWriteIsAppliedOnce(_ one: Case) async throws {
        var random = SeededRandom(seed: Self.seed &+ one.number)
        let settling = Duration.seconds(Int.random(in: 0...120, using: &random))
        let fixture = try PullFixture(one.dialect, items: DevItem.generate(count: 30, seed: one.number)) {
            $0.settling = .after(settling)
            $0.quirks.capturesPerMinute = nil
            $0.quirks.patchFails = false
            $0.quirks.hidesCaptured = one.trouble == .hidesAndRewrites
            $0.quirks.rewritesText = one.trouble == .putsIntoOtherWords
        }
        try await fixture.pull()
        let ids = fixture.server.items().map(\.id)
        let drafts = Self.drafts(count: 70, items: ids, &random)
        try await fixture.accept(drafts)
        fixture.server.setRandomFault(probability: 0.85, seed: random.next(), kinds: one.trouble.faults)
        try await fixture.carryAll()
        let lost = fixture.server.randomFaultCount
        #expect(lost > 40)
        fixture.server.removeFaults()
        fixture.server.settle()
        fixture.time.advance(by: .seconds(3_600))
        try await fixture.pull(full: true)
        let counts = try fixture.expectAppliedOnce()
        #expect(counts.waiting == 0)
        // Of some twenty notes.
        #expect(counts.undecidable <= (one.trouble == .putsIntoOtherWords ? 25 : 15), "of \(lost) lost answers")
        if counts.undecidable == 0, counts.parked == 0 { try fixture.expectExact() }
        try fixture.expectSound()
        print("lost answers: \(lost), parked: \(counts.parked), of these undecidable: \(counts.undecidable)")
    }

    /// URLs, notes (some the same twice, some that begin or are named alike), edits and deletions.
    static func drafts(count: Int, items: [String], _ random: inout SeededRandom) -> [WriteDraft] {
        var free = items.shuffled(using: &random)
        return (0..<count).map { number -> WriteDraft in
            let tags = Bool.random(using: &random) ? ["tag-\(Int.random(in: 0..<3, using: &random))"] : []
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<8: return .url("https://example.org/\(number)", title: "Title \(number)", tags: tags)
            case 8: return .url("https://host-\(number).example", tags: tags)
            case 9: return .note("Note \(number): some words about it\nand more", tags: tags)
            case 10: return .note("The same note twice, in the very same words", tags: [])
            case 11: return .note("Begins the same way as another one\nbut goes on otherwise: \(number)", tags: tags)
            case 12: return .note("Short \(number)", title: "Groceries", tags: tags)
            case 13: return .note("  \u{1C}Blanks around it \(number) \u{1C} ", tags: tags)
            case 14..<17 where !free.isEmpty:
                return .edit(item: free.removeLast(), ItemEdit(title: "Edited \(number)", tags: ["edited"]))
            default:
                return free.isEmpty ? .note("Instead of a deletion: \(number)") : .delete(item: free.removeLast())
            }
        }
    }
}

extension LostAnswerTests.Trouble {
    fileprivate var faults: [Fault] {
        switch self {
        case .hidesAndRewrites, .putsIntoOtherWords: Fault.lostWrites
        case .diesKeptAlive: [.dieKeptAlive, .dieKeptAlive, .closeAfterApplying]
        case .brokenAnswers:
            [
                .truncate(after: 3), .portal, .emptyBody, .emptyObject, .garbage, .closeBeforeAnswering,
                .answerAfterApplying(status: 502, headers: ["content-type": "text/html"], body: "<h1>Bad gateway</h1>"),
                .answer(status: 504), .answerAfterApplying(status: 503, body: "upstream"),
            ]
        }
    }
}

/// What became of all entries, counted.
struct AppliedCounts: Sendable {
    var waiting = 0
    var parked = 0
    /// Of the parked.
    var undecidable = 0
}

extension PullFixture {
    /// Sends and pulls, and lets time pass, until nothing waits any more.
    func carryAll(atMost rounds: Int = 400, step: Duration = .seconds(900)) async throws {
        try await withEngine { engine, store in
            for _ in 0..<rounds {
                _ = await engine.runOnce()
                let now = time.now
                guard let next = try await store.nextDue(after: now) else {
                    if try query("SELECT waiting FROM copy") == "0" { return }
                    time.advance(by: step)
                    continue
                }
                time.advance(by: max(step, next.duration(since: now)))
            }
        }
    }

    /// Compares the file's account of each write with the server's.
    func expectAppliedOnce(sourceLocation: SourceLocation = #_sourceLocation) throws -> AppliedCounts {
        var counts = AppliedCounts()
        let made = Dictionary(grouping: server.captures) { $0.url ?? $0.content ?? "" }
        var accepted: [String: (delivered: Int, open: Int)] = [:]
        var bound: Set<String> = []
        for entry in try StoreReader(path: path).outbox(.all, limit: 100_000).entries {
            counts.waiting += entry.state.isWaiting ? 1 : 0
            counts.parked += entry.state == .parked ? 1 : 0
            if entry.errorCode == ErrorCode.outcomeUndecidable.rawValue {
                counts.undecidable += 1
            }
            switch entry.payload {
            case .create(let item):
                let key = item.url ?? item.note ?? ""
                let isDelivered = entry.state == .delivered
                let before = accepted[key] ?? (0, 0)
                accepted[key] = (before.delivered + (isDelivered ? 1 : 0), before.open + (isDelivered ? 0 : 1))
                guard isDelivered, !entry.itemID.hasPrefix("local-") else { continue }
                #expect(
                    bound.insert(entry.itemID).inserted, "#\(entry.id) has an item alone",
                    sourceLocation: sourceLocation)
                #expect(
                    made[key]?.contains { $0.id == entry.itemID } == true, "#\(entry.id) has its own item",
                    sourceLocation: sourceLocation)
            case .edit(let edit):
                guard entry.state == .delivered else { continue }
                #expect(server.item(entry.itemID)?.title == edit.title, "#\(entry.id)", sourceLocation: sourceLocation)
            case .delete:
                guard entry.state == .delivered else { continue }
                #expect(server.item(entry.itemID) == nil, "#\(entry.id)", sourceLocation: sourceLocation)
            }
        }
        for (key, count) in accepted {
            let there = made[key]?.count ?? 0
            #expect(
                there >= count.delivered && there <= count.delivered + count.open,
                "\(there) times on the server, \(count.delivered) delivered, \(count.open) parked: \(key.prefix(60))",
                sourceLocation: sourceLocation)
        }
        return counts
    }
}
