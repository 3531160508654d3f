import Glibc
import PRSNLCore
import TestSupport
import Testing

@testable import Store

@Suite struct SetAsideTests {
    private let folder = TemporaryDirectory("aside")
    private var path: String { folder.file("prsnl.sqlite") }

    private func name(_ number: Int) -> String { folder.file("aside-\(number).sqlite") }

    /// A copy with one write that waits, in the write-ahead log.
    private func makeCopy() async throws -> Store {
        let store = try Store(path: path)
        try await store.bind(
            Binding(serverURL: "http://127.0.0.1:1", dialect: .cursor, accountID: "a", accountName: "ada@example.org"),
            at: Timestamp(microseconds: 1))
        _ = try await store.accept([.create(NewItem(note: "undelivered"))], now: TimeSource.system.now())
        return store
    }

    @Test func aCopyThatIsSetAsideKeepsEverythingAndLeavesItsNameFree() async throws {
        let store = try await makeCopy()
        chmod(path, 0o640)
        #expect(try await store.setAside(as: name) == name(1))
        #expect(!TestFile.exists(path))
        for ending in ["-wal", "-shm", "-journal"] {
            #expect(!TestFile.exists(path + ending), "\(ending)")
            #expect(!TestFile.exists(name(1) + ending), "\(ending)")
        }
        #expect(TestFile.exists(path + ".lock"))
        var information = stat()
        stat(name(1), &information)
        #expect(information.st_mode & 0o777 == 0o640)

        let reader = try StoreReader(path: name(1))
        let summary = try reader.summary()
        #expect(summary.outbox.waiting == 1 && summary.server.accountName == "ada@example.org")
        #expect(summary.boundAt == Timestamp(microseconds: 1))
        #expect(try reader.outbox(.open, limit: 10).total == 1)
        #expect(try reader.damage().isEmpty)

        // The next one begins at once, and clean; the old one can be opened to write, too.
        let next = try Store(path: path)
        #expect(!next.wasStoppedUncleanly)
        #expect(next.binding == Binding())
        await next.close()
        let old = try Store(path: name(1))
        #expect(!old.wasStoppedUncleanly)
        await old.close()
    }

    @Test func anOlderFileIsNeverReplaced() async throws {
        try TestFile.write("precious", to: name(1))
        try TestFile.write("precious", to: name(2))
        let store = try await makeCopy()
        #expect(try await store.setAside(as: name) == name(3))
        #expect(try TestFile.text(name(1)) == "precious" && TestFile.text(name(2)) == "precious")
    }

    @Test func aReaderThatHasTheFileOpenKeepsItAsItIs() async throws {
        let store = try await makeCopy()
        let reader = try StoreReader(path: path)
        _ = try reader.summary()
        #expect(try await errorCode { _ = try await store.setAside(as: name) } == .databaseBusy)
        #expect(!TestFile.exists(name(1)))
        #expect(try reader.summary().outbox.waiting == 1)
        // It was closed nevertheless, and is the same copy at the next start.
        let again = try Store(path: path)
        #expect(!again.wasStoppedUncleanly)
        #expect(again.binding.accountID == "a")
        #expect(TestFile.exists(path + "-wal") && TestFile.exists(path + "-shm"))
        await again.close()
    }

    @Test func aCopyThatWasNotClosedIsStillToBeChecked() async throws {
        await (try makeCopy()).close()
        try Connection(path: path, mode: .readWrite).execute("UPDATE copy SET stopped_cleanly = 0")
        let aside = try await (try Store(path: path)).setAside(as: name)
        let old = try Store(path: aside)
        #expect(old.wasStoppedUncleanly)
        await old.close()
    }

    @Test func aFileThatWasReplacedIsNotRenamed() async throws {
        let store = try await makeCopy()
        rename(path, folder.file("elsewhere"))
        try TestFile.write("another's", to: path)
        #expect(try await errorCode { _ = try await store.setAside(as: name) } == .databaseReplaced)
        #expect(try TestFile.text(path) == "another's")
    }

    @Test(arguments: [
        ("ada@example.org", 1, "/s/prsnl-ada@example.org-2026-11-21.sqlite"),
        ("ada@example.org", 2, "/s/prsnl-ada@example.org-2026-11-21-2.sqlite"),
        ("../a b/$(x)'é\n", 1, "/s/prsnl-.._a_b___x____-2026-11-21.sqlite"),
        ("", 1, "/s/prsnl-unknown-2026-11-21.sqlite"),
    ])
    func theNameCarriesOwnerAndDateInCharactersThatMeanNothingElse(owner: String, number: Int, expected: String) {
        let time = Timestamp("2026-11-21T23:59:59Z") ?? Timestamp(microseconds: 0)
        #expect(SetAsideName.path(beside: "/s/prsnl.sqlite", owner: owner, at: time, number: number) == expected)
    }

    @Test func theNameFollowsTheDatabases() {
        let time = Timestamp(microseconds: 0)
        #expect(SetAsideName.path(beside: "/s.d/copy", owner: "a", at: time, number: 1) == "/s.d/copy-a-1970-01-01")
        #expect(SetAsideName.path(beside: "x.db", owner: "a", at: time, number: 1) == "x-a-1970-01-01.db")
        let long = String(repeating: "x", count: 500)
        #expect(SetAsideName.path(beside: "/s/p.sqlite", owner: long, at: time, number: 1).utf8.count < 120)
    }
}
