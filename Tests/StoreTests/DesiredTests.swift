import PRSNLCore
import TestSupport
import Testing

@testable import Store

/// What an item should be, by what was asked for of it.
@Suite struct DesiredTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var asks: [Intent.Ask]
        var withdrawn: Set<Int64> = []
        var there = ItemEdit(title: "Theirs", summary: "Their summary", tags: ["x", "y"])
        /// `nil` where the item is to be deleted.
        var shown: ItemEdit?
    }

    static let cases: [Case] = [
        Case(
            testDescription: "nothing is asked for", asks: [],
            shown: ItemEdit(title: "Theirs", summary: "Their summary", tags: ["x", "y"])),
        Case(
            testDescription: "the last title, and each field by itself",
            asks: [.edit(ItemEdit(title: "A", summary: "S")), .edit(ItemEdit(title: "B"))],
            shown: ItemEdit(title: "B", summary: "S", tags: ["x", "y"])),
        Case(
            testDescription: "a withdrawn title gives back the one before",
            asks: [.edit(ItemEdit(title: "A")), .edit(ItemEdit(title: "B"))], withdrawn: [2],
            shown: ItemEdit(title: "A", summary: "Their summary", tags: ["x", "y"])),
        Case(
            testDescription: "tags that are added and removed, by the last word",
            asks: [
                .edit(ItemEdit(tagChange: TagChange(added: ["a", "b"], removed: ["x"]))),
                .edit(ItemEdit(tagChange: TagChange(added: ["x"], removed: ["a"]))),
            ], shown: ItemEdit(title: "Theirs", summary: "Their summary", tags: ["b", "x", "y"])),
        Case(
            testDescription: "tags that take the place of all before",
            asks: [
                .edit(ItemEdit(tagChange: TagChange(added: ["a"]))), .edit(ItemEdit(tags: ["k"])),
                .edit(ItemEdit(tagChange: TagChange(added: ["l"]))),
            ], shown: ItemEdit(title: "Theirs", summary: "Their summary", tags: ["k", "l"])),
        Case(
            testDescription: "two captures of one URL add their tags, and the last title counts",
            asks: [
                .create(NewItem(url: "u", title: "A", tags: ["a"])),
                .create(NewItem(url: "u", title: "B", tags: ["b"])),
                .create(NewItem(url: "u")),
            ], shown: ItemEdit(title: "B", summary: "Their summary", tags: ["a", "b", "x", "y"])),
        Case(testDescription: "a deletion", asks: [.edit(ItemEdit(title: "A")), .delete]),
        Case(
            testDescription: "a deletion that is withdrawn gives back what it was of",
            asks: [.edit(ItemEdit(title: "A")), .delete], withdrawn: [2],
            shown: ItemEdit(title: "A", summary: "Their summary", tags: ["x", "y"])),
        Case(
            testDescription: "what was asked for before a deletion is not asked for of what is made after it",
            asks: [
                .edit(ItemEdit(summary: "S", tagChange: TagChange(added: ["a"]))), .delete, .create(NewItem(url: "u")),
            ],
            there: ItemEdit(tags: []), shown: ItemEdit(tags: [])),
    ]

    @Test(arguments: cases)
    func aListOfIntentsIsOneWish(_ scene: Case) {
        let intents = scene.asks.enumerated().map { index, ask in
            let number = Int64(index + 1)
            return Intent(number: number, ask: ask)
        }
        #expect(
            Desired(intents.filter { !scene.withdrawn.contains($0.number) }).shown(over: scene.there) == scene.shown)
    }

    /// What was delivered of an item, and what it lacks once the server has processed it.
    struct Delivered: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var words: [Intent]
        var theirs: ItemEdit
        var lacking: [Int64: ItemEdit]

        init(_ name: String, _ words: [Intent], on theirs: ItemEdit, _ lacking: [Int64: ItemEdit] = [:]) {
            (testDescription, self.words, self.theirs, self.lacking) = (name, words, theirs, lacking)
        }
    }

    private static func capture(
        _ number: Int64, _ title: String? = nil, _ tags: [String] = [], remark: String? = nil, isDelivered: Bool = false
    ) -> Intent {
        let item = NewItem(url: "https://example.org/", title: title, note: remark, tags: tags)
        return Intent(number: number, ask: .create(item), isDelivered: isDelivered)
    }

    private static func edit(_ number: Int64, _ edit: ItemEdit, isDelivered: Bool = true) -> Intent {
        Intent(number: number, ask: .edit(edit), isDelivered: isDelivered)
    }

    private static func adding(_ tags: String...) -> ItemEdit { ItemEdit(tagChange: TagChange(added: tags)) }

    private static let scraped = ItemEdit(title: "Scraped", tags: ["s"])

    static let deliveries: [Delivered] = [
        Delivered("nothing was said", [], on: scraped),
        Delivered("the server has it", [capture(1, "Scraped", ["s"])], on: scraped),
        Delivered(
            "title and tags", [capture(1, "A", ["a"])], on: scraped,
            [1: ItemEdit(title: "A", tagChange: TagChange(added: ["a"]))]),
        Delivered(
            "the last title and all tags", [capture(1, "A", ["a"]), capture(2, "B", ["b"])], on: scraped,
            [1: adding("a"), 2: ItemEdit(title: "B", tagChange: TagChange(added: ["b"]))]),
        Delivered(
            "a capture without a title leaves the earlier one", [capture(1, "A"), capture(2, nil, ["b"])], on: scraped,
            [1: ItemEdit(title: "A"), 2: adding("b")]),
        Delivered(
            "an earlier capture that was delivered later",
            [capture(1, "A", ["a"]), capture(2, "B", isDelivered: true)],
            on: ItemEdit(title: "B", tags: ["s"]), [1: adding("a")]),
        Delivered(
            "a title that others have changed since the edit of it",
            [capture(1, "A", ["s"]), edit(2, ItemEdit(title: "E"))],
            on: ItemEdit(title: "Theirs", tags: ["s"])),
        Delivered(
            "a tag that was taken away since does not follow",
            [capture(1, nil, ["a", "b"]), edit(2, ItemEdit(tagChange: TagChange(removed: ["a"])))], on: scraped,
            [1: adding("b")]),
        Delivered(
            "an edit that was sent while the item was in process",
            [capture(1, "A"), edit(2, ItemEdit(title: "E"), isDelivered: false)], on: scraped, [2: ItemEdit(title: "E")]
        ),
        Delivered(
            "a remark for an item without a summary", [capture(1, remark: "R")], on: scraped,
            [1: ItemEdit(summary: "R")]),
        Delivered(
            "a remark beside an earlier summary",
            [edit(1, ItemEdit(summary: "S"), isDelivered: false), capture(2, remark: "R")], on: scraped,
            [1: ItemEdit(summary: "S"), 2: ItemEdit(summary: "R")]),
        Delivered(
            "white space that the server has squeezed", [capture(1, "A  b")], on: ItemEdit(title: "A b", tags: [])),
    ]

    @Test(arguments: deliveries)
    func whatTheServerLacksIsOfTheEntryThatAskedForItLast(_ one: Delivered) {
        let desired = Desired(one.words)
        var lacking: [Int64: ItemEdit] = [:]
        for word in one.words where !word.isDelivered {
            let edit = desired.lacking(of: word.number, in: one.theirs)
            if !edit.isEmpty { lacking[word.number] = edit }
        }
        #expect(lacking == one.lacking)
    }

    private static let seed = SeededRandom("DesiredTests").seed
    private static let histories = LongSearch.cases(6, of: 1_000)

    /// Beside the outbox as it is: whatever is accepted, taken back and given up before anything is sent, the timeline shows what
    /// the intents make of the server's rows.
    @Test(arguments: 0..<10)
    func theTimelineShowsWhatTheIntentsSay(_ part: Int) async throws {
        for run in 0..<Self.histories {
            let seed = Self.seed &+ UInt64(part * Self.histories + run)
            let scene = try await ShadowScene(seed: seed)
            for _ in 0..<12 {
                try await scene.step()
                let (shown, wanted) = try scene.compare()
                // PRSNL_TEST_SEED with this seed makes it the first run of part 0.
                guard shown == wanted else {
                    let story = scene.story.joined(separator: "\n")
                    Issue.record("seed \(seed):\n\(story)\nshown: \(shown)\nwanted: \(wanted)")
                    return
                }
            }
        }
    }
}

/// One person who writes without a server, and the intents of each item beside the store.
private final class ShadowScene {
    private let fixture = StoreFixture()
    private let store: Store
    private var random: SeededRandom
    private var now = StoreFixture.at(5_000)
    private struct Said {
        var number: Int64
        var command: Int64
        var ask: Intent.Ask
        var isWithdrawn = false
    }

    /// By item.
    private var intents: [String: [Said]] = [:]
    /// The items whose intents the entry stands for, and how many entries it has taken in.
    private var accepted: [(entry: Int64, item: String, number: Int64, command: Int64, isAlone: Bool)] = []
    private var number: Int64 = 0
    private(set) var story: [String] = []

    init(seed: UInt64) async throws {
        random = SeededRandom(seed: seed)
        store = try fixture.open()
        try await store.commit(StoreFixture.page((1...3).map { StoreFixture.item($0) }))
    }

    func step() async throws {
        now = now.advanced(by: .milliseconds(1))
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<7: try await command()
        case 7..<9: try await undo()
        default: try await drop()
        }
    }

    private func some(_ names: [String]) -> [String] {
        names.filter { _ in Int.random(in: 0..<3, using: &random) == 0 }
    }

    private func draft() throws -> WriteDraft {
        let shown = try fixture.rows("SELECT id FROM timeline ORDER BY id")
        number += 1
        let title = Bool.random(using: &random) ? "Title \(number)" : nil
        let item = shown.randomElement(using: &random)
        switch Int.random(in: 0..<8, using: &random) {
        case 0: return .create(NewItem(url: "https://example.org/\(number)", title: title, tags: some(["a", "b"])))
        case 1:
            return .create(
                NewItem(title: title, note: "A note \(number), long enough\nand more", tags: some(["a", "b"])))
        case 2: return .delete(item: item ?? "item-1")
        default:
            var edit = ItemEdit(title: title, summary: Bool.random(using: &random) ? "Summary \(number)" : nil)
            let (added, removed) = (some(["a", "b", "c"]), some(["a", "b", "d"]))
            edit.tagChange = TagChange(added: added, removed: removed.filter { !added.contains($0) })
            if edit.isEmpty || Int.random(in: 0..<4, using: &random) == 0 {
                (edit.tags, edit.tagChange) = (added, TagChange())
            }
            return .edit(item: item ?? "item-1", edit)
        }
    }

    private func command() async throws {
        var drafts: [WriteDraft] = []
        for _ in 0..<Int.random(in: 1...3, using: &random) { drafts.append(try draft()) }
        let command = number
        for (draft, acceptance) in zip(drafts, try await store.accept(drafts, now: now)) {
            guard case .accepted(let write) = acceptance else { continue }
            story.append("#\(write.entry) \(draft) of \(write.itemID.prefix(14)), command \(command)")
            if write.wasQueued { continue }
            number += 1
            let ask: Intent.Ask =
                switch draft {
                case .create(let item): .create(item)
                case .edit(_, let edit): .edit(accepted(edit, of: write.itemID))
                case .delete: .delete
                }
            intents[write.itemID, default: []].append(Said(number: number, command: command, ask: ask))
            accepted.append((write.entry, write.itemID, number, command, write.supersedes.isEmpty))
        }
    }

    /// A list of tags of what is only here is a change of those that were seen.
    private func accepted(_ edit: ItemEdit, of item: String) -> ItemEdit {
        let said = (intents[item] ?? []).filter { !$0.isWithdrawn }
        let seen = Desired(said.map { Intent(number: $0.number, ask: $0.ask) }).shown(over: ItemEdit())?.tags ?? []
        guard item.hasPrefix("local-"), let list = edit.tags, !(list + seen).isEmpty else { return edit }
        var change = edit
        change.tags = nil
        change.tagChange = TagChange(added: list, removed: seen.filter { !list.contains($0) })
        return change
    }

    private func undo() async throws {
        let outcome = try await store.undo(now: now)
        story.append("undo: \(outcome.taken) of \(outcome.count)")
        let last = accepted.last { write in
            intents[write.item]?.contains { $0.number == write.number && !$0.isWithdrawn } ?? false
        }
        guard let last else { return }
        for item in intents.keys { withdraw(item) { $0.command == last.command } }
    }

    /// What has taken in other entries is left out: dropping it withdraws only what it said itself, and today's outbox gives up all.
    private func drop() async throws {
        let queued = try fixture.rows("SELECT id FROM outbox WHERE state = 'queued' ORDER BY id").compactMap {
            Int64($0)
        }
        let free = accepted.filter { write in
            queued.contains(write.entry)
                && (write.isAlone || intents[write.item]?.last { !$0.isWithdrawn }?.ask == .delete)
        }
        guard let write = free.randomElement(using: &random) else { return }
        let outcome = try await store.drop([write.entry], withDependents: true, dryRun: false, now: now)
        story.append("drop \(outcome.dropped), revived \(outcome.revived)")
        let isAll = outcome.dependents.isEmpty == false
        withdraw(write.item) { isAll || $0.number == write.number }
    }

    private func withdraw(_ item: String, where isMeant: (Said) -> Bool) {
        intents[item] = intents[item]?.map { intent in
            var intent = intent
            if isMeant(intent) { intent.isWithdrawn = true }
            return intent
        }
    }

    /// A line an item: as the timeline shows it, and as the intents say.
    func compare() throws -> (shown: [String], wanted: [String]) {
        func line(_ id: String, _ title: String?, _ summary: String?, _ tags: String) -> String {
            "\(id) \(title ?? "-") \(summary ?? "-") \(tags)"
        }
        let shown = try fixture.rows(
            "SELECT id || ' ' || coalesce(title, '-') || ' ' || coalesce(summary, '-') || ' ' || coalesce(tags, '[]') FROM timeline"
        )
        var wanted: [String] = []
        for id in ["item-1", "item-2", "item-3"] + intents.keys.filter({ $0.hasPrefix("local-") }) {
            let said = (intents[id] ?? []).filter { !$0.isWithdrawn }
            let desired = Desired(said.map { Intent(number: $0.number, ask: $0.ask) })
            let isLocal = id.hasPrefix("local-")
            if isLocal, desired.creation == nil { continue }
            let there = isLocal ? ItemEdit() : ItemEdit(title: "Item \(id.suffix(1))", tags: ["a", "b"])
            guard let item = desired.shown(over: there) else { continue }
            wanted.append(line(id, item.title, item.summary, Tags.json(item.tags ?? [])))
        }
        // The list's own count, which comes from counters.
        let total = try StoreReader(path: fixture.path).list(ItemFilter(), limit: 1, counting: 2).total
        return (shown.sorted() + ["\(total ?? -1)"], wanted.sorted() + ["\(wanted.count)"])
    }
}

extension Desired {
    /// What people see of an item. `nil` where it is to be deleted.
    fileprivate func shown(over there: ItemEdit) -> ItemEdit? {
        guard deletion == nil else { return nil }
        var there = there
        there.title = there.title ?? creation?.value.shownTitle
        return there.overlaid(by: edit.resolved(with: there.tags))
    }
}

extension StoreFixture {
    /// The first column of every row.
    fileprivate func rows(_ sql: String) throws -> [String] {
        do {
            let connection = try Connection(path: path, mode: .readOnly)
            try connection.execute("PRAGMA trusted_schema = ON")
            return try connection.prepare(sql).all { $0.text(0) }
        } catch {
            throw error.userFacing(path: path)
        }
    }
}
