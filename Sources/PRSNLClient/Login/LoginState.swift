package import PRSNLCore

/// What others may know of the login in use.
package struct LoginStatus: Sendable, Equatable {
    /// When its access token expires, by the server's clock; `nil` where the token does not say.
    package var expiresAt: Timestamp?
    /// Whom the server gave it to, by the token's own word.
    package var subject: String?
    /// The server has refused to renew it. Nothing is asked until its owner logs in again.
    package var isRefused: Bool
    /// Why the pair could not be stored, where it could not. It is used, and lost with the process.
    package var saveFailure: UserFacingError?
}

/// The login in use, and whether its access token may be sent. A value: `PRSNLClient+Renewal` carries out what it says.
struct LoginState {
    /// What has to happen before a request is sent.
    enum Need: Equatable {
        case nothing
        /// It is not known yet what the server's clock says, and whether the token has expired.
        case clock
        /// - isUrgent: The token may not be sent any more.
        case renewal(isUrgent: Bool)
        /// The pair is not stored yet.
        case saving
        case login
    }

    /// The server's clock, as its newest answer told it, and how much time has passed since that was asked: the most that it
    /// can say now, because `Date` has whole seconds and was written after the request was sent.
    struct ServerClock: Equatable {
        var date: Timestamp
        /// When the request was sent.
        var uptime: Duration

        func latest(at uptime: Duration) -> Timestamp { date.advanced(by: .seconds(1) + (uptime - self.uptime)) }
    }

    /// A token is renewed when this much of its life is left, or a quarter of it where that is shorter: an answer that is
    /// lost, or a server that is down for a moment, costs nothing then.
    static let renewsAhead: Duration = .seconds(300)
    /// With less than this left it is not sent, or an eighth of its life: it must not expire on its way to the server.
    static let leastLeft: Duration = .seconds(30)
    /// Between two attempts at what can wait: an early renewal, storing the pair.
    static let betweenAttempts: Duration = .seconds(30)
    /// What a token that was stored has lived before is not known: one with less left than this is taken for an old one.
    private static let leastLife: Duration = .seconds(240)

    let pair: TokenPair
    let claims: AccessToken?
    /// The server has given it out just now.
    let isFresh: Bool
    /// How long the access token lives, where that is known: by its own word, else what was left of it when it was first
    /// compared with the server's clock. The main server's tokens do not say.
    private var life: Duration?
    /// The server has refused the refresh token.
    var isRefused = false
    /// The server has refused the access token, though it has not expired.
    var isRejected = false
    /// It replaces one that was rejected, and was not accepted yet. If it is rejected too, renewing does not help.
    var isOnProbation = false
    /// Why the pair could not be stored, and which one it replaces.
    var unsaved: (failure: UserFacingError, replaced: TokenPair)?
    /// What can wait is not tried again before this (uptime).
    var notBefore: Duration = .zero

    init(_ pair: TokenPair, isFresh: Bool = false) {
        self.pair = pair
        self.isFresh = isFresh
        claims = AccessToken(pair.access)
        life = pair.life
        if let end = claims?.expiresAt, let start = claims?.issuedAt { life = end.duration(since: start) }
    }

    /// A pair that the server has given out just now, with the life of its access token, which the pair is stored with.
    static func measured(_ pair: TokenPair, _ clock: ServerClock?, uptime: Duration) -> TokenPair {
        var state = LoginState(pair, isFresh: true)
        state.measure(clock, uptime: uptime)
        var pair = pair
        pair.life = state.life.map { .seconds(max(0, $0.components.seconds)) }
        return pair
    }

    /// Notes how long the token lives, at the first time that the server's clock is known.
    mutating func measure(_ clock: ServerClock?, uptime: Duration) {
        guard life == nil, let end = claims?.expiresAt, let clock else { return }
        life = life(left: end.duration(since: clock.latest(at: uptime)))
    }

    private func life(left: Duration) -> Duration { life ?? (isFresh ? left : max(left, Self.leastLife)) }

    func need(_ clock: ServerClock?, uptime: Duration) -> Need {
        if isRefused { return .login }
        if isRejected { return .renewal(isUrgent: true) }
        let mayWait = uptime < notBefore
        if let end = claims?.expiresAt {
            guard let clock else { return .clock }
            let left = end.duration(since: clock.latest(at: uptime))
            let life = life(left: left)
            if left <= min(Self.leastLeft, life / 8) { return .renewal(isUrgent: true) }
            if left <= min(Self.renewsAhead, life / 4), !mayWait { return .renewal(isUrgent: false) }
        }
        return unsaved != nil && !mayWait ? .saving : .nothing
    }

    var status: LoginStatus {
        LoginStatus(
            expiresAt: claims?.expiresAt, subject: claims?.subject, isRefused: isRefused,
            saveFailure: unsaved?.failure)
    }
}
