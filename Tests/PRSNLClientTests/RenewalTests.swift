import DevServer
import PRSNLCore
import TestSupport
import Testing

@testable import PRSNLClient

/// A login renews itself: over real sockets, with clocks that the tests move.
@Suite struct RenewalTests {
    private static let refused = Fault.answer(
        status: 401, headers: ["content-type": "application/json"],
        body: #"{"detail":"Could not validate credentials"}"#)

    // MARK: Ahead of its end

    @Test func aLoginIsRenewedAheadOfItsOwnEndAndStoredBeforeItIsUsed() async throws {
        let fixture = try LoginFixture()
        try await fixture.read()
        fixture.age(by: .seconds(1_400))
        try await fixture.read()
        #expect(fixture.renewals == 0)
        // `expires_in` says 3600: it is not believed.
        fixture.age(by: .seconds(150))
        let before = fixture.server.requestCount
        #expect(try await fixture.read().items.count == 2)
        #expect(fixture.renewals == 1)
        // The renewal was the last request that the server had seen when the pair was stored; then came the page.
        #expect(fixture.saved.all.map(\.requests) == [before + 1])
        #expect(fixture.server.requestCount == before + 2)
        #expect(fixture.saved.all.last?.pair == fixture.pair)
        fixture.expectCleanWire()
    }

    /// Each renewal that a kill falls into costs the login.
    @Test func aStoredLoginOfShortLifeIsNotRenewedAtEachStart() async throws {
        let fixture = try LoginFixture { $0.tokenLifetime = .seconds(60) }
        // How long a pair without that figure lives is not known.
        try await fixture.read()
        #expect(fixture.renewals == 1)
        let stored = try #require(fixture.saved.all.last?.pair)
        let made = try await fixture.client.login(
            email: DevAccount.owner.email, password: DevAccount.owner.password
        ).pair
        for pair in [stored, made, stored, made, stored] {
            let next = try PRSNLClient(
                configuration: ClientConfiguration(serverURL: fixture.server.url, credentials: .login(pair)),
                time: fixture.time.source)
            _ = try await next.session().timeline(TimelineRequest(.before(nil), limit: 2))
            next.shutdown()
        }
        #expect(fixture.renewals == 1)
    }

    @Test(arguments: [Duration.seconds(86_400), .seconds(-86_400)])
    func theServersClockCountsAndNotOurs(_ ahead: Duration) async throws {
        let fixture = try LoginFixture(clockAhead: ahead)
        #expect(try await fixture.read().items.count == 2)
        #expect(fixture.renewals == 0)
        fixture.age()
        try await fixture.read()
        #expect(fixture.renewals == 1)
        fixture.expectCleanWire()
    }

    @Test func aTokenThatExpiredUnusedIsNeverSent() async throws {
        let fixture = try LoginFixture()
        // As after a night's sleep, with a client that knows nothing of the server yet.
        fixture.age(by: .seconds(30_000))
        #expect(try await fixture.read().items.count == 2)
        try await fixture.write()
        #expect(fixture.renewals == 1)
        fixture.expectCleanWire()
    }

    @Test func aPortalsClockSaysNothingAboutTheToken() async throws {
        let fixture = try LoginFixture()
        let portal = Fault.answer(
            status: 200, headers: ["content-type": "text/html", "date": "Thu, 01 Jan 2015 00:00:00 GMT"],
            body: "<html>welcome</html>")
        // The server's time is unknown yet, and the portal's is not believed.
        fixture.age(by: .seconds(3_600))
        fixture.server.script(portal, on: .health)
        #expect(await apiError { () async throws(APIError) in try await fixture.read() }?.code == .portal)
        #expect(fixture.server.requests(.timeline).isEmpty)
        try await fixture.read()
        // Nor later on.
        fixture.server.script(portal, on: .timeline)
        #expect(await apiError { () async throws(APIError) in try await fixture.read() }?.code == .portal)
        fixture.age(by: .seconds(1_799))
        try await fixture.read()
        #expect(fixture.renewals == 2)
        fixture.expectCleanWire()
    }

    @Test func manyLivesLongTheWireStaysClean() async throws {
        let fixture = try LoginFixture()
        for _ in 0..<200 {
            fixture.age(by: .seconds(300))
            #expect(try await fixture.read().items.count == 2)
        }
        #expect((33...41).contains(fixture.renewals), "\(fixture.renewals)")
        fixture.expectCleanWire()
    }

    @Test func aServerThatCannotRenewYetIsReadWithTheTokenThatIsStillGood() async throws {
        let fixture = try LoginFixture()
        try await fixture.read()
        fixture.server.script(.answer(status: 500, body: #"{"detail":"no"}"#), on: .refresh, times: .max)
        fixture.age(by: .seconds(1_550))
        for _ in 0..<5 { #expect(try await fixture.read().items.count == 2) }
        // Not with every request.
        #expect(fixture.renewals == 1)
        fixture.age(by: .seconds(31))
        #expect(try await fixture.read().items.count == 2)
        #expect(fixture.renewals == 2)
        fixture.age(by: .seconds(300))
        let error = await apiError { () async throws(APIError) in try await fixture.write() }
        #expect(error?.code == .serverError)
        #expect(error?.origin == .renewal)
        #expect(error?.mayHaveReachedServer == false)
        fixture.expectCleanWire()
    }

    @Test(arguments: [300, 60, 10], [Duration.zero, .seconds(86_400), .seconds(-86_400)])
    func aTokenThatLivesShortIsUsedAndRenewedOncePerLife(life: Int, ahead: Duration) async throws {
        let fixture = try LoginFixture(clockAhead: ahead) { $0.tokenLifetime = .seconds(life) }
        // Twenty lives, a request each tenth of one: none is sent with an expired token.
        for turn in 0..<200 {
            let error = await apiError { () async throws(APIError) in
                if turn % 7 == 0 { try await fixture.write() } else { try await fixture.read() }
            }
            #expect(error == nil, "turn \(turn)")
            fixture.age(by: .milliseconds(life * 100))
        }
        #expect((20...40).contains(fixture.renewals), "\(fixture.renewals)")
        fixture.expectCleanWire()
    }

    @Test func aTokenThatSeemsToHaveExpiredWhenItArrivesIsUsedAfterOneRenewal() async throws {
        // The clock behind `Date` and the one that dates tokens differ.
        let fixture = try LoginFixture { $0.tokenLifetime = .seconds(-5) }
        for count in 1...3 {
            try await fixture.read()
            #expect(fixture.renewals == count)
        }
    }

    // MARK: Once

    @Test func aHundredRequestsShareOneRenewal() async throws {
        let fixture = try LoginFixture()
        fixture.age()
        let held = fixture.server.script(.holdAnswer, on: .refresh)
        let all = Task {
            await withTaskGroup(of: Int.self) { group in
                for _ in 0..<100 {
                    group.addTask {
                        do { return try await fixture.read().items.count } catch { return 0 }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
        }
        try await fixture.server.waitForRequest(.refresh)
        held.release()
        #expect(await all.value == Array(repeating: 2, count: 100))
        #expect(fixture.renewals == 1)
        #expect(fixture.saved.all.count == 1)
        fixture.expectCleanWire()
    }

    @Test func aHundredRefusalsLeadToOneRenewal() async throws {
        let fixture = try LoginFixture()
        try await fixture.read()
        fixture.server.script(Self.refused, on: .timeline, times: 100)
        let counts = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    do { return try await fixture.read().items.count } catch { return 0 }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        // Those that asked with the new token and were refused again get the refusal.
        #expect(counts.contains(2))
        #expect(fixture.renewals == 1)
    }

    @Test func aWriteThatIsRefusedIsRepeatedOnceWithARenewedLogin() async throws {
        let fixture = try LoginFixture()
        fixture.server.script(Self.refused, on: .capture)
        try await fixture.write()
        #expect(fixture.renewals == 1)
        #expect(fixture.server.requests(.capture).count == 2)
        #expect(fixture.server.captures.count == 1)
        // And again, because the renewed one has let it in.
        fixture.server.script(Self.refused, on: .capture)
        try await fixture.write()
        #expect(fixture.renewals == 2)
    }

    @Test func aServerThatRefusesWhateverItIsShownIsNotAskedForLoginsForever() async throws {
        let fixture = try LoginFixture()
        fixture.server.script(Self.refused, on: .capture, times: .max)
        for _ in 0..<5 {
            let error = await apiError { () async throws(APIError) in try await fixture.write() }
            #expect(error?.kind == .unauthorized)
        }
        #expect(fixture.renewals == 1)
        #expect(fixture.server.requests(.capture).count == 6)
    }

    @Test func aProxysRefusalSaysNothingAboutTheLogin() async throws {
        let fixture = try LoginFixture()
        let page = Fault.answer(status: 401, headers: ["content-type": "text/html"], body: "<html>log in</html>")
        fixture.server.script(page, on: .timeline)
        #expect(await apiError { () async throws(APIError) in try await fixture.read() }?.kind == .unauthorized)
        #expect(fixture.renewals == 0)
        fixture.age()
        for _ in 0..<3 {
            fixture.server.script(page, on: .refresh)
            #expect(await apiError { () async throws(APIError) in try await fixture.read() }?.kind == .unauthorized)
            #expect(fixture.client.loginStatus?.isRefused == false)
        }
        #expect(fixture.renewals == 3)
        #expect(fixture.log.all.count { $0.contains("could not be renewed") } == 1, "an outage takes many attempts")
        #expect(try await fixture.read().items.count == 2)
    }

    // MARK: Lost answers

    @Test func aRenewalWhoseAnswerWasLostEndsInLogInAgain() async throws {
        let fixture = try LoginFixture()
        fixture.age()
        fixture.server.script(.closeAfterApplying, on: .refresh)
        let error = await apiError { () async throws(APIError) in try await fixture.read() }
        #expect(error?.code == .loginExpired)
        #expect(error?.userFacing.nextCommand == "prsnlctl login")
        #expect(fixture.renewals == 2)
        #expect(fixture.client.loginStatus?.isRefused == true)
        // Nothing is asked any more, and nothing is forgotten.
        let count = fixture.server.requestCount
        for _ in 0..<3 {
            let error = await apiError { () async throws(APIError) in try await fixture.write() }
            #expect(error?.code == .loginExpired)
            #expect(error?.mayHaveReachedServer == false)
        }
        #expect(fixture.server.requestCount == count)
        #expect(fixture.pair == fixture.first)
        // A reload asks once more; a new login is used at once.
        fixture.client.reconsiderLogin()
        #expect(await apiError { () async throws(APIError) in try await fixture.read() }?.code == .loginExpired)
        #expect(fixture.renewals == 3)
        fixture.client.replaceCredentials(.login(fixture.server.issuePair()))
        #expect(try await fixture.read().items.count == 2)
        fixture.expectCleanWire()
    }

    @Test func aRenewalThatDidNotReachTheServerIsRepeated() async throws {
        let fixture = try LoginFixture()
        fixture.age()
        fixture.server.script(.closeBeforeAnswering, on: .refresh)
        #expect(try await fixture.read().items.count == 2)
        #expect(fixture.renewals == 2)
        fixture.expectCleanWire()
    }

    // MARK: What does not end it

    @Test func goingOfflineEndsTheRequestsAndNotTheRenewal() async throws {
        let fixture = try LoginFixture()
        fixture.age()
        let held = fixture.server.script(.holdAnswer, on: .refresh)
        let read = Task { await apiError { () async throws(APIError) in try await fixture.read() } }
        try await fixture.server.waitForRequest(.refresh)
        fixture.client.setOffline(true, ending: true)
        #expect(await read.value?.code == .offline)
        held.release()
        try await eventually("the pair to be stored") { fixture.saved.all.count == 1 }
        fixture.client.setOffline(false, ending: false)
        #expect(try await fixture.read().items.count == 2)
        #expect(fixture.renewals == 1)
        fixture.expectCleanWire()
    }

    @Test func noRenewalIsBegunWithoutANetwork() async throws {
        let fixture = try LoginFixture()
        try await fixture.read()
        fixture.age()
        fixture.client.setOffline(true, ending: true)
        #expect(await apiError { () async throws(APIError) in try await fixture.read() }?.code == .offline)
        #expect(fixture.renewals == 0)
    }

    @Test func whoNoLongerWantsTheAnswerDoesNotEndTheRenewal() async throws {
        let fixture = try LoginFixture()
        fixture.age()
        let held = fixture.server.script(.holdAnswer, on: .refresh)
        let read = Task { await apiError { () async throws(APIError) in try await fixture.read() } }
        try await fixture.server.waitForRequest(.refresh)
        read.cancel()
        #expect(await read.value?.code == .cancelled)
        held.release()
        try await eventually("the pair to be stored") { fixture.saved.all.count == 1 }
        #expect(try await fixture.read().items.count == 2)
        #expect(fixture.renewals == 1)
    }

    @Test func aStopWaitsForTheRenewalAndBeginsNoOther() async throws {
        let fixture = try LoginFixture(waits: true)
        fixture.age()
        let held = fixture.server.script(.holdAnswer, on: .refresh)
        let read = Task { await apiError { () async throws(APIError) in try await fixture.read() } }
        try await fixture.server.waitForRequest(.refresh)
        read.cancel()
        _ = await read.value
        async let stop: Void = fixture.client.finishRenewal(atMost: .seconds(1))
        held.release()
        await stop
        #expect(fixture.saved.all.count == 1)
        fixture.age()
        #expect(await apiError { () async throws(APIError) in try await fixture.read() }?.code == .cancelled)
        #expect(fixture.renewals == 1)
    }

    @Test func aLoginThatIsReplacedWhileItIsRenewedStaysReplaced() async throws {
        let fixture = try LoginFixture()
        fixture.age()
        let held = fixture.server.script(.holdAnswer, on: .refresh)
        let read = Task { await apiError { () async throws(APIError) in try await fixture.read() } }
        try await fixture.server.waitForRequest(.refresh)
        let new = fixture.server.issuePair(for: .other)
        fixture.client.replaceCredentials(.login(new))
        // Nothing that was begun under the old one is sent under the new one.
        #expect(await read.value?.kind == .sessionEnded)
        held.release()
        try await eventually("the late answer to be dropped") {
            fixture.log.all.contains { $0.contains("was dropped") }
        }
        #expect(fixture.pair == new)
        #expect(fixture.saved.all.isEmpty)
        // The same after a logout.
        fixture.age()
        let again = fixture.server.script(.holdAnswer, on: .refresh)
        let second = Task { await apiError { () async throws(APIError) in try await fixture.read() } }
        try await fixture.server.waitForRequest(.refresh, count: 2)
        fixture.client.replaceCredentials(.none)
        #expect(await second.value?.kind == .sessionEnded)
        again.release()
        try await eventually("the late answer to be dropped") {
            fixture.log.all.count { $0.contains("was dropped") } == 2
        }
        #expect(fixture.client.credentials == .none)
    }

    // MARK: Storing

    @Test func aPairThatCannotBeStoredIsUsedAndStoredLater() async throws {
        let fixture = try LoginFixture()
        fixture.saveFailure = UserFacingError(.diskFull, "No space left for the login.")
        fixture.age()
        #expect(try await fixture.read().items.count == 2)
        #expect(fixture.client.loginStatus?.saveFailure?.code == .diskFull)
        #expect(fixture.log.all.contains { $0.contains("could not be stored") })
        // Not with every request, but before long.
        try await fixture.read()
        #expect(fixture.log.all.count { $0.contains("could not be stored") } == 1)
        fixture.saveFailure = nil
        fixture.age(by: .seconds(31))
        try await fixture.read()
        let pair = try #require(fixture.pair)
        #expect(fixture.saved.all.map(\.pair) == [pair])
        #expect(fixture.client.loginStatus?.saveFailure == nil)
        #expect(fixture.renewals == 1)
        fixture.expectCleanWire()
    }

    @Test func aStopTriesToStoreWhatCouldNotBeStored() async throws {
        let fixture = try LoginFixture()
        fixture.saveFailure = UserFacingError(.diskFull, "No space left for the login.")
        fixture.age()
        try await fixture.read()
        fixture.saveFailure = nil
        await fixture.client.finishRenewal(atMost: .seconds(1))
        let pair = try #require(fixture.pair)
        #expect(fixture.saved.all.map(\.pair) == [pair])
    }

    // MARK: In and out

    @Test func aLoginGivesAPairAndTheAccount() async throws {
        let fixture = try LoginFixture()
        let (pair, account) = try await fixture.client.login(
            email: DevAccount.owner.email, password: DevAccount.owner.password)
        #expect(account == Account(id: DevAccount.owner.id, email: DevAccount.owner.email, name: DevAccount.owner.name))
        #expect(fixture.pair == fixture.first)
        fixture.client.replaceCredentials(.login(pair))
        #expect(try await fixture.client.session().account().id == account.id)
        #expect(fixture.client.credentials.subject == account.id)
        try await fixture.client.logout()
        #expect(fixture.server.requests(.path("/api/auth/logout")).map(\.token) == [.valid])
    }

    @Test func aWrongPasswordIsNamedAndShownNowhere() async throws {
        let fixture = try LoginFixture()
        let password = "fake-\"wrong\"-password"
        let error = await apiError { () async throws(APIError) in
            try await fixture.client.login(email: DevAccount.owner.email, password: password)
        }
        #expect(error?.code == .loginFailed)
        #expect(error?.isRetryable == false)
        fixture.server.script(
            .answer(status: 422, body: #"{"detail":[{"loc":["body"],"msg":"bad fake-wrong","input":{}}]}"#), on: .login)
        let other = await apiError { () async throws(APIError) in
            try await fixture.client.login(email: DevAccount.owner.email, password: "fake-wrong")
        }
        #expect(other?.detail?.contains("fake-wrong") == false)
        #expect(fixture.server.requests(.login).count == 2)
    }

    @Test func aLoginTokenFromAFileThatHasExpiredIsNotSent() async throws {
        let fixture = try LoginFixture()
        try await fixture.read()
        fixture.client.replaceCredentials(.loginToken(fixture.server.issueToken()))
        try await fixture.read()
        fixture.age(by: .seconds(1_801))
        #expect(await apiError { () async throws(APIError) in try await fixture.read() }?.code == .loginExpired)
        fixture.expectCleanWire()
    }
}
