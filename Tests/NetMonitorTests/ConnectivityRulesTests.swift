import PRSNLCore
import TestSupport
import Testing

@testable import NetMonitor

/// The state machine, without a network.
@Suite struct ConnectivityRulesTests {
    private let now = Timestamp(microseconds: 1_700_000_000_000_000)
    private let refused = UserFacingError(.connectFailed, "Network error: could not connect to the server.")
    private let way = RouteState.routable(path: "192.0.2.2 over v0")
    private let otherWay = RouteState.routable(path: "198.51.100.7 over w0")
    private let noWay = RouteState.unroutable(reason: "v0: carrier lost")

    private func online(over routeState: RouteState? = nil) -> ConnectivityRules {
        var rules = ConnectivityRules()
        _ = look(&rules, routeState ?? way)
        _ = rules.noteAnswer(isProbe: false, at: now)
        return rules
    }

    private func look(
        _ rules: inout ConnectivityRules, _ routeState: RouteState, hasChanged: Bool = true, after: Duration = .zero
    ) -> ConnectivityRules.Outcome {
        rules.observe(
            routeState, hasChanged: hasChanged, host: "prsnl.example", at: now.advanced(by: after), uptime: after)
    }

    private func fail(
        _ rules: inout ConnectivityRules, _ error: UserFacingError? = nil, isProbe: Bool = true,
        after: Duration = .zero,
        draw: Double = 1
    ) -> ConnectivityRules.Outcome {
        rules.noteFailure(
            error ?? refused, isProbe: isProbe, host: "prsnl.example", at: now.advanced(by: after), uptime: after,
            draw: draw)
    }

    @Test func whatTheKernelHasNoWayForIsOfflineWithItsReason() {
        var rules = online()
        let outcome = look(&rules, noWay)
        #expect(outcome.hasChanged)
        #expect(rules.current.state == .offline)
        #expect(rules.current.reason?.code == .offline)
        #expect(rules.current.reason?.message == "No route to prsnl.example: v0: carrier lost.")
    }

    @Test func aWayBackIsProbedAtOnceAndOnlyAnAnswerEndsBeingOffline() {
        var rules = online()
        _ = look(&rules, noWay)
        _ = look(&rules, way, after: .seconds(10))
        #expect(rules.current.state == .offline)
        #expect(rules.probeAt == .seconds(10))
        // An answer that was under way while the link went is no proof.
        #expect(rules.noteAnswer(isProbe: false, at: now) == ConnectivityRules.Outcome())
        rules.beginProbe(uptime: .seconds(10))
        let outcome = rules.noteAnswer(isProbe: true, at: now)
        #expect(outcome.hasChanged && outcome.isReturn)
        #expect(rules.current.state == .online && rules.probeAt == nil)
    }

    @Test func whileTheServerAnswersNothingIsProbed() {
        var rules = online()
        #expect(rules.probeAt == nil)
        // Something else has changed, and the route to the server has not.
        _ = look(&rules, way, after: .seconds(5))
        #expect(rules.probeAt == nil && rules.current.state == .online)
        // Another way is asked whether it leads there.
        _ = look(&rules, otherWay, after: .seconds(6))
        #expect(rules.probeAt == .seconds(6) && rules.current.state == .online)
    }

    @Test func aServerThatIsGoneForFiveMinutesIsProbedTwelveTimesAtMost() {
        for draw in [0, 0.5, 1] {
            var rules = online()
            _ = fail(&rules, isProbe: false, draw: draw)
            var probes: [Duration] = []
            while let due = rules.probeAt, due <= .seconds(300) {
                probes.append(due)
                rules.beginProbe(uptime: due)
                _ = fail(&rules, after: due, draw: draw)
            }
            #expect(probes.count <= 12, "\(probes)")
            // Whenever it comes back, it is asked within the cap.
            for (earlier, later) in zip(probes, probes.dropFirst()) { #expect(later - earlier <= .seconds(60)) }
        }
    }

    @Test func oneRequestThatFailedIsNoReturn() {
        var rules = online()
        let silence = UserFacingError(.timedOut, "Network error: the server took too long to answer.")
        _ = fail(&rules, silence, isProbe: false)
        #expect(rules.current.state == .unreachable)
        rules.beginProbe(uptime: .seconds(1))
        // The server was there all the time: whatever waits for its own reasons goes on waiting.
        let answered = rules.noteAnswer(isProbe: true, at: now)
        #expect(answered.hasChanged && !answered.isReturn)
        _ = fail(&rules, silence, isProbe: false)
        rules.beginProbe(uptime: .seconds(2))
        _ = fail(&rules, silence)
        let returned = rules.noteAnswer(isProbe: true, at: now)
        #expect(returned.hasChanged && returned.isReturn)
    }

    @Test func aChangeOfTheNetworkStartsTheBackoffAgain() {
        var rules = online()
        _ = fail(&rules, isProbe: false)
        for second in 1...6 {
            rules.beginProbe(uptime: .seconds(second))
            _ = fail(&rules, after: .seconds(second))
        }
        #expect(rules.failures == 7)
        _ = look(&rules, otherWay, after: .seconds(20))
        #expect(rules.probeAt == .seconds(20) && rules.failures == 0)
    }

    @Test func aFloodOfChangesIsNoFloodOfProbes() {
        var rules = online()
        _ = fail(&rules, isProbe: false)
        var probes = 0
        for millisecond in stride(from: 0, to: 10_000, by: 10) {
            let uptime = Duration.milliseconds(millisecond)
            _ = look(&rules, millisecond % 20 == 0 ? way : otherWay, after: uptime)
            if let due = rules.probeAt, due <= uptime {
                probes += 1
                rules.beginProbe(uptime: uptime)
                _ = fail(&rules, after: uptime)
            }
        }
        #expect(probes <= 51)
    }

    @Test func aPortalIsNotTheServer() {
        var rules = online()
        _ = fail(&rules, UserFacingError(.portal, "A web page came instead of data."), isProbe: false)
        #expect(rules.current.state == .portal && rules.probeAt != nil)
        // Whatever else answers the health request is not PRSNL either.
        _ = fail(&rules, UserFacingError(.unexpectedShape, "no status"))
        #expect(rules.current.state == .portal)
    }

    @Test func aNameThatCannotBeAskedForIsOfflineWithoutANetworkAndUnreachableWithOne() {
        let unknown = UserFacingError(.nameNotResolved, "Network error: the server's name could not be resolved.")
        var rules = ConnectivityRules()
        _ = look(&rules, .notKnown(hasNetwork: false))
        #expect(rules.current.state == .unknown)
        _ = fail(&rules, unknown, isProbe: false)
        #expect(rules.current.state == .offline)
        _ = look(&rules, .notKnown(hasNetwork: true), after: .seconds(1))
        rules.beginProbe(uptime: .seconds(1))
        _ = fail(&rules, unknown, after: .seconds(1))
        #expect(rules.current.state == .unreachable)
        #expect(rules.current.reason?.code == .nameNotResolved)
    }

    @Test func theReasonNamesWhatHasJustGone() {
        var rules = online()
        let gone = ["eth0: down", "default route via 192.0.2.1 gone"]
        _ = rules.observe(.unroutable(reason: "eth0: down"), hasChanged: true, gone, host: "x", at: now, uptime: .zero)
        #expect(rules.current.reason?.message == "No route to x: eth0: down; default route via 192.0.2.1 gone.")
        // What comes is no reason for what is still missing.
        let come = ["eth0: up", "eth0: carrier found"]
        let unreachable = RouteState.unroutable(reason: "no route to x")
        _ = rules.observe(unreachable, hasChanged: true, come, host: "x", at: now, uptime: .zero)
        #expect(rules.current.state == .offline && rules.current.reason?.message == "No route to x: no route to x.")
    }

    @Test func aNameUnderWayIsGivenUpWithTheNetwork() {
        var rules = ConnectivityRules()
        let gone = ["eth0: carrier lost"]
        _ = look(&rules, .notKnown(hasNetwork: true))
        let outcome = rules.observe(
            .notKnown(hasNetwork: false), hasChanged: true, gone, host: "x", at: now, uptime: .zero)
        #expect(outcome.hasChanged && outcome.isProbeStale && rules.current.state == .offline)
        #expect(rules.current.reason?.message == "No route to x: this machine has no network; eth0: carrier lost.")
        _ = look(&rules, .notKnown(hasNetwork: true), after: .seconds(1))
        #expect(rules.probeAt == .seconds(1))
    }

    @Test func onlyARequestEndsARefusalOfTheKey() {
        var rules = online()
        _ = fail(&rules, UserFacingError(.unauthorized, "Invalid or expired API key."), isProbe: false)
        #expect(rules.current.state == .unauthorized && rules.probeAt == nil)
        #expect(rules.noteAnswer(isProbe: true, at: now) == ConnectivityRules.Outcome())
        _ = look(&rules, otherWay, after: .seconds(1))
        #expect(rules.current.state == .unauthorized && rules.probeAt == nil)
        // No return: a server that lets us read and not write would be asked for both without a pause.
        #expect(rules.noteAnswer(isProbe: false, at: now) == .init(hasChanged: true))
    }

    @Test func wakingUpProbesAtOnceUnlessThereIsNoWay() {
        var rules = online()
        rules.wake(uptime: .seconds(9))
        #expect(rules.probeAt == .seconds(9))
        rules.beginProbe(uptime: .seconds(9))
        #expect(rules.noteAnswer(isProbe: true, at: now).isReturn)
        _ = look(&rules, noWay, after: .seconds(10))
        rules.wake(uptime: .seconds(11))
        #expect(rules.probeAt != .seconds(11))
    }

    @Test func anAnswerOverAWayThatTheKernelDoesNotKnowIsBelieved() {
        var rules = online()
        _ = look(&rules, noWay)
        let due = rules.probeAt
        #expect(due == ConnectivityRules.betweenOfflineProbes)
        rules.beginProbe(uptime: due ?? .zero)
        #expect(rules.noteAnswer(isProbe: true, at: now).hasChanged)
        #expect(rules.current.state == .online)
        // Until the network changes again.
        _ = look(&rules, noWay, hasChanged: false, after: .seconds(400))
        #expect(rules.current.state == .online)
        _ = look(&rules, .unroutable(reason: "v0: down"), after: .seconds(401))
        #expect(rules.current.state == .offline)
    }

    @Test func aHintDuringAProbeIsFollowedAfterIt() {
        var rules = online()
        _ = fail(&rules, isProbe: false)
        for second in 1...8 {
            rules.beginProbe(uptime: .seconds(second))
            _ = fail(&rules, after: .seconds(second))
        }
        rules.beginProbe(uptime: .seconds(100))
        rules.wake(uptime: .seconds(103))
        _ = fail(&rules, after: .seconds(110))
        #expect(rules.probeAt == .seconds(103))
    }

    @Test func aProbeThatToldNothingIsMadeUpFor() {
        var rules = online()
        _ = look(&rules, noWay)
        _ = look(&rules, way, after: .seconds(10))
        rules.beginProbe(uptime: .seconds(10))
        // It was ended with what else was under way.
        _ = fail(&rules, UserFacingError(.offline, "Network error: this machine has no route to the server."))
        rules.endProbe(uptime: .seconds(10))
        #expect(rules.probeAt == .seconds(11))
        rules.beginProbe(uptime: .seconds(11))
        _ = rules.noteAnswer(isProbe: true, at: now)
        rules.endProbe(uptime: .seconds(11))
        #expect(rules.probeAt == nil)
    }

    @Test func aGatewayWhoseServerIsGoneIsProbed() {
        var rules = online()
        let error = UserFacingError(.serviceUnavailable, "Service temporarily unavailable: Bad Gateway.")
        func answer(_ isGateway: Bool, isProbe: Bool) {
            _ = rules.noteFailure(
                error, isProbe: isProbe, isGateway: isGateway, host: "prsnl.example", at: now, uptime: .zero, draw: 1)
        }
        // PRSNL itself asks for patience.
        answer(false, isProbe: false)
        #expect(rules.current.state == .online && rules.probeAt == nil)
        answer(true, isProbe: false)
        #expect(rules.current.state == .unreachable && rules.probeAt != nil)
        rules.beginProbe(uptime: .seconds(1))
        answer(true, isProbe: true)
        #expect(rules.current.state == .unreachable)
        #expect(rules.noteAnswer(isProbe: true, at: now).isReturn)
    }

    @Test func linksThatComeAndGoElsewhereAreAWeakHint() {
        var rules = online()
        _ = fail(&rules, isProbe: false)
        var probes = 0
        for tenth in 1...3_000 {
            let uptime = Duration.milliseconds(100 * tenth)
            _ = look(&rules, way, after: uptime)
            if let due = rules.probeAt, due <= uptime {
                probes += 1
                rules.beginProbe(uptime: uptime)
                _ = fail(&rules, after: uptime)
            }
        }
        #expect(probes <= 35)
    }

    @Test func connectionsOverAnotherWayAreEnded() {
        var rules = online()
        #expect(look(&rules, otherWay).isOtherWay)
        #expect(!look(&rules, otherWay).isOtherWay)
        // Where the way was not known, it has not changed.
        var vague = online(over: .notKnown(hasNetwork: true))
        #expect(!look(&vague, way).isOtherWay)
    }

    @Test func theNewestReasonStandsAndTheTimeIsThatOfTheState() {
        var rules = online()
        _ = fail(&rules, isProbe: false, after: .seconds(1))
        let silence = UserFacingError(.timedOut, "Network error: the server took too long to answer.")
        _ = fail(&rules, silence, after: .seconds(5))
        #expect(rules.current.reason?.code == .timedOut)
        #expect(rules.current.since == now.advanced(by: .seconds(1)))
    }

    @Test func aServerThatIsAwayForLongIsAskedMoreRarely() throws {
        var rules = online()
        var uptime = Duration.zero
        var longest = Duration.zero
        while uptime < .seconds(12 * 3_600) {
            _ = fail(&rules, after: uptime)
            let wait = try #require(rules.probeAt) - uptime
            #expect(wait <= max(.seconds(60), (uptime - .seconds(600)) / 3) + .milliseconds(1))
            longest = max(longest, wait)
            uptime += wait
            rules.beginProbe(uptime: uptime)
        }
        #expect(longest > .seconds(650) && longest < .seconds(661))
        // A change of the route is followed at once, and what it leads to is no silence of the server's.
        _ = look(&rules, otherWay, after: uptime)
        #expect(try #require(rules.probeAt) <= uptime + .seconds(1))
        _ = fail(&rules, after: uptime)
        #expect(try #require(rules.probeAt) <= uptime + .seconds(1))
        rules.beginProbe(uptime: uptime + .seconds(1))
        #expect(rules.noteAnswer(isProbe: true, at: now).silence == .seconds(1))
    }

    @Test func probesAreCapped() {
        for failures in 1...200 {
            #expect(Backoff.probes.wait(failures: failures, draw: 1) <= .seconds(60))
            #expect(Backoff.probes.wait(failures: failures, draw: 0) >= .milliseconds(800))
        }
    }
}
