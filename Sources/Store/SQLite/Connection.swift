import CSQLite
import Glibc
import PRSNLCore

/// One SQLite connection, used by one thread at a time (SQLITE_OPEN_NOMUTEX: https://sqlite.org/threadsafe.html).
final class Connection {
    enum Mode {
        case readWrite, readOnly
        /// Without locks and without a log: for a file without a writer (https://sqlite.org/uri.html#uriimmutable).
        case immutable
    }

    /// How long another program's lock is waited for, in milliseconds.
    private static let patience: Int32 = 5_000
    /// When reading is given up (uptime in nanoseconds), for `bound`.
    private let end = UnsafeMutablePointer<Int64>.allocate(capacity: 1)
    /// How many bytes may be taken out of the file yet, and how many in all, for `bound`.
    let budget = ReadBudget()
    private var mostTaken = Int.max

    private let handle: OpaquePointer
    private var prepared: [SQLText: Statement] = [:]
    private var isDurable: Bool?
    private var cacheSize: Int?

    init(path: String, mode: Mode) throws {
        var opened: OpaquePointer?
        let flags =
            SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
            | (mode == .readWrite ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY)
            | (mode == .immutable ? SQLITE_OPEN_URI : 0)
        let code = sqlite3_open_v2(mode == .immutable ? Self.immutable(path) : path, &opened, flags, nil)
        guard code == SQLITE_OK, let opened else {
            let message = opened.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory"
            let systemError = opened.map { sqlite3_system_errno($0) } ?? 0
            sqlite3_close(opened)
            throw SQLiteFailure(code: code, message: message, operation: "open", systemError: systemError)
        }
        handle = opened
        sqlite3_busy_timeout(handle, Self.patience)
        // An attacker may have prepared the file: no functions with side effects from its schema.
        _ = prsnl_db_config_flag(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        // A statement is planned once, not again for each value: a parameter that is compared with what a partial index
        // asks for (`state = ?` and `WHERE state = 'unknown'`) would have it compiled again after each binding
        // (https://sqlite.org/queryplanner-ng.html#qpsg).
        _ = prsnl_db_config_flag(handle, SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    }

    deinit {
        sqlite3_close_v2(handle)
        end.deallocate()
    }

    /// Bounds what a prepared file can do to its reader: a view in the place of a table, an endless recursion, texts of
    /// gigabytes (https://sqlite.org/security.html). Temporary data stays in memory, and so below `MemoryBound`.
    ///
    /// - Parameters:
    ///   - limit: For all that is read from now on, up to `removeDeadline`.
    ///   - fileSize: What the file takes on the disk. More than twice as much is not in it, however it says so.
    func bound(to limit: Duration, fileSize: Int) throws {
        mostTaken = max(Self.mostOfSmallFile, 2 * fileSize)
        extendDeadline(to: limit)
        sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, Self.longestValue)
        _ = prsnl_db_config_flag(handle, SQLITE_DBCONFIG_DEFENSIVE, 1)
        try execute("PRAGMA temp_store = MEMORY")
        sqlite3_progress_handler(
            handle, 10_000, { end in end?.load(as: Int64.self) ?? 0 < TimeSource.nanoseconds() ? 1 : 0 }, end)
    }

    typealias Function =
        @convention(c) (
            OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?
        ) -> Void

    /// A function for statements from now on. It may stand in triggers of this connection.
    ///
    /// - Parameter owner: The function's `sqlite3_user_data`, which lives until the connection ends. Without one, the function has
    ///   the same value for the same arguments.
    func register(
        _ name: String, count: Int32, _ owner: AnyObject? = nil, _ function: Function
    ) throws {
        let flags = SQLITE_UTF8 | SQLITE_INNOCUOUS | (owner == nil ? SQLITE_DETERMINISTIC : 0)
        let code = sqlite3_create_function_v2(
            handle, name, count, flags, owner.map { Unmanaged.passRetained($0).toOpaque() }, function, nil, nil,
            { pointer in if let pointer { Unmanaged<AnyObject>.fromOpaque(pointer).release() } })
        if code != SQLITE_OK { throw failure(code, "register a function") }
    }

    /// The bytes of a function's argument as text, a U+0000 among them; `nil` for NULL.
    static func bytes(_ value: OpaquePointer?) -> UnsafeBufferPointer<UInt8>? {
        guard let value, let text = sqlite3_value_text(value) else { return nil }
        return UnsafeBufferPointer(start: text, count: Int(sqlite3_value_bytes(value)))
    }

    /// A function's argument; `nil` for NULL.
    static func text(_ value: OpaquePointer?) -> String? {
        bytes(value).map { String(decoding: $0, as: UTF8.self) }
    }

    private static func answer(_ text: String?, to context: OpaquePointer?) {
        guard let text else { return sqlite3_result_null(context) }
        prsnl_result_text_copy(context, text, Int32(text.utf8.count))
    }

    /// `folded(A)`: a text as the full-text index has it. `host(A)`: that of an address.
    func registerSearch() throws {
        try register("host", count: 1) { context, _, values in
            Connection.answer(Connection.text(values?.pointee).flatMap { URLCheck.host(of: $0) }, to: context)
        }
        try register("folded", count: 1) { context, _, values in
            Connection.answer(SearchText.indexed(Connection.text(values?.pointee)), to: context)
        }
    }

    /// `text_mark(A, B)`: the size and hash of two texts, as JSON; NULL where both are NULL or empty.
    func registerTextMark() throws {
        try register("text_mark", count: 2) { context, count, values in
            var size = 0
            var hash = Fingerprint()
            for number in 0..<Int(count) {
                let bytes = Connection.bytes(values?[number])
                size += bytes?.count ?? 0
                hash.add(field: bytes)
            }
            Connection.answer(size > 0 ? #"{"bytes":\#(size),"hash":"\#(hash.hexadecimal)"}"# : nil, to: context)
        }
    }

    /// For statements from now on that name it.
    func registerTokenizer() throws {
        let code = FoldingTokenizer.register(handle)
        if code != SQLITE_OK { throw failure(code, "register a tokenizer") }
    }

    /// A limit for what is read from now on, of a connection that is bound.
    func extendDeadline(to limit: Duration) {
        end.pointee = TimeSource.nanoseconds() + max(0, limit.wholeMilliseconds) * 1_000_000
        budget.left = mostTaken
    }

    /// For reading a whole file of any size. The caller has its own limit, or none.
    func removeDeadline() {
        sqlite3_progress_handler(handle, 0, nil, nil)
        budget.left = .max
    }

    /// Twice what the largest item may have.
    private static let longestValue: Int32 = 32 << 20
    private static let mostOfSmallFile = 64 << 20

    /// The three characters that mean something in a URI's path are written otherwise.
    private static func immutable(_ path: String) -> String {
        let escaped = path.replacing("%", with: "%25").replacing("?", with: "%3f").replacing("#", with: "%23")
        return "file:\(escaped)?immutable=1"
    }

    /// Keeps `-wal` and `-shm` after the last close, so that readers who may not write can open the file
    /// (https://sqlite.org/c3ref/c_fcntl_begin_atomic_write.html#sqlitefcntlpersistwal).
    func keepWriteAheadLog(_ keeps: Bool = true) {
        var value: Int32 = keeps ? 1 : 0
        sqlite3_file_control(handle, "main", SQLITE_FCNTL_PERSIST_WAL, &value)
    }

    func execute(_ sql: String) throws {
        let code = sqlite3_exec(handle, sql, nil, nil, nil)
        if code != SQLITE_OK { throw failure(code, sql) }
    }

    /// - Parameter roomForTexts: Bytes that the statement keeps for the texts that are bound to it.
    func prepare(roomForTexts: Int = 0, _ sql: String) throws -> Statement {
        var statement: OpaquePointer?
        let code = sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        guard code == SQLITE_OK, let statement else { throw failure(code, sql) }
        return Statement(statement, connection: self, sql: sql, roomForTexts: roomForTexts)
    }

    /// A statement that is prepared once and then used again: for SQL that runs once per write, and whose text is fixed.
    func cached(_ sql: String) throws -> Statement {
        let key = SQLText(text: sql)
        if let statement = prepared[key] { return statement.reset() }
        let statement = try prepare(sql)
        prepared[key] = statement
        return statement
    }

    /// Before the connection is closed, which waits for its statements.
    func forgetStatements() {
        prepared = [:]
    }

    /// Whether each commit is followed by an fsync (FULL), or each checkpoint only (NORMAL: https://sqlite.org/wal.html).
    /// SQLite carries the PRAGMA out while it compiles it, so that it cannot be prepared once: it is given on a change only.
    func synchronize(durably: Bool) throws {
        guard isDurable != durably else { return }
        try execute("PRAGMA synchronous = \(durably ? "FULL" : "NORMAL")")
        isDurable = durably
    }

    /// Runs `body` without filling pages that become free with zeros, which many distributions have as the default, and which
    /// writes each of these pages (https://sqlite.org/pragma.html#pragma_secure_delete).
    func withoutErasing<Result>(_ body: () throws -> Result) throws -> Result {
        guard try integer("PRAGMA secure_delete") == 1 else { return try body() }
        try execute("PRAGMA secure_delete = FAST")
        defer { sqlite3_exec(handle, "PRAGMA secure_delete = ON", nil, nil, nil) }
        return try body()
    }

    /// Bytes of pages that are kept in memory; `nil` for what SQLite has by default, 2 MiB.
    func setCacheSize(_ bytes: Int?) {
        guard cacheSize != bytes else { return }
        cacheSize = bytes
        sqlite3_exec(handle, "PRAGMA cache_size = -\((bytes ?? 2_048_000) / 1_024)", nil, nil, nil)
    }

    /// Pages of the log after which a commit makes a checkpoint: 32 MiB. The pages that every move of the outbox writes, and those of
    /// the index of ids, are then copied back an eighth as often as with SQLite's 1,000.
    func setCheckpoint() { sqlite3_wal_autocheckpoint(handle, 8_192) }

    /// Copies what is in the log into the file, as far as readers allow.
    func copyBack() {
        sqlite3_wal_checkpoint_v2(handle, "main", SQLITE_CHECKPOINT_PASSIVE, nil, nil)
        _ = pagesWritten(startingOver: true)
    }

    /// Pages that went into the log since `copyBack`, or since the connection was opened.
    func pagesWritten(startingOver: Bool = false) -> Int {
        var pages: Int32 = 0
        var highest: Int32 = 0
        sqlite3_db_status(handle, SQLITE_DBSTATUS_CACHE_WRITE, &pages, &highest, startingOver ? 1 : 0)
        return Int(pages)
    }

    /// Removes a full text index, which SQLite need not be able to open for it, with the tables that it is kept in
    /// (https://sqlite.org/pragma.html#pragma_writable_schema).
    ///
    /// - Parameter other: Keeps the largest of these as if it were a part of an index of this name.
    func forgetVirtualTable(_ name: String, keepingDataOf other: String? = nil) throws {
        try execute("PRAGMA writable_schema = ON")
        defer { sqlite3_exec(handle, "PRAGMA writable_schema = RESET", nil, nil, nil) }
        try prepare("DELETE FROM sqlite_schema WHERE name = ? AND type = 'table'").bind(name).run()
        try execute("PRAGMA writable_schema = RESET")
        if let other { try execute("ALTER TABLE \(name)_data RENAME TO \(other)_data") }
        for part in ["data", "idx", "docsize", "config", "content"] {
            try execute("DROP TABLE IF EXISTS \(name)_\(part)")
        }
    }

    func double(_ sql: String) throws -> Double {
        try prepare(sql).first { $0.double(0) } ?? 0
    }

    /// The first column of the first row, as an integer. 0 where there is no row.
    func integer(_ sql: String) throws -> Int64 {
        try prepare(sql).first { Int64($0.int(0)) } ?? 0
    }

    func text(_ sql: String) throws -> String? {
        try prepare(sql).first { $0.text(0) }
    }

    var changes: Int { Int(sqlite3_changes(handle)) }
    var lastInsertedRow: Int64 { sqlite3_last_insert_rowid(handle) }
    /// Rows changed since the connection was opened, by triggers and virtual tables too.
    var totalChanges: Int64 { sqlite3_total_changes64(handle) }

    /// Runs `body` in one transaction: committed when it returns, rolled back when it throws.
    ///
    /// BEGIN IMMEDIATE, because a transaction that begins by reading cannot wait for a lock when it comes to write
    /// (https://sqlite.org/lang_transaction.html).
    func transaction<Result>(_ body: () throws -> Result) throws -> Result {
        try begin()
        do {
            let result = try body()
            try commit()
            return result
        } catch {
            rollBack()
            throw error
        }
    }

    func begin() throws { try cached("BEGIN IMMEDIATE").run() }
    func commit() throws { try cached("COMMIT").run() }

    /// Some failures (a full disk, for one) have already rolled back by themselves. Then there is nothing open.
    func rollBack() {
        if sqlite3_get_autocommit(handle) == 0 { sqlite3_exec(handle, "ROLLBACK", nil, nil, nil) }
    }

    /// Runs reads in one transaction, so that they are of one moment.
    func reading<Result>(_ body: () throws -> Result) throws -> Result {
        try execute("BEGIN")
        defer { try? execute("COMMIT") }  // ends a read; there is nothing that it could lose
        return try body()
    }

    /// Moves what readers allow from the WAL into the file, and empties the WAL if there is no reader. Waits for none: the
    /// daemon has to stop within two seconds.
    func checkpoint() {
        sqlite3_busy_timeout(handle, 0)
        sqlite3_wal_checkpoint_v2(handle, "main", SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
        sqlite3_busy_timeout(handle, Self.patience)
    }

    /// Puts everything into the one file and takes `-wal` and `-shm` away, which works only while no one else has the file
    /// open (https://sqlite.org/wal.html#avoiding_excessively_large_wal_files, "exclusive").
    ///
    /// - Throws: SQLITE_BUSY where another connection has it open. Nothing has changed then.
    func leaveWriteAheadLog() throws {
        keepWriteAheadLog(false)
        do {
            guard try text("PRAGMA journal_mode = DELETE") == "delete" else {
                throw failure(SQLITE_BUSY, "PRAGMA journal_mode")
            }
        } catch {
            keepWriteAheadLog()
            throw error
        }
    }

    func releaseMemory() {
        sqlite3_db_release_memory(handle)
    }

    func failure(_ code: Int32, _ operation: String) -> SQLiteFailure {
        SQLiteFailure(
            code: code, message: String(cString: sqlite3_errmsg(handle)), operation: String(operation.prefix(60)),
            systemError: sqlite3_system_errno(handle))
    }
}

/// How much memory SQLite may take in this process (https://sqlite.org/c3ref/hard_heap_limit64.html).
package enum MemoryBound {
    /// For a program that reads files of others: fifty times what a healthy file takes.
    package static func set(bytes: Int64 = 128 << 20) { sqlite3_hard_heap_limit64(bytes) }

    /// For a program that has no bound: to count each allocation, under a lock, takes a thirtieth of a pull. Before the first file is
    /// opened (https://sqlite.org/c3ref/c_config_covering_index_scan.html#sqliteconfigmemstatus).
    package static func countNothing() { _ = prsnl_config_flag(SQLITE_CONFIG_MEMSTATUS, 0) }
}

/// The text of a statement, as a key. To hash kilobytes would cost as much as a statement takes.
private struct SQLText: Hashable {
    let text: String

    func hash(into hasher: inout Hasher) { hasher.combine(text.utf8.count) }
}

/// A call of SQLite that failed: which, with what extended result code (https://sqlite.org/rescode.html), where.
struct SQLiteFailure: Error {
    var code: Int32
    var message: String
    /// What was being done: "open", "commit", or the beginning of a statement, never its arguments.
    var operation: String
    /// errno of the system call that failed below it, where SQLite says so, else 0.
    var systemError: Int32 = 0

    var primary: Int32 { code & 0xff }

    /// A move of the outbox found its entry in another state than it must have: a defect of ours, rolled back like the rest.
    static let staleTransition = SQLITE_ERROR

    /// What the failure means for people.
    ///
    /// - Parameter isWriter: whether there was anything to write.
    func userFacing(path: String, isWriter: Bool = true) -> UserFacingError {
        let cause = "SQLite \(code) while doing \(operation): \(message)"
        let unchanged = isWriter ? "Nothing of this step was written." : nil
        func error(_ code: ErrorCode, _ text: String, cure: Advice? = nil) -> UserFacingError {
            UserFacingError(code, text, consequence: unchanged, recoverySuggestion: cure, cause: cause)
        }
        switch primary {
        case SQLITE_FULL: return error(.diskFull, "No space left for the database \(path).")
        case SQLITE_NOTADB: return error(.notADatabase, "\(path) is not an SQLite database.")
        case SQLITE_CORRUPT: return error(.databaseDamaged, "The database \(path) is damaged: \(message).")
        case SQLITE_READONLY: return error(.databaseReadOnly, "The database \(path) cannot be written: \(message).")
        case SQLITE_INTERRUPT:
            return error(
                .databaseUnreadable, "Reading the database \(path) took too much time, and was given up.",
                cure: "Try again when the disk has less to do.")
        // A size that was never written may ask for all of the memory that there is.
        case SQLITE_NOMEM, SQLITE_TOOBIG:
            return error(
                .databaseUnreadable, "Reading the database \(path) took too much memory, and was given up.",
                cure: "Parts of the file may be damaged: `prsnlctl doctor` looks.")
        case SQLITE_BUSY, SQLITE_LOCKED:
            return error(.databaseBusy, "Another program holds a lock on the database \(path).")
        case SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_AUTH:
            return error(
                .of(errno: systemError, otherwise: .databaseUnreadable),
                "The database \(path) cannot be opened: \(message).")
        case SQLITE_IOERR:
            return error(.diskError, "Reading or writing the database \(path) failed: \(message).")
        default:
            return error(.storeBug, "The database \(path) refused a statement: \(message).")
        }
    }
}

extension Error {
    /// What is told of anything that was thrown while the database was used.
    func userFacing(path: String, isWriter: Bool = true) -> UserFacingError {
        switch self {
        case let error as UserFacingError: error
        case let failure as SQLiteFailure: failure.userFacing(path: path, isWriter: isWriter)
        default: UserFacingError(.storeBug, "Using the database \(path) failed.", cause: "\(self)")
        }
    }
}
