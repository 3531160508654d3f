package import PRSNLCore

/// How the file uses its space. Bytes.
package struct FileFigures: Sendable, Equatable {
    package var schemaVersion: Int
    package var size: Int64
    /// Of it, pages that are kept for what comes.
    package var freeSize: Int64
    /// Of the write-ahead log beside it.
    package var logSize: Int64
}

extension StoreReader {
    package func figures() throws(UserFacingError) -> FileFigures {
        try readTogether { () throws(SQLiteFailure) in
            let page = try connection.integer("PRAGMA page_size")
            return FileFigures(
                schemaVersion: Int(try connection.integer("PRAGMA user_version")),
                size: page * (try connection.integer("PRAGMA page_count")),
                freeSize: page * (try connection.integer("PRAGMA freelist_count")),
                logSize: Int64(FileIdentity.size(path: path + "-wal")))
        }
    }
}
