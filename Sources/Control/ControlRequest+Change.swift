extension ControlRequest {
    /// Whether it changes anything, here or on the server. Looking is for all who may connect, changes are for fewer.
    ///
    /// Exhaustive, so that nobody adds a request without a decision.
    package var isChange: Bool {
        switch self {
        case .sync, .write: true
        case .retry(_, _, let dryRun), .drop(_, _, let dryRun): !dryRun
        case .errors(let clear): clear
        // Asked before a password is typed: whoever may not log in is to hear it then.
        case .loginCheck, .login, .logout: true
        case .account(let acceptNew, let dryRun): acceptNew && !dryRun
        case .status, .history, .queue, .entry, .wait, .ping, .net, .whoami: false
        }
    }

    /// Whether the daemon asks the server for each of them, though nothing is changed.
    var asksServer: Bool {
        switch self {
        case .ping, .whoami: true
        default: false
        }
    }
}
