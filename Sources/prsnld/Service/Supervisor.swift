import Control
import Glibc
import PRSNLCore
import Requests
import SyncEngine
import Synchronization

/// Between the running daemon and systemd: says that the daemon is ready, how it is, and that it lives.
final class Supervisor: Sendable {
    private let reporter: ServiceReporter
    private let watchdog: Watchdog?
    private let heartbeats: [Heartbeat]
    /// When a loop has last woken up (CLOCK_MONOTONIC).
    private let awakeAt = Mutex<Duration>(.zero)

    /// While a pull goes on and on, the line for people is brought up to date so often.
    private static let betweenLines: Duration = .seconds(5)
    /// What takes less is told when it is over.
    private static let shortWork: Duration = .seconds(2)

    /// - Throws: `control_socket_failed` where there is a watchdog to be fed, and no timer for it.
    init(
        _ setup: Setup, _ parts: RunningParts, _ control: ControlServer, log: @escaping LogHandler
    ) throws(UserFacingError) {
        let variables = setup.environment.variables
        let notification = ServiceNotification(environment: variables)
        let reporter = ServiceReporter(notification, parts, setup.unit, log: log)
        self.reporter = reporter
        // Where systemd does not listen, nothing is composed.
        heartbeats = notification.isWanted ? parts.engine.heartbeats : []
        guard notification.isWanted, let interval = Watchdog.interval(environment: variables, processID: getpid())
        else {
            watchdog = nil
            return
        }
        let timer = try WatchdogTimer()
        let watchdog = Watchdog(
            interval: interval, heartbeats: Self.threads(parts, control) + heartbeats,
            effects: Watchdog.Effects(
                feed: { reporter.send(.watchdog) }, setAlarm: { timer.set($0) },
                complain: { names in
                    let line = "hung: \(names.joined(separator: ", "))"
                    log(
                        .error, .daemon,
                        "\(line); systemd restarts the daemon if that lasts, because its watchdog is not fed meanwhile")
                    reporter.send(line: line)
                },
                recover: { log(.notice, .daemon, "what hung goes on") }))
        self.watchdog = watchdog
        setup.signals.onAlarm { watchdog.alarm() }
    }

    /// The threads. Those of the tasks and of the store come first, because others wait for them.
    private static func threads(_ parts: RunningParts, _ control: ControlServer) -> [Heartbeat] {
        let network = parts.engine.network.source.heartbeat
        return [
            TaskLoop.current?.heartbeat, parts.store.heartbeat, parts.client.heartbeat, network, control.heartbeat,
        ].compactMap(\.self)
    }

    /// The file is open, and the control socket listens.
    func ready() {
        reporter.send(.ready, line: "started")
        watchdog?.start()
        for heartbeat in heartbeats { heartbeat.follow { [weak self] in self?.handle($0) } }
        if !heartbeats.isEmpty { reporter.touch() }
    }

    func reloading() { reporter.send(.reloading(since: Heartbeat.monotonic())) }
    func reloaded() { reporter.send(.ready) }

    func stopping() {
        watchdog?.stop()
        reporter.send(.stopping, line: "stopping")
    }

    /// On the loop's own thread, which has no time.
    private func handle(_ sign: Heartbeat.Sign) {
        switch sign {
        case .awake: awakeAt.withLock { $0 = Heartbeat.monotonic() }
        case .rest:
            watchdog?.feedIfDue()
            reporter.touch()
        case .progress:
            let now = Heartbeat.monotonic()
            guard now - awakeAt.withLock({ $0 }) >= Self.shortWork else { return }
            watchdog?.feedIfDue()
            if reporter.composedAt.map({ now - $0 >= Self.betweenLines }) ?? true { reporter.touch() }
        }
    }
}

/// A timer that can be put off from any thread without waking another: timer_create(2). Where it runs out, the process gets
/// SIGALRM, which the main thread waits for.
///
/// CLOCK_MONOTONIC, as systemd's own: time in suspend does not count.
final class WatchdogTimer: Sendable {
    /// The kernel's number for it, as a pointer: the first one is 0, which Swift takes for none.
    private nonisolated(unsafe) let timer: timer_t?

    /// - Throws: `control_socket_failed`: the kernel has no memory for a timer.
    init() throws(UserFacingError) {
        var timer: timer_t?
        guard timer_create(CLOCK_MONOTONIC, nil, &timer) == 0 else {
            throw UserFacingError(.controlSocketFailed, "timer_create: \(String(cString: strerror(errno))).")
        }
        self.timer = timer
    }

    deinit { timer_delete(timer) }

    func set(_ time: Duration) {
        let parts = time.components
        // All zeros would disarm it (timer_settime(2)).
        var setting = itimerspec(
            it_interval: timespec(),
            it_value: timespec(
                tv_sec: Int(max(parts.seconds, 0)), tv_nsec: max(Int(parts.attoseconds / 1_000_000_000), 1)))
        timer_settime(timer, Int32(TIMER_ABSTIME), &setting, nil)
    }
}
