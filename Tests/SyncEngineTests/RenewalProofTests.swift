import Configuration
import DevServer
import PRSNLCore
import TestSupport
import Testing

@testable import PRSNLClient
@testable import Store
@testable import SyncEngine

/// A login that the server takes for another's, and that is renewed or replaced before the proof: what it has read is
/// not proven by the new one.
@Suite struct RenewalProofTests {
    /// The server says so when it is asked who that is, and the client renews the login within that very question.
    private func fixture(_ count: Int = 300) throws -> PullFixture {
        try PullFixture(
            items: DevItem.generate(count: count)
                + DevItem.generate(count: count, seed: 77, owner: DevAccount.testUser.id)
        ) {
            $0.quirks.accountRefusesBadTokens = true
            $0.quirks.hidesOthersItems = true
            $0.quirks.patchFails = false
        }
    }

    private func login(_ fixture: PullFixture, _ account: DevAccount = .owner) -> Credentials {
        .login(fixture.server.issuePair(for: account))
    }

    /// From its next such request on, the server has forgotten the token.
    private func forgetToken(_ fixture: PullFixture, at matcher: RequestMatcher, skip: Int = 0) {
        let server = fixture.server
        server.script(.perform { server.expireTokens() }, on: matcher, skip: skip)
    }

    @Test func aPageThatWasReadBeforeTheRenewalIsReadAgain() async throws {
        let fixture = try fixture()
        try await fixture.pull(credentials: login(fixture))
        fixture.server.addNew(count: 3)
        forgetToken(fixture, at: .timeline)
        #expect(try await fixture.pull(credentials: login(fixture)).isComplete)
        #expect(fixture.server.requests(.refresh).count == 1)
        try fixture.expectExact()
        try fixture.expectSound()
    }

    @Test(arguments: [0, 1, 2, 7, 20])
    func aBackfillGoesOnWithTheRenewedLogin(pagesBefore: Int) async throws {
        let fixture = try fixture(2_500)
        forgetToken(fixture, at: .timeline, skip: pagesBefore)
        #expect(try await fixture.pull(credentials: login(fixture)).isComplete)
        #expect(fixture.server.requests(.refresh).count == 1)
        #expect(try fixture.query("SELECT account_id FROM copy") == DevAccount.owner.id)
        try fixture.expectExact()
    }

    @Test func aSweepThatSpansARenewalMissesNothing() async throws {
        let fixture = try fixture(1_500)
        try await fixture.pull(credentials: login(fixture))
        forgetToken(fixture, at: .timeline, skip: 4)
        #expect(try await fixture.pull(full: true, credentials: login(fixture)).isComplete)
        #expect(try fixture.query("SELECT count(*) FROM item WHERE missing_since IS NOT NULL") == "0")
        try fixture.expectExact()
    }

    @Test func aPassOfTwoKeysIsNotOne() async throws {
        var second = DevAccount.owner
        second.apiKey = "fake-second-key-of-the-owner"
        let accounts = [DevAccount.owner, second]
        let undisturbed = try PullFixture(.page, items: DevItem.generate(count: 450)) { $0.accounts = accounts }
        try await undisturbed.pull()
        let fixture = try PullFixture(.page, items: DevItem.generate(count: 450)) { $0.accounts = accounts }
        try await withClient(fixture, fixture.credentials) { client, engine in
            fixture.server.script(
                .perform { client.replaceCredentials(.apiKey(accounts[1].apiKey)) }, on: .timeline, skip: 2)
            #expect(await engine.runOnce().isComplete)
            #expect(client.credentials == .apiKey(accounts[1].apiKey))
        }
        // Read from the start again.
        let pages = undisturbed.server.requests(.timeline).count
        #expect(fixture.server.requests(.timeline).count > pages)
        try fixture.expectExact()
    }

    @Test func anItemThatAnotherLoginDidNotSeeIsNotBuried() async throws {
        let fixture = try fixture()
        try await fixture.pull(credentials: login(fixture))
        let store = try Store(path: fixture.path)
        try await store.suspectOne()
        try await withClient(fixture, login(fixture), store) { client, _ in
            let check = AbsenceCheck(
                store: store, identity: identity(store, client, fixture), time: fixture.time.source,
                requests: RequestCounter())
            var record = PullRecord(kind: .check, startedAt: fixture.time.now)
            forgetToken(fixture, at: .item)
            await #expect(throws: SyncFailure.self) {
                var record = PullRecord(kind: .check, startedAt: fixture.time.now)
                _ = try await check.run(&record, accepted: false, manual: false)
            }
            #expect(fixture.server.requests(.refresh).count == 1)
            _ = try await check.run(&record, accepted: false, manual: false)
            #expect(record.deleted == 0)
        }
        try fixture.expectExact()
    }

    @Test func anEditOfAnItemThatAnotherLoginDidNotSeeIsDelivered() async throws {
        let fixture = try fixture()
        try await fixture.pull(credentials: login(fixture))
        let item = fixture.server.items(owner: DevAccount.owner.id)[0]
        try await fixture.accept(.edit(item: item.id, ItemEdit(title: "Mine")))
        forgetToken(fixture, at: .item)
        #expect(try await fixture.pull(credentials: login(fixture)).isComplete)
        #expect(try fixture.outbox() == ["#1 edit delivered"])
        #expect(fixture.server.item(item.id)?.title == "Mine")
        try fixture.expectExact()
    }

    @Test func aNoteIsSentWithTheLoginThatWasProvenOrNotAtAll() async throws {
        let fixture = try fixture()
        try await fixture.pull(credentials: login(fixture))
        try await fixture.accept(.note("a secret of the owner's"))
        let other = login(fixture, .other)
        try await withClient(fixture, login(fixture)) { client, engine in
            // A person logs in as another account while the note is being prepared.
            fixture.server.script(.perform { client.replaceCredentials(other) }, on: .timeline)
            #expect(await engine.runOnce().problem?.code == .accountChanged)
        }
        #expect(fixture.server.captures.isEmpty)
        #expect(try fixture.states() == [.queued])
        #expect(try await fixture.pull(credentials: login(fixture)).isComplete)
        #expect(try fixture.states() == [.delivered])
    }

    @Test func writesThatAreRefusedWhateverTheLoginAreNotTriedForever() async throws {
        let fixture = try fixture()
        try await fixture.pull(credentials: login(fixture))
        try await fixture.accept(.url("https://example.org/a"))
        fixture.server.script(
            .answer(
                status: 401, headers: ["content-type": "application/json"],
                body: #"{"detail":"Could not validate credentials"}"#), on: .capture, times: .max)
        try await fixture.pull(credentials: login(fixture))
        #expect(fixture.server.requests(.capture).count < 6)
        #expect(try fixture.states() == [.queued])
    }

    // MARK: Whom the copy is bound to

    @Test func aFirstSyncBindsTheCopyOnlyToTheAccountOfTheToken() async throws {
        let fixture = try fixture(trusting: true)
        let stale = login(fixture)
        fixture.server.expireTokens()
        try await withClient(fixture, stale) { _, engine in
            #expect(await engine.runOnce().problem?.code == .loginExpired)
            let bound = try fixture.query("SELECT account_id FROM copy")
            #expect(bound == nil)
            #expect(await engine.runOnce().isComplete)
        }
        #expect(try fixture.query("SELECT account_id FROM copy") == DevAccount.owner.id)
        try fixture.expectExact()
        // A token that cannot be renewed stays refused.
        let second = try self.fixture(trusting: true)
        let token = second.credentials
        second.server.expireTokens()
        for _ in 0..<2 {
            #expect(try await second.pull(credentials: token).problem?.code == .loginExpired)
        }
        #expect(try second.query("SELECT count(*) FROM item") == "0")
    }

    @Test func everyTokenThatTheServerForgetsIsRenewedThoughNothingIsEverWritten() async throws {
        let fixture = try fixture(trusting: true)
        try await withClient(fixture, login(fixture)) { _, engine in
            #expect(await engine.runOnce().isComplete)
            for _ in 0..<3 {
                fixture.server.expireTokens()
                fixture.server.addNew()
                #expect(await engine.runOnce().problem?.code == .accountChanged)
                #expect(await engine.runOnce().isComplete)
            }
        }
        #expect(fixture.server.requests(.refresh).count == 3)
        try fixture.expectExact()
    }

    @Test(arguments: [
        ("0b1ac6f1-6a4e-4d0c-9a55-3f0f4b2f7a01", false), ("0B1AC6F1-6A4E-4D0C-9A55-3F0F4B2F7A01", false),
        ("e03c9686-09b0-4a06-b236-d0839ac7f5df", true), ("Owner@prsnl.example", false), ("test@prsnl.example", true),
        ("oauth|17", false), ("17", false),
    ])
    func onlyASubjectOfAFormThatIsKnownContradicts(subject: String, isAnother: Bool) {
        let account = Account(id: DevAccount.owner.id, email: DevAccount.owner.email, name: nil)
        #expect(account.isCertainlyNot(subject) == isAnother)
        #expect(Account(id: "16", email: nil, name: nil).isCertainlyNot("17"))
    }

    // MARK: -

    /// A server that names its test user rather than refuse to say who that is.
    private func fixture(trusting: Bool) throws -> PullFixture {
        try PullFixture(
            items: DevItem.generate(count: 300)
                + DevItem.generate(count: 5, seed: 77, owner: DevAccount.testUser.id))
    }

    private func identity(_ store: Store, _ client: PRSNLClient, _ fixture: PullFixture) -> Identity {
        Identity(
            store: store, client: client, serverURL: fixture.server.url, shared: EngineSharedState(SyncSettings()),
            log: { _, _, _ in })
    }

    private func withClient(
        _ fixture: PullFixture, _ credentials: Credentials, _ opened: Store? = nil,
        _ body: (PRSNLClient, SyncEngine) async throws -> Void
    ) async throws {
        let store = try opened ?? Store(path: fixture.path)
        let client = try PRSNLClient(
            configuration: ClientConfiguration(serverURL: fixture.server.url, credentials: credentials),
            time: fixture.time.source, seed: 7)
        let engine = SyncEngine(
            store: store, client: client, serverURL: fixture.server.url, time: fixture.time.source, seed: 7)
        do {
            try await body(client, engine)
        } catch {
            client.shutdown()
            await store.close()
            throw error
        }
        client.shutdown()
        await store.close()
    }
}

extension Store {
    /// As a sweep leaves an item that it has not seen.
    fileprivate func suspectOne() throws(UserFacingError) {
        try write { connection in
            try connection.execute(
                """
                UPDATE copy SET swept_at = '2030-01-01T00:00:00.000000Z';
                UPDATE item SET missing_since = created_at WHERE id = (SELECT min(id) FROM item)
                """)
        }
    }
}
