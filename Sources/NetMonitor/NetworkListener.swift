import CLinux
import Glibc
public import PRSNLCore
import Synchronization

/// Tells what changes in the network: reads the whole state again at every hint of the kernel's, and says what is
/// different and why. It knows nothing of servers.
public final class NetworkListener: Sendable {
    public let how: NetworkSource.How
    /// One consumer. The first event is the state at the start.
    public let events: AsyncStream<NetworkEvent>

    private let continuation: AsyncStream<NetworkEvent>.Continuation
    private let current = Mutex(NetworkSnapshot())
    private let stopping: Int32
    private let thread: Mutex<pthread_t?>

    /// Between two dumps in a flood of events: the first hint is followed at once, those after it together.
    static let pause: Duration = .milliseconds(100)

    /// - Parameter receiveBuffer: bytes, for tests of lost events.
    public init(receiveBuffer: Int32? = nil, log: @escaping LogHandler = { _, _, _ in }) {
        (events, continuation) = AsyncStream<NetworkEvent>.makeStream(bufferingPolicy: .bufferingNewest(64))
        stopping = eventfd(0, Int32(EFD_CLOEXEC))
        // RTMGRP_LINK, _IPV4_IFADDR, _IPV4_ROUTE, _IPV6_IFADDR, _IPV6_ROUTE
        let groups: UInt32 = 0x1 | 0x10 | 0x40 | 0x100 | 0x400
        do throws(NetlinkSocket.Failure) {
            let hints = try NetlinkSocket(groups: groups, receiveBuffer: receiveBuffer)
            let dumps = try NetlinkSocket(groups: 0)
            how = .netlink
            thread = Mutex(nil)
            start(Listener(hints: hints, dumps: dumps, stopping: stopping, monitor: self, log: log))
        } catch {
            how = if case .notPermitted(let code) = error { .polling(errno: code) } else { .polling(errno: EIO) }
            thread = Mutex(nil)
            log(.warning, .net, "netlink is not permitted; the network's state is not known")
        }
    }

    deinit {
        stop()
        close(stopping)
    }

    /// The state at the last look.
    public var snapshot: NetworkSnapshot { current.withLock { $0 } }

    /// Ends the thread and the stream. May be called twice.
    public func stop() {
        let running = thread.withLock { thread in
            defer { thread = nil }
            return thread
        }
        guard let running else { return }
        var one: UInt64 = 1
        while write(stopping, &one, 8) < 0 && errno == EINTR {}
        pthread_join(running, nil)
        continuation.finish()
    }

    private func start(_ listener: Listener) {
        var id = pthread_t()
        let argument = Unmanaged.passRetained(listener)
        let code = pthread_create(
            &id, nil,
            { argument in
                guard let argument else { return nil }
                prsnl_set_thread_name("netlink")
                Unmanaged<Listener>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            }, argument.toOpaque())
        precondition(code == 0, "pthread_create: errno \(code)")
        thread.withLock { $0 = id }
    }

    fileprivate func publish(_ snapshot: NetworkSnapshot, hasLostEvents: Bool, isFirst: Bool) {
        let reasons = current.withLock { current in
            defer { current = snapshot }
            return isFirst ? [] : current.changes(to: snapshot)
        }
        continuation.yield(NetworkEvent(snapshot: snapshot, reasons: reasons, hasLostEvents: hasLostEvents))
    }
}

/// The thread's own part.
private final class Listener {
    let hints: NetlinkSocket
    let dumps: NetlinkSocket
    let stopping: Int32
    unowned let monitor: NetworkListener
    let log: LogHandler

    init(hints: NetlinkSocket, dumps: NetlinkSocket, stopping: Int32, monitor: NetworkListener, log: @escaping LogHandler) {
        self.hints = hints
        self.dumps = dumps
        self.stopping = stopping
        self.monitor = monitor
        self.log = log
    }

    func run() {
        look(hasLostEvents: false, isFirst: true)
        var lastLook = ContinuousClock.now
        while wait(for: hints.descriptor, atMost: -1) {
            // In a flood: what comes within the pause is looked at together.
            let left = NetworkListener.pause - lastLook.duration(to: .now)
            if left > .zero, !wait(for: nil, atMost: Int32(left.wholeMilliseconds + 1)) { return }
            let hasLost = hints.drain()
            look(hasLostEvents: hasLost, isFirst: false)
            lastLook = .now
        }
    }

    /// - Returns: False where it is time to stop.
    private func wait(for descriptor: Int32?, atMost milliseconds: Int32) -> Bool {
        var descriptors = [pollfd(fd: stopping, events: Int16(POLLIN), revents: 0)]
        if let descriptor { descriptors.append(pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)) }
        while poll(&descriptors, nfds_t(descriptors.count), milliseconds) < 0 && errno == EINTR {}
        return descriptors[0].revents == 0
    }

    private func look(hasLostEvents: Bool, isFirst: Bool) {
        do throws(NetlinkSocket.Failure) {
            monitor.publish(try dumps.snapshot(), hasLostEvents: hasLostEvents, isFirst: isFirst)
        } catch {
            // The next hint tries again; the server's answers are the truth in any case.
            log(.warning, .net, "the network's state could not be read")
        }
    }
}
