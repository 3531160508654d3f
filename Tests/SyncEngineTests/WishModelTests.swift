import DevServer
import PRSNLClient
import PRSNLCore
import TestSupport
import Testing

@testable import Store
@testable import SyncEngine

/// The item ends with the last title that was asked for, and with the tags of all captures, whatever happened on the way.
@Suite(.serialized) struct WishModelTests {
    private static let seed = SeededRandom("WishModelTests").seed
    private static let runs = LongSearch.cases(30, of: 1_000)

    @Test(arguments: 0..<10)
    func anItemEndsAsItWasAskedFor(_ part: Int) async throws {
        for run in 0..<Self.runs {
            let seed = Self.seed &+ UInt64(part * Self.runs + run)
            let world = try await WishWorld(seed: seed)
            for _ in 0..<14 { try await world.step() }
            let failures = try await world.converge()
            guard failures.isEmpty else {
                // PRSNL_TEST_SEED with this seed makes it the first run of part 0.
                Issue.record(
                    """
                    seed \(seed):
                    \(failures.joined(separator: "\n"))
                    \(world.story.joined(separator: "\n"))
                    end: \(try world.fixture.outbox().joined(separator: "\n"))
                    """)
                return
            }
        }
    }
}

/// One person with three URLs and three notes, a daemon that can be killed, and a server that fails in all ways.
private final class WishWorld {
    let fixture: PullFixture
    private var process: DaemonProcess
    private var random: SeededRandom
    private var model: WishModel
    /// Before each command that was not taken back, the last at the end.
    private var before: [(entry: Int64, model: WishModel)] = []
    private(set) var story: [String] = []
    private var number = 0

    init(seed: UInt64) async throws {
        var random = SeededRandom(seed: seed)
        let patchFails = Int.random(in: 0..<3, using: &random) == 0
        let hides = Int.random(in: 0..<4, using: &random) == 0
        // A note that is hidden for longer than the lookup interval cannot be told from one that never arrived.
        let settling = Duration.seconds([0, 30, hides ? 300 : 900].randomElement(using: &random) ?? 0)
        let cache = Int.random(in: 0..<4, using: &random) == 0 ? Duration.seconds(1_800) : nil
        let dialect: Dialect = seed % 6 == 5 ? .express : .cursor
        model = WishModel(dialect: dialect)
        fixture = try PullFixture(dialect, items: DevItem.generate(count: 2, seed: seed)) {
            $0.settling = .after(settling)
            $0.quirks.capturesPerMinute = 3
            $0.quirks.patchFails = patchFails
            $0.quirks.hidesCaptured = hides
            $0.quirks.itemCache = cache
        }
        self.random = random
        process = try DaemonProcess(fixture)
        _ = await process.engine.runOnce()
        note(
            "dialect \(dialect.rawValue) settles after \(settling), edits \(patchFails ? "fail" : "work"), \(hides ? "hides" : "shows") new items"
        )
    }

    private func note(_ text: String) { story.append("\(story.count + 1). \(text)") }
    private func one<Element>(of all: [Element]) -> Element? { all.randomElement(using: &random) }

    // MARK: Steps

    func step() async throws {
        switch Int.random(in: 0..<28, using: &random) {
        case 0..<7: try await capture()
        case 7..<11: try await edit()
        case 11, 22: try await delete()
        case 12..<15: fault()
        case 15..<17: try await crash()
        case 17..<19: try await pass()
        case 19: try await sendByHand()
        case 20..<22: try await undo()
        case 23: try await drop()
        default: try await run()
        }
    }

    private func someTags() -> [String] {
        ["a", "b", "c", "d"].filter { _ in Int.random(in: 0..<3, using: &random) == 0 }
    }

    private func title(_ prefix: String) -> String? {
        number += 1
        return Bool.random(using: &random) ? "\(prefix) \(number)" : nil
    }

    private func capture() async throws {
        let name = one(of: ["one", "two", "three"]) ?? ""
        let isURL = Int.random(in: 0..<3, using: &random) > 0
        let new = NewItem(
            url: isURL ? "https://example.org/\(name)" : nil, title: title("Captured"),
            note: isURL ? nil : "The note \(name), of enough words\nand lines", tags: someTags())
        for write in try await accept([.create(new)]) { model.captured(new, as: write.entry) }
    }

    private func edit() async throws {
        guard let (index, id) = try anyItem() else { return }
        var edit = ItemEdit(title: title("Edited"))
        if edit.title == nil || Bool.random(using: &random) {
            let (some, others) = (someTags(), someTags())
            edit.tagChange = TagChange(added: some, removed: others.filter { !some.contains($0) })
            if edit.tagChange.isEmpty || Bool.random(using: &random) {
                (edit.tags, edit.tagChange) = (some, TagChange())
            }
        }
        for write in try await accept([.edit(item: id, edit)]) {
            // A list of what the server does not have yet is a change of what was seen.
            let entry = try fixture.entries().first { $0.id == write.entry }
            if LocalID.isLocal(id), case .edit(let taken)? = entry?.payload { edit = taken }
            model.edited(index, edit, as: write.entry)
        }
    }

    /// Of two rows of one URL, the other stays. While it is not known whether a capture has made the older row, it is unknown
    /// which one is meant.
    private func delete() async throws {
        guard let (index, id) = try anyItem() else { return }
        let item = model.items[index]
        let entries = try fixture.entries()
        let captures = entries.filter { item.isOnePerText && $0.endedAt == nil && $0.url == item.text }
        let others = Set(try rows(of: item, entries) + captures.map(\.itemID)).subtracting([id])
        guard others.isEmpty || captures.allSatisfy({ $0.state == .queued }) else { return }
        let kept = entries.filter { others.contains(successor(of: $0, among: entries).itemID) }
        for _ in try await accept([.delete(item: id)]) { model.deleted(index, keeping: Set(kept.map(\.id))) }
    }

    /// What was superseded is a part of what has taken its place.
    private func successor(of entry: OutboxEntry, among entries: [OutboxEntry]) -> OutboxEntry {
        var last = entry
        while let next = last.supersededBy, let later = entries.first(where: { $0.id == next }) { last = later }
        return last
    }

    /// Gives up what was never sent, with all that waits for it.
    private func drop() async throws {
        let entries = try fixture.entries()
        let unsent = entries.filter {
            $0.state == .queued && $0.attempts == 0 && $0.kind != .delete && $0.follows == nil
        }
        guard let entry = one(of: unsent) else { return }
        let outcome = try await process.store.drop(
            [entry.id], withDependents: true, dryRun: false, now: fixture.time.now)
        note("dropped: \(outcome.dropped)")
        // An edit that waits behind a deletion, which takes its place, is given up by itself.
        let gone = Set(
            entries.filter { outcome.dropped.contains(successor(of: $0, among: entries).id) }.map(\.id)
                + outcome.dropped)
        model.dropped(gone)
        before.removeAll { gone.contains($0.entry) }
        for index in before.indices { before[index].model.dropped(gone) }
    }

    private func undo() async throws {
        // What such a capture of a known URL asked for besides may yet follow, or follows already.
        let following = try fixture.list(
            """
            SELECT id FROM outbox WHERE is_unverified IS 1 AND base IS NOT NULL AND kind IN ('capture', 'note')
            UNION SELECT edit.follows FROM outbox AS edit JOIN outbox AS made ON made.id = edit.follows
            WHERE edit.state IN ('queued', 'parked') AND NOT (edit.maybe_applied AND edit.error_code IS NULL)
                AND made.base IS NOT NULL AND made.kind IN ('capture', 'note')
            """)
        let outcome = try await process.store.undo(now: fixture.time.now)
        for kept in outcome.kept where following.contains("\(kept.entry)") { model.withdrawn(kept.entry) }
        note("undo: \(outcome.taken) of \(outcome.count); \(try fixture.outbox())")
        guard outcome.count > 0, outcome.taken == outcome.count, let last = before.popLast() else { return }
        model = last.model
    }

    private func accept(_ drafts: [WriteDraft]) async throws -> [AcceptedWrite] {
        // A command is told from the one before by its time.
        fixture.time.advance(by: .milliseconds(1))
        let earlier = model
        let accepted = try await process.store.accept(drafts, now: fixture.time.now)
        return accepted.enumerated().compactMap { index, acceptance in
            guard case .accepted(let write) = acceptance else { return nil }
            before.append((write.entry, earlier))
            note("#\(write.entry) \(drafts[index]) of \(write.itemID.prefix(12)) \(write.state.rawValue)")
            return write
        }
    }

    /// An item that was asked for, under one of the ids that the timeline shows for it.
    private func anyItem() throws -> (index: Int, id: String)? {
        let entries = try fixture.entries()
        guard let index = one(of: Array(model.items.indices)),
            let id = one(of: try rows(of: model.items[index], entries))
        else { return nil }
        return (index, id)
    }

    private func rows(of item: WishModel.Item, _ entries: [OutboxEntry]) throws -> [String] {
        if item.isOnePerText {
            return try fixture.list("SELECT id FROM timeline WHERE url = '\(item.text)' ORDER BY id LIKE 'local-%', id")
        }
        let id = entries.first { $0.id == item.words[0].entry }?.itemID ?? ""
        return try fixture.list("SELECT id FROM timeline WHERE id = '\(id)'")
    }

    private func fault() {
        let writes: [Fault] = [
            .closeAfterApplying, .closeBeforeAnswering, .answer(status: 500, body: "{}"), .answer(status: 502),
            .answerAfterApplying(status: 500, body: #"{"detail":"Internal server error"}"#), .portal, .emptyObject,
            .answer(status: 503, headers: ["x-error-code": "BUSY"], body: #"{"detail":"busy"}"#),
            .answer(status: 503, headers: ["x-error-code": "BUSY"], body: #"{"detail":"busy"}"#),
            .rateLimit(.seconds(60)), .truncate(after: 2), .dieKeptAlive, .storm(.halfInsert(tags: 0)),
        ]
        let reads: [Fault] = [.closeBeforeAnswering, .answer(status: 500, body: "{}"), .portal]
        let isWrite = Int.random(in: 0..<4, using: &random) > 0
        guard let fault = one(of: isWrite ? writes : reads) else { return }
        let isInsert = if case .storm = fault { true } else { false }
        let times = Int.random(in: 1...2, using: &random)
        fixture.server.script(fault, on: isInsert ? .capture : isWrite ? .change : .any, times: times)
        note("fault \(fault) on \(isInsert ? "captures" : isWrite ? "writes" : "anything"), \(times) times")
    }

    /// An hour is never passed without a pull: an edit would be made on top of a row from before the processing.
    private func pass() async throws {
        let seconds = one(of: [5, 40, 700, 4_000]) ?? 5
        fixture.time.advance(by: .seconds(seconds))
        note("\(seconds) s")
        guard seconds > 3_600 else { return }
        // One that succeeds, whatever is scripted yet.
        fixture.server.removeFaults()
        try await run()
    }

    /// What waits until the server has processed its item is sent at once.
    private func sendByHand() async throws {
        let ids = try fixture.entries().filter { $0.state == .queued && $0.awaitsItem }.map(\.id)
        guard !ids.isEmpty else { return }
        let outcome = try await process.store.retry(ids, parked: false, dryRun: false, now: fixture.time.now)
        note("sent manually: \(outcome.touchedEntries)")
        try await run()
    }

    private func run() async throws {
        _ = await process.engine.runOnce(full: Int.random(in: 0..<8, using: &random) == 0)
        note("run: \(try fixture.outbox())")
    }

    private func crash() async throws {
        let isApplied = Bool.random(using: &random)
        process = try await process.crash(fixture, applied: isApplied)
        note("killed, the write was \(isApplied ? "" : "not ")applied: \(try fixture.outbox())")
    }

    // MARK: The end

    /// All obstacles gone, and time.
    ///
    /// - Returns: What is not as it was asked for.
    func converge() async throws -> [String] {
        fixture.server.removeFaults()
        fixture.server.setQuirks {
            $0.patchFails = false
            $0.capturesPerMinute = nil
        }
        for round in 0..<60 {
            _ = await process.engine.runOnce()
            let now = fixture.time.now
            guard let next = try await process.store.nextDue(after: now) else {
                if round > 0, try fixture.list("SELECT id FROM outbox WHERE next_attempt_at IS NOT NULL").isEmpty {
                    break
                }
                fixture.time.advance(by: .seconds(900))
                continue
            }
            fixture.time.advance(by: max(.seconds(60), next.duration(since: now)))
        }
        fixture.server.settle()
        for _ in 0..<3 {
            fixture.time.advance(by: .seconds(3_700))
            _ = await process.engine.runOnce(full: true)
        }
        await process.abandon()
        let there = fixture.server.captures.compactMap { capture in
            fixture.server.item(capture.id).map {
                (text: capture.url ?? capture.content ?? "", title: $0.title, tags: Set($0.tags))
            }
        }
        note("end: \(try fixture.outbox())")
        return model.judge(try fixture.entries(), there: there)
    }
}

extension OutboxEntry {
    fileprivate var url: String? {
        if case .create(let item) = payload { item.url } else { nil }
    }
}
