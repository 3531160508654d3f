import CLinux
import Glibc
import PRSNLCore
import Synchronization

/// What the listener and its thread share.
final class NetworkBoard: Sendable {
    struct Wishes {
        var isStopping = false
        var isUrgent = false
        /// To be called by the thread, to show that it lives.
        var roundTrips: [@Sendable () -> Void] = []
    }

    private let current = Mutex(NetworkSnapshot())
    private let wishList = Mutex(Wishes())
    private let continuation: AsyncStream<NetworkEvent>.Continuation
    /// Readable where there is a new wish.
    let wake: Int32

    /// - Throws: `limit_reached`.
    init(_ continuation: AsyncStream<NetworkEvent>.Continuation) throws(UserFacingError) {
        self.continuation = continuation
        wake = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
        guard wake >= 0 else {
            throw UserFacingError(
                .limitReached, "The network cannot be listened to: eventfd: \(String(cString: strerror(errno))).")
        }
    }

    deinit { if wake >= 0 { close(wake) } }

    var snapshot: NetworkSnapshot { current.withLock { $0 } }
    var wishes: Wishes { wishList.withLock { $0 } }

    /// Each is taken once.
    func takeRoundTrips() -> [@Sendable () -> Void] {
        wishList.withLock { wishes in
            defer { wishes.roundTrips = [] }
            return wishes.roundTrips
        }
    }

    func wish(_ change: (inout Wishes) -> Void) {
        wishList.withLock { change(&$0) }
        var one: UInt64 = 1
        while write(wake, &one, 8) < 0 && errno == EINTR {}
    }

    /// - Parameter snapshot: `nil` where it could not be read.
    func publish(_ snapshot: NetworkSnapshot?, hasLostEvents: Bool = false, clock: NetworkEvent.Clock? = nil) {
        let old = self.snapshot
        let new = snapshot ?? old
        current.withLock { $0 = new }
        continuation.yield(
            NetworkEvent(snapshot: new, reasons: old.changes(to: new), hasLostEvents: hasLostEvents, clock: clock))
    }

    func finish() { continuation.finish() }
}
