/// Serves all connections, on one thread.
final class EventLoop {
    init(shared: SharedState, listener: Listener, wakeUp: Int32) {
    }

    func run() {}
}
