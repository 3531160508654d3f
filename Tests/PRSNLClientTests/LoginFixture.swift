import DevServer
import PRSNLCore
import Synchronization
import TestSupport
import Testing

@testable import PRSNLClient

/// A server whose tokens live for half an hour, and a client that is logged in to it, both by clocks that stand still.
final class LoginFixture: Sendable {
    let server: DevServer
    let time = VirtualTime()
    /// Each stored pair, and how many requests the server had seen then.
    let saved = Recorder<(pair: TokenPair, requests: Int)>()
    let log = Recorder<String>()
    let client: PRSNLClient
    let first: TokenPair
    private let failure: Mutex<UserFacingError?> = Mutex(nil)

    /// Why a pair cannot be stored; `nil` where it can.
    var saveFailure: UserFacingError? {
        get { failure.withLock { $0 } }
        set { failure.withLock { $0 = newValue } }
    }

    /// - Parameters:
    ///   - ahead: of the server's clock, before ours.
    ///   - waits: Waiting takes forever, in place of moving the clock.
    init(
        clockAhead ahead: Duration = .zero, waits: Bool = false,
        _ change: (inout DevServer.Configuration) -> Void = { _ in }
    ) throws {
        var configuration = DevServer.Configuration()
        let time = time
        configuration.now = { time.now.advanced(by: ahead) }
        configuration.quirks.capturesPerMinute = nil
        change(&configuration)
        server = try DevServer.start(configuration, items: DevItem.generate(count: 3))
        first = server.issuePair()
        let server = server
        let (saved, log) = (saved, log)
        let box = Box()
        var source = time.source
        if waits { source.sleep = { _ in try await Task.sleep(for: .seconds(86_400)) } }
        client = try PRSNLClient(
            configuration: ClientConfiguration(serverURL: server.url, credentials: .login(first)),
            time: source, seed: 7,
            savePair: { new, _ throws(UserFacingError) in
                if let failure = box.fixture?.saveFailure { throw failure }
                saved.record((new, server.requestCount))
            }, log: { _, _, message in log.record(message.description) })
        box.set(self)
    }

    deinit {
        client.shutdown()
        server.stop()
    }

    private final class Box: Sendable {
        private struct Weak { weak var fixture: LoginFixture? }
        private let value = Mutex(Weak())
        var fixture: LoginFixture? { value.withLock { $0.fixture } }
        func set(_ fixture: LoginFixture) { value.withLock { $0.fixture = fixture } }
    }

    var renewals: Int { server.requests(.refresh).count }

    /// The pair in use.
    var pair: TokenPair? {
        if case .login(let pair) = client.credentials { pair } else { nil }
    }

    @discardableResult
    func read() async throws(APIError) -> TimelinePage {
        try await client.session().timeline(TimelineRequest(.before(nil), limit: 2))
    }

    func write() async throws(APIError) {
        _ = try await client.session().create(
            NewItem(note: "a note"), dialect: .cursor, key: "fake-idempotency-key")
    }

    /// The token in use is about to expire, or has.
    func age(by duration: Duration = .seconds(1_799)) { time.advance(by: duration) }

    /// No token was sent that was not valid at that moment.
    func expectCleanWire(sourceLocation: SourceLocation = #_sourceLocation) {
        for request in server.requests() {
            #expect([.none, .valid].contains(request.token), "\(request.path)", sourceLocation: sourceLocation)
        }
        let secrets = [first.access, first.refresh] + saved.all.flatMap { [$0.pair.access, $0.pair.refresh] }
        for line in log.all {
            #expect(!secrets.contains { line.contains($0) }, "\(line)", sourceLocation: sourceLocation)
        }
    }
}
