#if DEBUG
    import Glibc
    import Synchronization
#endif

/// Places at which a test lets the process die, between two steps of which only one may have happened. In release builds
/// they are nothing.
package enum CrashPoint: String, CaseIterable, Sendable {
    /// A write is in the open transaction and not on the disk.
    case beforeAccept = "before_accept"
    /// It is committed and not yet acknowledged.
    case afterAccept = "after_accept"
    /// It is due, and the file does not say yet that it is being sent.
    case beforeSending = "before_sending"
    /// The file says so, and nothing was sent.
    case afterSending = "after_sending"
    /// The answer was read, and the file does not have it.
    case beforeSettling = "before_settling"
    /// The file has it, and it was not reported yet.
    case afterSettling = "after_settling"
    /// The server has given out a new pair of tokens, and the file has the old one, which is worth nothing.
    case afterRenewal = "after_renewal"
    /// The new pair is on the disk, under another name.
    case beforeLoginRename = "before_login_rename"
    /// The new pair is in its place, and nothing was sent with it.
    case afterLoginRename = "after_login_rename"
    /// A copy will be set aside, and is as it was.
    case beforeSetAside = "before_set_aside"
    /// It is in one file, which still has its name.
    case afterLeavingLog = "after_leaving_log"
    /// It has its new name, and there is no new copy yet.
    case afterSetAside = "after_set_aside"
    /// An export has written files, and they are not on the disk.
    case beforeExportSync = "before_export_sync"
    /// They are, and not in their places.
    case beforeExportRename = "before_export_rename"
    /// A file is in its place.
    case afterExportRename = "after_export_rename"
    /// A file was put away.
    case afterExportRemoval = "after_export_removal"

    /// `PRSNL_CRASH_AT=point`, or `point:3` for the third time that it is reached.
    package static let variable = "PRSNL_CRASH_AT"

    #if DEBUG
        private static let armed = ArmedPoint(variable)

        package func reach() {
            if Self.armed?.isDue(rawValue) == true { kill(getpid(), SIGKILL) }
        }
    #else
        @inlinable
        package func reach() {}
    #endif
}

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
    /// The thread of libcurl.
    case http
    /// The thread that listens to netlink.
    case listener
    /// The thread of the control socket.
    case control

    /// `PRSNL_HANG_AT=point`, or `point:3` for the third time that it is reached.
    package static let variable = "PRSNL_HANG_AT"

    #if DEBUG
        private static let armed = ArmedPoint(variable)

        private var isDue: Bool { Self.armed?.isDue(rawValue) ?? false }

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

#if DEBUG
    /// What a variable names: `point`, or `point:3` for the third time that it is reached.
    private final class ArmedPoint: Sendable {
        private let name: String
        private let time: Int
        private let reached = Atomic(0)

        /// `nil` where the variable is not set.
        init?(_ variable: String) {
            guard let text = getenv(variable) else { return nil }
            let parts = String(cString: text).split(separator: ":").map(String.init)
            name = parts.first ?? ""
            time = parts.count > 1 ? Int(parts[1]) ?? 1 : 1
        }

        func isDue(_ name: String) -> Bool {
            name == self.name && reached.wrappingAdd(1, ordering: .relaxed).newValue == time
        }
    }
#endif
