package import PRSNLCore

/// What the daemon shows to the server to be let in.
package enum Credentials: Sendable, Equatable {
    case none
    /// Sent as `X-API-Key`, and only where that is answered 401, once as `Authorization: Bearer`.
    case apiKey(String)
    /// A JWT, sent as `Authorization: Bearer`.
    case loginToken(String)
    /// A login that renews itself: the access token is sent as `Authorization: Bearer`, the refresh token never is.
    case login(TokenPair)

    /// Reads the text of a key file: one line with an API key or a login token, told apart by form.
    ///
    /// - Throws: `key_file_invalid`. The text never appears in the error.
    package static func parse(_ text: String) throws(UserFacingError) -> Credentials {
        let lines = text.split(whereSeparator: \.isNewline).map { String($0).trimmingSpaces() }.filter { !$0.isEmpty }
        guard let key = lines.first else { throw UserFacingError(.keyFileInvalid, "The key file is empty.") }
        guard lines.count == 1 else {
            throw UserFacingError(.keyFileInvalid, "The key file has more than one line with text.")
        }
        // It goes into a header line: nothing that could end the line, and nothing that a proxy would change.
        guard key.utf8.count <= 8_192, key.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw UserFacingError(
                .keyFileInvalid,
                "The key file holds a space, a character that is not ASCII, or more than 8,192 characters.")
        }
        return AccessToken(key) == nil ? .apiKey(key) : .loginToken(key)
    }

    /// Whom the server gave the token to, by its own word; `nil` where there is none.
    package var subject: String? {
        switch self {
        case .none, .apiKey: nil
        case .loginToken(let token): AccessToken(token)?.subject
        case .login(let pair): AccessToken(pair.access)?.subject
        }
    }

    /// Whether they are an account's own, so that the server can say whose.
    package var isLogin: Bool {
        switch self {
        case .none, .apiKey: false
        case .loginToken, .login: true
        }
    }
}

/// Nothing that prints values shows a key or a token.
extension Credentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String {
        switch self {
        case .none: "no credentials"
        case .apiKey: "an API key"
        case .loginToken: "a login token"
        case .login: "a login"
        }
    }

    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: [], displayStyle: .enum) }
}

extension Credentials {
    /// The texts that must appear in no error and no log line.
    var secrets: [String] {
        switch self {
        case .none: []
        case .apiKey(let text), .loginToken(let text): [text]
        case .login(let pair): [pair.access, pair.refresh]
        }
    }
}

/// What others may know of the login in use.
package struct LoginStatus: Sendable, Equatable {
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
    /// Why the last attempt to renew it failed.
    var failure: ErrorCode?
    /// The server has refused the refresh token.
    var isRefused: Bool { failure == .loginExpired }
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
        pair.setLife(state.life)
        return pair
    }

    /// Notes how long the token lives, at the first time that the server's clock is known.
    mutating func measure(_ clock: ServerClock?, uptime: Duration) {
        guard life == nil, let end = claims?.expiresAt, let clock else { return }
        life = life(left: end.duration(since: clock.latest(at: uptime)))
    }

    /// Never negative, whatever the token says of itself: what has expired has no part of it left.
    private func life(left: Duration) -> Duration { max(.zero, life ?? (isFresh ? left : max(left, Self.leastLife))) }

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

    var status: LoginStatus { LoginStatus(isRefused: isRefused, saveFailure: unsaved?.failure) }
}

/// Who the server takes us for: `GET /api/auth/me`.
package struct Account: Sendable, Equatable {
    package var id: String
    package var email: String?
    package var name: String?
}

extension Account {
    /// Whether a token's `sub` is another account's than this one.
    ///
    /// Servers put an id or an e-mail address there. Only what has the form of the one or the other, and is not it, says so:
    /// a subject of an unknown form must not keep its owner out.
    package func isCertainlyNot(_ subject: String) -> Bool {
        if subject == id || subject.lowercased() == email?.lowercased() { return false }
        if subject.contains("@") { return email != nil }
        return Self.form(subject).map { $0 == Self.form(id) && subject.lowercased() != id.lowercased() } ?? false
    }

    private enum Form { case uuid, number }

    private static func form(_ text: String) -> Form? {
        let characters = Array(text.utf8)
        if !characters.isEmpty, characters.allSatisfy(\.isASCIIDigit) { return .number }
        guard characters.count == 36 else { return nil }
        let isUUID = characters.enumerated().allSatisfy { place, character in
            [8, 13, 18, 23].contains(place)
                ? character == UInt8(ascii: "-") : Character(Unicode.Scalar(character)).isHexDigit
        }
        return isUUID ? .uuid : nil
    }
}
