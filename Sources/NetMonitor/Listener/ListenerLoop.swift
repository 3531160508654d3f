import CLinux
import Glibc
import PRSNLCore

/// The listener's thread: waits for hints, for the clock to be set and for wishes, and looks when the schedule says so.
final class ListenerLoop {
    private let kernel: NetworkKernel
    private let hints: NetlinkSocket?
    private let board: NetworkBoard
    private let log: LogHandler
    private let alarm: ClockAlarm
    private var clocks: ClockWatch
    private var schedule = LookSchedule()
    private var lastLook: Duration

    /// - Parameter isKnown: Whether the first look has succeeded.
    init(
        kernel: NetworkKernel, hints: NetlinkSocket?, board: NetworkBoard, isKnown: Bool, log: @escaping LogHandler
    ) {
        self.kernel = kernel
        self.hints = hints
        self.board = board
        self.log = log
        alarm = ClockAlarm(kernel.clockAlarm())
        clocks = ClockWatch(kernel.clocks())
        lastLook = Self.now()
        if hints != nil { schedule.looked(at: lastLook, cost: .zero, isComplete: isKnown) }
    }

    func run() {
        while true {
            let ready = wait()
            let wishes = board.wishes
            if wishes.isStopping { return }
            HangPoint.listener.block()
            for answer in board.takeRoundTrips() { answer() }
            if ready.clock {
                alarm.reset()
                tellClock()
            }
            if ready.hints { schedule.hint() }
            if let next = nextLook(wishes), next <= Self.now() { look() }
        }
    }

    // MARK: Waiting

    private func wait() -> (clock: Bool, hints: Bool) {
        // While a hint waits for its look, more of them are not listened to: a flood does not wake the thread.
        let listening = schedule.isHinted ? -1 : hints?.descriptor ?? -1
        var descriptors = [board.wake, alarm.descriptor, listening].map {
            pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
        }
        let timeout = nextLook(board.wishes).map { Int32(clamping: max(0, ($0 - Self.now()).wholeMilliseconds + 1)) }
        guard poll(&descriptors, nfds_t(descriptors.count), timeout ?? -1) > 0 else { return (false, false) }
        if descriptors[0].revents != 0 {
            var count: UInt64 = 0
            _ = read(board.wake, &count, 8)  // EAGAIN: another wish was counted already
        }
        return (descriptors[1].revents != 0, descriptors[2].revents != 0)
    }

    private func nextLook(_ wishes: NetworkBoard.Wishes) -> Duration? {
        guard hints == nil else { return schedule.next }
        return lastLook + (wishes.isUrgent ? kernel.pollEveryWhileUrgent : kernel.pollEvery)
    }

    /// As poll(2) counts its timeout.
    private static func now() -> Duration { TimeSource.clock(CLOCK_MONOTONIC) }

    // MARK: Looking

    private func look() {
        let start = TimeSource.clock(CLOCK_THREAD_CPUTIME_ID)
        guard let hints else {
            board.publish(nil)
            lastLook = Self.now()
            return
        }
        let hasLost = schedule.isHinted && hints.drain() == .fewerThanSent
        var isComplete = true
        do throws(NetlinkSocket.Failure) {
            board.publish(try kernel.snapshot(), hasLostEvents: hasLost)
        } catch {
            isComplete = false
            if !schedule.hasFailed { log(.warning, .net, "the network's state could not be read (\(error))") }
            // Something has changed nevertheless, and the way to the server can still be asked for.
            board.publish(nil, hasLostEvents: true)
        }
        let cost = TimeSource.clock(CLOCK_THREAD_CPUTIME_ID) - start
        schedule.looked(at: Self.now(), cost: cost, isComplete: isComplete)
    }

    private func tellClock() {
        for change in clocks.changes(to: kernel.clocks()) {
            board.publish(nil, clock: change)
            // Links that went away and came back during the sleep have left hints; those on the way have not yet.
            if case .woke = change { schedule.hint() }
        }
    }
}
