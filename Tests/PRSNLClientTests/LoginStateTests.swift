import PRSNLCore
import TestSupport
import Testing

@testable import DevServer
@testable import PRSNLClient

/// When a login is renewed, as a table.
struct LoginStateTests {
    private static let start = Timestamp(microseconds: 1_750_000_000_000_000)

    /// - Parameter says: whether the token says when it was issued.
    private func state(life: Duration?, says: Bool = true, isFresh: Bool = false) throws -> LoginState {
        let access =
            life.map {
                FakeToken.make(
                    account: .owner, kind: "access", number: 1, issuedAt: says ? Self.start : nil,
                    expiresAt: Self.start.advanced(by: $0))
            } ?? "fake-opaque-token"
        return LoginState(try #require(TokenPair(access: access, refresh: "fake-refresh-token")), isFresh: isFresh)
    }

    /// So long after the token was issued, by a server that has just told its time.
    private func need(_ state: LoginState, after age: Duration) -> LoginState.Need {
        state.need(
            LoginState.ServerClock(date: Self.start.advanced(by: age), uptime: .seconds(50)), uptime: .seconds(50))
    }

    @Test(arguments: [
        (1_800, 0, LoginState.Need.nothing), (1_800, 1_498, .nothing), (1_800, 1_499, .renewal(isUrgent: false)),
        (1_800, 1_768, .renewal(isUrgent: false)), (1_800, 1_769, .renewal(isUrgent: true)),
        (1_800, 9_999, .renewal(isUrgent: true)), (80, 58, .nothing), (80, 59, .renewal(isUrgent: false)),
        (80, 69, .renewal(isUrgent: true)), (86_400, 86_000, .nothing), (86_400, 86_100, .renewal(isUrgent: false)),
    ])
    func aTokenIsRenewedInTheLastPartOfItsLife(_ life: Int, _ age: Int, _ expected: LoginState.Need) throws {
        #expect(need(try state(life: .seconds(life)), after: .seconds(age)) == expected)
    }

    /// Whether it has arrived just now, how long it lives, when it was first compared with the server's clock, and later on.
    @Test(arguments: [
        (true, 1_800, 0, 1_498, LoginState.Need.nothing), (true, 1_800, 0, 1_499, .renewal(isUrgent: false)),
        (true, 300, 0, 0, .nothing), (true, 300, 0, 223, .nothing), (true, 300, 0, 225, .renewal(isUrgent: false)),
        (true, 300, 0, 268, .renewal(isUrgent: false)), (true, 300, 0, 269, .renewal(isUrgent: true)),
        (true, 60, 0, 0, .nothing), (true, 60, 0, 44, .nothing), (true, 60, 0, 45, .renewal(isUrgent: false)),
        (true, 60, 0, 52, .renewal(isUrgent: true)), (true, 8, 0, 0, .nothing),
        (true, 8, 0, 7, .renewal(isUrgent: true)),
        // A stored one may be at the end of a longer life.
        (false, 300, 10, 10, .nothing), (false, 1_800, 1_780, 1_780, .renewal(isUrgent: true)),
        (false, 1_800, 1_600, 1_600, .nothing), (false, 1_800, 1_740, 1_740, .renewal(isUrgent: false)),
        (false, 300, 400, 400, .renewal(isUrgent: true)),
    ])
    func aTokenThatDoesNotSayWhenItWasIssuedLivesAsLongAsItHasLeft(
        isFresh: Bool, life: Int, seen: Int, age: Int, expected: LoginState.Need
    ) throws {
        var state = try state(life: .seconds(life), says: false, isFresh: isFresh)
        state.measure(
            LoginState.ServerClock(date: Self.start.advanced(by: .seconds(seen)), uptime: .zero), uptime: .zero)
        #expect(need(state, after: .seconds(age)) == expected)
    }

    /// One that says nothing itself, and was stored with what was left of it when it came.
    @Test(arguments: [
        (60, 0, LoginState.Need.nothing), (60, 44, .nothing), (60, 45, .renewal(isUrgent: false)),
        (60, 53, .renewal(isUrgent: true)), (1_800, 1_500, .renewal(isUrgent: false)),
    ])
    func aStoredTokenLivesAsLongAsItDidWhenItCame(life: Int, age: Int, expected: LoginState.Need) throws {
        let fresh = try state(life: .seconds(life), says: false).pair
        let clock = LoginState.ServerClock(date: Self.start, uptime: .zero)
        let stored = LoginState.measured(fresh, clock, uptime: .zero)
        #expect(stored.life == .seconds(life - 1))
        #expect(need(LoginState(stored), after: .seconds(age)) == expected)
    }

    @Test func timeThatHasPassedSinceTheServerToldItsOwnCounts() throws {
        let clock = LoginState.ServerClock(date: Self.start, uptime: .seconds(50))
        #expect(try state(life: .seconds(1_800)).need(clock, uptime: .seconds(60)) == .nothing)
        #expect(try state(life: .seconds(1_800)).need(clock, uptime: .seconds(50 + 1_800)) == .renewal(isUrgent: true))
    }

    @Test func nothingIsSentBeforeTheServersClockIsKnown() throws {
        #expect(try state(life: .seconds(1_800)).need(nil, uptime: .zero) == .clock)
        // Nothing to compare it with.
        #expect(try state(life: nil).need(nil, uptime: .zero) == .nothing)
    }

    @Test func whatCanWaitIsNotTriedAgainAtOnceAndWhatCannotIs() throws {
        var state = try state(life: .seconds(1_800))
        state.notBefore = .seconds(51)
        #expect(need(state, after: .seconds(1_600)) == .nothing)
        #expect(need(state, after: .seconds(1_790)) == .renewal(isUrgent: true))
        state.unsaved = (UserFacingError(.diskFull, "full"), state.pair)
        #expect(need(state, after: .zero) == .nothing)
        state.notBefore = .zero
        #expect(need(state, after: .zero) == .saving)
    }

    @Test func aRefusedLoginNeedsAPersonAndARejectedTokenARenewal() throws {
        var state = try state(life: .seconds(1_800))
        state.isRejected = true
        #expect(need(state, after: .zero) == .renewal(isUrgent: true))
        state.failure = .loginExpired
        #expect(need(state, after: .zero) == .login)
    }

    // MARK: Found while fuzzing

    /// It says that it was issued after its end: a part of its life is less than nothing.
    @Test(arguments: [-1_000_000, -1, 0]) func aTokenThatHasExpiredIsNotSent(_ life: Int) throws {
        for late in [0, 1, 100] {
            #expect(need(try state(life: .seconds(life)), after: .seconds(life + late)) == .renewal(isUrgent: true))
        }
    }
}
