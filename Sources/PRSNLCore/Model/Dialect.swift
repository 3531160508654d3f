/// The three forms of the PRSNL HTTP API that servers speak. See docs/architecture.md, "Dialects".
package enum Dialect: String, Sendable, Codable, CaseIterable {
    /// Pages by a strict `created_at` cursor. The main server.
    case cursor = "C"
    /// Pages by number, newest created first.
    case page = "P"
    /// Pages by number, most recently updated first. The small server.
    case express = "E"
}
