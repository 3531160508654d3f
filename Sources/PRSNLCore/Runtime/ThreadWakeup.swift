import Glibc

/// Wakes a thread that waits, as an eventfd(2) does, without a descriptor, of which a process may have none left.
///
/// For one thread that waits. Wake-ups that come before it does are remembered as one.
package final class ThreadWakeup: Sendable {
    private nonisolated(unsafe) let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private nonisolated(unsafe) let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    /// Used under the mutex only.
    private nonisolated(unsafe) var isSignalled = false

    package init() {
        mutex.initialize(to: pthread_mutex_t())
        condition.initialize(to: pthread_cond_t())
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        // As poll(2) counts its timeout.
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    package func signal() {
        pthread_mutex_lock(mutex)
        isSignalled = true
        // Under the mutex: the waiter may free both as soon as it has returned.
        pthread_cond_signal(condition)
        pthread_mutex_unlock(mutex)
    }

    /// Waits for a signal, and takes it.
    ///
    /// - Parameter limit: `nil` waits without end.
    /// - Returns: False where there was none in that time.
    @discardableResult
    package func wait(atMost limit: Duration? = nil) -> Bool {
        var end = timespec()
        if let limit {
            let parts = max(.zero, limit).components
            let nanoseconds = Int(TimeSource.nanoseconds()) + Int(parts.attoseconds / 1_000_000_000)
            end.tv_sec = Int(clamping: min(parts.seconds, 1 << 40)) + nanoseconds / 1_000_000_000
            end.tv_nsec = nanoseconds % 1_000_000_000
        }
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while !isSignalled {
            if limit == nil {
                pthread_cond_wait(condition, mutex)
            } else if pthread_cond_timedwait(condition, mutex, &end) == ETIMEDOUT {
                break
            }
        }
        defer { isSignalled = false }
        return isSignalled
    }
}
