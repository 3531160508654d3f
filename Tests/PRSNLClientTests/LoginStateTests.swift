import PRSNLCore
import TestSupport
import Testing

@testable import DevServer
@testable import PRSNLClient

/// When a login is renewed, as a table.
struct LoginStateTests {
    private static let start = Timestamp(microseconds: 1_750_000_000_000_000)

    private func state(life: Duration?, says: Bool = true) throws -> LoginState {
        let access =
            life.map {
                FakeToken.make(
                    account: .owner, kind: "access", number: 1, issuedAt: Self.start,
                    expiresAt: Self.start.advanced(by: $0))
            } ?? "fake-opaque-token"
        return LoginState(try #require(TokenPair(access: access, refresh: "fake-refresh-token")))
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
        state.isRefused = true
        #expect(need(state, after: .zero) == .login)
    }
}
