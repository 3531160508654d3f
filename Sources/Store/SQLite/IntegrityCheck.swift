package import PRSNLCore

/// Reads a whole file to see whether it is sound: minutes for a large one, so on a thread of its own, over a connection of
/// its own, beside the writer.
package actor IntegrityCheck {
    private nonisolated let executor: SerialThreadExecutor
    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// - Throws: `limit_reached`.
    package init() throws(UserFacingError) { executor = try SerialThreadExecutor(name: "check") }

    deinit {
        executor.stop()
    }

    /// What SQLite's `quick_check` finds. Empty when all is well.
    package func damage(path: String) throws(UserFacingError) -> [String] {
        let reader = try StoreReader(path: path)
        HangPoint.check.block()
        return try reader.damage()
    }
}
