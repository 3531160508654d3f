import CLinux
import Glibc
import Synchronization

/// What the server's thread and its users share: the state, and a way to wake the thread.
final class SharedState: Sendable {
    let state: Mutex<ServerState>
    let commands = Mutex<[Command]>([])
    private let wakeUp: Int32

    /// What users ask of the server's thread.
    enum Command: Sendable {
        /// Held requests may be able to go on.
        case recheckHeld
        case closeConnections
        case refuseConnections
        case acceptConnections
        case stop
    }

    /// - Parameter wakeUp: an eventfd(2), owned by the server.
    init(_ state: consuming sending ServerState, wakeUp: Int32) {
        self.state = Mutex(state)
        self.wakeUp = wakeUp
    }

    func send(_ command: Command) {
        commands.withLock { $0.append(command) }
        var one: UInt64 = 1
        while write(wakeUp, &one, 8) < 0 && errno == EINTR {}
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
