public import PRSNLCore

/// What only the running daemon knows: its part of the status. The daemon fills it from its engine; this module does not
/// know the engine, so that prsnlctl needs neither it nor an HTTP client.
public struct DaemonFacts: Sendable, Equatable {
    public var pid: Int32
    public var version = ProductVersion.current
    public var since: Timestamp
    /// `starting`, `idle`, `pulling`, `waiting`, `stopped`.
    public var activity = "starting"
    public var nextPullAt: Timestamp?
    public var problem: UserFacingError?
    /// T1 as the engine knows it: newer than the file's while there is nothing to write.
    public var newAsOf: Timestamp?
    public var pull: PullProgress?
    public var connectivity: StatusReport.Connectivity?
    public var network: StatusReport.Network?
    /// By endpoint, since the daemon started.
    public var requests: [StatusReport.Requests] = []

    public init(pid: Int32, since: Timestamp) {
        self.pid = pid
        self.since = since
    }
}
