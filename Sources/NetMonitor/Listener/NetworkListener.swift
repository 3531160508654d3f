import CLinux
import Glibc
package import PRSNLCore
import Synchronization

/// Tells what changes in the network and on the clock: reads the whole state again at every hint of the kernel's, and says
/// what is different and why. It knows nothing of servers.
///
/// It has a thread of its own, which sleeps until the kernel says something. The network is that of the thread which makes
/// the listener (network_namespaces(7)).
package final class NetworkListener: Sendable {
    package let how: NetworkSource.How
    /// One consumer. The first event is the state at the start. After a hint there is an event even where no link, address
    /// or default route has changed, because the route to a server may have; where netlink is not permitted, there is one
    /// at every dump, for the same reason, with an empty snapshot.
    package let events: AsyncStream<NetworkEvent>

    private let shared: NetworkSharedState
    private let thread: WorkerThread

    /// - Parameter receiveBuffer: bytes, for tests of lost events; the kernel's own measure by default.
    /// - Throws: `limit_reached`.
    package convenience init(
        receiveBuffer: Int32? = nil, log: @escaping LogHandler = { _, _, _ in }
    ) throws(UserFacingError) {
        try self.init(kernel: .real(receiveBuffer: receiveBuffer), log: log)
    }

    init(kernel: NetworkKernel, log: @escaping LogHandler = { _, _, _ in }) throws(UserFacingError) {
        let (events, continuation) = AsyncStream<NetworkEvent>.makeStream(bufferingPolicy: .bufferingNewest(64))
        self.events = events
        let shared = try NetworkSharedState(continuation)
        self.shared = shared
        var hints: NetlinkSocket?
        var first: NetworkSnapshot?
        do throws(NetlinkSocket.Failure) {
            // Hints first: what changes during the first dump is then not missed. The dump is made here and not by the
            // thread, because a sandbox may let us listen and not ask.
            hints = try kernel.listen()
            first = try kernel.snapshot()
            how = .netlink
        } catch {
            switch error {
            case .interrupted, .lost: how = .netlink
            case .notPermitted(let code), .refused(let code):
                how = .polling(errno: code)
                hints = nil
                log(
                    .warning, .net,
                    "netlink is not permitted (\(String(cString: strerror(code)))); looking now and then")
            }
        }
        shared.publish(first ?? NetworkSnapshot())
        let loop = ListenerLoop(kernel: kernel, hints: hints, shared: shared, isKnown: first != nil, log: log)
        thread = WorkerThread(name: "prsnl-net") { loop.run() }
    }

    deinit { stop() }

    /// The state at the last dump; empty where the kernel cannot be asked.
    package var snapshot: NetworkSnapshot { shared.snapshot }

    /// Whether a change is waited for: where the kernel is polled, it is then asked every 10 s instead of every 60 s.
    package func setUrgent(_ isUrgent: Bool) {
        guard case .polling = how else { return }
        shared.wish { $0.isUrgent = isUrgent }
    }

    /// Of its thread.
    package var heartbeat: Heartbeat { shared.heartbeat }

    /// Ends the thread and the events. May be called twice.
    package func stop() {
        shared.wish { $0.isStopping = true }
        thread.join()
        shared.finish()
    }
}

/// What the listener and its thread share.
final class NetworkSharedState: Sendable {
    struct Wishes {
        var isStopping = false
        var isUrgent = false
    }

    private let current = Mutex(NetworkSnapshot())
    private let wishList = Mutex(Wishes())
    private let continuation: AsyncStream<NetworkEvent>.Continuation
    let heartbeat = Heartbeat("the network listener")
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

    func wish(_ change: (inout Wishes) -> Void) {
        wishList.withLock { change(&$0) }
        heartbeat.call()
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
