package import PRSNLCore

/// Stores a new pair before it is used.
///
/// - Parameters:
///   - new: what the server has just given out.
///   - replaced: the pair that it gave it for, and which is worth nothing from now on. Where the login that is stored is
///     another one by now, nothing is stored.
package typealias PairSaver = @Sendable (_ new: TokenPair, _ replaced: TokenPair) async throws(UserFacingError) -> Void

// Renewing a login: one renewal at a time, in a task of its own. Neither the request that wanted it nor the network that goes
// away ends it, because the server revokes the old refresh token at once, and an answer that is not read is a login lost.
extension PRSNLClient {
    /// A renewal, and who waits for it.
    struct Flight {
        enum End {
            case landed(APIError?)
            case cancelled, offline
        }

        let number: UInt64
        var waiters: [UInt64: CheckedContinuation<End, Never>] = [:]
    }

    /// How the login in use stands; `nil` without one.
    package var loginStatus: LoginStatus? { memory.withLock { $0.login?.status } }

    /// Tries a login again that the server has refused to renew, because its owner may have repaired it.
    package func reconsiderLogin() {
        memory.withLock { memory in
            memory.login?.failure = nil
            memory.login?.notBefore = .zero
        }
    }

    /// Waits until the renewal under way is over and its pair stored; begins no other.
    package func finishRenewal(atMost limit: Duration) async {
        let isUnderWay = memory.withLock { memory in
            memory.isStopping = true
            return memory.flight != nil
        }
        guard isUnderWay else { return await saveAtLast() }
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                // An end without a flight is one as well.
                while case .offline = await self.join(starting: false) {}
            }
            group.addTask { [time] in
                // Cancelled: the flight has landed.
                do { try await time.sleep(limit) } catch { return }
            }
            await group.next()
            group.cancelAll()
        }
        await saveAtLast()
    }

    // MARK: Before a request

    /// The pair whose access token may be sent now, renewed where it must be; `nil` where another kind of credentials is in
    /// use by now.
    func usablePair(for call: Call) async throws(APIError) -> TokenPair? {
        var failure: APIError?
        var last: TokenPair?
        // One flight is enough, unless logins are replaced meanwhile.
        for _ in 0..<4 {
            let (pair, need, isFresh) = loginNow()
            guard let pair else { return nil }
            // One renewal per request: what the server has just given out is used, however short it lives.
            if let last, last != pair, isFresh, need != .login { return pair }
            last = pair
            switch need {
            case .nothing: return pair
            case .login: throw .loginExpired(call)
            case .saving, .renewal(isUrgent: false): if failure != nil { return pair }
            case .clock, .renewal(isUrgent: true): if let failure { throw failure }
            }
            switch await join(starting: true) {
            case .landed(let error): failure = error
            case .cancelled: throw .unsent(call, .networkError(.cancelled), "cancelled while the login was renewed")
            case .offline:
                // What may still be sent says itself that there is no way.
                if case .renewal(isUrgent: true) = need {
                    throw .unsent(
                        call, .networkError(.offline), "the network is away, and the login has to be renewed first")
                }
                return pair
            }
        }
        throw .unsent(call, .networkError(.cancelled), "the login could not be brought up to date")
    }

    /// A login token from a key file cannot be renewed. The server may answer an expired one with another user's items.
    func refuseExpiredToken(_ call: Call) throws(APIError) {
        guard case (let end?, let clock?) = memory.withLock({ ($0.tokenEnd, $0.serverClock) }),
            clock.latest(at: time.uptime()) >= end
        else { return }
        throw .loginExpired(call)
    }

    /// The server has answered 401 to a token that has not expired.
    ///
    /// - Returns: whether another one is worth a try.
    func reject(_ pair: TokenPair) -> Bool {
        memory.withLock { memory in
            guard let login = memory.login else { return false }
            // Renewed meanwhile, or replaced.
            guard login.pair == pair else { return true }
            if login.isOnProbation || login.isRefused { return false }
            memory.login?.isRejected = true
            return true
        }
    }

    /// The server answers as another account than the login's: it does not take the access token for one of its own, though
    /// it says so with a 200 and another user's items.
    ///
    /// - Parameter shown: what it was asked with.
    /// - Returns: whether the next request is made with another login: a renewed one, or one that has replaced it.
    package func distrust(_ shown: Credentials) -> Bool {
        guard case .login(let pair) = shown else { return shown != credentials }
        return reject(pair)
    }

    /// The server has named the account itself in the answer to these.
    package func trust(_ shown: Credentials) {
        if case .login(let pair) = shown { noteAccepted(pair) }
    }

    /// The server has answered a request that it would have refused without it.
    func noteAccepted(_ pair: TokenPair) {
        memory.withLock { memory in
            if memory.login?.isOnProbation == true, memory.login?.pair == pair { memory.login?.isOnProbation = false }
        }
    }

    private func loginNow() -> (pair: TokenPair?, need: LoginState.Need, isFresh: Bool) {
        let uptime = time.uptime()
        return memory.withLock { memory in
            memory.login?.measure(memory.serverClock, uptime: uptime)
            guard let login = memory.login else { return (nil, .nothing, false) }
            return (login.pair, login.need(memory.serverClock, uptime: uptime), login.isFresh)
        }
    }

    // MARK: The flight

    /// Waits for the flight under way, or begins one. Ends early when the task is cancelled or the network goes away; the
    /// flight itself does not.
    private func join(starting: Bool) async -> Flight.End {
        let id = memory.withLock { memory in
            memory.lastWaiter += 1
            return memory.lastWaiter
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (end, started) = memory.withLock { memory -> (Flight.End?, UInt64?) in
                    if Task.isCancelled { return (.cancelled, nil) }
                    if memory.isOffline, starting { return (.offline, nil) }
                    var started: UInt64?
                    if memory.flight == nil {
                        guard starting else { return (.landed(nil), nil) }
                        if memory.isStopping { return (.cancelled, nil) }
                        memory.lastFlight += 1
                        started = memory.lastFlight
                        memory.flight = Flight(number: memory.lastFlight)
                    }
                    memory.flight?.waiters[id] = continuation
                    return (nil, started)
                }
                if let end { continuation.resume(returning: end) }
                if let started { Task(executorPreference: TaskLoop.current) { await self.fly(started) } }
            }
        } onCancel: {
            let waiter = memory.withLock { $0.flight?.waiters.removeValue(forKey: id) }
            waiter?.resume(returning: .cancelled)
        }
    }

    private func fly(_ number: UInt64) async {
        var failure: APIError?
        do throws(APIError) { try await bringUpToDate() } catch { failure = error }
        let waiters = memory.withLock { memory -> [CheckedContinuation<Flight.End, Never>] in
            // Replaced by a new login: no request waits for this one any more.
            guard memory.flight?.number == number, let flight = memory.flight else { return [] }
            memory.flight = nil
            return Array(flight.waiters.values)
        }
        for waiter in waiters { waiter.resume(returning: .landed(failure)) }
    }

    private func bringUpToDate() async throws(APIError) {
        let generation = memory.withLock(\.generation)
        var (pair, need, _) = loginNow()
        if need == .clock {
            try await learnServerTime()
            (pair, need, _) = loginNow()
        }
        guard let pair else { return }
        switch need {
        case .renewal: try await renew(pair, generation)
        case .saving: await save(again: pair)
        case .nothing, .clock, .login: break
        }
    }

    private func renew(_ old: TokenPair, _ generation: UInt64) async throws(APIError) {
        let new: TokenPair
        do throws(APIError) {
            new = try await requestPair(for: old)
        } catch {
            let uptime = time.uptime()
            // An outage takes many attempts: a reason is logged once.
            let isLogged = memory.withLock { memory in
                guard memory.generation == generation else { return false }
                defer { memory.login?.failure = error.code }
                memory.login?.notBefore = uptime + LoginState.betweenAttempts
                return memory.login?.failure == error.code
            }
            if !isLogged {
                let isExpired = error.kind == .loginExpired
                log(
                    isExpired ? .error : .warning, .http,
                    "the login could not be renewed: \(error.code.rawValue)"
                        + (isExpired ? "; \(error.code.recoverySuggestion)" : ""))
            }
            throw error
        }
        CrashPoint.afterRenewal.reach()
        guard memory.withLock({ $0.generation == generation }) else {
            return log(.notice, .http, "a renewed login was dropped, because it was replaced meanwhile")
        }
        let failure = await save(new, replacing: old)
        let uptime = time.uptime()
        memory.withLock { memory in
            guard memory.generation == generation else { return }
            var login = LoginState(new, isFresh: true)
            login.measure(memory.serverClock, uptime: uptime)
            login.isOnProbation = memory.login?.isRejected ?? false
            login.unsaved = failure.map { ($0, old) }
            login.notBefore = failure == nil ? .zero : uptime + LoginState.betweenAttempts
            memory.credentials = .login(new)
            memory.login = login
        }
        log(.info, .http, "the login was renewed")
    }

    /// `POST /api/auth/refresh`, on a connection and a thread of its own, which the network's going away does not end.
    private func requestPair(for old: TokenPair) async throws(APIError) -> TokenPair {
        var call = Call("POST", "/api/auth/refresh")
        call.isAuthenticated = false
        call.secrets = [old.refresh, old.access]
        call.body = Array("{\"refresh_token\":\(JSONText.string(old.refresh))}".utf8)
        let loop = CurlLoop(configuration)
        let isShutDown = memory.withLock { memory in
            memory.renewalLoops.append(loop)
            return memory.isShutDown
        }
        if isShutDown { loop.stop() }
        defer {
            loop.stop()
            memory.withLock { $0.renewalLoops.removeAll { $0 === loop } }
        }
        do throws(APIError) {
            let answer = try await send(call, over: loop)
            return try decode(call, answer) { body throws(APIError.DecodingCause) in
                try pair(try Self.object(body))
            }
        } catch {
            var failure = error.ofRenewal
            // A proxy's or a portal's 401 says nothing about the login.
            if error.isPRSNLError, error.kind == .unauthorized { failure.kind = .loginExpired }
            throw failure
        }
    }

    /// Any answer of the server tells its time; this one costs it nothing, and shows it no token.
    private func learnServerTime() async throws(APIError) {
        var call = Call("GET", "/api/health")
        call.isAuthenticated = false
        call.isSentOnce = true
        do throws(APIError) {
            let answer = try await send(call)
            // A portal's time is not the server's.
            _ = try decode(call, answer) { body throws(APIError.DecodingCause) in try Self.object(body) }
        } catch {
            // An error of the server has told the time as well.
            if memory.withLock({ $0.serverClock != nil }) { return }
            throw error.ofRenewal
        }
        let clock = LoginState.ServerClock(date: time.now(), uptime: time.uptime())
        memory.withLock { memory in
            // A server or a cache that does not tell: then our own clock has to do.
            if memory.serverClock == nil { memory.serverClock = clock }
        }
    }

    // MARK: Storing the pair

    private func save(_ new: TokenPair, replacing old: TokenPair) async -> UserFacingError? {
        guard let savePair else { return nil }
        do throws(UserFacingError) {
            try await savePair(new, old)
            return nil
        } catch {
            log(
                .error, .http,
                "the renewed login could not be stored, and will be lost if the daemon stops now: "
                    + "\(error.message) \(error.recoverySuggestion)")
            return error
        }
    }

    private func save(again pair: TokenPair) async {
        guard let replaced = memory.withLock({ $0.login?.unsaved?.replaced }) else { return }
        let failure = await save(pair, replacing: replaced)
        let uptime = time.uptime()
        memory.withLock { memory in
            guard memory.login?.pair == pair else { return }
            memory.login?.unsaved = failure.map { ($0, replaced) }
            memory.login?.notBefore = uptime + LoginState.betweenAttempts
        }
        if failure == nil { log(.notice, .http, "the renewed login is stored now") }
    }

    private func saveAtLast() async {
        guard let (pair, isUnsaved) = memory.withLock({ $0.login.map { ($0.pair, $0.unsaved != nil) } }), isUnsaved
        else { return }
        await save(again: pair)
    }
}

extension APIError {
    /// The request that waits for the renewal was not sent, whatever became of that one.
    fileprivate var ofRenewal: APIError {
        var failure = self
        failure.origin = .renewal
        failure.mayHaveReachedServer = false
        return failure
    }

    fileprivate static func loginExpired(_ call: Call) -> APIError {
        .unsent(call, .loginExpired, "not sent, because the login has expired")
    }

    fileprivate static func unsent(_ call: Call, _ kind: Kind, _ detail: String) -> APIError {
        APIError(
            kind: kind, endpoint: call.endpoint, requestID: "", mayHaveReachedServer: false, origin: .renewal,
            detail: detail)
    }
}
