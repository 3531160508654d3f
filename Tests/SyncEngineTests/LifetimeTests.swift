import DevServer
import PRSNLClient
import PRSNLCore
import TestSupport
import Testing

@testable import Store
@testable import SyncEngine

/// What an engine and its parts start ends with them.
struct LifetimeTests {
    @Test func anEngineThatWasUsedLeavesNoThreadAndNoDescriptor() async throws {
        try await expectNothingLeft(threads: "prsnl-http", "devserver") {
            let fixture = try PullFixture(items: DevItem.generate(count: 3, seed: 1))
            try await fixture.pull()
            try await fixture.accept(.note("A note"))
            try await fixture.run(for: .seconds(60))
        }
    }

    /// As after an error on the way: the parts are only let go of.
    @Test func anEngineThatIsLetGoOfLeavesNothingEither() async throws {
        let fixture = try PullFixture()
        try await expectNothingLeft(threads: "prsnl-http") {
            weak var network: AnyObject?
            do {
                let process = try DaemonProcess(fixture)
                network = process.engine.network
                _ = await process.engine.runOnce()
            }
            #expect(network == nil, "engine, network and replayer hold each other")
        }
    }

    @Test func theRealNetworkEndsWithItsEngine() async throws {
        let fixture = try PullFixture()
        try await expectNothingLeft(threads: "prsnl-http", "prsnl-net") {
            try await fixture.withEngine(source: .kernel()) { engine, _ in _ = await engine.runOnce() }
        }
    }
}
