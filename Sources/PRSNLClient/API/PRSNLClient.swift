package import PRSNLCore
import Synchronization

/// The PRSNL HTTP API over libcurl: three dialects, one set of models, one error type.
package final class PRSNLClient: Sendable {
    let configuration: ClientConfiguration
    let server: ServerURL
    let time: TimeSource
    let random: SeededGenerator
    let loop: CurlLoop
    let usage: (@Sendable (RequestUsage) -> Void)?
    let log: LogHandler
    let savePair: PairSaver?
    let memory: Mutex<Memory>
    /// Ends the pauses before a GET is repeated.
    private let networkGoing = Announcements()

    /// What the client finds out about the server as it talks to it.
    struct Memory {
        var credentials: Credentials { didSet { subject = credentials.subject } }
        /// Theirs: read once, and not for each request.
        private(set) var subject: String?
        /// `nil` unless the credentials are a login.
        var login: LoginState?
        /// When a login token from a key file expires, by the server's clock.
        var tokenEnd: Timestamp?
        /// Grows whenever credentials are replaced from outside: what was asked for with older ones is dropped.
        var generation: UInt64 = 0
        var flight: Flight?
        var lastFlight: UInt64 = 0
        var lastWaiter: UInt64 = 0
        /// No renewal is begun any more.
        var isStopping = false
        /// No thread is, either.
        var isShutDown = false
        /// What renewals under way are sent over: one, and those of logins that were replaced meanwhile.
        var renewalLoops: [CurlLoop] = []
        var serverClock: LoginState.ServerClock?
        var dialect: Dialect?
        /// The server refused the key as `X-API-Key` and accepted it as `Authorization: Bearer`.
        var keyIsBearer = false
        /// The server's clock minus ours.
        var clockOffset: Duration?
        /// The newest `Date` of an answer: many have the same.
        var date: (text: String, time: Timestamp?)?
        var isOffline = false

        mutating func use(_ new: Credentials) {
            credentials = new
            keyIsBearer = false
            generation += 1
            login = if case .login(let pair) = new { LoginState(pair) } else { nil }
            tokenEnd = if case .loginToken(let token) = new { AccessToken(token)?.expiresAt } else { nil }
        }
    }

    /// - Parameters:
    ///   - seed: of request ids and jitter; `nil` for a random one.
    ///   - usage: told once per call when it ends, on the caller's task.
    ///   - savePair: stores the pair of a renewed login before it is used; without it, it is lost with the process.
    /// - Throws: `UserFacingError` for a URL that cannot be used (`no_server`, `bad_server_url`, `insecure_server_url`).
    package init(
        configuration: ClientConfiguration, time: TimeSource = .system, seed: UInt64? = nil,
        usage: (@Sendable (RequestUsage) -> Void)? = nil, savePair: PairSaver? = nil,
        log: @escaping LogHandler = { _, _, _ in }
    ) throws(UserFacingError) {
        server = try ServerURL.server(
            configuration.serverURL, allowInsecureHTTP: configuration.allowInsecureHTTP)
        var configuration = configuration
        configuration.proxy = try server.proxy(of: configuration)
        self.configuration = configuration
        var memory = Memory(credentials: .none)
        memory.use(configuration.credentials)
        self.memory = Mutex(memory)
        self.savePair = savePair
        self.time = time
        self.usage = usage
        self.log = log
        random = SeededGenerator(seed: seed)
        loop = CurlLoop(configuration)
    }

    deinit { shutdown() }

    /// The longest answer that it takes, in bytes, decompressed.
    package var maximumAnswerSize: Int { configuration.maximumAnswerSize }

    package var credentials: Credentials { memory.withLock(\.credentials) }

    /// Uses other credentials from the next request on: the owner has put a new key into its file, logged in or out. The
    /// answer to a renewal of older ones that is under way is dropped.
    package func replaceCredentials(_ credentials: Credentials) {
        let waiters = memory.withLock { memory in
            memory.use(credentials)
            defer { memory.flight = nil }
            return memory.flight.map { Array($0.waiters.values) } ?? []
        }
        for waiter in waiters { waiter.resume(returning: .landed(nil)) }
    }

    /// The server's dialect, once a timeline has told it.
    package var dialect: Dialect? { memory.withLock(\.dialect) }

    /// How far the server's clock is ahead of ours, from the newest answer that had a `Date`. That header has whole
    /// seconds and the answer was under way, so up to a second and the time of the request are missing from it.
    package var serverClockOffset: Duration? { memory.withLock(\.clockOffset) }

    /// What the server's clock says now, by its newest answer and by what has passed since: a step of our clock does not move
    /// it. `nil` before the first answer that was JSON and had a `Date`.
    package var serverTime: ServerTime? {
        memory.withLock(\.serverClock).map { ServerTime($0.date).advanced(by: time.uptime() - $0.uptime) }
    }

    /// Ends every request with `cancelled`, a renewal too, and closes the connections. Returns when the threads have ended.
    package func shutdown() {
        let renewals = memory.withLock { memory in
            memory.isShutDown = true
            return memory.renewalLoops
        }
        for renewal in renewals { renewal.stop() }
        loop.stop()
    }

    /// Of its thread.
    package var heartbeat: Heartbeat { loop.heartbeat }

    /// The network went away, or is back. While it is away, requests end with `offline` at once, so that no caller waits for a
    /// timeout. Probes are let through.
    ///
    /// - Parameter ending: Those under way end so too.
    package func setOffline(_ isOffline: Bool, ending: Bool) {
        loop.setOffline(isOffline, ending: ending)
        let waiters = memory.withLock { memory -> [CheckedContinuation<Flight.End, Never>] in
            memory.isOffline = isOffline
            guard ending else { return [] }
            // Who waits for a renewal need not wait any longer; the renewal goes on.
            defer { memory.flight?.waiters = [:] }
            return memory.flight.map { Array($0.waiters.values) } ?? []
        }
        if ending { networkGoing.announce() }
        for waiter in waiters { waiter.resume(returning: .offline) }
    }

    // MARK: Decoding

    /// Gives a body's buffer back, for the next page.
    func recycle(_ body: inout [UInt8]) { loop.recycle(&body) }

    /// Reads a 2xx that should be JSON.
    func decode<Value>(
        _ call: Call, _ answer: HTTPAnswer, _ read: ([UInt8]) throws(APIError.DecodingCause) -> Value
    ) throws(APIError) -> Value {
        do throws(APIError.DecodingCause) {
            let first = answer.body.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
            if answer.contentType?.lowercased().contains("text/html") == true || first == UInt8(ascii: "<") {
                throw .portal
            }
            if first == nil { throw .empty }
            return try read(answer.body)
        } catch {
            throw APIError(
                kind: .decodingError(error), endpoint: call.endpoint, status: answer.status,
                requestID: answer.requestID, mayHaveReachedServer: true)
        }
    }

    static func object(_ body: [UInt8]) throws(APIError.DecodingCause) -> JSONValue {
        let value = try APIError.DecodingCause.catching { try JSONValue.parse(body) }
        guard case .object = value else { throw .unexpectedShape("not an object") }
        return value
    }

    // MARK: Credentials

    /// The header line that goes with a request, the one to try where that is answered 401, and what both of them show.
    ///
    /// - Parameter known: the server's dialect, where the caller knows it.
    func authorization(_ known: Dialect? = nil) -> (line: String?, fallback: String?, shown: Credentials) {
        let (told, keyIsBearer, credentials) = memory.withLock { ($0.dialect, $0.keyIsBearer, $0.credentials) }
        let dialect = told ?? known
        switch credentials {
        case .none: return (nil, nil, .none)
        case .loginToken(let token): return ("Authorization: Bearer \(token)", nil, credentials)
        // Which of its tokens may be sent is `usablePair`'s to say.
        case .login: return (nil, nil, .none)
        case .apiKey(let key):
            let bearer = "Authorization: Bearer \(key)"
            if keyIsBearer { return (bearer, nil, credentials) }
            // The cursor dialect takes a key for a bad token, and shows another user's items instead of saying so.
            return ("X-API-Key: \(key)", dialect == .cursor ? nil : bearer, credentials)
        }
    }

    func remember(_ dialect: Dialect) {
        memory.withLock { $0.dialect = dialect }
    }

    func remember(keyIsBearer: Bool) {
        memory.withLock { $0.keyIsBearer = keyIsBearer }
    }

    /// Waits before a GET is repeated; not longer than there is a network.
    func pause(_ duration: Duration) async {
        Heartbeat.current?.expect(within: duration)
        let (id, wakeup) = networkGoing.join()
        defer { networkGoing.leave(id) }
        // Where the network or the caller is gone, the next attempt says so.
        if !memory.withLock(\.isOffline) { await wakeup.wait(atMost: duration, time: time) }
    }

    /// - Parameter sentAt: when the request was sent (uptime).
    func remember(dateOf answer: HTTPAnswer, sentAt: Duration) {
        guard let text = answer.date else { return }
        memory.withLock { memory in
            if memory.date?.text != text { memory.date = (text, HTTPDate.parse(text)) }
            guard let date = memory.date?.time else { return }
            memory.clockOffset = date.duration(since: time.now())
            // A portal's clock says nothing about when the server takes a token for expired.
            guard let type = answer.contentType, type == "application/json" || type.lowercased().contains("json") else {
                return
            }
            memory.serverClock = LoginState.ServerClock(date: date, uptime: sentAt)
        }
    }
}
