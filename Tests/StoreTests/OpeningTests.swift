import Glibc
import PRSNLCore
import TestSupport
import Testing

@testable import Store

@Suite struct OpeningTests {
    let fixture = StoreFixture()
    typealias Fixture = StoreFixture

    /// Opens the file as writer and as reader, and checks that both refuse it and leave it as it is.
    private func expectRefused(_ code: ErrorCode, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let before = try TestFile.read(fixture.path)
        let writer = try errorCode { _ = try Store(path: fixture.path) }
        #expect(writer == code, sourceLocation: sourceLocation)
        let reader = try errorCode { _ = try StoreReader(path: fixture.path).summary() }
        #expect(reader == code, sourceLocation: sourceLocation)
        #expect(try TestFile.read(fixture.path) == before, sourceLocation: sourceLocation)
    }

    private func make(_ statements: String) throws {
        do {
            try Connection(path: fixture.path, mode: .readWrite).execute(statements)
        } catch {
            throw error.userFacing(path: fixture.path)
        }
    }

    @Test func aTextFileIsNoDatabase() throws {
        try TestFile.write(String(repeating: "Not a database. ", count: 100), to: fixture.path)
        try expectRefused(.notADatabase)
    }

    @Test func aDatabaseOfAnotherApplicationIsRefused() throws {
        try make("PRAGMA application_id = 7; CREATE TABLE t (x); PRAGMA user_version = 1")
        try expectRefused(.otherApplication)
    }

    @Test func aDatabaseWithoutAnApplicationIsRefused() throws {
        try make("CREATE TABLE t (x)")
        try expectRefused(.otherApplication)
    }

    @Test func aNewerSchemaIsRefused() throws {
        try make("PRAGMA application_id = \(Schema.applicationID); CREATE TABLE t (x); PRAGMA user_version = 99")
        try expectRefused(.newerSchema)
    }

    @Test func aDamagedFileIsRefused() async throws {
        let store = try fixture.open()
        try await store.commit(Fixture.page((1...50).map { Fixture.item($0) }))
        await store.close()
        for suffix in ["-wal", "-shm"] { try TestFile.remove(fixture.path + suffix) }
        var bytes = try TestFile.read(fixture.path)
        // Everything after the header of the first page: the schema is gone.
        for index in 100..<bytes.count { bytes[index] = 0xA5 }
        try TestFile.write(bytes, to: fixture.path)
        try expectRefused(.databaseDamaged)
    }

    @Test func aMissingFileIsSaidToBeMissing() throws {
        #expect(try errorCode { _ = try StoreReader(path: fixture.path) } == .noDatabase)
    }

    /// As a daemon that starts leaves it for a moment.
    @Test func aFileThatIsStillEmptyIsNoCopyYet() throws {
        try TestFile.write([], to: fixture.path)
        #expect(try errorCode { _ = try StoreReader(path: fixture.path) } == .noDatabase)
    }

    @Test func aFolderThatIsNotThereIsNamed() throws {
        let path = fixture.directory.file("nowhere") + "/prsnl.sqlite"
        #expect { _ = try Store(path: path) } throws: { error in
            (error as? UserFacingError).map { $0.code == .databaseUnreadable && $0.message.contains(path) } ?? false
        }
    }

    @Test func theWriteAheadLogIsKeptForReadersWhoMayNotWrite() async throws {
        let store = try fixture.open()
        try await store.commit(Fixture.page([Fixture.item(1)]))
        await store.close()
        #expect(TestFile.exists(fixture.path + "-wal"))
        #expect(TestFile.exists(fixture.path + "-shm"))
        #expect(try fixture.query("SELECT count(*) FROM timeline") == "1")
    }

    @Test func aFileThatIsReplacedUnderTheWriterRefusesWrites() async throws {
        let store = try fixture.open()
        try await store.commit(Fixture.page([Fixture.item(1)]))
        try TestFile.remove(fixture.path)
        try TestFile.write("another file", to: fixture.path)
        let code = try await errorCode { try await store.commit(Fixture.page([Fixture.item(2)])) }
        #expect(code == .databaseReplaced)
        #expect(try TestFile.text(fixture.path) == "another file")
        await store.close()
    }

    @Test func aSymbolicLinkLeadsToTheLockAndTheLogOfTheFileItself() async throws {
        let store = try fixture.open()
        try await store.commit(Fixture.page([Fixture.item(1)]))
        let folder = TemporaryDirectory("link")
        let link = folder.file("other-name.sqlite")
        #expect(symlink(fixture.path, link) == 0)
        #expect(try StoreReader(path: link, leavingNoTrace: true).summary().copy.live == 1)
        await store.close()
        let again = try Store(path: link)
        #expect(again.path == fixture.path)
        #expect(!TestFile.exists(link + ".lock"))
        try await again.commit(Fixture.page([Fixture.item(2)]))
        await again.close()
        #expect(try fixture.query("SELECT count(*) FROM timeline") == "2")
    }

    @Test func aLinkToAFileThatIsNotThereYetIsFollowedToItsPlace() async throws {
        let link = fixture.directory.file("link.sqlite")
        #expect(symlink("prsnl.sqlite", link) == 0)
        let store = try Store(path: link)
        #expect(store.path == fixture.path)
        #expect(TestFile.exists(fixture.path + ".lock") && !TestFile.exists(link + ".lock"))
        await store.close()
    }

    /// prsnlctl holds the lock for a moment with each write; a daemon that starts meanwhile must not give up because another
    /// one was faster.
    @Test func aLockThatIsTakenAgainAndAgainIsWaitedFor() async throws {
        let store = try fixture.open()
        await store.close()
        let script = """
            import fcntl, sys
            with open(sys.argv[1], "r+") as file:
                print("ready", flush=True)
                while True:
                    fcntl.lockf(file, fcntl.LOCK_EX)
                    fcntl.lockf(file, fcntl.LOCK_UN)
            """
        let other = try ChildProcess("/usr/bin/python3", ["-c", script, fixture.path + ".lock"])
        defer { other.signal(SIGKILL) }
        try await eventually("the other process to begin") { other.stdout.hasPrefix("ready") }
        for _ in 0..<200 {
            let lock = try DatabaseLock.take(database: fixture.path) { _ in }
            withExtendedLifetime(lock) {}
        }
    }

    /// It would stay as large as it was at its largest, beside a copy that may be smaller.
    @Test func theLogGivesItsSpaceBackAfterAPieceOfWork() async throws {
        let store = try fixture.open()
        try await store.commit(StoreFixture.page([StoreFixture.item(0)]))
        await store.releaseMemory()
        #expect(FileIdentity.size(path: fixture.path + "-wal") > 0, "a small one is used on")
        try await store.commit(StoreFixture.page((1...5_000).map { StoreFixture.item($0) }))
        await store.releaseMemory()
        #expect(FileIdentity.size(path: fixture.path + "-wal") == 0)
        #expect(try StoreReader(path: fixture.path).summary().copy.live == 5_001)
        await store.close()
    }

    @Test func aLockThatIsALinkIsRefused() throws {
        let elsewhere = fixture.directory.file("elsewhere")
        try TestFile.write("another's", to: elsewhere)
        #expect(symlink(elsewhere, fixture.path + ".lock") == 0)
        #expect(try errorCode { _ = try DatabaseLock(database: fixture.path) } == .databaseUnreadable)
        try TestFile.remove(fixture.path + ".lock")
        #expect(link(elsewhere, fixture.path + ".lock") == 0)
        #expect(try errorCode { _ = try DatabaseLock(database: fixture.path) } == .databaseLinked)
        #expect(try TestFile.text(elsewhere) == "another's")
    }

    @Test func aFileWithTwoNamesIsRefusedUnderBoth() async throws {
        let store = try fixture.open()
        try await store.commit(Fixture.page([Fixture.item(1)]))
        await store.close()
        let other = fixture.directory.file("other.sqlite")
        #expect(link(fixture.path, other) == 0)
        try expectRefused(.databaseLinked)
        #expect(try errorCode { _ = try Store(path: other) } == .databaseLinked)
        #expect(!TestFile.exists(other + ".lock"))
        try TestFile.remove(other)
        let again = try fixture.open()
        await again.close()
    }

    @Test(arguments: ["-wal", "-shm"])
    func aLogThatIsRemovedUnderTheWriterRefusesWritesAndLosesNothing(suffix: String) async throws {
        let store = try fixture.open()
        try await store.commit(Fixture.page([Fixture.item(1)]))
        try TestFile.remove(fixture.path + suffix)
        #expect(store.replacement()?.code == .databaseReplaced)
        // A reader makes the index again, and then knows nothing of what the writer goes on to write.
        if suffix == "-shm" { #expect(try fixture.query("SELECT count(*) FROM timeline") == "1") }
        let code = try await errorCode { try await store.commit(Fixture.page([Fixture.item(2)])) }
        #expect(code == .databaseReplaced)
        await store.close()
        let again = try fixture.open()
        try await again.commit(Fixture.page([Fixture.item(2)]))
        await again.close()
        #expect(
            try fixture.query("SELECT group_concat(id) FROM (SELECT id FROM timeline ORDER BY id)") == "item-1,item-2")
        #expect(try StoreReader(path: fixture.path).damage().isEmpty)
    }

    @Test func theLockOutlivesTheFile() async throws {
        let store = try fixture.open()
        var lock = stat()
        #expect(stat(fixture.path + ".lock", &lock) == 0)
        let line = ":\(lock.st_ino) "
        /// proc(5).
        func isLocked() throws -> Bool { try TestFile.text("/proc/locks").contains(line) }
        #expect(try isLocked())
        await store.closeFile()
        #expect(try isLocked())
        #expect(try await errorCode { try await store.commit(Fixture.page([Fixture.item(1)])) } == .storeBug)
        await store.unlock()
        #expect(try !isLocked())
    }

    /// A step that is made up, beyond those that there are.
    private static let next = Schema(steps: Schema.current.steps + ["ALTER TABLE copy ADD COLUMN made_up TEXT"])

    private func apply(_ schema: Schema) throws {
        do {
            try schema.apply(to: Connection(path: fixture.path, mode: .readWrite))
        } catch {
            throw error.userFacing(path: fixture.path)
        }
    }

    @Test func aLaterSchemaIsReachedStepByStepAndKeepsWhatIsThere() async throws {
        let store = try fixture.open()
        try await store.commit(Fixture.page([Fixture.item(1)]))
        await store.close()
        #expect(try fixture.query("PRAGMA user_version") == "\(Schema.current.version)")
        for _ in 1...2 { try apply(Self.next) }
        #expect(try fixture.query("PRAGMA user_version") == "\(Schema.current.version + 1)")
        #expect(try fixture.query("SELECT count(*) FROM timeline") == "1")
        #expect(try fixture.query("SELECT made_up FROM copy") == nil)
        try expectRefused(.newerSchema)
    }

    @Test func aStepThatFailsLeavesTheFileAtTheVersionBeforeIt() async throws {
        let store = try fixture.open()
        await store.close()
        var steps = Self.next.steps
        steps[steps.count - 1] += "; SELECT * FROM nowhere"
        #expect(throws: UserFacingError.self) { try apply(Schema(steps: steps)) }
        #expect(try fixture.query("PRAGMA user_version") == "\(Schema.current.version)")
        #expect(try fixture.query("SELECT count(*) FROM pragma_table_info('copy') WHERE name = 'made_up'") == "0")
        let again = try fixture.open()
        await again.close()
    }

    @Test func anUncleanStopIsNoticedAtTheNextStart() async throws {
        // The state of a file whose owner was killed: written to, and never closed.
        let store = try fixture.open()
        #expect(!store.wasStoppedUncleanly)
        try await store.commit(Fixture.page([Fixture.item(1)]))
        #expect(try fixture.query("SELECT stopped_cleanly FROM copy") == "0")
        await store.close()
        #expect(try fixture.query("SELECT stopped_cleanly FROM copy") == "1")
    }

    @Test func aBoundCopyRefusesAnotherServerDialectOrAccount() async throws {
        let store = try fixture.open()
        let bound = Binding(
            serverURL: "https://a.example", dialect: .cursor, accountID: "1", accountName: "a@a.example")
        try await store.bind(bound)
        try await store.bind(bound)
        for (change, code) in [
            ({ $0.serverURL = "https://b.example" }, ErrorCode.serverChanged), ({ $0.dialect = .page }, .serverChanged),
            ({ $0.accountID = "2" }, .accountChanged),
        ] as [((inout Binding) -> Void, ErrorCode)] {
            var other = bound
            change(&other)
            let thrown = try await errorCode { [other] in try await store.bind(other) }
            #expect(thrown == code)
            #expect(store.binding == bound)
        }
        await store.close()
        let again = try fixture.open()
        #expect(again.binding == bound)
        await again.close()
    }

    @Test func recurringErrorsAreGrouped() async throws {
        let store = try fixture.open()
        for second in 1...3 {
            try await store.recordError(
                code: .serverError, endpoint: "GET /api/timeline", message: "Server error.", at: Fixture.at(second))
        }
        let error = try StoreReader(path: fixture.path).summary().lastError
        #expect(error?.count == 3)
        #expect(error?.first == Fixture.at(1))
        #expect(error?.last == Fixture.at(3))
        #expect(error?.isOver == false)
        try await store.noteSuccess()
        #expect(try StoreReader(path: fixture.path).summary().lastError?.isOver == true)
        await store.close()
    }
}
