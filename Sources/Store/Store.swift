public import PRSNLCore

/// The one writer of the SQLite file.
public actor Store {
    public nonisolated let path: String

    /// Opens or creates the file and takes the lock beside it (`<path>.lock`).
    ///
    /// - Throws: `UserFacingError`: `database_locked` (names the pid), `other_application`, `newer_schema`,
    ///   `not_a_database`, `database_damaged`, `database_read_only`, `disk_full`, `disk_error`.
    public init(path: String, log: @escaping LogHandler = { _, _, _ in }) throws(UserFacingError) {
        self.path = path
    }

    /// Writes what is only in memory, closes the file, releases the lock.
    public func close() {}
}
