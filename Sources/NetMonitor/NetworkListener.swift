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
    /// Why it is not netlink.
    let reason: String?
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
        var refusal: String?
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
                how = .polling
                hints = nil
                let cause = String(cString: strerror(code))
                refusal = "netlink is not permitted: \(cause)"
                log(.warning, .net, "netlink is not permitted (\(cause)); looking now and then")
            }
        }
        reason = refusal
        shared.publish(first ?? NetworkSnapshot())
        let loop = ListenerLoop(kernel: kernel, hints: hints, shared: shared, isKnown: first != nil, log: log)
        thread = WorkerThread(name: "prsnl-net") { loop.run() }
    }

    deinit { stop() }

    /// The state at the last dump; empty where the kernel cannot be asked.
    package var snapshot: NetworkSnapshot { shared.now.snapshot }

    /// Whether a change is waited for: where the kernel is polled, it is then asked every 10 s instead of every 60 s.
    package func setUrgent(_ isUrgent: Bool) {
        guard how == .polling else { return }
        shared.request { $0.isUrgent = isUrgent }
    }

    /// Of its thread.
    package var heartbeat: Heartbeat { shared.heartbeat }

    /// Ends the thread and the events. May be called twice.
    package func stop() {
        shared.request { $0.isStopping = true }
        thread.join()
        shared.finish()
    }
}

/// What the listener and its thread share.
final class NetworkSharedState: Sendable {
    struct State {
        var snapshot = NetworkSnapshot()
        var isStopping = false
        var isUrgent = false
    }

    private let state = Mutex(State())
    private let continuation: AsyncStream<NetworkEvent>.Continuation
    let heartbeat = Heartbeat("the network listener")
    /// Signalled where there is a new request.
    let wake: EventDescriptor

    /// - Throws: `limit_reached`.
    init(_ continuation: AsyncStream<NetworkEvent>.Continuation) throws(UserFacingError) {
        self.continuation = continuation
        guard let wake = EventDescriptor() else {
            throw UserFacingError(
                .limitReached, "The network cannot be listened to: eventfd: \(String(cString: strerror(errno))).")
        }
        self.wake = wake
    }

    var now: State { state.withLock(\.self) }

    /// Asks something of the thread.
    func request(_ change: (inout State) -> Void) {
        state.withLock { change(&$0) }
        heartbeat.call()
        wake.signal()
    }

    /// - Parameter snapshot: `nil` where it could not be read.
    func publish(_ snapshot: NetworkSnapshot?, hasLostEvents: Bool = false, clock: NetworkEvent.Clock? = nil) {
        let old = now.snapshot
        let new = snapshot ?? old
        state.withLock { $0.snapshot = new }
        continuation.yield(
            NetworkEvent(snapshot: new, reasons: old.changes(to: new), hasLostEvents: hasLostEvents, clock: clock))
    }

    func finish() { continuation.finish() }
}

/// The listener's thread: waits for hints, for the clock to be set and for requests, and dumps when the schedule says so.
final class ListenerLoop {
    private let kernel: NetworkKernel
    private let hints: NetlinkSocket?
    private let shared: NetworkSharedState
    private let log: LogHandler
    private let alarm: ClockAlarm
    private var clocks: ClockWatch
    private var schedule = DumpSchedule()
    private var lastDump: Duration

    /// - Parameter isKnown: Whether the first dump has succeeded.
    init(
        kernel: NetworkKernel, hints: NetlinkSocket?, shared: NetworkSharedState, isKnown: Bool,
        log: @escaping LogHandler
    ) {
        self.kernel = kernel
        self.hints = hints
        self.shared = shared
        self.log = log
        alarm = ClockAlarm(kernel.clockAlarm())
        clocks = ClockWatch(kernel.clocks())
        lastDump = Self.now()
        if hints != nil { schedule.dumped(at: lastDump, cost: .zero, isComplete: isKnown) }
    }

    func run() {
        shared.heartbeat.wake()
        while true {
            HangPoint.listener.block()
            let ready = wait()
            if shared.now.isStopping { return shared.heartbeat.end() }
            if ready.clock {
                alarm.reset()
                tellClock()
            }
            if ready.hints { schedule.hint() }
            if let next = nextDump, next <= Self.now() { dump() }
        }
    }

    // MARK: Waiting

    private func wait() -> (clock: Bool, hints: Bool) {
        // While a hint waits for its dump, more of them are not listened to: a flood does not wake the thread.
        let listening = schedule.isHinted ? -1 : hints?.descriptor ?? -1
        var descriptors = [shared.wake.descriptor, alarm.descriptor, listening].map {
            pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
        }
        let timeout = nextDump.map { Int32(clamping: max(0, ($0 - Self.now()).wholeMilliseconds + 1)) }
        shared.heartbeat.rest(atMost: nil)
        let count = poll(&descriptors, nfds_t(descriptors.count), timeout ?? -1)
        shared.heartbeat.wake()
        guard count > 0 else { return (false, false) }
        if descriptors[0].revents != 0 { shared.wake.take() }
        return (descriptors[1].revents != 0, descriptors[2].revents != 0)
    }

    private var nextDump: Duration? {
        guard hints == nil else { return schedule.next }
        return lastDump + (shared.now.isUrgent ? kernel.pollEveryWhileUrgent : kernel.pollEvery)
    }

    /// As poll(2) counts its timeout.
    private static func now() -> Duration { TimeSource.clock(CLOCK_MONOTONIC) }

    // MARK: Dumps

    private func dump() {
        let start = TimeSource.clock(CLOCK_THREAD_CPUTIME_ID)
        guard let hints else {
            shared.publish(nil)
            lastDump = Self.now()
            return
        }
        let hasLost = schedule.isHinted && hints.drain()
        var isComplete = true
        do throws(NetlinkSocket.Failure) {
            shared.publish(try kernel.snapshot(), hasLostEvents: hasLost)
        } catch {
            isComplete = false
            if !schedule.hasFailed { log(.warning, .net, "the network's state could not be read (\(error))") }
            // Something has changed nevertheless, and the route to the server can still be asked for.
            shared.publish(nil, hasLostEvents: true)
        }
        let cost = TimeSource.clock(CLOCK_THREAD_CPUTIME_ID) - start
        schedule.dumped(at: Self.now(), cost: cost, isComplete: isComplete)
    }

    private func tellClock() {
        for change in clocks.changes(to: kernel.clocks()) {
            shared.publish(nil, clock: change)
            // Links that went away and came back during the sleep have left hints; those on the way have not yet.
            if case .woke = change { schedule.hint() }
        }
    }
}

/// When the network's state is read next. A hint of the kernel's is followed at once; a flood of them costs bounded work.
///
/// Times are those of any clock that never runs backwards.
struct DumpSchedule: Sendable {
    /// From one dump to the next in a flood: ten dumps a second.
    static let pause: Duration = .milliseconds(100)
    /// So many dumps may follow each other faster than that. A link that comes up is a handful of events within some
    /// milliseconds, the last of which is the one that matters.
    static let burst = 5
    /// Between the dumps of a burst: events that belong together are seen together.
    static let shortPause: Duration = .milliseconds(2)
    /// A pause is so many times what the dump took, so that large tables take less than a twentieth of one core.
    static let costFactor = 20
    /// Some changes come without an event of their own (the routes of an address that was removed), or just after it:
    /// so long after the last dump that a hint led to, there is one more.
    static let settling: Duration = .seconds(1)
    /// After dumps that failed.
    static let retry = Backoff(base: pause, cap: .seconds(60), jitter: 1...1)

    private var earliest: Duration = .zero
    /// A dump without a hint: after things have settled, or because the last one failed.
    private var planned: Duration?
    private var failures = 0
    /// How many dumps may still follow each other fast, and until when the pauses between them are counted.
    private var credit = Self.burst
    private var credited: Duration = .zero
    private(set) var isHinted = false

    /// When to dump; `nil` where there is nothing to dump for.
    var next: Duration? { isHinted ? earliest : planned }

    var hasFailed: Bool { failures > 0 }

    mutating func hint() { isHinted = true }

    /// - Parameters:
    ///   - now: When the dump ended.
    ///   - cost: Time that it took of the processor.
    mutating func dumped(at now: Duration, cost: Duration, isComplete: Bool) {
        while credit < Self.burst, now - credited >= Self.pause {
            credit += 1
            credited += Self.pause
        }
        if credit == Self.burst { credited = now }
        if credit > 0 { credit -= 1 }
        earliest = now + max(credit > 0 ? Self.shortPause : Self.pause, cost * Self.costFactor)
        if isComplete {
            planned = isHinted ? max(now + Self.settling, earliest) : nil
            failures = 0
        } else {
            failures += 1
            planned = max(now + Self.retry.step(failures + 1), earliest)
        }
        isHinted = false
    }
}

/// What the listener asks of the kernel; tests let it fail.
struct NetworkKernel: Sendable {
    /// A socket that hears of events.
    var listen: @Sendable () throws(NetlinkSocket.Failure) -> NetlinkSocket
    /// The state now.
    var snapshot: @Sendable () throws(NetlinkSocket.Failure) -> NetworkSnapshot
    var clocks: @Sendable () -> ClockReading
    /// A descriptor, from then on the listener's, that becomes readable when the clocks are worth a dump; -1 for none.
    var clockAlarm: @Sendable () -> Int32 = ClockAlarm.timer
    /// How often to dump where the kernel does not tell.
    var pollEvery: Duration = .seconds(60)
    /// The same while a change is waited for.
    var pollEveryWhileUrgent: Duration = .seconds(10)

    /// - Parameter receiveBuffer: bytes for events; the kernel's own measure by default.
    static func real(receiveBuffer: Int32? = nil) -> NetworkKernel {
        NetworkKernel(
            listen: { () throws(NetlinkSocket.Failure) in
                let links = RTMGRP_LINK
                let addresses = RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR
                let routes = RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE
                return try NetlinkSocket(groups: UInt32(links | addresses | routes), receiveBuffer: receiveBuffer)
            },
            snapshot: { () throws(NetlinkSocket.Failure) in try NetworkSnapshot.read() },
            clocks: { ClockReading.now() })
    }
}
