import DevServer
import PRSNLClient
import PRSNLCore
import TestSupport
import Testing

@testable import Store
@testable import SyncEngine

/// A person, a daemon that can be killed, a server that others write to as well, and a model of what each of them did:
/// one random step at a time.
final class OutboxWorld {
    let fixture: PullFixture
    private var process: DaemonProcess
    private var random: SeededRandom
    var model = OutboxModel()
    /// What happened, for a failure's message.
    private(set) var story: [String] = []
    private var isOnline = true
    private var number = 0

    init(_ dialect: Dialect, seed: UInt64) async throws {
        var random = SeededRandom(seed: seed)
        let settling = Duration.seconds(Int.random(in: 0...300, using: &random))
        let hides = Bool.random(using: &random)
        fixture = try PullFixture(dialect, items: DevItem.generate(count: 6, seed: seed)) {
            $0.settling = .after(settling)
            $0.quirks.capturesPerMinute = nil
            $0.quirks.patchFails = false
            $0.quirks.hidesCaptured = hides
        }
        self.random = random
        process = try DaemonProcess(fixture)
        for item in fixture.server.items() { model.originals[item.id] = item.title }
        _ = await process.engine.runOnce()
    }

    private func note(_ text: String) { story.append("\(story.count + 1). \(text)") }

    // MARK: Steps

    func step() async throws {
        switch Int.random(in: 0..<40, using: &random) {
        case 0..<8: try await create()
        case 8..<13: try await edit()
        case 13..<16: try await delete()
        case 16..<18: try await retry()
        case 18: try await drop()
        case 19..<21: try toggle()
        case 21..<25: fault()
        case 25..<27: try await crash()
        case 27..<29: serverEdits()
        case 29: serverDeletes()
        case 30: model.originals[fixture.server.addNew()[0].id] = ""
        case 31..<33: pass()
        default: try await run()
        }
        try model.judgeRepeats(fixture)
    }

    private func create() async throws {
        number += 1
        let tags = Bool.random(using: &random) ? ["a"] : []
        let drafts: [WriteDraft] =
            switch Int.random(in: 0..<8, using: &random) {
            case 0..<4: [.url("https://example.org/\(number)", title: "Title \(number)", tags: tags)]
            case 4: [.note("Two notes in the same words \(number)"), .note("Two notes in the same words \(number)")]
            case 5: [.note("Item \(number)", title: "Groceries")]
            default: [.note("Note \(number), which is long enough\nand goes on", tags: tags)]
            }
        try await accept(drafts)
    }

    private func edit() async throws {
        guard let item = try anyItem() else { return }
        number += 1
        try await accept([.edit(item: item, ItemEdit(title: "Ours \(number)"))])
    }

    private func delete() async throws {
        guard let item = try anyItem() else { return }
        try await accept([.delete(item: item)])
    }

    private func accept(_ drafts: [WriteDraft]) async throws {
        for acceptance in try await process.store.accept(drafts, now: fixture.time.now) {
            guard case .accepted(let write) = acceptance else { continue }
            note("#\(write.entry) \(write.kind.rawValue) of \(write.itemID.prefix(10)) \(write.state.rawValue)")
        }
    }

    private func anyItem() throws -> String? {
        let shown = try fixture.list("SELECT id FROM timeline ORDER BY created_at, title, id LIKE 'local-%', id")
        return shown.randomElement(using: &random)
    }

    private func retry() async throws {
        let parked = Bool.random(using: &random)
        let conflict = try fixture.list("SELECT id FROM outbox WHERE error_code = 'edit_conflict' ORDER BY id").first
        let now = fixture.time.now
        let touched: [Int64]
        if let id = conflict.flatMap(Int64.init), Bool.random(using: &random) {
            touched = try await process.store.retry([id], parked: false, dryRun: false, now: now).touchedEntries
            model.overwritten.formUnion(touched)
        } else {
            touched = try await process.store.retry(nil, parked: parked, dryRun: false, now: now).touchedEntries
            let again = try await process.store.retry(nil, parked: parked, dryRun: false, now: now)
            #expect(again.touched == 0, "the second time changes nothing")
        }
        model.triedByHand.formUnion(touched)
        note("retry \(touched)")
    }

    private func drop() async throws {
        let rows = try fixture.entries().filter { $0.state == .queued || $0.state == .parked }
        guard let entry = rows.randomElement(using: &random) else { return }
        let dropped = try await process.store.drop(
            [entry.id], withDependents: true, dryRun: false, now: fixture.time.now
        ).dropped
        // What was parked with an unknown outcome may be on the server.
        if entry.errorCode == ErrorCode.outcomeUndecidable.rawValue { model.mayBeApplied.insert(entry.id) }
        note("drop \(dropped)")
    }

    private func toggle() throws {
        isOnline.toggle()
        if isOnline { try fixture.server.acceptConnections() } else { fixture.server.refuseConnections() }
        note(isOnline ? "online" : "offline")
    }

    private func fault() {
        let writes: [Fault] = [
            .closeAfterApplying, .closeBeforeAnswering, .answer(status: 500, body: "{}"), .answer(status: 502),
            .answerAfterApplying(status: 500, body: #"{"detail":"Internal server error"}"#), .portal, .emptyObject,
            .answer(status: 503, headers: ["retry-after": "90"]), .rateLimit(.seconds(60)), .truncate(after: 2),
            .dieKeptAlive, .answer(status: 404, headers: ["content-type": "text/html"], body: "<h1>Not found</h1>"),
        ]
        let reads: [Fault] = [.closeBeforeAnswering, .answer(status: 500, body: "{}"), .portal, .truncate(after: 9)]
        let isWrite = Int.random(in: 0..<4, using: &random) > 0
        let fault = (isWrite ? writes : reads).randomElement(using: &random) ?? .portal
        let times = Int.random(in: 1...3, using: &random)
        fixture.server.script(fault, on: isWrite ? .change : .any, times: times)
        note("fault \(fault) on \(isWrite ? "writes" : "anything"), \(times) times")
    }

    private func serverEdits() {
        guard let item = fixture.server.items().randomElement(using: &random) else { return }
        number += 1
        let title = "Theirs \(number)"
        fixture.server.edit(item.id) { $0.title = title }
        // What the server still works on, it will give a title of its own once more.
        let isSettled = !fixture.server.unsettledIDs.contains(item.id)
        model.serverEdited(item.id, waiting: isSettled ? (try? fixture.entries()) ?? [] : [])
        note("the server's \(item.id.prefix(6)) becomes \(title)")
    }

    private func serverDeletes() {
        guard let item = fixture.server.items().randomElement(using: &random) else { return }
        fixture.server.delete(item.id)
        model.removed.insert(item.id)
        note("the server deletes \(item.id.prefix(6))")
    }

    private func pass() {
        let seconds = [5, 40, 700, 4_000].randomElement(using: &random) ?? 5
        fixture.time.advance(by: .seconds(seconds))
        note("\(seconds) s")
    }

    private func run() async throws {
        _ = await process.engine.runOnce(full: Int.random(in: 0..<6, using: &random) == 0)
        note("run: \(try fixture.outbox())")
        try expectNothingShownTwice()
    }

    private func crash() async throws {
        let isApplied = Bool.random(using: &random)
        process = try await process.crash(fixture, applied: isApplied)
        note("killed: \(try fixture.outbox())")
    }

    // MARK: The end

    /// All obstacles gone, and time: what is left is what a person has to decide.
    func converge() async throws {
        if !isOnline { try toggle() }
        fixture.server.removeFaults()
        for _ in 0..<150 {
            _ = await process.engine.runOnce()
            try model.judgeRepeats(fixture)
            let now = fixture.time.now
            guard let next = try await process.store.nextDue(after: now) else {
                if try fixture.list("SELECT id FROM outbox WHERE next_attempt_at IS NOT NULL").isEmpty { break }
                fixture.time.advance(by: .seconds(60))
                continue
            }
            fixture.time.advance(by: max(.seconds(60), next.duration(since: now)))
        }
        fixture.server.settle()
        fixture.time.advance(by: .seconds(3_600))
        _ = await process.engine.runOnce(full: true)
        // Suspects that a server's cache may still show are asked for again.
        fixture.time.advance(by: .seconds(3_600))
        _ = await process.engine.runOnce(full: true)
        await process.abandon()
    }

    /// A URL is never in the timeline twice, except where a person has to say whether it is one item or two.
    private func expectNothingShownTwice() throws {
        let twice = try fixture.list(
            """
            SELECT url FROM timeline WHERE url LIKE 'https://example.org/%'
                AND NOT EXISTS (SELECT 1 FROM outbox WHERE outbox.url = timeline.url AND state = 'parked')
            GROUP BY url HAVING count(*) > 1
            """)
        if !twice.isEmpty { model.failures.append("shown twice: \(twice)") }
    }
}
