import PRSNLClient
import PRSNLCore

/// Why a pull, a proof or a send stopped: what failed, and when trying again makes sense.
struct SyncFailure: UserFacing, Sendable {
    enum Origin: Sendable, Equatable {
        /// A request: "GET /api/timeline".
        case server(endpoint: String)
        /// The renewal of the login that a request waited for. The request was not sent.
        case renewal(endpoint: String)
        /// The session: its login was renewed or replaced. What is asked for again in another one is proven.
        case session
        case database
    }

    enum Verdict: Sendable, Equatable {
        /// It may go away by itself; wait at least this long where the server said so.
        case retry(after: Duration?)
        /// It will hardly go away by itself, so there is no hurry to try again.
        case tryRarely
        /// It was stopped from here.
        case cancelled
    }

    var error: UserFacingError
    var userFacing: UserFacingError { error }
    var verdict: Verdict
    var origin: Origin
    /// What happened, without the server's own words: these may hold a title.
    var logText: Advice
    /// A proxy in front of the server says that it does not answer.
    var isGateway = false
    /// It throws doubt on the pages that were read just before it, too.
    var discreditsPages = false
    /// What was committed before it.
    var changes = Puller.Changes()

    init(_ error: UserFacingError, verdict: Verdict, origin: Origin = .server(endpoint: "GET /api/timeline")) {
        self.error = error
        self.verdict = verdict
        self.origin = origin
        logText = error.inFull
    }

    /// What is found out here.
    init(
        _ code: ErrorCode, _ message: String, consequence: String? = nil, verdict: Verdict = .tryRarely,
        origin: Origin = .server(endpoint: "GET /api/timeline")
    ) {
        self.init(UserFacingError(code, message, consequence: consequence), verdict: verdict, origin: origin)
    }

    init(_ error: APIError) {
        if error.kind == .sessionEnded {
            self = .sessionEnded
            return
        }
        let origin: Origin =
            error.origin == .renewal ? .renewal(endpoint: error.endpoint) : .server(endpoint: error.endpoint)
        self.init(error.userFacing, verdict: Self.verdict(of: error), origin: origin)
        isGateway = error.isGateway
        if let status = error.status, !(200..<300).contains(status) {
            logText = "HTTP status \(status). \(error.userFacing.recoverySuggestion)"
        }
    }

    /// From the store. A full disk may be emptied and a lock released; all else needs a person.
    init(store error: UserFacingError) {
        switch error.code {
        case .diskFull, .diskError, .databaseBusy: self.init(error, verdict: .retry(after: nil), origin: .database)
        default: self.init(error, verdict: .tryRarely, origin: .database)
        }
    }

    init(_ error: any Error) {
        switch error {
        case let failure as SyncFailure: self = failure
        case let failure as APIError: self.init(failure)
        case let failure as UserFacingError: self.init(store: failure)
        case is CancellationError: self = .cancelled
        default:
            self.init(
                UserFacingError(.storeBug, "The pull failed.", cause: "\(error)"), verdict: .retry(after: nil))
        }
    }

    /// Makes one error of what the client or the store throws.
    static func from<Answer: Sendable>(
        _ call: @autoclosure () async throws -> Answer
    ) async throws(SyncFailure) -> Answer {
        do { return try await call() } catch { throw SyncFailure(error) }
    }

    /// For what is no reason to stop: where it fails, the log says so.
    static func logged(
        _ log: LogHandler, _ what: String, at level: LogLevel = .warning, _ call: @autoclosure () async throws -> Void
    ) async {
        do { try await call() } catch { log(level, .store, "\(what): \(SyncFailure(error).error.message)") }
    }

    /// For logs and for the list of errors: "GET /api/timeline", or "database".
    var endpoint: String {
        switch origin {
        case .server(let endpoint), .renewal(let endpoint): endpoint
        case .session: "GET /api/timeline"
        case .database: "database"
        }
    }

    /// Whether every other request would fail in the same way, so that there is no use in trying something else meanwhile.
    var concernsEverything: Bool {
        if case .retry(after: .some) = verdict { return true }
        return error.code.traits.flags.contains(.stopsEverything)
    }

    /// Whether it may be of the one item that was asked for, so that another one may be answered.
    var isOfOneItem: Bool {
        guard case .server = origin, verdict != .cancelled else { return false }
        if case .retry(after: .some) = verdict { return false }
        return switch error.code {
        case .forbidden, .timedOut: true
        default: !concernsEverything
        }
    }

    /// The login is refused, here or by the server, and with it everything that would be asked under it.
    var isOfLogin: Bool {
        [.accountChanged, .serverChanged, .needsLogin, .loginExpired].contains(error.code)
    }

    /// The account itself was asked for.
    var isOfAccount: Bool { endpoint == Identity.accountEndpoint }

    static let sessionEnded = SyncFailure(
        .timelineUnsettled, "The login was renewed or replaced while the server was read.",
        consequence: "What was read with the one before was not written; it is asked for again.",
        verdict: .retry(after: nil), origin: .session)

    static let cancelled = SyncFailure(
        .cancelled, "The pull was stopped.", consequence: "What it had read is kept.", verdict: .cancelled)

    private static func verdict(of error: APIError) -> Verdict {
        // A renewal that failed says nothing about what was asked: the next one may succeed.
        return switch error.kind {
        case .notFound where error.origin == .renewal, .invalidInput where error.origin == .renewal: .retry(after: nil)
        case .rateLimitExceeded(let wait): .retry(after: wait)
        case .serviceUnavailable(_, let wait): .retry(after: wait)
        case .networkError(.cancelled): .cancelled
        case .networkError(.redirectRefused): .tryRarely
        case .networkError, .serverError, .conflict, .unknown, .decodingError, .sessionEnded: .retry(after: nil)
        case .unauthorized, .loginExpired, .loginFailed, .forbidden, .notFound, .invalidInput: .tryRarely
        }
    }
}

extension Backoff {
    /// Between two pulls, or two attempts at a write, that fail.
    static let pulls = Backoff(base: .seconds(4), cap: .seconds(3_600), jitter: 0...1)
    /// Between two questions about one item, or about its text, that fail.
    static let items = Backoff(base: .seconds(60), cap: .seconds(12 * 3_600), jitter: 1...1)
}

extension SyncFailure.Verdict {
    /// Even a lucky draw leaves the server this long.
    private static let floor: Duration = .seconds(1)
    /// A server that says when to come again is believed so often in a row. After that, its wait is the least one.
    private static let patience = 8

    /// How long to wait after a failure.
    ///
    /// - Parameters:
    ///   - failures: How many have failed in a row, from 1.
    ///   - draw: A number from 0 to 1, at random.
    func wait(failures: Int, draw: Double) -> Duration {
        let backoff = Backoff.pulls
        switch self {
        case .retry(after: let wait?):
            // The server said when. Clients come a little later than that, so that they do not come in the same instant.
            let asked = min(max(wait, Self.floor), backoff.cap) + .milliseconds(Int64(draw * 1_000))
            guard failures > Self.patience else { return asked }
            return max(asked, backoff.wait(failures: failures - Self.patience, draw: draw))
        case .tryRarely:
            return backoff.cap / 2 + backoff.cap / 2 * draw
        case .retry(after: nil), .cancelled:
            return max(Self.floor, backoff.wait(failures: failures, draw: draw))
        }
    }
}
