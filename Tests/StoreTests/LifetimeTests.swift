import PRSNLCore
import Store
import Synchronization
import TestSupport
import Testing

/// What a store starts ends with it.
struct LifetimeTests {
    @Test func aClosedStoreLeavesNoThreadAndNoDescriptor() async throws {
        let directory = TemporaryDirectory("lifetime")
        try await expectNothingLeft() {
            let store = try Store(path: directory.file("prsnl.sqlite"))
            try await store.noteSuccess()
            await store.close()
        }
    }

    @Test func aStoreThatIsNotClosedLeavesNothingEither() async throws {
        let directory = TemporaryDirectory("lifetime")
        try await expectNothingLeft() {
            _ = try Store(path: directory.file("prsnl.sqlite"))
        }
    }

    @Test func aStoreThatCannotBeOpenedLeavesNothing() async throws {
        let directory = TemporaryDirectory("lifetime")
        let path = directory.file("prsnl.sqlite")
        try TestFile.write(Array("not a database, and long enough to have a header".utf8), to: path)
        try await expectNothingLeft() {
            let code = try errorCode { _ = try Store(path: path) }
            #expect(code == .notADatabase)
        }
    }

    /// Which lives as long as the process: a job names it without holding it.
    @Test func allStoresShareOneThread() async throws {
        let directory = TemporaryDirectory("lifetime")
        let stores = try (1...5).map { try Store(path: directory.file("\($0).sqlite")) }
        for store in stores { try await store.noteSuccess() }
        #expect(ProcessResources().threads["store"] == 1)
    }

    /// The clock is read at each write and at each page, for years.
    @Test func theServersClockTakesNoMoreStackHoweverOftenItIsRead() throws {
        let directory = TemporaryDirectory("lifetime")
        let store = try Store(path: directory.file("prsnl.sqlite"))
        let place = Atomic(0)
        store.follow {
            var here = 0
            withUnsafePointer(to: &here) { place.store(Int(bitPattern: $0), ordering: .relaxed) }
            return nil
        }
        func read() -> Int {
            _ = store.serverNow
            return place.load(ordering: .relaxed)
        }
        let first = read()
        for _ in 0..<1_000 { _ = read() }
        // The stack grows downwards.
        #expect(first - read() < 1_000)
    }

    @Test func anIntegrityCheckLeavesNothing() async throws {
        let directory = TemporaryDirectory("lifetime")
        let path = directory.file("prsnl.sqlite")
        try await Store(path: path).close()
        try await expectNothingLeft(threads: "check") {
            let damage = try await StoreReader.damage(path: path)
            #expect(damage.isEmpty)
        }
    }
}
