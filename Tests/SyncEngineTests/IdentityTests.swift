import Configuration
import DevServer
import PRSNLClient
import PRSNLCore
import TestSupport
import Testing

@testable import Store
@testable import SyncEngine

@Suite struct IdentityTests {
    private func othersItems(_ count: Int, owner: DevAccount) -> [DevItem] {
        DevItem.generate(count: count, seed: 77, owner: owner.id)
    }

    @Test func aTokenThatExpiresInTheMiddleOfAPullWritesNothingOfTheTestUser() async throws {
        let mine = DevItem.generate(count: 2_500)
        let fixture = try PullFixture(items: mine + othersItems(2_500, owner: .testUser))
        let server = fixture.server
        server.script(.perform { server.expireTokens() }, on: .timeline, skip: 12)
        let token = fixture.credentials
        let result = try await fixture.pull(credentials: token)
        #expect(result.problem?.code == .accountChanged)
        let ids = Set(mine.map(\.id))
        let copied = try fixture.copy().map { String($0.prefix(36)) }
        #expect(!copied.isEmpty && copied.count < 2_500)
        #expect(copied.allSatisfy(ids.contains), "nothing that is not the account's")
        // Expired still: nothing more, and nothing lost.
        #expect(try await fixture.pull(full: true, credentials: token).problem?.code == .accountChanged)
        #expect(try fixture.copy().count == copied.count)
        #expect(try fixture.query("SELECT count(*) FROM item WHERE missing_since IS NOT NULL") == "0")
        // A new login goes on where it was.
        #expect(try await fixture.pull().isComplete)
        try fixture.expectExact()
    }

    @Test func anExpiredTokenBeforeTheFirstPullBindsTheCopyToNoOtherAccount() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 300) + othersItems(5, owner: .testUser))
        try await fixture.pull()
        let old = fixture.credentials
        fixture.server.expireTokens()
        #expect(try await fixture.pull(credentials: old).problem?.code == .accountChanged)
        try fixture.expectExact()
    }

    @Test func aNewLoginIsUsedWithoutARestart() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 300) + othersItems(5, owner: .testUser))
        try await fixture.pull()
        let store = try Store(path: fixture.path)
        let old = fixture.credentials
        fixture.server.expireTokens()
        let client = try PRSNLClient(
            configuration: ClientConfiguration(serverURL: fixture.server.url, credentials: old),
            time: fixture.time.source)
        let engine = SyncEngine(store: store, client: client, serverURL: fixture.server.url, time: fixture.time.source)
        fixture.time.stand()
        let run = Task { await engine.run() }
        #expect(await engine.sync(SyncRequest()).problem?.code == .accountChanged)
        fixture.server.addNew(count: 3)
        client.replaceCredentials(fixture.credentials)
        engine.apply(SyncSettings())
        #expect(await engine.sync(SyncRequest()).isComplete)
        run.cancel()
        await run.value
        client.shutdown()
        await store.close()
        try fixture.expectExact()
    }

    @Test func anotherAccountsTokenIsRefused() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 300) + othersItems(300, owner: .other))
        try await fixture.pull()
        let other = Credentials.loginToken(fixture.server.issueToken(for: .other))
        #expect(try await fixture.pull(full: true, credentials: other).problem?.code == .accountChanged)
        try fixture.expectExact()
    }

    @Test func anotherAccountWithoutAnyItemsDeletesNothing() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 300))
        try await fixture.pull()
        let other = Credentials.loginToken(fixture.server.issueToken(for: .other))
        let result = try await fixture.pull(full: true, credentials: other)
        #expect(result.problem?.code == .accountChanged)
        #expect(try fixture.query("SELECT count(*) FROM item WHERE missing_since IS NOT NULL") == "0")
        try fixture.expectExact()
    }

    @Test func aKeyOnDialectCNeedsALoginAndWritesNothing() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 300))
        let result = try await fixture.pull(credentials: .apiKey("fake-key-for-nothing"))
        #expect(result.problem?.code == .needsLogin)
        #expect(try fixture.query("SELECT count(*) FROM item") == "0")
        #expect(try fixture.query("SELECT server_url FROM copy") == nil)
    }

    @Test func withoutCredentialsEverybodysItemsAreCopiedWhereThatIsAskedForAndALoginIsThenRefused() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 200) + othersItems(100, owner: .other))
        #expect(try await fixture.pull(credentials: Credentials.none, anonymous: true).isComplete)
        #expect(try fixture.copy().count == 300)
        #expect(try await fixture.pull(credentials: Credentials.none).problem?.code == .needsLogin)
        #expect(try await fixture.pull().problem?.code == .accountChanged)
        #expect(try fixture.copy().count == 300)
    }

    @Test func withoutCredentialsNothingIsWrittenAndNothingIsBound() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 200) + othersItems(100, owner: .other))
        let problem = try #require(try await fixture.pull(credentials: Credentials.none).problem)
        #expect(problem.code == .needsLogin)
        #expect(problem.nextCommand == "prsnlctl login --server \(fixture.server.url)")
        #expect(try fixture.query("SELECT count(*) FROM item") == "0")
        #expect(try fixture.query("SELECT server_url FROM copy") == nil)
        #expect(try await fixture.pull().isComplete)
        try fixture.expectExact()
    }

    @Test func aLogoutBeforeTheFirstPageIsAnsweredBindsTheCopyToNoAccount() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 200) + othersItems(100, owner: .other))
        let hold = fixture.server.script(.hold, on: .timeline)
        let store = try Store(path: fixture.path)
        let client = try PRSNLClient(
            configuration: ClientConfiguration(serverURL: fixture.server.url, credentials: fixture.credentials),
            time: fixture.time.source)
        let engine = SyncEngine(
            store: store, client: client, serverURL: fixture.server.url, time: fixture.time.source)
        let pull = Task { await engine.runOnce() }
        try await fixture.server.waitForRequest(.timeline, count: 1)
        client.replaceCredentials(.none)
        hold.release()
        #expect(await pull.value.problem != nil)
        #expect(await engine.runOnce().problem?.code == .needsLogin)
        #expect(store.binding == Binding())
        client.shutdown()
        await store.close()
        #expect(try fixture.query("SELECT count(*) FROM item") == "0")
    }

    @Test(arguments: [Dialect.page, .express])
    func aRefusedKeyWritesNothing(_ dialect: Dialect) async throws {
        let fixture = try PullFixture(dialect, items: DevItem.generate(count: 30))
        let result = try await fixture.pull(credentials: .apiKey("fake-wrong-key"))
        #expect([.unauthorized, .forbidden].contains(try #require(result.problem?.code)))
        #expect(try fixture.query("SELECT count(*) FROM item") == "0")
    }

    @Test func aKeyThatIsOnlyTakenAsBearerWorks() async throws {
        let fixture = try PullFixture(.page, items: DevItem.generate(count: 30)) {
            $0.quirks.bearerKeysOnly = true
        }
        #expect(try await fixture.pull().isComplete)
        try fixture.expectExact()
    }
}
