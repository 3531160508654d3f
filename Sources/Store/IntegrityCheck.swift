public import PRSNLCore

/// Reads a whole file to see whether it is sound: minutes for a large one, so on a thread of its own, over a connection of
/// its own, beside the writer.
public actor IntegrityCheck {
    private nonisolated let executor: SerialThreadExecutor
    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// - Throws: `limit_reached`.
    public init() throws(UserFacingError) { executor = try SerialThreadExecutor(name: "check") }

    deinit {
        executor.stop()
    }

    /// What SQLite's `quick_check` finds; empty when all is well.
    public func damage(path: String) throws(UserFacingError) -> [String] {
        let reader = try StoreReader(path: path)
        HangPoint.check.block()
        return try reader.damage()
    }
}
