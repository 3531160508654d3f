import DevServer
import Glibc
import PRSNLCore
import TestSupport
import Testing

@testable import Store
@testable import SyncEngine

/// A database that was restored from a backup, or copied, sends nothing unasked that the other one may have sent; and no
/// other database is taken for one.
@Suite struct RestoredCopyTests {
    private func fixture(_ dialect: Dialect = .cursor) async throws -> PullFixture {
        let fixture = try PullFixture(dialect, items: DevItem.generate(count: 5, seed: 1)) {
            $0.quirks.patchFails = false
            $0.quirks.capturesPerMinute = nil
        }
        try await fixture.pull()
        return fixture
    }

    private func backUp(_ fixture: PullFixture, _ name: String = "backup") throws -> String {
        let backup = fixture.directory.file(name)
        unlink(backup)
        _ = try fixture.query("VACUUM INTO '\(backup)'")
        return backup
    }

    private func restore(_ backup: String, to path: String) {
        for suffix in ["-wal", "-shm"] { unlink(path + suffix) }
        #expect(rename(backup, path) == 0)
    }

    private func copyFile(_ from: String, _ to: String) throws {
        let source = open(from, O_RDONLY)
        defer { close(source) }
        var bytes = [UInt8](repeating: 0, count: 1 << 22)
        let count = read(source, &bytes, bytes.count)
        try #require(count >= 0 && count < bytes.count)
        let target = creat(to, 0o600)
        defer { close(target) }
        #expect(write(target, bytes, count) == count)
    }

    private func states(_ path: String) async throws -> [OutboxEntry.State] {
        let store = try Store(path: path)
        await store.close()
        return try StoreReader(path: path).outbox(.all, limit: 100).entries.sorted { $0.id < $1.id }.map(\.state)
    }

    private static let drafts = [
        WriteDraft.note("Bread and milk"), .url("https://example.org/read", title: "Read", tags: ["later"]),
    ]

    @Test(arguments: [Dialect.cursor, .page, .express])
    func aRestoredBackupSendsNothingBeforeAPersonSaysSoAndLooksFirst(_ dialect: Dialect) async throws {
        let fixture = try await fixture(dialect)
        try await fixture.accept(Self.drafts)
        let backup = try backUp(fixture)
        try await fixture.pull()
        #expect(fixture.server.captures.count == 2)

        restore(backup, to: fixture.path)
        fixture.time.advance(by: .seconds(7_200))
        try await fixture.pull()
        #expect(try fixture.states() == [.parked, .parked])
        #expect(
            try fixture.query("SELECT count(*) FROM recurring_error WHERE code = 'database_restored' AND over = 0")
                == "1")
        try await fixture.accept(.note("Butter"))
        try await fixture.pull()
        #expect(try fixture.states() == [.parked, .parked, .delivered])
        #expect(fixture.server.captures.count == 3)

        fixture.server.settle()
        let store = try Store(path: fixture.path)
        _ = try await store.retry([1, 2], parked: false, dryRun: false, now: fixture.time.now)
        await store.close()
        for _ in 0..<3 {
            try await fixture.pull()
            fixture.time.advance(by: .seconds(700))
        }
        #expect(try fixture.outbox().prefix(2).allSatisfy { $0.contains("delivered") })
        #expect(fixture.server.captures.count == 3)
        #expect(
            try fixture.query("SELECT count(*) FROM recurring_error WHERE code = 'database_restored' AND over = 0")
                == "0")
        try fixture.expectSound()
    }

    /// What was looked for then may be gone again, and would be sent once more. What was delivered follows no more.
    @Test func aRestoredBackupSendsNothingThatWasUnderWayOrUnverifiedThen() async throws {
        let fixture = try await fixture()
        try await fixture.accept(.url("https://example.org/unverified", title: "Asked for"))
        try await fixture.pull()
        fixture.server.script(.closeAfterApplying, on: .capture)
        try await fixture.accept(.note("Butter"))
        try await fixture.pull()
        try #require(try fixture.states() == [.delivered, .unknown])
        let backup = try backUp(fixture)
        fixture.server.settle()
        try await fixture.carryAll()
        let captured = fixture.server.captures.map(\.id)
        fixture.server.delete(captured[1])
        fixture.server.edit(captured[0]) { $0.title = "Newer" }

        restore(backup, to: fixture.path)
        fixture.server.clearLog()
        for _ in 0..<4 {
            try await fixture.pull(full: true)
            fixture.time.advance(by: .seconds(700))
        }
        #expect(fixture.server.requests(.change).isEmpty)
        #expect(try fixture.states() == [.delivered, .parked])
    }

    @Test func whatTheOtherCopyNeverSentIsSentAfterTheDecision() async throws {
        let fixture = try await fixture()
        try await fixture.accept(Self.drafts[0])
        let backup = try backUp(fixture)
        try await fixture.accept(.note("Butter"))
        let first = fixture.server.script(.answer(status: 422, body: #"{"detail":[]}"#), on: .capture)
        try await fixture.pull()
        first.remove()
        #expect(try fixture.states() == [.parked, .delivered])
        restore(backup, to: fixture.path)
        try await fixture.pull()
        #expect(try fixture.states() == [.parked])
        let store = try Store(path: fixture.path)
        _ = try await store.retry(nil, parked: true, dryRun: false, now: fixture.time.now)
        await store.close()
        for _ in 0..<3 {
            try await fixture.pull()
            fixture.time.advance(by: .seconds(700))
        }
        #expect(try fixture.states() == [.delivered])
        #expect(fixture.server.captures.count == 2)
    }

    @Test func aCopyElsewhereHoldsWhatItHasToSend() async throws {
        let fixture = try await fixture()
        try await fixture.accept(Self.drafts)
        let alone = try backUp(fixture, "alone.sqlite")
        #expect(try await states(alone) == [.parked, .parked])
        // With its mark, as a folder is copied.
        let whole = try backUp(fixture, "whole.sqlite")
        try copyFile(fixture.path + ".mark", whole + ".mark")
        #expect(try await states(whole) == [.parked, .parked])
        // The decision is asked for once.
        #expect(try await states(whole) == [.parked, .parked])
        // The one that was copied goes on.
        try await fixture.pull()
        #expect(try fixture.states() == [.delivered, .delivered])
    }

    // MARK: No false alarm

    @Test func aBackupSinceWhichNothingWasSentIsNoOtherCopy() async throws {
        let fixture = try await fixture()
        try await fixture.accept(Self.drafts)
        restore(try backUp(fixture), to: fixture.path)
        try await fixture.pull()
        #expect(try fixture.states() == [.delivered, .delivered])
        #expect(try fixture.query("SELECT count(*) FROM recurring_error WHERE code = 'database_restored'") == "0")
    }

    @Test func aCopyThatHasNothingToSendIsMarkedAndNothingIsAsked() async throws {
        let fixture = try await fixture()
        let copy = try backUp(fixture, "copy.sqlite")
        #expect(try await states(copy) == [])
        let store = try Store(path: copy)
        _ = try await store.accept(Self.drafts, now: fixture.time.now)
        await store.close()
        #expect(try await states(copy) == [.queued, .queued])
    }

    /// Made by the version before: there is neither an id nor a mark. And the process may end while it is marked.
    @Test func anUpgradeAsksNothingWhereverItEnds() async throws {
        let fixture = try await fixture()
        try await fixture.accept(Self.drafts)
        for endsHalfway in [false, true] {
            try Connection(path: fixture.path, mode: .readWrite).execute("UPDATE copy SET mark = NULL, sends = 0")
            unlink(fixture.path + ".mark")
            if endsHalfway { _ = try CopyMark.make(beside: fixture.path, id: "an-id") }
            #expect(try await states(fixture.path) == [.queued, .queued])
        }
    }

    /// The mark is written without fsync: after a power cut it may be as it was days ago.
    @Test func aMarkThatIsBehindItsDatabaseAsksNothing() async throws {
        let fixture = try await fixture()
        let mark = try #require(CopyMark.read(beside: fixture.path))
        let before = mark.sends
        try await fixture.accept(Self.drafts[0])
        try await fixture.pull()
        #expect(try #require(CopyMark.read(beside: fixture.path)).sends > before)
        #expect(mark.follow(before))
        try await fixture.accept(Self.drafts[1])
        #expect(try fixture.states() == [.delivered, .queued])
        try await fixture.pull()
        #expect(try fixture.states() == [.delivered, .delivered])
    }

    @Test func aNewCopyInTheSamePlaceIsMarkedAgain() async throws {
        let fixture = try await fixture()
        try await fixture.accept(Self.drafts[0])
        try await fixture.pull()
        let store = try Store(path: fixture.path)
        let aside = fixture.directory.file("aside.sqlite")
        _ = try await store.setAside(as: { _ in aside })
        try await fixture.accept(Self.drafts)
        #expect(try fixture.states() == [.queued, .queued])
        try await fixture.pull()
        #expect(try fixture.states() == [.delivered, .delivered])
    }

    @Test func aMarkIsJudgedByItsTable() throws {
        let folder = TemporaryDirectory("mark")
        let path = folder.file("db")
        let mark = try CopyMark.make(beside: path, id: "a")
        #expect(CopyMark.judge(id: nil, sends: 0, nil) == .unmarked)
        #expect(CopyMark.judge(id: nil, sends: 0, mark) == .unmarked)
        #expect(CopyMark.judge(id: "a", sends: 0, nil) == .doubted)
        #expect(mark.follow(3))
        let found = try #require(CopyMark.read(beside: path))
        #expect(found.sends == 3 && found.id == "a")
        #expect(CopyMark.judge(id: nil, sends: 0, found) == .doubted)
        #expect(CopyMark.judge(id: "b", sends: 9, found) == .doubted)
        #expect(CopyMark.judge(id: "a", sends: 2, found) == .doubted)
        #expect(CopyMark.judge(id: "a", sends: 3, found) == .trusted)
        #expect(CopyMark.judge(id: "a", sends: 4, found) == .trusted)
    }
}
