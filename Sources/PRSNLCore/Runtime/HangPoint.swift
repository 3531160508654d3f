#if DEBUG
    import Glibc
    import Synchronization
#endif

/// Places at which a test lets a loop hang, to see how the watchdog reacts. In release builds they are
/// nothing.
package enum HangPoint: String, CaseIterable, Sendable {
    /// The loop of the pulls waits for what never comes.
    case pulls
    /// The loop that sends the outbox, likewise.
    case replayer
    /// The loop that probes the server, likewise.
    case network
    /// The thread on which all tasks run.
    case tasks
    /// The thread of SQLite.
    case store
    /// The thread that checks the file after an unclean stop.
    case check
    /// The thread of libcurl.
    case http
    /// The thread that listens to netlink.
    case listener
    /// The thread of the control socket.
    case control

    /// `PRSNL_HANG_AT=point`, or `point:3` for the third time that it is reached.
    package static let variable = "PRSNL_HANG_AT"

    #if DEBUG
        private static let armed: (point: HangPoint, time: Int)? = {
            guard let text = getenv(variable).map({ String(cString: $0) }) else { return nil }
            let parts = text.split(separator: ":")
            guard let point = parts.first.flatMap({ HangPoint(rawValue: String($0)) }) else { return nil }
            return (point, parts.count > 1 ? Int(parts[1]) ?? 1 : 1)
        }()
        private static let reached = Atomic(0)

        private var isDue: Bool {
            guard let armed = Self.armed, armed.point == self else { return false }
            return Self.reached.wrappingAdd(1, ordering: .relaxed).newValue == armed.time
        }

        /// Blocks the thread.
        package func block() {
            if isDue { while true { pause() } }
        }

        /// Suspends the task, which does not listen to being cancelled either.
        package func suspend() async {
            if isDue { await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in } }
        }
    #else
        @inlinable
        package func block() {}
        @inlinable
        package func suspend() async {}
    #endif
}
