public import PRSNLCore

/// A read-only look at the file, by any process, at any time, whether the daemon runs or not.
public struct StoreReader: ~Copyable {
    /// - Throws: `UserFacingError` with `no_database`, `other_application`, `newer_schema`, `not_a_database`,
    ///   `database_damaged`, `database_unreadable`.
    public init(path: String) throws(UserFacingError) {}

    public func summary() throws(UserFacingError) -> CopySummary { CopySummary() }

    /// The newest pulls first.
    public func history(limit: Int = 100) throws(UserFacingError) -> [PullRecord] { [] }
}
