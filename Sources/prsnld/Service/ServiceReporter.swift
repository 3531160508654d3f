import Control
import Glibc
import PRSNLCore
import Requests
import Store
import SyncEngine
import Synchronization

/// Keeps the line that `systemctl status` shows true: composed when the daemon is awake anyway, sent when it has changed.
final class ServiceReporter: Sendable {
    private struct State {
        var composed = ""
        var sent = ""
        var composedAt: Duration?
        var isComposing = false
        /// Something has happened since the composing began.
        var isOutdated = false
        var hasFailed = false
        var isStopping = false
    }

    private let notification: ServiceNotification
    private let parts: RunningParts
    private let unit: ServiceUnit
    private let log: LogHandler
    private let state = Mutex(State())

    init(
        _ notification: ServiceNotification, _ parts: RunningParts, _ unit: ServiceUnit, log: @escaping LogHandler
    ) {
        self.unit = unit
        self.notification = notification
        self.parts = parts
        self.log = log
    }

    /// When it was composed last (CLOCK_MONOTONIC).
    var composedAt: Duration? { state.withLock(\.composedAt) }

    /// Composes and sends, soon. Calls that come meanwhile lead to one more round.
    func touch() {
        let begins = state.withLock { state in
            state.isOutdated = true
            defer { state.isComposing = true }
            return !state.isComposing
        }
        guard begins else { return }
        Task(executorPreference: TaskLoop.current) { [self] in
            while takeOutdated() {
                await compose()
                send()
            }
        }
    }

    private func takeOutdated() -> Bool {
        state.withLock { state in
            defer { state.isOutdated = false }
            state.isComposing = state.isOutdated
            return state.isOutdated
        }
    }

    private func compose() async {
        let summary: CopySummary
        do throws(UserFacingError) {
            summary = try await parts.store.counters()
        } catch {
            // The daemon is stopping, or the pulls fail for the same reason and say so.
            return log(.debug, .daemon, "no status for systemd: \(error.message)")
        }
        var engine = parts.engine.state
        engine.problem = parts.store.replacement() ?? engine.problem
        let text = ServiceStatus.text(engine, summary, unit: unit, now: parts.time.now())
        state.withLock { state in
            state.composed = text
            state.composedAt = Heartbeat.monotonic()
        }
    }

    /// Sends the messages, and the line if it is another than before.
    ///
    /// - Returns: whether systemd has them.
    @discardableResult
    func send(_ messages: ServiceNotification.Message..., line: String? = nil) -> Bool {
        let line = state.withLock { state -> String? in
            if messages.contains(.stopping) { state.isStopping = true }
            // A line that was being composed comes too late.
            let line = line ?? (state.isStopping ? "" : state.composed)
            guard line != state.sent, !line.isEmpty else { return nil }
            state.sent = line
            return line
        }
        let all = messages + (line.map { [.status($0)] } ?? [])
        guard !all.isEmpty else { return true }
        do throws(UserFacingError) {
            // Only what happens once is worth waiting for a busy systemd.
            try notification.send(all, waits: messages.contains { $0 != .watchdog })
            state.withLock { $0.hasFailed = false }
            return true
        } catch {
            let isFirst = state.withLock { state in
                state.sent = ""
                defer { state.hasFailed = true }
                return !state.hasFailed
            }
            if isFirst { log(.warning, .daemon, "\(error.message)") }
            return false
        }
    }
}

/// Tells systemd how far the daemon is: the datagrams of sd_notify(3), without its library.
struct ServiceNotification: Sendable {
    /// One assignment of a datagram.
    enum Message: Sendable, Equatable {
        /// Started, or a reload is over.
        case ready
        /// The configuration is being read again; CLOCK_MONOTONIC at the beginning.
        case reloading(since: Duration)
        case stopping
        /// All that is watched lives.
        case watchdog
        /// One line for people.
        case status(String)

        var text: String {
            switch self {
            case .ready: "READY=1"
            case .reloading(let since): "RELOADING=1\nMONOTONIC_USEC=\(since.wholeMicroseconds)"
            case .stopping: "STOPPING=1"
            case .watchdog: "WATCHDOG=1"
            // A line break would begin another assignment.
            case .status(let text): "STATUS=" + String(text.map { $0.isNewline ? " " : $0 })
            }
        }
    }

    private let address: String?

    /// Does nothing where `$NOTIFY_SOCKET` is not set.
    init(environment: [String: String]) {
        address = environment["NOTIFY_SOCKET"].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Whether systemd listens.
    var isWanted: Bool { address != nil }

    /// Sends one datagram.
    ///
    /// - Parameter waits: Whether to wait where systemd has much unread; what is sent again and again does not.
    /// - Throws: `control_socket_failed` with the reason; the daemon goes on without it.
    func send(_ messages: [Message], waits: Bool = true) throws(UserFacingError) {
        guard let address else { return }
        guard address.hasPrefix("/") || address.hasPrefix("@"),
            let name = SocketAddress(path: address, mayBeAbstract: true)
        else { throw Self.failure("it is not a valid address") }
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Self.failure(String(cString: strerror(errno))) }
        defer { close(descriptor) }
        let message = Array(messages.map(\.text).joined(separator: "\n").utf8)
        let flags = Int32(MSG_NOSIGNAL) | (waits ? 0 : Int32(MSG_DONTWAIT))
        let sent = name.with { sendto(descriptor, message, message.count, flags, $0, $1) }
        guard sent == message.count else { throw Self.failure(String(cString: strerror(errno))) }
    }

    private static func failure(_ reason: String) -> UserFacingError {
        UserFacingError(.controlSocketFailed, "systemd cannot be notified through $NOTIFY_SOCKET: \(reason).")
    }
}
