import Configuration
import PRSNLCore
import Synchronization

/// What other tasks see and say.
struct EngineNews {
    var settings: SyncSettings
    var state = EngineState()
    var requests: [RequestedPull] = []
    var isReloaded = false
    /// Something was delivered that a look at the newest items would show.
    var wantsHead = false
    /// The server is back after it was away.
    var hasReturned = false
    /// Until when pulls let the outbox go first (uptime).
    var holdsUntil: Duration?
}

struct RequestedPull {
    var request: SyncRequest
    var answer: CheckedContinuation<SyncResult, Never>
}

/// In an object, so that the replayer's callbacks need not hold the engine.
final class EngineNewsBox: Sendable {
    let value: Mutex<EngineNews>
    init(_ shared: EngineNews) { value = Mutex(shared) }
    func withLock<Result>(_ body: (inout sending EngineNews) -> sending Result) -> sending Result {
        value.withLock(body)
    }
}

/// Where the pull under way writes its progress: apart from the engine, which owns the pull.
final class ProgressBoard: Sendable {
    private let value = Mutex<EngineState.Progress?>(nil)
    var progress: EngineState.Progress? { value.withLock { $0 } }
    func set(_ progress: EngineState.Progress?) { value.withLock { $0 = progress } }
}
