public import PRSNLCore
import Synchronization

/// Whether the server can be used, as one value: fed by the outcome of every request.
public struct Connectivity: Sendable, Equatable {
    public enum State: String, Sendable, Codable {
        /// Nothing was asked yet.
        case unknown
        case online
        /// The server, or the way to it, does not answer.
        case unreachable
        /// Something answers that is not PRSNL.
        case portal
        /// The server refuses the credentials, or takes them for another account's.
        case unauthorized
    }

    public var state: State = .unknown
    /// Since when it is so.
    public var since: Timestamp?
    /// Why, where it is neither online nor unknown.
    public var reason: UserFacingError?

    public init() {}
}

/// Where the one value is kept. Pulls and writes both tell it what happened to them.
final class ConnectivityBoard: Sendable {
    private let value = Mutex(Connectivity())
    private let log: LogHandler

    init(log: @escaping LogHandler) {
        self.log = log
    }

    var current: Connectivity { value.withLock { $0 } }

    /// An answer of PRSNL came.
    func noteAnswer(at now: Timestamp) { set(.online, nil, at: now) }

    /// A request failed. What says nothing about the way to the server changes nothing.
    func noteFailure(_ error: UserFacingError, at now: Timestamp) {
        switch error.code {
        case .nameNotResolved, .connectFailed, .tlsFailed, .timedOut: set(.unreachable, error, at: now)
        case .portal, .redirectRefused: set(.portal, error, at: now)
        case .unauthorized, .forbidden, .needsLogin, .accountChanged: set(.unauthorized, error, at: now)
        case .notFound, .invalidInput, .conflict, .rateLimited, .serverError, .serviceUnavailable:
            set(.online, nil, at: now)
        default: break
        }
    }

    private func set(_ state: Connectivity.State, _ reason: UserFacingError?, at now: Timestamp) {
        let old = value.withLock { value in
            let old = value.state
            if old != state { value.since = now }
            value.state = state
            value.reason = reason
            return old
        }
        guard old != state, old != .unknown || state != .online else { return }
        log(
            state == .online ? .notice : .warning, .http,
            "the server is \(state.rawValue)" + (reason.map { ": \($0.code.rawValue)" } ?? ""))
    }
}
