import DevServer
import PRSNLClient
import PRSNLCore
import TestSupport
import Testing

@testable import Store
@testable import SyncEngine

/// A copy and the login that it is synced with.
@Suite struct LoginTests {
    private func fixture(_ items: Int = 300) throws -> PullFixture {
        try PullFixture(
            items: DevItem.generate(count: items) + DevItem.generate(count: 5, seed: 77, owner: DevAccount.testUser.id))
    }

    private func login(_ fixture: PullFixture, _ account: DevAccount = .owner, life: Duration? = nil) -> Credentials {
        .login(fixture.server.issuePair(for: account, lifetime: life))
    }

    @Test func theAccountAndTheTokensSubjectArePinnedAtTheFirstSync() async throws {
        let fixture = try fixture()
        #expect(try await fixture.pull(credentials: login(fixture)).isComplete)
        #expect(try fixture.query("SELECT account_id FROM copy") == DevAccount.owner.id)
        #expect(try fixture.query("SELECT account_subject FROM copy") == DevAccount.owner.id)
        try fixture.expectExact()
    }

    @Test func aCopyOfAnEarlierVersionLearnsTheSubjectWithTheNextProof() async throws {
        let fixture = try fixture()
        try await fixture.pull(credentials: login(fixture))
        let store = try Store(path: fixture.path)
        try await store.forgetSubject()
        await store.close()
        #expect(try fixture.query("SELECT account_subject FROM copy") == nil)
        fixture.server.addNew()
        #expect(try await fixture.pull(credentials: login(fixture)).isComplete)
        #expect(try fixture.query("SELECT account_subject FROM copy") == DevAccount.owner.id)
        try fixture.expectExact()
    }

    @Test func anotherAccountsLoginIsRefusedBeforeAnythingIsAsked() async throws {
        let fixture = try fixture()
        try await fixture.pull(credentials: login(fixture))
        let count = fixture.server.requestCount
        let result = try await fixture.pull(full: true, credentials: login(fixture, .other))
        #expect(result.problem?.code == .accountChanged)
        #expect(result.problem?.recoverySuggestion.description.contains("prsnlctl account --accept-new") == true)
        #expect(fixture.server.requestCount == count)
        try fixture.expectExact()
    }

    @Test func afterALogoutNothingIsAskedAndNothingIsWritten() async throws {
        let fixture = try fixture()
        try await fixture.pull(credentials: login(fixture))
        try await fixture.accept(WriteDraft.note("a note"))
        let count = fixture.server.requestCount
        let result = try await fixture.pull(full: true, credentials: Credentials.none)
        #expect(result.problem?.code == .needsLogin)
        #expect(fixture.server.requestCount == count)
        #expect(try fixture.states() == [.queued])
        #expect(try await fixture.pull(credentials: login(fixture)).problem == nil)
        #expect(try fixture.states() == [.delivered])
    }

    @Test func aLoginThatIsRefusedStopsTheQueueAndCostsNoAttempt() async throws {
        let fixture = try fixture()
        try await fixture.pull(credentials: login(fixture))
        try await fixture.accept([WriteDraft.note("a note"), WriteDraft.url("https://example.com/a")])
        let expired = login(fixture, life: .zero)
        fixture.server.revokeRefreshTokens()
        fixture.server.clearLog()
        try await fixture.withEngine(credentials: expired) { engine, _ in
            for _ in 0..<3 { #expect(await engine.runOnce().problem?.code == .loginExpired) }
            #expect(engine.state.connectivity.state == .unauthorized)
        }
        // One renewal, and not a request more.
        #expect(fixture.server.requestCounts() == ["GET /api/health": 1, "POST /api/auth/refresh": 1])
        #expect(try fixture.states() == [.queued, .queued])
        #expect(try fixture.query("SELECT sum(attempts) FROM outbox") == "0")
        #expect(try await fixture.pull(credentials: login(fixture)).problem == nil)
        #expect(try fixture.states() == [.delivered, .delivered])
        #expect(fixture.server.captures.count == 2)
    }

    @Test func aTokenThatTheServerDoesNotKnowIsRenewed() async throws {
        let fixture = try fixture()
        try await fixture.pull(credentials: login(fixture))
        let stale = login(fixture)
        // By its own word it is good for long; the server has forgotten it, and shows the test user's items.
        fixture.server.expireTokens()
        fixture.server.addNew()
        try await fixture.withEngine(credentials: stale) { engine, _ in
            #expect(await engine.runOnce().problem?.code == .accountChanged)
            #expect(await engine.runOnce().isComplete)
        }
        #expect(fixture.server.requests(.refresh).count == 1)
        try fixture.expectExact()
    }

    @Test func aRenewedLoginThatOnlyReadsIsTrustedOnceTheServerNamesItsAccount() async throws {
        let fixture = try fixture()
        try await fixture.pull(credentials: login(fixture))
        try await fixture.withEngine(credentials: login(fixture)) { engine, _ in
            for life in 1...3 {
                fixture.server.expireTokens()
                fixture.server.addNew()
                #expect(await engine.runOnce().problem?.code == .accountChanged)
                #expect(await engine.runOnce().isComplete)
                #expect(fixture.server.requests(.refresh).count == life)
            }
        }
        try fixture.expectExact()
    }

    @Test func aServerThatKeepsTakingTheLoginForAnothersIsNotAskedForNewOnesForever() async throws {
        let fixture = try fixture()
        try await fixture.pull(credentials: login(fixture))
        let mine = login(fixture)
        fixture.server.addNew()
        fixture.server.script(
            .perform { fixture.server.reassignTokens(to: .testUser) }, on: .timeline, times: .max)
        try await fixture.withEngine(credentials: mine) { engine, _ in
            for _ in 0..<4 { #expect(await engine.runOnce().problem?.code == .accountChanged) }
        }
        #expect(fixture.server.requests(.refresh).count == 1)
        #expect(try fixture.query("SELECT count(*) FROM item") == "300")
    }

    // MARK: While something is under way

    /// What the server was asked, by endpoint, between two moments.
    private func asked(_ server: DevServer, since before: [String: Int]) -> [String: Int] {
        server.requestCounts().merging(before) { $0 - $1 }.filter { $0.value > 0 }
    }

    @Test func aLoginOfAnotherAccountEndsTheTextsAtOnce() async throws {
        let fixture = try PullFixture.withTexts(count: 60)
        try await fixture.pull(credentials: login(fixture))
        let hold = fixture.server.script(.hold, on: .item, times: .max, skip: 3)
        let process = try DaemonProcess(fixture)
        fixture.time.stand()
        let engine = process.engine
        let run = Task { await engine.run() }
        let wish = Task { await engine.sync(SyncRequest(texts: true)) }
        try await fixture.server.waitForRequest(.item, count: 3 + TextPull.inHurry)
        let before = fixture.server.requestCounts()
        process.client.replaceCredentials(login(fixture, .other))
        engine.credentialsChanged()
        hold.release()
        #expect(await wish.value.problem?.code == .accountChanged)
        try await eventually("the refusal") { engine.state.problem?.code == .accountChanged }
        #expect(engine.state.pull == nil)
        #expect(engine.state.connectivity.state == .unauthorized)
        #expect(asked(fixture.server, since: before) == [:])
        // The copy's own account again: nothing that was said of the other login is said of this one.
        process.client.replaceCredentials(login(fixture))
        engine.credentialsChanged()
        #expect(await engine.sync(SyncRequest(texts: true)).problem == nil)
        run.cancel()
        await run.value
        await process.abandon()
        try fixture.expectTexts()
    }

    /// The outbox finds out that the server takes the login for another account's, while texts are fetched with it.
    @Test func aLoginThatTheServerTakesForAnothersEndsTheTextsAndOnlyTheAccountIsAskedFor() async throws {
        let fixture = try PullFixture.withTexts(count: 60)
        try await fixture.pull()
        let hold = fixture.server.script(.hold, on: .item, times: .max, skip: 3)
        let process = try DaemonProcess(fixture)
        fixture.time.stand()
        let engine = process.engine
        let run = Task { await engine.run() }
        let wish = Task { await engine.sync(SyncRequest(texts: true)) }
        try await fixture.server.waitForRequest(.item, count: 3 + TextPull.inHurry)
        fixture.server.reassignTokens(to: .other)
        let before = fixture.server.requestCounts()
        _ = try await process.store.accept([WriteDraft.note("a note")], now: fixture.time.now)
        engine.writesAccepted()
        try await eventually("the refusal") { engine.state.connectivity.state == .unauthorized }
        #expect(engine.state.problem?.code == .accountChanged)
        // The outbox may not rest yet: texts give way to it, for some seconds that have to pass.
        fixture.time.stop(after: fixture.time.elapsed + .seconds(60)) {}
        hold.release()
        #expect(await wish.value.problem?.code == .accountChanged)
        #expect(engine.state.problem?.code == .accountChanged)
        #expect(await engine.sync(SyncRequest(full: true)).problem?.code == .accountChanged)
        #expect(Set(asked(fixture.server, since: before).keys) == ["GET /api/auth/me"])
        // It takes it for the right one again.
        fixture.server.reassignTokens(to: .owner)
        #expect(await engine.sync(SyncRequest()).problem == nil)
        run.cancel()
        await run.value
        await process.abandon()
    }

    /// A person's own wish of a moment ago does not keep it from being heard that the server lets in again.
    @Test func whatWaitsGoesWhenTheServerLetsInAgain() async throws {
        let fixture = try fixture(5)
        try await fixture.pull(credentials: login(fixture))
        let process = try DaemonProcess(fixture)
        fixture.time.stand()
        let engine = process.engine
        let run = Task { await engine.run() }
        fixture.server.reassignTokens(to: .other)
        _ = try await process.store.accept([WriteDraft.note("a note")], now: fixture.time.now)
        engine.writesAccepted()
        try await eventually("the refusal") { engine.state.connectivity.state == .unauthorized }
        try await eventually("the pause") { engine.state.blocker != nil }
        engine.writesAccepted(manual: true)
        #expect(await engine.sync(SyncRequest()).problem?.code == .accountChanged)
        try await eventually("the pause") { engine.state.blocker != nil }
        fixture.server.reassignTokens(to: .owner)
        #expect(await engine.sync(SyncRequest()).problem == nil)
        try await eventually("the delivery") { try fixture.states() == [.delivered] }
        #expect(fixture.time.elapsed == .zero)
        run.cancel()
        await run.value
        await process.abandon()
    }

    @Test func aLoginOfAnotherAccountEndsTheQuestionsAboutMissingItemsAtOnce() async throws {
        let fixture = try fixture(200)
        try await fixture.pull(credentials: login(fixture))
        for item in fixture.server.items(owner: DevAccount.owner.id).prefix(2) { fixture.server.hide(item.id) }
        let hold = fixture.server.script(.hold, on: .item)
        let process = try DaemonProcess(fixture)
        fixture.time.stand()
        let engine = process.engine
        let run = Task { await engine.run() }
        let wish = Task { await engine.sync(SyncRequest(full: true)) }
        try await fixture.server.waitForRequest(.item, count: 1)
        let before = fixture.server.requestCounts()
        process.client.replaceCredentials(login(fixture, .other))
        engine.credentialsChanged()
        hold.release()
        #expect(await wish.value.problem?.code == .accountChanged)
        #expect(asked(fixture.server, since: before) == [:])
        run.cancel()
        await run.value
        await process.abandon()
    }
}

extension Store {
    /// As a version without the column has left it.
    fileprivate func forgetSubject() throws(UserFacingError) {
        try write { connection in
            try connection.execute("UPDATE copy SET account_subject = NULL")
        }
    }
}
