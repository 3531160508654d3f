/// What prsnld and prsnlctl end with (docs/cli.md).
public enum ExitCode: Int32, Sendable, CaseIterable {
    case fine = 0
    case error = 1
    case usage = 2
    case daemonNotRunning = 3
    case needsAttention = 4
    /// A write is on disk, and was not delivered as long as it was waited for.
    case notDelivered = 5
}
