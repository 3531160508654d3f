import Synchronization

@testable import NetMonitor

/// A kernel that says what a test wants it to.
final class ScriptedNetwork: Sendable {
    private let verdict = Mutex(RouteState.routable(path: "192.0.2.2 over v0"))
    private let urgent = Mutex(false)
    private let (events, continuation) = AsyncStream<NetworkEvent>.makeStream()

    var source: NetworkSource {
        NetworkSource(
            how: .netlink, events: events, snapshot: { NetworkSnapshot() },
            route: { [weak self] _ in self?.verdict.withLock { $0 } ?? .notKnown(hasNetwork: true) },
            setUrgent: { [weak self] isUrgent in self?.urgent.withLock { $0 = isUrgent } },
            stop: { [weak self] in self?.continuation.finish() })
    }

    /// Whether the monitor is offline, and all that it tells of that were told.
    var isUrgent: Bool { urgent.withLock { $0 } }

    init(isUp: Bool = true) {
        // What a listener says first is the state at the start.
        if !isUp { verdict.withLock { $0 = .unroutable(reason: "v0: carrier lost") } }
        continuation.yield(NetworkEvent(snapshot: NetworkSnapshot()))
    }

    func goDown() {
        verdict.withLock { $0 = .unroutable(reason: "v0: carrier lost") }
        continuation.yield(NetworkEvent(snapshot: NetworkSnapshot(), reasons: ["v0: carrier lost"]))
    }

    func comeUp() {
        verdict.withLock { $0 = .routable(path: "192.0.2.2 over v0") }
        continuation.yield(NetworkEvent(snapshot: NetworkSnapshot(), reasons: ["v0: carrier found"]))
    }

    /// The route to the server leads over another link.
    func changeWay() {
        verdict.withLock { $0 = .routable(path: "198.51.100.7 over w0") }
        continuation.yield(NetworkEvent(snapshot: NetworkSnapshot(), reasons: ["w0: carrier found"]))
    }

    /// Something changes that the route to the server does not depend on.
    func changeSomething() {
        continuation.yield(NetworkEvent(snapshot: NetworkSnapshot(), reasons: ["docker0: link added"]))
    }

    func tellClock(_ clock: NetworkEvent.Clock) {
        continuation.yield(NetworkEvent(snapshot: NetworkSnapshot(), clock: clock))
    }
}
