import CSQLite
import Glibc
import PRSNLCore

/// How many bytes a connection's statements may yet take out of the file. A statement may outlive its connection.
final class ReadBudget {
    var left = Int.max

    /// Notes that a row was read, after what was taken out of the one before it.
    func take(_ bytes: Int, _ sql: String) throws {
        left -= bytes
        guard left < 0 else { return }
        throw SQLiteFailure(code: SQLITE_TOOBIG, message: "more is read than the file holds", operation: sql)
    }
}

/// A prepared statement, reset by each `bind` series and finalised with the object.
final class Statement {
    private let handle: OpaquePointer
    private unowned let connection: Connection
    private let budget: ReadBudget
    private let sql: String
    private var nextParameter: Int32 = 1
    /// Where texts stand that are bound, so that SQLite need not allocate a copy of each. Empty for most statements.
    private let texts: UnsafeMutableRawBufferPointer
    private var textsUsed = 0

    /// - Parameter roomForTexts: Bytes. Only for a statement of which each parameter is bound each time.
    init(_ handle: OpaquePointer, connection: Connection, sql: String, roomForTexts: Int = 0) {
        self.handle = handle
        self.connection = connection
        budget = connection.budget
        self.sql = sql
        texts = .allocate(byteCount: roomForTexts, alignment: 1)
    }

    deinit {
        sqlite3_finalize(handle)
        texts.deallocate()
    }

    // MARK: Binding, in the order of the parameters

    /// Starts over: forgets the row and the position of the next parameter.
    @discardableResult
    func reset() -> Statement {
        sqlite3_reset(handle)
        nextParameter = 1
        textsUsed = 0
        return self
    }

    @discardableResult
    func bind(_ value: String?) -> Statement {
        bind(value) { value, _ in
            var value = value
            value.withUTF8 { bindText(UnsafeRawBufferPointer($0)) }
        }
    }

    @discardableResult
    func bind(_ value: Timestamp?) -> Statement {
        bind(value) { value, _ in
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Timestamp.textLength) { buffer in
                value.write(to: buffer)
                bindText(UnsafeRawBufferPointer(buffer))
            }
        }
    }

    @discardableResult
    func bind(_ value: Int?) -> Statement { bind(value) { sqlite3_bind_int64(handle, $1, Int64($0)) } }

    @discardableResult
    func bind(_ value: Double?) -> Statement { bind(value) { sqlite3_bind_double(handle, $1, $0) } }

    @inline(__always)
    private func bind<Value, Code>(_ value: Value?, _ bind: (Value, _ parameter: Int32) -> Code) -> Statement {
        if let value { _ = bind(value, nextParameter) } else { sqlite3_bind_null(handle, nextParameter) }
        nextParameter += 1
        return self
    }

    private func bindText(_ text: UnsafeRawBufferPointer) {
        guard textsUsed + text.count <= texts.count, let room = texts.baseAddress?.advanced(by: textsUsed) else {
            // An empty buffer may have no address, which SQLite would take for NULL.
            let start = text.baseAddress?.assumingMemoryBound(to: CChar.self) ?? Self.empty
            _ = prsnl_bind_text_copy(handle, nextParameter, start, Int32(text.count))
            return
        }
        if let start = text.baseAddress { room.copyMemory(from: start, byteCount: text.count) }
        textsUsed += text.count
        // Without a destructor it is SQLITE_STATIC: it is there until the next `reset`.
        sqlite3_bind_text(handle, nextParameter, room.assumingMemoryBound(to: CChar.self), Int32(text.count), nil)
    }

    /// Binds a text without a copy of it: it is there until `body` ends, and the statement must be reset by then.
    @discardableResult
    func borrowing<Result>(
        _ value: String?, _ body: (Statement) throws -> Result
    ) throws -> Result {
        guard var value, !value.isEmpty else { return try body(bind(value)) }
        let parameter = nextParameter
        nextParameter += 1
        let result = value.withUTF8 { utf8 in
            utf8.withMemoryRebound(to: CChar.self) { bytes in
                // Without a destructor it is SQLITE_STATIC (https://sqlite.org/c3ref/c_static.html).
                _ = sqlite3_bind_text64(
                    handle, parameter, bytes.baseAddress, UInt64(bytes.count), nil, UInt8(SQLITE_UTF8))
            }
            return Swift.Result { try body(self) }
        }
        sqlite3_bind_null(handle, parameter)
        return try result.get()
    }

    private nonisolated(unsafe) static let empty: UnsafePointer<CChar> = {
        let byte = UnsafeMutablePointer<CChar>.allocate(capacity: 1)
        byte.pointee = 0
        return UnsafePointer(byte)
    }()

    // MARK: Running

    /// About what a program keeps for a row, and for a text besides its bytes.
    private static let (rowCost, textCost) = (64, 32)

    /// Goes to the next row. False at the end.
    func step() throws -> Bool {
        let code = sqlite3_step(handle)
        switch code {
        case SQLITE_ROW:
            try budget.take(Self.rowCost, sql)
            return true
        case SQLITE_DONE: return false
        default: throw connection.failure(code, sql)
        }
    }

    /// Gives each row to `body`, for as long as `goesOn` says so. The statement is reset afterwards, also where that throws:
    /// else the read transaction would stay open, and the write-ahead log grow.
    func rows(
        while goesOn: @autoclosure () -> Bool = true, _ body: (Statement) throws -> Void
    ) throws {
        defer { reset() }
        while goesOn(), try step() { try body(self) }
    }

    /// What `make` makes of the rows, without those of which it makes nothing.
    func all<Value>(_ make: (Statement) throws -> Value?) throws -> [Value] {
        var values: [Value] = []
        try rows { row in
            if let value = try make(row) { values.append(value) }
        }
        return values
    }

    /// What `make` makes of the first row. `nil` where there is none.
    func first<Value>(_ make: (Statement) throws -> Value?) throws -> Value? {
        defer { reset() }
        return try step() ? make(self) : nil
    }

    func hasRow() throws -> Bool {
        defer { reset() }
        return try step()
    }

    /// Runs a statement without rows and returns how many rows it changed itself, without those of triggers
    /// (https://sqlite.org/c3ref/changes.html). Only of INSERT, UPDATE and DELETE.
    @discardableResult
    func run() throws -> Int {
        defer { reset() }
        while try step() {}
        return connection.changes
    }

    // MARK: Columns by name

    /// Where each column stands. SQLite is asked once for a statement.
    private lazy var columns: [String: Int32] = {
        var columns: [String: Int32] = [:]
        for column in 0..<sqlite3_column_count(handle) {
            if let name = sqlite3_column_name(handle, column) { columns[String(cString: name)] = column }
        }
        return columns
    }()

    /// A column that is not there is NULL, as SQLite has it: a prepared file may name the columns of its views otherwise.
    private func column(_ name: String) -> Int32 { columns[name] ?? -1 }

    func int(_ name: String) -> Int { int(column(name)) }
    func int64(_ name: String) -> Int64 { int64(column(name)) }
    func text(_ name: String) -> String? { text(column(name)) }
    func timestamp(_ name: String) -> Timestamp? { timestamp(column(name)) }

    // MARK: Columns by number, from 0

    func double(_ column: Int32) -> Double { sqlite3_column_double(handle, column) }
    /// A count, a size or a time, clamped: see `ForeignNumber`.
    func int(_ column: Int32) -> Int { ForeignNumber.clamp(sqlite3_column_int64(handle, column)) }
    /// The number of a row, by which it is found again: any of 64 bits, that is compared and never reckoned with.
    func int64(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    /// The bytes of a column as text, `nil` for NULL. They are there until the next step, and until the column is read as
    /// another type.
    func bytes(_ column: Int32) -> UnsafeBufferPointer<UInt8>? {
        guard let bytes = sqlite3_column_text(handle, column) else { return nil }
        return UnsafeBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(handle, column)))
    }

    /// Before it is read as another type.
    func isNumber(_ column: Int32) -> Bool {
        let type = sqlite3_column_type(handle, column)
        return type == SQLITE_INTEGER || type == SQLITE_FLOAT
    }

    func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }
    func isInteger(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_INTEGER }

    func text(_ column: Int32) -> String? {
        guard let bytes = bytes(column) else { return nil }
        budget.left -= bytes.count + Self.textCost
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Whether the column has this text, or is NULL for `nil`.
    func has(_ value: String?, _ column: Int32) -> Bool {
        guard var value else { return isNull(column) }
        return value.withUTF8 { has(UnsafeRawBufferPointer($0), column) }
    }

    func has(_ value: Timestamp?, _ column: Int32) -> Bool {
        guard let value else { return isNull(column) }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Timestamp.textLength) { buffer in
            value.write(to: buffer)
            return has(UnsafeRawBufferPointer(buffer), column)
        }
    }

    private func has(_ value: UnsafeRawBufferPointer, _ column: Int32) -> Bool {
        guard let bytes = bytes(column), bytes.count == value.count else { return false }
        guard let start = bytes.baseAddress, let other = value.baseAddress else { return true }
        return memcmp(start, other, value.count) == 0
    }

    /// A time that this program wrote. `nil` for NULL and for what a stranger put there.
    func timestamp(_ column: Int32) -> Timestamp? { bytes(column).flatMap { Timestamp(bytes: $0) } }
}
