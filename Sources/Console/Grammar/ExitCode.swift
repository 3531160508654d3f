package import PRSNLCore

/// What prsnld and prsnlctl end with (docs/cli.md).
package enum ExitCode: Int32, Sendable, CaseIterable {
    case fine = 0
    case error = 1
    case usage = 2
    case daemonNotRunning = 3
    case needsAttention = 4
    /// A write is on disk, and was not delivered as long as it was waited for.
    case notDelivered = 5
    /// The database cannot be used as it is, and another start changes nothing about that: EX_DATAERR of sysexits.h. The
    /// units do not restart it after this.
    case database = 65
    /// The daemon cannot start until a person has corrected its configuration or its credentials: EX_CONFIG of sysexits.h.
    /// The units do not restart it after this.
    case configuration = 78

    /// What the daemon ends with when it could not start or go on.
    package init(ending error: UserFacingError) {
        let flags = error.code.traits.flags
        self =
            if error.code == .usage {
                .usage
            } else if flags.contains(.isBadConfiguration) {
                .configuration
            } else if flags.contains(.isBadFile) {
                .database
            } else {
                .error
            }
    }
}
