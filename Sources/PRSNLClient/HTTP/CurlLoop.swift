import CCurl
import CLinux
import Glibc
import PRSNLCore
import Synchronization

/// Runs HTTP requests over libcurl's multi interface on one thread of its own.
///
/// This is the side that other threads see: an inbox and an eventfd that wakes the thread. Everything of libcurl lives in
/// `CurlDriver`, on the thread, which begins with the first request. While nothing is under way it sleeps without a timeout.
final class CurlLoop: Sendable {
    struct Job: Sendable {
        let id: UInt64
        let request: HTTPRequest
        let continuation: CheckedContinuation<HTTPOutcome, Never>
    }

    /// What has arrived for the thread since it looked last.
    struct Work: Sendable {
        var jobs: [Job] = []
        var cancelled: [UInt64] = []
        var stopping = false
        /// The network went away: what is under way ends.
        var isOffline = false
    }

    private struct Inbox {
        var work = Work()
        /// Nothing but probes is taken.
        var isOffline = false
        var lastID: UInt64 = 0
        let heartbeat = Heartbeat("the HTTP client")
        /// Bodies whose reader is done, to be filled again: saves an allocation of a page's size per request.
        var spareBodies: [[UInt8]] = []
        /// As long as the thread lives.
        var wakeup: EventDescriptor?

        func wake() {
            guard let wakeup else { return }
            heartbeat.call()
            wakeup.signal()
        }
    }

    /// A larger body goes back to the allocator.
    static let largestSpareBody = 256 << 10
    static let mostSpareBodies = 2

    let configuration: ClientConfiguration
    let lastAddress = LastAddress()
    /// Of the thread.
    var heartbeat: Heartbeat { inbox.withLock(\.heartbeat) }
    private let inbox = Mutex(Inbox())
    /// Until it has been waited for.
    private let thread = Mutex<WorkerThread?>(nil)

    init(_ configuration: ClientConfiguration) {
        self.configuration = configuration
    }

    /// Begins the thread, where there is none yet.
    ///
    /// - Returns: what becomes of the request where that cannot be done.
    private func begin(_ inbox: inout Inbox) -> HTTPOutcome? {
        if inbox.wakeup != nil { return nil }
        if let reason = Libcurl.failure { return .withoutLibcurl(reason) }
        guard let wakeup = EventDescriptor() else { return .notBegun("eventfd: \(String(cString: strerror(errno)))") }
        let begun = WorkerThread(name: "prsnl-http") { [self] in work(wakeup) }
        thread.withLock { $0 = begun }
        inbox.wakeup = wakeup
        return nil
    }

    // MARK: From other threads

    /// Sends the request and waits for its end. Cancelling the task ends it with `cancelled`.
    func perform(_ request: HTTPRequest) async -> HTTPOutcome {
        if Task.isCancelled { return .cancelledUnsent }
        let id = inbox.withLock { inbox in
            inbox.lastID += 1
            return inbox.lastID
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                enqueue(Job(id: id, request: request, continuation: continuation))
                // The handler below may have run before the job was there to be cancelled.
                if Task.isCancelled { cancel(id) }
            }
        } onCancel: {
            cancel(id)
        }
    }

    private func enqueue(_ job: Job) {
        let refusal = inbox.withLock { inbox -> HTTPOutcome? in
            if inbox.work.stopping { return .cancelledUnsent }
            if inbox.isOffline, !job.request.isProbe { return .offlineUnsent }
            if let failure = begin(&inbox) { return failure }
            inbox.work.jobs.append(job)
            inbox.wake()
            return nil
        }
        if let refusal { job.continuation.resume(returning: refusal) }
    }

    /// Takes nothing but probes, until it is lifted.
    ///
    /// - Parameter ending: What is under way ends with `offline`.
    func setOffline(_ isOffline: Bool, ending: Bool) {
        let unsent = inbox.withLock { inbox -> [Job] in
            inbox.isOffline = isOffline
            guard ending else { return [] }
            inbox.work.isOffline = true
            let unsent = inbox.work.jobs.filter { !$0.request.isProbe }
            inbox.work.jobs.removeAll { !$0.request.isProbe }
            inbox.wake()
            return unsent
        }
        for job in unsent { job.continuation.resume(returning: .offlineUnsent) }
    }

    private func cancel(_ id: UInt64) {
        inbox.withLock { inbox in
            inbox.work.cancelled.append(id)
            inbox.wake()
        }
    }

    /// Takes back the body of an answer that has been read. It is only of use while there is no other copy.
    func recycle(_ body: inout [UInt8]) {
        var spare: [UInt8] = []
        swap(&spare, &body)
        guard spare.capacity > 0, spare.capacity <= Self.largestSpareBody else { return }
        spare.removeAll(keepingCapacity: true)
        inbox.withLock { inbox in
            if inbox.spareBodies.count < Self.mostSpareBodies { inbox.spareBodies.append(spare) }
        }
    }

    /// Ends every request with `cancelled`; later ones end so at once. Returns when the thread has ended: nothing of libcurl
    /// runs any more, which matters to a process that is about to exit, because OpenSSL frees its tables then.
    func stop() {
        inbox.withLock { inbox in
            inbox.work.stopping = true
            inbox.wake()
        }
        // A second caller waits here.
        thread.withLock { thread in
            thread?.join()
            thread = nil
        }
    }

    // MARK: On the thread

    private func work(_ wakeup: EventDescriptor) {
        blockSignals()
        let driver = CurlDriver(loop: self, wakeDescriptor: wakeup.descriptor)
        let heartbeat = heartbeat
        var stopping = false
        while !stopping {
            heartbeat.rest(atMost: nil)
            driver.wait()
            heartbeat.wake()
            let work = takeWork(wakeup)
            stopping = work.stopping
            if !work.jobs.isEmpty { HangPoint.http.block() }
            driver.advance(work)
        }
        driver.close()
        inbox.withLock { $0.wakeup = nil }
        heartbeat.end()
    }

    private func takeWork(_ wakeup: EventDescriptor) -> Work {
        // Without a signal, a socket or a timer has woken it.
        wakeup.take()
        return inbox.withLock { inbox in
            let taken = inbox.work
            inbox.work = Work(stopping: taken.stopping)
            return taken
        }
    }

    func takeSpareBody() -> [UInt8] {
        inbox.withLock { $0.spareBodies.popLast() } ?? []
    }

    func dropSpareBodies() {
        inbox.withLock { $0.spareBodies = [] }
    }

    /// Signals are for the threads that handle them. No thread wants SIGPIPE, which OpenSSL's plain write(2) raises.
    private func blockSignals() {
        var all = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_BLOCK, &all, nil)
    }
}

extension CurlLoop {
    /// The address that the newest connection leads to, as libcurl tells it before each request.
    final class LastAddress: Sendable {
        private let text = Mutex<String?>(nil)

        var current: String? { text.withLock { $0 } }

        /// Called for every request: it allocates nothing while the address stays the same.
        func note(_ address: UnsafePointer<CChar>) {
            guard address.pointee != 0 else { return }
            text.withLock { text in
                if let known = text, strcmp(known, address) == 0 { return }
                text = String(cString: address)
            }
        }
    }
}

/// The library that makes the requests. A program that makes none does not load it.
enum Libcurl {
    /// Why it cannot be used; `nil` where it is there. Asked before anything of it is called.
    static let failure: String? = prsnl_curl_load().map { String(cString: $0) }
}

/// libcurl's multi handle and the transfers on it. Used on the thread of its `CurlLoop` only.
final class CurlDriver {
    /// Connections that nothing has used for so long are closed: PRSNL servers close theirs after 5 s, and an idle daemon
    /// keeps neither half-closed sockets nor TLS state.
    static let idleMilliseconds: Int64 = 10_000
    /// Kept-alive connections. The engine has one request of the outbox under way, and four for texts at most.
    static let cachedConnections = 5
    static let pooledTransfers = 5

    // The loop owns the thread, and the thread this driver: both end together.
    private unowned let loop: CurlLoop
    private let wakeDescriptor: Int32
    /// `nil` while there is nothing to keep.
    private var multi: UnsafeMutableRawPointer?
    private var active: [UInt64: Transfer] = [:]
    private var pool: [Transfer] = []
    private let meter = CPUMeter()
    /// When the last transfer ended, on the monotonic clock.
    private var idleSince: Int64 = 0
    /// The kept connections lead over a network that is gone. They are closed when there is a route again: closing sends
    /// something, and what is sent over a link without a carrier makes the kernel ask for the neighbour's address in vain.
    /// Whatever comes next would wait for its next try, a second later (arp(7)).
    private var isStale = false

    /// Once for the process; libcurl 7.84 and later does this thread-safely.
    private static let initialized: CURLcode = prsnl_global_init(Int(CURL_GLOBAL_ALL))

    init(loop: CurlLoop, wakeDescriptor: Int32) {
        self.loop = loop
        self.wakeDescriptor = wakeDescriptor
        _ = Self.initialized
    }

    /// Sleeps until there is something to do: a socket, a timer, or the loop's eventfd.
    func wait() {
        guard let multi, !isStale else {
            var descriptor = pollfd(fd: wakeDescriptor, events: Int16(POLLIN), revents: 0)
            while poll(&descriptor, 1, -1) < 0 && errno == EINTR {}
            return
        }
        var descriptor = curl_waitfd(fd: wakeDescriptor, events: Int16(CURL_WAIT_POLLIN), revents: 0)
        let now = Self.monotonicMilliseconds()
        let until = active.values.map(\.stallDeadline).min() ?? idleSince + Self.idleMilliseconds
        // libcurl shortens this to its own next timer.
        let code = prsnl_multi_poll(multi, &descriptor, 1, Int32(clamping: max(0, until - now)), nil)
        // Out of memory or of descriptors: look again in a moment, rather than at once without end.
        if code != CURLM_OK { usleep(100_000) }
    }

    /// Takes what has arrived, moves every transfer on, and ends those that are done.
    func advance(_ work: CurlLoop.Work) {
        let cancelled = Set(work.cancelled)
        if work.isOffline {
            for transfer in Array(active.values) { end(transfer, .offline) }
            isStale = true
        }
        if isStale, !work.jobs.isEmpty { rest() }
        for job in work.jobs {
            if cancelled.contains(job.id) || work.stopping {
                job.continuation.resume(returning: .cancelledUnsent)
            } else {
                start(job)
            }
        }
        for id in cancelled {
            if let transfer = active[id] { end(transfer, .cancelled) }
        }
        guard let multi else { return }
        var running: Int32 = 0
        _ = meter.lap()
        prsnl_multi_perform(multi, &running)
        var left: Int32 = 0
        while let message = prsnl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let transfer = Transfer.of(message.pointee.easy_handle) else {
                continue
            }
            end(transfer, .done(prsnl_msg_result(message)))
        }
        let now = Self.monotonicMilliseconds()
        for transfer in Array(active.values) where transfer.stallDeadline <= now {
            end(transfer, .stalled)
        }
        if active.isEmpty, !isStale, now - idleSince >= Self.idleMilliseconds { rest() }
    }

    /// Ends every transfer with `cancelled` and gives everything back.
    func close() {
        for transfer in Array(active.values) { end(transfer, .cancelled) }
        rest()
    }

    private func start(_ job: CurlLoop.Job) {
        guard let multi = openMulti(),
            let transfer = pool.popLast()
                ?? Transfer(loop.configuration, lastAddress: loop.lastAddress, meter: meter)
        else {
            let failure = TransportFailure(
                kind: .networkError(.connectFailed), mayHaveReachedServer: false, status: nil,
                detail: "libcurl could not be initialised")
            job.continuation.resume(returning: HTTPOutcome(result: .failure(failure)))
            return
        }
        let added =
            transfer.prepare(job, body: loop.takeSpareBody())
            && prsnl_multi_add_handle(multi, transfer.easy) == CURLM_OK
        active[job.id] = transfer
        if !added { end(transfer, .done(CURLE_FAILED_INIT)) }
    }

    private func end(_ transfer: Transfer, _ end: Transfer.End) {
        guard let job = transfer.job else { return }
        active[job.id] = nil
        // Before the handle leaves the multi handle, which closes the connection of an unfinished transfer.
        let outcome = transfer.outcome(end)
        prsnl_multi_remove_handle(multi, transfer.easy)
        transfer.reset()
        if pool.count < Self.pooledTransfers { pool.append(transfer) }
        idleSince = Self.monotonicMilliseconds()
        job.continuation.resume(returning: outcome)
    }

    private func openMulti() -> UnsafeMutableRawPointer? {
        if let multi { return multi }
        guard let opened = prsnl_multi_init() else { return nil }
        _ = prsnl_multi_setopt_long(opened, CURLMOPT_MAXCONNECTS, Self.cachedConnections)
        multi = opened
        return opened
    }

    /// Closes the connections and frees TLS sessions, the name cache and the buffers.
    private func rest() {
        pool = []
        if let multi { prsnl_multi_cleanup(multi) }
        multi = nil
        isStale = false
        loop.dropSpareBodies()
    }

    static func monotonicMilliseconds() -> Int64 { TimeSource.nanoseconds() / 1_000_000 }
}
