import PRSNLCore

@testable import Configuration
@testable import PRSNLClient

/// What a server gives out at a login, and the file that keeps it.
extension FuzzTarget {
    static let token = FuzzTarget(name: "token") { bytes in
        check(token: String(decoding: bytes, as: UTF8.self))
        // libFuzzer would not get through the encoding: the same bytes as the claims of a token.
        let part = base64URL(bytes)
        require(Base64URL.decode(part[...]) == bytes, "decodes as something else: \(part)")
        check(token: "e30.\(part).c2ln")
        checkAnswer(bytes)
    }

    static let loginFile = FuzzTarget(name: "login-file") { bytes in
        guard let login = LoginFile.parse(bytes) else { return }
        require(JSONChecks.isWellFormed(bytes), "read, and no JSON")
        checkWrittenAgain(login)
    }

    private static func base64URL(_ bytes: [UInt8]) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
            for place in 0...group.count { text.append(alphabet[bits >> (18 - 6 * place) & 63]) }
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static func check(token text: String) {
        let claims = AccessToken(text)
        for time in [claims?.expiresAt, claims?.issuedAt] {
            if let time { require(time.microseconds >= 0 && time <= .latest, "a time that cannot be: \(time)") }
        }
        if let subject = claims?.subject { require((1...256).contains(subject.utf8.count), "a subject: \(subject)") }
        guard let pair = TokenPair(access: text, refresh: "fake-refresh-token") else { return }
        checkWrittenAgain(pair)
        require(Credentials.login(pair).subject == claims?.subject, "another subject")
        checkNeeds(pair, claims)
        do throws(UserFacingError) {
            let isToken = if case .loginToken = try Credentials.parse(text) { true } else { false }
            require(isToken == (claims != nil), "taken for something else")
        } catch { fatalError("a token cannot stand in a key file: \(error.message)") }
    }

    /// Whatever the clocks say, a token that has expired is not sent, and the pair can be stored with what is known of it.
    private static func checkNeeds(_ pair: TokenPair, _ claims: AccessToken?) {
        for date in [claims?.expiresAt?.previous, .latest, Timestamp(microseconds: 1_800_000_000_000_000)] {
            guard let date else { continue }
            let clock = LoginState.ServerClock(date: date, uptime: .seconds(50))
            let measured = LoginState.measured(pair, clock, uptime: .seconds(51))
            if measured != pair { checkWrittenAgain(measured) }
            var state = LoginState(measured, isFresh: date == .latest)
            state.measure(clock, uptime: .seconds(51))
            let need = state.need(clock, uptime: .seconds(51))
            if let end = claims?.expiresAt {
                let isOver = clock.latest(at: .seconds(51)) >= end
                require(!isOver || need == .renewal(isUrgent: true), "expired, and sent: \(need)")
                require(state.need(nil, uptime: .zero) == .clock, "judged without a clock")
            } else {
                require(need == .nothing, "renewed, and it has no end: \(need)")
            }
        }
    }

    /// The answers to a login, to a renewal, and to the question whose it is.
    private static func checkAnswer(_ bytes: [UInt8]) {
        do throws(APIError.DecodingCause) {
            let value = try PRSNLClient.object(bytes)
            for account in [Account(value), value["user"].flatMap(Account.init)] {
                guard let account else { continue }
                require(!account.id.isEmpty, "an account without an id")
                require(!account.isCertainlyNot(account.id), "not itself: \(account.id)")
                for subject in [account.email, account.name] {
                    if let subject { _ = account.isCertainlyNot(subject) }
                }
            }
            let pair = try TokenPair(answer: value)
            checkWrittenAgain(pair)
            require("\(pair)" == "a token pair", "it is printed")
        } catch {
            if case .unexpectedShape(let reason) = error { require(!reason.isEmpty, "an error without a reason") }
        }
    }

    private static func checkWrittenAgain(_ pair: TokenPair) {
        checkWrittenAgain(StoredLogin(server: "https://prsnl.example.org", pair: pair))
    }

    /// A login that is stored is read as the same. Else a renewed one would be taken for that of another program.
    private static func checkWrittenAgain(_ login: StoredLogin) {
        let text = LoginFile.text(login)
        require(LoginFile.parse(Array(text.utf8)) == login, "reads as another: \(text)")
    }
}
