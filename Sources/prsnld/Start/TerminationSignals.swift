import CLinux
import Console
import Glibc
import Synchronization

/// SIGTERM, SIGINT and SIGHUP as a stream of values; and SIGALRM, for the watchdog.
///
/// They are blocked in every thread and taken by the main thread with sigwait(3), so that no code ever runs inside a
/// signal handler. The main thread must do this itself, and may not be given to Dispatch (as an asynchronous `main` does):
/// dispatch_main(3) ends in sigsuspend(2) with an empty mask, where the signals would kill the process.
final class TerminationSignals: Sendable {
    /// How long the daemon may take to end, a little less than the 2 s that it promises.
    private static let deadline = timespec(tv_sec: 1, tv_nsec: 900_000_000)

    /// For one reader.
    let stream: AsyncStream<Int32>
    private let continuation: AsyncStream<Int32>.Continuation
    /// Whether the process was told to end.
    let wasTold = Atomic(false)
    private let alarm = Mutex(Alarm())

    /// Not the function itself: `Mutex` would wrap it once more with each `withLock` (`Store.serverNow`).
    private struct Alarm {
        var act: @Sendable () -> Void = {}
    }

    /// Blocks the signals. Create it before any other thread: masks are inherited.
    init() {
        (stream, continuation) = AsyncStream.makeStream()
        var set = Self.watched()
        pthread_sigmask(SIG_BLOCK, &set, nil)
        // A client that leaves and a closed stderr are errors of a write, not reasons to die.
        signal(SIGPIPE, SIG_IGN)
    }

    private static func watched() -> sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for number in [SIGTERM, SIGINT, SIGHUP, SIGALRM] { sigaddset(&set, number) }
        return set
    }

    /// Has the main thread call this at SIGALRM: the one thread that nothing can keep from it, because it does nothing
    /// else.
    func onAlarm(_ action: @escaping @Sendable () -> Void) { alarm.withLock { $0.act = action } }

    /// The main thread's life: passes signals on until the process is told to end, and sees to it that it does.
    func watch() -> Never {
        var set = Self.watched()
        while true {
            var number: Int32 = 0
            guard sigwait(&set, &number) == 0 else { continue }
            if number == SIGALRM {
                alarm.withLock(\.act)()
                continue
            }
            if number != SIGHUP { wasTold.store(true, ordering: .releasing) }
            continuation.yield(number)
            if number != SIGHUP { endInTime() }
        }
    }

    /// The process normally ends while this sleeps. If not, nothing is lost by leaving: SQLite rolls back.
    private func endInTime() -> Never {
        var wait = Self.deadline
        var left = timespec()
        while nanosleep(&wait, &left) != 0 && errno == EINTR { wait = left }
        StandardStream.error.write("prsnld: something did not end in time; leaving without it\n")
        _exit(1)
    }
}
