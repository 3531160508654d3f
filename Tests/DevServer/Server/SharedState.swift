import CLinux
import Glibc
import Synchronization

/// What the server's thread and its users share: the state, and a way to wake the thread.
final class SharedState: Sendable {
    let configuration: DevServer.Configuration
    let state: Mutex<ServerState>
    let commands = Mutex(Commands())
    private let wakeUp: Int32

    struct Commands: Sendable {
        var waiting: [Command] = []
        var sent = 0
        var obeyed = 0
        /// The thread has ended, and the eventfd with it.
        var isClosed = false
    }

    /// What users ask of the server's thread.
    enum Command: Sendable {
        /// Held requests may be able to go on.
        case recheckHeld
        case closeConnections
        case refuseConnections
        case acceptConnections(Listener)
        case stop
    }

    /// - Parameter wakeUp: an eventfd(2), owned by the server.
    init(_ state: consuming sending ServerState, wakeUp: Int32) {
        configuration = state.configuration
        self.state = Mutex(state)
        self.wakeUp = wakeUp
    }

    func send(_ command: Command) {
        commands.withLock { queue in
            queue.sent += 1
            queue.waiting.append(command)
        }
        wake()
    }

    private func wake() {
        commands.withLock { queue in
            var one: UInt64 = 1
            while !queue.isClosed, write(wakeUp, &one, 8) < 0, errno == EINTR {}
        }
    }

    /// Sends and waits until the thread has obeyed, or has ended. Not from the server's own thread.
    func sendAndWait(_ command: Command) {
        let number = commands.withLock { queue in
            queue.sent += 1
            queue.waiting.append(command)
            return queue.sent
        }
        wake()
        while commands.withLock({ $0.obeyed < number && !$0.isClosed }) { usleep(200) }
    }

    // MARK: The script

    func add(_ fault: Fault, matcher: RequestMatcher, times: Int, skip: Int) -> ScriptedFault {
        state.withLock { state in
            state.scriptCount += 1
            state.script.append(
                .init(number: state.scriptCount, fault: fault, matcher: matcher, skip: skip, times: times))
            return ScriptedFault(number: state.scriptCount, shared: self)
        }
    }

    func appliedCount(ofFault number: Int) -> Int {
        state.withLock { $0.script.first { $0.number == number }?.applied ?? 0 }
    }

    func release(fault number: Int) {
        state.withLock { state in
            guard let index = state.script.firstIndex(where: { $0.number == number }) else { return }
            state.script[index].isReleased = true
            state.script[index].times = 0
        }
        send(.recheckHeld)
    }

    func remove(fault number: Int) {
        release(fault: number)
    }

    func removeAllFaults() {
        state.withLock { state in
            state.randomFault = nil
            for index in state.script.indices {
                state.script[index].isReleased = true
                state.script[index].times = 0
            }
        }
        send(.recheckHeld)
    }

    /// Whether a request held by this fault has to wait on.
    func isHeld(byFault number: Int) -> Bool {
        state.withLock { state in
            state.script.first { $0.number == number }.map { !$0.isReleased } ?? false
        }
    }
}
