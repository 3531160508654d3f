import Console
package import PRSNLCore

/// What only the running daemon knows: its part of the status. The daemon fills it from its engine; this module does not
/// know the engine, so that prsnlctl needs neither it nor an HTTP client.
package struct DaemonFacts: Sendable {
    package var pid: Int32
    package var version = ProductVersion.current
    package var since: Timestamp
    /// `starting`, `idle`, `pulling`, `waiting`, `stopped`.
    package var activity = "starting"
    package var nextPullAt: Timestamp?
    package var problem: UserFacingError?
    /// What keeps all writes from being sent, and whether it will hardly be over in a second.
    package var hindrance: (error: UserFacingError, isLasting: Bool)?
    /// T1 as the engine knows it: newer than the file's while there is nothing to write.
    package var newAsOf: Timestamp?
    /// Whether the daemon copies texts, and what keeps it from that.
    package var copiesTexts = true
    /// Whether the daemon keeps the index of words up to date.
    package var indexesWords = true
    package var textsProblem: UserFacingError?
    package var pull: PullProgress?
    package var connectivity: StatusReport.Connectivity?
    package var network: StatusReport.Network?
    /// By endpoint, since the daemon started.
    package var requests: [StatusReport.Requests] = []

    package init(pid: Int32, since: Timestamp) {
        self.pid = pid
        self.since = since
    }
}
