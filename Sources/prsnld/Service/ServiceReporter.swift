import Console
import PRSNLCore
import Reports
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
        let counts: CopyCounts
        do throws(UserFacingError) {
            counts = try await parts.store.counts()
        } catch {
            // The daemon is stopping, or the pulls fail for the same reason and say so.
            return log(.debug, .daemon, "no status for systemd: \(error.message)")
        }
        var engine = parts.engine.state
        engine.problem = parts.store.replacement() ?? engine.problem
        let text = ServiceStatus.text(engine, counts, unit: unit, now: parts.time.now())
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
            let line = line ?? state.composed
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
