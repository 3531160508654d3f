package import PRSNLCore

/// What the owner may set about pulling; read again at reload.
package struct SyncSettings: Sendable, Equatable {
    /// Between two looks at the head; three times as long after a quiet hour.
    package var pollInterval: Duration = .seconds(300)
    /// Between two sweeps; `nil`: daily above 2,000 items, every 6 h below.
    package var sweepInterval: Duration?
    /// 1 to 100.
    package var pageSize = 100
    /// Whether a server that names no account without credentials is copied without them: everybody's items.
    package var anonymous = false
    /// How long the server may take to show a new note: between the two looks after which one that is not found is sent
    /// again.
    package var lookupInterval: Duration = .seconds(600)
    /// Whether a write whose outcome cannot be found out is sent again, at the risk of doubling it.
    package var resendUnknown = false

    /// What a probe of the server is.
    package var probe = ProbeKind.http

    package init() {}
}
