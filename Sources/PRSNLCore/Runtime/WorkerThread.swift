import CLinux
import Glibc
import Synchronization

/// A thread that ends with the work it was given. Its owner tells the work to end, then joins the thread.
package final class WorkerThread: Sendable {
    /// Until it was joined or let go.
    private let thread: Mutex<pthread_t?>

    private final class Work {
        let name: String
        let run: () -> Void

        init(name: String, _ run: @escaping () -> Void) {
            self.name = name
            self.run = run
        }
    }

    /// - Parameter name: 15 bytes at most (prctl(2)).
    /// - Throws: `limit_reached`: the system gives no more threads.
    package init(name: String, _ work: sending @escaping () -> Void) throws(UserFacingError) {
        let argument = Unmanaged.passRetained(Work(name: name, work))
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                let work = Unmanaged<Work>.fromOpaque(argument).takeRetainedValue()
                prsnl_set_thread_name(work.name)
                work.run()
                return nil
            }, argument.toOpaque())
        guard code == 0 else {
            argument.release()
            throw UserFacingError(
                .limitReached, "The thread \(name) cannot be started: \(String(cString: strerror(code))).")
        }
        self.thread = Mutex(thread)
    }

    deinit {
        if let thread = take() { pthread_detach(thread) }
    }

    /// Waits until the thread has ended. At once the second time. The thread itself, which may hold the last reference to
    /// its owner, does not wait: it is about to end.
    package func join() {
        guard let thread = take() else { return }
        if pthread_equal(thread, pthread_self()) != 0 {
            pthread_detach(thread)
        } else {
            pthread_join(thread, nil)
        }
    }

    /// Runs work that blocks on a thread of its own, while the task waits.
    ///
    /// - Throws: `limit_reached`.
    package static func result<Value: Sendable>(
        of name: String, _ work: @escaping @Sendable () -> Value
    ) async throws(UserFacingError) -> Value {
        let result: Result<Value, UserFacingError> = await withCheckedContinuation { continuation in
            do throws(UserFacingError) {
                _ = try WorkerThread(name: name) { continuation.resume(returning: .success(work())) }
            } catch {
                continuation.resume(returning: .failure(error))
            }
        }
        return try result.get()
    }

    private func take() -> pthread_t? {
        thread.withLock { thread in
            defer { thread = nil }
            return thread
        }
    }
}
