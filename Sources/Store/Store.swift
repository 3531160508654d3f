import CLinux
import Glibc
package import PRSNLCore
import Synchronization

/// The one writer of the SQLite file: the schema, the timeline, the coverage. Everything that knows SQL is in this module.
///
/// An actor on a thread of its own, because SQLite blocks. A transaction never spans an `await`.
package actor Store {
    /// Of the file itself, also where it was named by a link.
    package nonisolated let path: String
    /// The thread of all stores of the process.
    private static let thread = SerialThreadExecutor(name: "store")
    private nonisolated let executor: SerialThreadExecutor
    package nonisolated var heartbeat: Heartbeat { executor.heartbeat }
    nonisolated var isWaitedFor: Bool { executor.isWaitedFor }
    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    let log: LogHandler
    private(set) var statements: ItemStatements?
    private(set) var connection: Connection?
    private var lock: DatabaseLock?
    private let identity: FileIdentity
    /// Of the write-ahead log and of its index, which stay the same files for as long as the database is open.
    private let logIdentity: FileIdentity
    private let indexIdentity: FileIdentity
    /// True from the first write on until `close`: the file says that it was not closed yet.
    var markedOpen = false
    /// Whether the last owner of the file was killed. Then `damage()` is worth its time.
    package nonisolated let wasStoppedUncleanly: Bool
    /// Whether the file was checked since.
    private var isSound = false
    /// Rejected items of the whole read under way, by id or text. `nil` where this process did not see its beginning.
    var rejectedSeen: Set<ByteText>?
    /// Why nothing more is written: the file was found damaged.
    private var refusal: UserFacingError?
    /// Follows what is sent. `nil` where none could be made.
    var mark: CopyMark?
    /// Whether it was said that the mark cannot be renamed.
    var reportedMark = false
    /// Whether a reader that keeps the WAL from being emptied was reported.
    private var reportedBlockedCheckpoint = false

    package internal(set) var coverage: Coverage
    /// As the file has it. Memory may know of newer reads.
    var savedCoverage: Coverage
    /// Server, dialect and account that the file is bound to. To be read without waiting for a commit.
    package nonisolated var binding: Binding { bound.withLock { $0 } }
    private nonisolated let bound: Mutex<Binding>
    var reachable: ReachableTime
    /// Writes that are delivered while pages are under way, and creations that a page may bring.
    var inFlight: InFlightWrites
    /// Errors that could not be written when they were met. Few: codes are a closed set.
    var unrecorded: [RecurringError] = []
    /// Whether a page may bring an item that was created here.
    var expectsCreations = false
    /// `nil` before the first pull has ended: no changes are noted.
    private var notes: ChangeNotes?
    /// Announced after each commit that left rows in `change_log`.
    package nonisolated let changesMade = Announcements()
    /// Signalled after each commit, for the full-text index, which is built from what was committed.
    package nonisolated let committed = Wakeup()
    /// Bytes of the next piece of a long text.
    var pieceSize = SearchableRow.longestPiece
    /// Parts of the index that were added since the last merge. The process before may have left some.
    var unmergedParts = 1
    /// Whether many items are being indexed, or were until now.
    var indexesInBulk = false
    let largestSize: Int
    /// A function that is itself the value of a `Mutex` gets another wrapper around it with each `withLock`: it then takes more
    /// memory, and a deeper stack, each time.
    private struct ServerClock {
        var now: @Sendable () -> ServerTime? = { nil }
    }
    private nonisolated let serverClock = Mutex(ServerClock())

    /// What the server's clock says now. `nil` before the first response.
    package nonisolated var serverNow: ServerTime? { serverClock.withLock(\.now)() }

    package nonisolated func follow(_ clock: @escaping @Sendable () -> ServerTime?) {
        serverClock.withLock { $0.now = clock }
    }

    /// What a server sends is bounded. What people write always finds a place.
    ///
    /// - Parameter room: so many bytes are to be left.
    func requireRoom(leaving room: Int = 0) throws(UserFacingError) {
        let size = FileIdentity.size(path: path) + FileIdentity.size(path: path + "-wal")
        guard size > largestSize - room else { return }
        throw UserFacingError(
            .diskFull, "The database \(path) has \(size >> 20) MiB, more than max_database_size.",
            consequence: "Nothing more is pulled. Writes are queued and sent.",
            recoverySuggestion: "Look at what the server sends. Raise max_database_size to keep it.")
    }

    /// Opens or creates the file and takes the lock beside it (`<path>.lock`).
    ///
    /// - Parameters:
    ///   - waitsForLock: Waits up to 10 s for another process that has it, and logs for whom.
    ///   - isCancelled: Ends the waiting, with `cancelled`.
    ///   - largestSize: In bytes. Pages that would be written to a file that is larger are refused.
    ///   - allowsNetwork: Opens it on a network file system too.
    /// - Throws: `UserFacingError`: `database_on_network`, `database_locked` (names the pid), `other_application`, `newer_schema`,
    ///   `not_a_database`, `database_damaged`, `database_read_only`, `disk_full`, `disk_error`.
    package init(
        path: String, waitsForLock: Bool = false, largestSize: Int = .max, allowsNetwork: Bool = false,
        isCancelled: () -> Bool = { false }, log: @escaping LogHandler = { _, _, _ in }
    ) throws(UserFacingError) {
        let path = RealPath.of(path)
        self.path = path
        self.largestSize = largestSize
        self.log = log
        executor = Self.thread
        do {
            if !allowsNetwork { try NetworkFileSystem.refuse(path: path) }
            // Looked at before the lock is made beside it, because a stranger's file gets nothing, and again under the lock.
            try DatabaseHeader.read(path: path)?.check(path: path)
            let lock = try DatabaseLock.take(
                database: path,
                onWait: waitsForLock
                    ? { log(.notice, .store, "waiting for process \($0), which works on \(path)") } : nil,
                isCancelled: isCancelled)
            let header = try DatabaseHeader.read(path: path)
            try header?.check(path: path)
            try FileIdentity.checkBeside(path: path)
            if header == nil { try FileIdentity.create(path: path) }
            let opened = try Self.open(path: path, isNew: header == nil)
            self.lock = lock
            connection = opened
            identity = try FileIdentity(path: path)
            wasStoppedUncleanly = try opened.integer("SELECT stopped_cleanly FROM copy") == 0
            try opened.execute("UPDATE pull SET outcome = 'interrupted' WHERE outcome = 'running'")
            statements = try ItemStatements(opened)
            let saved = try Self.readCoverage(opened)
            (coverage, savedCoverage) = (saved, saved)
            _ = try opened.transaction { try ChangeLog.openIfComplete(opened) }
            notes = try ChangeNotes.begin(opened)
            bound = Mutex(try Self.readBinding(opened))
            try Self.markInterruptedSendsUnknown(opened)
            mark = try Self.mark(opened, statements, path: path, log: log)
            inFlight = try InFlightWrites(opened)
            reachable = ReachableTime(saved: try opened.double("SELECT reachable_seconds FROM copy"))
            logIdentity = try FileIdentity(path: path + "-wal")
            indexIdentity = try FileIdentity(path: path + "-shm")
        } catch {
            throw error.userFacing(path: path)
        }
    }

    private static func open(path: String, isNew: Bool) throws -> Connection {
        let connection = try Connection(path: path, mode: .readWrite)
        if isNew {
            // In rollback mode, so that schema, application id and version reach the main file in one step, where the
            // header check of the next start looks for them, then WAL.
            try connection.execute("PRAGMA journal_mode = DELETE")
            try connection.execute("PRAGMA auto_vacuum = NONE")
        }
        try Schema.current.apply(to: connection)
        if try connection.text("PRAGMA journal_mode = WAL") != "wal" {
            throw UserFacingError(
                .databaseUnreadable, "\(path) cannot be put into WAL mode. Is it on a network file system?")
        }
        connection.keepWriteAheadLog()
        try connection.synchronize(durably: false)
        // The WAL is cut back to this size when it starts over: a little more than it has at a checkpoint, because writing
        // over what is there costs the file system less than appending.
        try connection.execute("PRAGMA journal_size_limit = 41943040")
        connection.setCheckpoint()
        return connection
    }

    /// Rows that were written since it was opened: another number after each change.
    package var changes: Int64 { connection?.totalChanges ?? 0 }

    /// Empties the WAL as far as readers allow, closes the file and releases the lock.
    package func close() {
        guard connection != nil else { return }
        closeFile()
        unlock()
    }

    /// As `close`, without releasing the lock.
    package func closeFile() {
        guard let connection else { return }
        do {
            // A damaged file must be checked again at the next start.
            if refusal == nil, wasStoppedUncleanly ? isSound : markedOpen {
                try connection.execute("UPDATE copy SET stopped_cleanly = 1")
                markedOpen = false
            }
        } catch {
            log(.warning, .store, "\(error.userFacing(path: path).message) The next start checks the file")
        }
        letGoOfStatements()
        connection.checkpoint()
        letGoOfFile()
    }

    /// Before anything that the connection can do only while nothing else uses it.
    func letGoOfStatements() {
        statements = nil  // before the connection, which they use
        connection?.forgetStatements()
    }

    /// The lock stays.
    func letGoOfFile() {
        notes = nil
        connection = nil
    }

    /// After `closeFile`.
    package func unlock() { lock = nil }

    /// Says in the lock where the daemon listens, for those whose environment does not tell.
    package func announce(socket: String) { lock?.announce(socket: socket) }

    /// Gives back to the kernel what a piece of work has left in SQLite's cache and on the heap. For its end: the next minutes
    /// need nothing of it (malloc_trim(3)). And to the disk what it has left of a log, which may be larger than the copy.
    package func releaseMemory() {
        if FileIdentity.size(path: path + "-wal") > Self.keptLog { connection?.checkpoint() }
        connection?.releaseMemory()
        malloc_trim(0)
    }

    /// A smaller log stays: a page that changes again is then copied into the database once, and not each time.
    private static let keptLog = 1 << 20

    /// The file was checked, and nothing was found: the next start need not check it again.
    package func noteSound() {
        isSound = true
    }

    /// Writes nothing more to a file that was found damaged, so that it can be examined and saved.
    package func refuseWrites(_ error: UserFacingError) {
        refusal = error
    }

    /// The disk has no room for what is written next: before it is tried. Does not wait for the store.
    package nonisolated func fullDisk() -> UserFacingError? {
        var disk = statvfs()
        // Some file systems count no blocks at all.
        guard statvfs(path, &disk) == 0, disk.f_blocks > 0 else { return nil }
        let free = UInt64(disk.f_bavail) &* UInt64(disk.f_frsize)
        guard free < Self.leastRoom else { return nil }
        return UserFacingError(
            .diskFull, "The disk of \(path) is full: \(free >> 10) KiB are left.",
            consequence: "New items and writes find no place.")
    }

    /// Bytes: the log takes a page of 4 KiB for each that changes, and a write or a page of the timeline changes tens.
    private static let leastRoom: UInt64 = 256 << 10

    // MARK: Writing

    /// Runs `body` in one transaction, unless the file at `path` is no longer the open one.
    ///
    /// - Parameters:
    ///   - durably: Returns after an fsync. Else what was written last may be lost with the power.
    ///   - ofIndex: It is the index's own, after which there is nothing to index.
    ///   - origin: Where what it changes comes from.
    @discardableResult
    func write<Result>(
        durably: Bool = false, ofIndex: Bool = false, from origin: ChangeOrigin = .server,
        _ body: (Connection) throws -> Result
    ) throws(UserFacingError) -> Result {
        let connection = try open()
        if let refusal { throw refusal }
        try checkIdentity()
        do {
            try connection.synchronize(durably: durably)
            var rows = 0
            let result: Result
            // Not `transaction`: Swift 6.0 takes what the body returns for shared with this actor.
            try connection.begin()
            do {
                if !markedOpen { try connection.execute("UPDATE copy SET stopped_cleanly = 0") }
                if ofIndex {
                    result = try connection.withoutErasing { try body(connection) }
                } else {
                    notes?.forget()
                    result = try body(connection)
                    rows = if let notes { try notes.save(origin) } else { try ChangeLog.openIfComplete(connection) }
                }
                try connection.commit()
            } catch {
                connection.rollBack()
                throw error
            }
            markedOpen = true
            if rows > 0 {
                if notes == nil { notes = try ChangeNotes.begin(connection) }
                changesMade.announce()
            }
            reportBlockedCheckpoint(connection)
            if !ofIndex { committed.signal() }
            return result
        } catch {
            throw error.userFacing(path: path)
        }
    }

    func read<Result>(_ body: (Connection) throws -> Result) throws(UserFacingError) -> Result {
        let connection = try open()
        do {
            return try body(connection)
        } catch {
            throw error.userFacing(path: path)
        }
    }

    /// Several reads in one transaction.
    func readTogether<Result>(
        _ body: (Connection) throws -> Result
    ) throws(UserFacingError) -> Result {
        try read { connection in
            try connection.reading { try body(connection) }
        }
    }

    /// Whether the file, or its log, is another one by now, so that nothing more is written: `database_replaced`. Does not
    /// wait for the store.
    package nonisolated func replacement() -> UserFacingError? {
        do throws(UserFacingError) {
            try identity.check(path: path)
            try checkLog()
            return nil
        } catch {
            return error
        }
    }

    /// - Throws: `database_replaced`.
    func checkIdentity(ofLog: Bool = true) throws(UserFacingError) {
        try identity.check(path: path)
        guard ofLog else { return }
        do {
            try checkLog()
        } catch {
            // What was committed last is in a file without a name by now, which would be gone with this process, or in
            // none that readers know of: the database itself can still have it.
            connection?.checkpoint()
            throw error
        }
    }

    /// Readers find the newest pages by `-shm`: beside another one, or none, they would see the copy as it was.
    private nonisolated func checkLog() throws(UserFacingError) {
        try logIdentity.check(path: path + "-wal")
        try indexIdentity.check(path: path + "-shm")
    }

    private func open() throws(UserFacingError) -> Connection {
        guard let connection else { throw UserFacingError(.storeBug, "The database \(path) is already closed.") }
        return connection
    }

    /// A reader with an open transaction keeps the WAL from starting over, and it grows without bound. 64 MiB is well
    /// above what a group of pages or a checkpoint in progress needs.
    private func reportBlockedCheckpoint(_ connection: Connection) {
        let limit = 64 << 20
        let size = FileIdentity.size(path: path + "-wal")
        if size > limit, !reportedBlockedCheckpoint {
            reportedBlockedCheckpoint = true
            log(
                .warning, .store,
                "the write-ahead log has \(size >> 20) MiB: a program keeps a transaction open on \(path); close it")
        } else if size < limit / 2 {
            reportedBlockedCheckpoint = false
        }
    }
}

/// Which timeline the file is a copy of. Set once, at the first sync.
package struct Binding: Sendable, Equatable {
    package var serverURL: String?
    package var dialect: Dialect?
    /// `nil` where the server has no accounts, or none was asked for.
    package var accountID: String?
    package var accountName: String?
    /// Whom the login token named when the account was bound (`sub`, RFC 7519): tells another account's token before it is sent.
    package var accountSubject: String?
}

extension Binding {
    package init(serverURL: String, dialect: Dialect) {
        self.init(serverURL: serverURL, dialect: dialect, accountID: nil)
    }
}

extension Store {
    /// Binds the file to a server, its dialect, and an account. Once: a bound file refuses another binding.
    ///
    /// - Parameter now: the time that a new binding is noted with.
    /// - Throws: `server_changed`, `account_changed`.
    package func bind(_ new: Binding, at now: Timestamp = TimeSource.system.now()) throws(UserFacingError) {
        if let url = binding.serverURL, url != new.serverURL {
            throw UserFacingError(
                .serverChanged, "This copy is of \(url), not of \(new.serverURL ?? "another server").",
                consequence: "Nothing was written.")
        }
        if let dialect = binding.dialect, let other = new.dialect, dialect != other {
            throw UserFacingError(
                .serverChanged,
                "The server answers in dialect \(other.rawValue). This copy was made from one with dialect "
                    + "\(dialect.rawValue).", consequence: "Nothing was written.")
        }
        if let account = binding.accountID, ByteText(account) != new.accountID.map(ByteText.init) {
            throw UserFacingError(
                .accountChanged, "The server now answers as another account than the one this copy is of.",
                consequence: "Nothing was written.")
        }
        guard binding != new else { return }
        try write { connection in
            try connection.prepare(
                """
                UPDATE copy SET server_url = ?, dialect = ?, account_id = ?, account_name = ?, account_subject = ?,
                    bound_at = coalesce(bound_at, ?)
                """
            ).bind(new.serverURL).bind(new.dialect?.rawValue).bind(new.accountID).bind(new.accountName)
                .bind(new.accountSubject).bind(now).run()
        }
        bound.withLock { $0 = new }
    }

    static func readBinding(_ connection: Connection) throws -> Binding {
        try connection.prepare("SELECT server_url, dialect, account_id, account_name, account_subject FROM copy")
            .first { row in
                Binding(
                    serverURL: row.text(0), dialect: row.text(1).flatMap(Dialect.init), accountID: row.text(2),
                    accountName: row.text(3), accountSubject: row.text(4))
            } ?? Binding()
    }
}
