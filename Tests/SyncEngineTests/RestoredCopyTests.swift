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

    /// The deletion may have been sent since, and so may the edit before it.
    @Test func anEditThatADeletionReplacesIsHeldWithIt() async throws {
        let fixture = try await fixture()
        let item = fixture.server.items()[0]
        try await fixture.accept([.edit(item: item.id, ItemEdit(title: "Mine")), .delete(item: item.id)])
        let backup = try backUp(fixture)
        try await fixture.withEngine { _, store in
            _ = try await store.drop([2], withDependents: false, dryRun: false, now: fixture.time.now)
        }
        try await fixture.carryAll()
        fixture.server.edit(item.id) { $0.title = "Theirs" }
        restore(backup, to: fixture.path)
        #expect(try await states(fixture.path) == [.parked, .parked])
        try await fixture.withEngine { _, store in
            _ = try await store.drop([2], withDependents: false, dryRun: false, now: fixture.time.now)
        }
        try await fixture.carryAll()
        #expect(try fixture.states() == [.parked, .dropped])
        #expect(fixture.server.item(item.id)?.title == "Theirs")
    }

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

    /// Some of its fields were in conflict when the backup was made, and the others were about to be sent.
    @Test func anEditThatWasSentInPartsIsNotCutShort() async throws {
        let fixture = try await fixture()
        let item = fixture.server.items()[0].id
        try await fixture.accept(.edit(item: item, ItemEdit(title: "Mine", summary: "S")))
        try Connection(path: fixture.path, mode: .readWrite)
            .execute("UPDATE outbox SET theirs = '{\"title\":\"Theirs\"}' WHERE id = 1")
        let backup = try backUp(fixture)
        try await fixture.accept(.note("Sent since"))
        try await fixture.pull()
        restore(backup, to: fixture.path)
        fixture.server.edit(item) { $0.summary = nil }
        fixture.time.advance(by: .seconds(7_200))
        try await fixture.pull()
        try #require(try fixture.states() == [.parked])
        fixture.time.advance(by: .seconds(60))
        let now = fixture.time.now
        try await fixture.withEngine { _, store in
            _ = try await store.retry([1], parked: false, dryRun: false, now: now)
        }
        try await fixture.carryAll()
        #expect(fixture.server.item(item)?.summary == "S" && fixture.server.item(item)?.title == "Mine")
        try fixture.expectSound()
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
        let mark = try #require(try CopyMark.all(beside: fixture.path).first)
        try copyFile(mark.path, whole + ".mark.\(mark.sends)")
        #expect(try await states(whole) == [.parked, .parked])
        // The decision is asked for once.
        #expect(try await states(whole) == [.parked, .parked])
        // The one that was copied goes on.
        try await fixture.pull()
        #expect(try fixture.states() == [.delivered, .delivered])
    }

    // MARK: A folder that is put back

    /// What `cp -a` copies.
    private func folder(_ path: String) throws -> [String: [UInt8]] {
        var names = ["", "-wal", "-shm"].map { path + $0 }.filter(TestFile.exists)
        names += try CopyMark.all(beside: path).map(\.path)
        return try Dictionary(uniqueKeysWithValues: names.map { ($0, try TestFile.read($0)) })
    }

    enum PutBack: CaseIterable {
        /// `cp` writes into the files that are there.
        case over
        /// The same on a file system without birth times.
        case overWithoutBirthTimes
        case afterRemoval
        case databaseAlone
        /// The mark that was there is removed, as by `rsync --delete --inplace`.
        case overAndRest

        var removesMark: Bool { self == .afterRemoval || self == .overAndRest }
    }

    private func putBack(_ files: [String: [UInt8]], _ way: PutBack, to path: String) throws {
        if way.removesMark { for mark in try CopyMark.all(beside: path) { unlink(mark.path) } }
        if way == .afterRemoval { for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) } }
        for (name, bytes) in files where way != .databaseAlone || !name.contains(".mark") {
            let file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
            defer { close(file) }
            #expect(write(file, bytes, bytes.count) == bytes.count)
        }
    }

    private func forgetBirth(_ path: String) throws {
        for mark in try CopyMark.all(beside: path) {
            let file = open(mark.path, O_WRONLY | O_TRUNC)
            defer { close(file) }
            let bytes = Array("prsnld mark 1\n\(mark.id ?? "")\n0\n-\n".utf8)
            #expect(write(file, bytes, bytes.count) == bytes.count)
        }
    }

    @Test(arguments: PutBack.allCases)
    func aFolderThatIsPutBackSendsNothingBeforeAPersonSaysSo(_ way: PutBack) async throws {
        let fixture = try await fixture()
        if way == .overWithoutBirthTimes { try forgetBirth(fixture.path) }
        try await fixture.accept(Self.drafts)
        let backup = try folder(fixture.path)
        try await fixture.pull()
        #expect(fixture.server.captures.count == 2)
        // Twice: what the first one leaves is no mark of the backup either.
        for _ in 0..<2 {
            try putBack(backup, way, to: fixture.path)
            fixture.time.advance(by: .seconds(7_200))
            try await fixture.pull()
            #expect(try fixture.states() == [.parked, .parked])
            #expect(fixture.server.captures.count == 2)
        }
        try await fixture.accept(.note("Butter"))
        try await fixture.pull()
        #expect(try fixture.states() == [.parked, .parked, .delivered])
        try fixture.expectSound()
    }

    /// The backup was made while the daemon ran, and the daemon did not come to its end.
    @Test func aFolderThatIsPutBackIntoTheSameRunIsNoticed() async throws {
        let fixture = try await fixture()
        try await fixture.accept(Self.drafts[0])
        try await fixture.pull()
        try await fixture.accept(Self.drafts[1])
        let mark = try #require(try CopyMark.all(beside: fixture.path).first)
        let backup = try folder(fixture.path)
        var now = mark
        _ = now.follow(mark.sends + 1)  // the send was begun, and the process was killed
        try putBack(backup, .over, to: fixture.path)
        try await fixture.pull()
        #expect(try fixture.states() == [.delivered, .parked])
    }

    @Test func aFolderThatIsPutBackAndLacksNothingAsksNothing() async throws {
        let fixture = try await fixture()
        try await fixture.accept(Self.drafts)
        try putBack(try folder(fixture.path), .over, to: fixture.path)
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
            for mark in try CopyMark.all(beside: fixture.path) { unlink(mark.path) }
            if endsHalfway { _ = try CopyMark.make(beside: fixture.path, id: "an-id") }
            #expect(try await states(fixture.path) == [.queued, .queued])
        }
    }

    /// The version before had the count in the file, and one name for it.
    @Test func aMarkOfTheVersionBeforeIsTakenOver() async throws {
        let fixture = try await fixture()
        try await fixture.accept(Self.drafts)
        let mark = try #require(try CopyMark.all(beside: fixture.path).first)
        let text = String(decoding: try TestFile.read(mark.path), as: UTF8.self)
        let old = text.replacing("\n0\n", with: "\n\(String(repeating: "0", count: 19))\(mark.sends)\n")
        let file = open(mark.path, O_WRONLY)
        #expect(write(file, Array(old.utf8), old.utf8.count) == old.utf8.count)
        close(file)
        #expect(rename(mark.path, fixture.path + ".mark") == 0)
        let backup = try folder(fixture.path)
        #expect(try await states(fixture.path) == [.queued, .queued])
        #expect(try CopyMark.all(beside: fixture.path).map(\.path) == [mark.path])
        try putBack(backup, .over, to: fixture.path)
        #expect(try await states(fixture.path) == [.parked, .parked])
    }

    @Test func aMarkThatMayOnlyBeReadAndAFolderWithAnotherNameAskNothing() async throws {
        let fixture = try await fixture()
        try await fixture.accept(Self.drafts)
        let mark = try #require(try CopyMark.all(beside: fixture.path).first)
        #expect(chmod(mark.path, 0o400) == 0)
        try await fixture.pull()
        try await fixture.accept(.note("Butter"))
        let other = fixture.directory.file("other")
        #expect(mkdir(other, 0o700) == 0)
        var names = ["", "-wal", "-shm"].map { fixture.path + $0 }.filter(TestFile.exists)
        names += try CopyMark.all(beside: fixture.path).map(\.path)
        for name in names { #expect(rename(name, "\(other)/\(name.split(separator: "/").last ?? "")") == 0) }
        let moved = "\(other)/\(fixture.path.split(separator: "/").last ?? "")"
        #expect(try await states(moved) == [.delivered, .delivered, .queued])
    }

    /// The mark is renamed without fsync: after a power cut it may be as it was days ago, and after a kill as before this send.
    @Test func aMarkThatIsBehindItsDatabaseAsksNothing() async throws {
        let fixture = try await fixture()
        let before = try #require(try CopyMark.all(beside: fixture.path).first)
        try await fixture.accept(Self.drafts[0])
        try await fixture.pull()
        let after = try #require(try CopyMark.all(beside: fixture.path).first)
        #expect(after.sends > before.sends)
        #expect(rename(after.path, before.path) == 0)
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
        var mark = try CopyMark.make(beside: path, id: "a")
        #expect(CopyMark.judge(id: nil, sends: 0, []) == .unmarked)
        #expect(CopyMark.judge(id: nil, sends: 0, [mark]) == .unmarked)
        #expect(CopyMark.judge(id: "a", sends: 0, []) == .doubted)
        _ = mark.follow(3)
        // Not marks of this database.
        for name in ["db.mark.new", "db.mark.x", "db2.mark.4", "b.mark.4"] {
            try TestFile.write([], to: folder.file(name))
        }
        let found = try CopyMark.all(beside: path)
        #expect(found.map(\.path) == [path + ".mark.3"] && found[0].sends == 3 && found[0].id == "a")
        #expect(CopyMark.judge(id: nil, sends: 0, found) == .doubted)
        #expect(CopyMark.judge(id: "b", sends: 9, found) == .doubted)
        #expect(CopyMark.judge(id: "a", sends: 2, found) == .doubted)
        #expect(CopyMark.judge(id: "a", sends: 3, found) == .trusted)
        #expect(CopyMark.judge(id: "a", sends: 4, found) == .trusted)
        #expect(CopyMark.judge(id: "a", sends: 4, found + found) == .doubted)
        let next = try CopyMark.make(beside: path, id: "b", inPlaceOf: found)
        #expect(try CopyMark.all(beside: path).map(\.id) == [next.id])
    }
}
