package import PRSNLCore

/// Reads a whole file to see whether it is sound: minutes for a large one, so on a thread of its own, over a connection of
/// its own, beside the writer.
package enum IntegrityCheck {
    /// What SQLite's `quick_check` finds. Empty when all is well.
    ///
    /// - Throws: what `StoreReader` throws.
    package static func damage(path: String) async throws(UserFacingError) -> [String] {
        try await WorkerThread.result(of: "check") {
            Result { () throws(UserFacingError) in
                let reader = try StoreReader(path: path)
                HangPoint.check.block()
                return try reader.damage()
            }
        }.get()
    }
}
