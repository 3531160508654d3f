public import PRSNLCore

/// What the owner may set about pulling; read again at reload.
public struct SyncSettings: Sendable, Equatable {
    /// Between two looks at the head; three times as long after a quiet hour.
    public var pollInterval: Duration = .seconds(300)
    /// Between two sweeps; `nil`: daily above 2,000 items, every 6 h below.
    public var sweepInterval: Duration?
    /// 1 to 100.
    public var pageSize = 100
    /// Whether a server that names no account without credentials is copied without them: everybody's items.
    public var anonymous = false
    /// How long the server may take to show a new note: between the two looks after which one that is not found is sent
    /// again.
    public var lookupInterval: Duration = .seconds(600)
    /// Whether a write whose outcome cannot be found out is sent again, at the risk of doubling it.
    public var resendUnknown = false

    /// What a probe of the server is.
    public var probe = ProbeKind.http

    public init() {}
}

/// What a person asks for.
public struct SyncRequest: Sendable, Equatable {
    /// A whole sweep, not just the head.
    public var full = false
    /// Believe the deletions that were held back.
    public var acceptDeletions = false

    public init(full: Bool = false, acceptDeletions: Bool = false) {
        self.full = full
        self.acceptDeletions = acceptDeletions
    }
}
