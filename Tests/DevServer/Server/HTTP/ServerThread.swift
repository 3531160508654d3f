import CLinux
import Glibc
import Synchronization

/// The thread that serves.
final class ServerThread: Sendable {
    private let thread: Mutex<pthread_t?>

    /// Takes the listener and the eventfd over. Both are closed when the thread ends.
    init(shared: SharedState, listener: Listener, wakeUp: Int32) throws(DevServer.Failure) {
        let body = Body { EventLoop(shared: shared, listener: listener, wakeUp: wakeUp).run() }
        let pointer = Unmanaged.passRetained(body).toOpaque()
        var started = pthread_t()
        let code = pthread_create(
            &started, nil,
            { argument in
                prsnl_set_thread_name("devserver")
                Unmanaged<Body>.fromOpaque(argument!).takeRetainedValue().run()
                return nil
            }, pointer)
        guard code == 0 else {
            Unmanaged<Body>.fromOpaque(pointer).release()
            throw DevServer.Failure(description: "pthread_create: errno \(code)")
        }
        thread = Mutex(started)
    }

    /// Waits for the thread to end. At once when it has.
    func join() {
        thread.withLock { thread in
            guard let running = thread else { return }
            pthread_join(running, nil)
            thread = nil
        }
    }

    private final class Body: Sendable {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) {
            self.run = run
        }
    }
}
