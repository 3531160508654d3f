import CLinux
import Glibc
import PRSNLCore

/// SIGTERM, SIGINT and SIGHUP as a stream of values.
///
/// They are blocked in every thread and taken by one of our own with sigwait(3), so that no code ever runs inside a signal
/// handler.
struct TerminationSignals {
    /// How long the daemon may take to end, a little less than the 2 s that it promises.
    private static let deadline = timespec(tv_sec: 1, tv_nsec: 900_000_000)

    let stream: AsyncStream<Int32>

    /// Call before any other thread is started.
    static func block() {
        var set = watched()
        pthread_sigmask(SIG_BLOCK, &set, nil)
        // A client that leaves and a closed stderr are errors of a write, not reasons to die.
        signal(SIGPIPE, SIG_IGN)
    }

    init(log: @escaping LogHandler) {
        let (stream, continuation) = AsyncStream<Int32>.makeStream()
        self.stream = stream
        let watcher = Watcher(continuation: continuation, log: log)
        let pointer = Unmanaged.passRetained(watcher).toOpaque()
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<Watcher>.fromOpaque(argument).takeRetainedValue().watch()
                return nil
            }, pointer)
        guard code == 0 else {
            Unmanaged<Watcher>.fromOpaque(pointer).release()
            log(.error, .daemon, "no thread for signals: \(String(cString: strerror(code)))")
            // Without the thread the signals must do what they do by themselves.
            var set = Self.watched()
            pthread_sigmask(SIG_UNBLOCK, &set, nil)
            return
        }
        pthread_detach(thread)
    }

    private static func watched() -> sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for number in [SIGTERM, SIGINT, SIGHUP] { sigaddset(&set, number) }
        return set
    }

    private final class Watcher: Sendable {
        let continuation: AsyncStream<Int32>.Continuation
        let log: LogHandler

        init(continuation: AsyncStream<Int32>.Continuation, log: @escaping LogHandler) {
            self.continuation = continuation
            self.log = log
        }

        func watch() {
            prsnl_set_thread_name("prsnl-signals")
            var set = TerminationSignals.watched()
            while true {
                var number: Int32 = 0
                guard sigwait(&set, &number) == 0 else { continue }
                continuation.yield(number)
                if number != SIGHUP { return endInTime() }
            }
        }

        /// The process normally ends while this sleeps. If not, nothing is lost by leaving: SQLite rolls back.
        private func endInTime() {
            var wait = TerminationSignals.deadline
            var left = timespec()
            while nanosleep(&wait, &left) != 0 && errno == EINTR { wait = left }
            log(.error, .daemon, "something did not end in time; leaving without it")
            _exit(1)
        }
    }
}
