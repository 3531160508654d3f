extension ControlRequest {
    /// Whether it changes anything, here or on the server. Looking is for all who may connect, changes are for fewer.
    ///
    /// Exhaustive, so that nobody adds a request without a decision.
    public var isChange: Bool {
        switch self {
        case .sync, .write: true
        case .retry(_, _, let dryRun), .drop(_, _, let dryRun): !dryRun
        case .errors(let clear): clear
        case .status, .history, .queue, .entry, .wait, .ping, .net: false
        }
    }
}
