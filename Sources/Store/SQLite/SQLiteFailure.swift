import CSQLite
import PRSNLCore

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

    /// What the failure means for people. `nothing` is what stands after it: that the file is as it was before.
    func userFacing(path: String) -> UserFacingError {
        let cause = "SQLite \(code) while doing \(operation): \(message)"
        let unchanged = "Nothing of this step was written."
        func error(_ code: ErrorCode, _ text: String) -> UserFacingError {
            UserFacingError(code, text, consequence: unchanged, cause: cause)
        }
        switch primary {
        case SQLITE_FULL: return error(.diskFull, "No space left for the database \(path).")
        case SQLITE_NOTADB: return error(.notADatabase, "\(path) is not an SQLite database.")
        case SQLITE_CORRUPT: return error(.databaseDamaged, "The database \(path) is damaged: \(message).")
        case SQLITE_READONLY: return error(.databaseReadOnly, "The database \(path) cannot be written: \(message).")
        case SQLITE_INTERRUPT, SQLITE_NOMEM, SQLITE_TOOBIG:
            return error(
                .databaseUnreadable,
                "Reading the database \(path) took too much \(primary == SQLITE_INTERRUPT ? "time" : "memory"), and was given up."
            )
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
