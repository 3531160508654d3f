import CCurl
import Glibc
import PRSNLCore

/// libcurl's multi handle and the transfers on it. Used on the thread of its `CurlLoop` only.
final class CurlDriver {
    /// Connections that nothing has used for so long are closed: PRSNL servers close theirs after 5 s, and an idle daemon
    /// keeps neither half-closed sockets nor TLS state.
    static let idleMilliseconds: Int64 = 10_000
    /// Kept-alive connections. The engine has two requests under way at most.
    static let cachedConnections = 2
    static let pooledTransfers = 3

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
    private static let initialized: CURLcode = curl_global_init(Int(CURL_GLOBAL_ALL))

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
        let code = curl_multi_poll(multi, &descriptor, 1, Int32(clamping: max(0, until - now)), nil)
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
        curl_multi_perform(multi, &running)
        var left: Int32 = 0
        while let message = curl_multi_info_read(multi, &left) {
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
            transfer.prepare(job, body: loop.takeSpareBody()) && curl_multi_add_handle(multi, transfer.easy) == CURLM_OK
        active[job.id] = transfer
        if !added { end(transfer, .done(CURLE_FAILED_INIT)) }
    }

    private func end(_ transfer: Transfer, _ end: Transfer.End) {
        guard let job = transfer.job else { return }
        active[job.id] = nil
        // Before the handle leaves the multi handle, which closes the connection of an unfinished transfer.
        let outcome = transfer.outcome(end)
        curl_multi_remove_handle(multi, transfer.easy)
        transfer.reset()
        if pool.count < Self.pooledTransfers { pool.append(transfer) }
        idleSince = Self.monotonicMilliseconds()
        job.continuation.resume(returning: outcome)
    }

    private func openMulti() -> UnsafeMutableRawPointer? {
        if let multi { return multi }
        guard let opened = curl_multi_init() else { return nil }
        _ = prsnl_multi_setopt_long(opened, CURLMOPT_MAXCONNECTS, Self.cachedConnections)
        multi = opened
        return opened
    }

    /// Closes the connections and frees TLS sessions, the name cache and the buffers.
    private func rest() {
        pool = []
        if let multi { curl_multi_cleanup(multi) }
        multi = nil
        isStale = false
        loop.dropSpareBodies()
    }

    static func monotonicMilliseconds() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }
}
