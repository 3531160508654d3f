import CSQLite

/// How much memory SQLite may take in this process (https://sqlite.org/c3ref/hard_heap_limit64.html).
package enum MemoryBound {
    /// For a program that reads files of others: fifty times what a healthy file takes.
    package static func set(bytes: Int64 = 128 << 20) { sqlite3_hard_heap_limit64(bytes) }
}
