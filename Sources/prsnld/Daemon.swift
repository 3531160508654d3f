import Configuration
import Console
import Control
import Glibc
import PRSNLCore
import Requests
import SyncEngine

/// The daemon from start to end: configuration, file, client, engine, control socket, and back.
struct Daemon {
    let setup: Setup
    let logger: Logger
    let log: LogHandler
    let parts: RunningParts
    let startedAt: Timestamp
    private var loaded: LoadedConfiguration
    private let groupRight = GroupRight()

    private enum Event: Sendable {
        case signal(Int32)
        case engineEnded
    }

    /// Returns after a signal to stop.
    static func run(_ setup: Setup) async throws(UserFacingError) -> ExitCode {
        let startedAt = TimeSource.system.now()
        let loaded = try setup.load()
        let logger = setup.logger(loaded)
        let log = logger.handler
        let parts: RunningParts
        do throws(UserFacingError) {
            parts = try await RunningParts.start(loaded, setup, log: log)
        } catch {
            // SIGTERM arrived during start-up.
            guard error.code == .cancelled else { throw error }
            log(.notice, .daemon, "\(error.message)")
            return .fine
        }
        var daemon = Daemon(
            setup: setup, logger: logger, log: log, parts: parts, startedAt: startedAt, loaded: loaded)
        // The engine starts before the control socket is made: the first rows need not wait for that.
        let engine = Task(executorPreference: TaskLoop.current) { [engine = parts.engine] in await engine.run() }
        let check = Task(executorPreference: TaskLoop.current) { await parts.checkAfterUncleanStop(log: log) }
        defer { check.cancel() }
        let control: ControlServer
        let supervisor: Supervisor
        do throws(UserFacingError) {
            control = try daemon.makeControlServer()
            supervisor = try Supervisor(setup, parts, control, log: log)
        } catch {
            engine.cancel()
            await engine.value
            await parts.stop()
            throw error
        }
        supervisor.ready()
        log(
            .notice, .daemon,
            "prsnld \(ProductVersion.current), pid \(getpid()): \(loaded.configuration.database) from "
                + "\(loaded.configuration.serverURL?.text ?? "")")
        let code = await daemon.serve(engine, supervisor)
        supervisor.stopping()
        control.stop()
        engine.cancel()
        await engine.value
        await parts.stop()
        log(.notice, .daemon, "stopped")
        return code
    }

    private func makeControlServer() throws(UserFacingError) -> ControlServer {
        let running = RunningDaemon(parts, database: loaded.configuration.database, startedAt: startedAt)
        groupRight.set(mayWrite: loaded.configuration.groupMayWrite)
        return try ControlServer(
            path: loaded.configuration.controlSocket, groupRight: groupRight, log: log, requests: running.requests)
    }

    /// Until it is to stop.
    private mutating func serve(_ engine: Task<Void, Never>, _ supervisor: Supervisor) async -> ExitCode {
        let (events, continuation) = AsyncStream.makeStream(of: Event.self)
        let forward = Task(executorPreference: TaskLoop.current) { [signals = setup.signals] in
            for await signal in signals.stream { continuation.yield(.signal(signal)) }
        }
        let watch = Task(executorPreference: TaskLoop.current) {
            await engine.value
            if !Task.isCancelled { continuation.yield(.engineEnded) }
        }
        defer {
            forward.cancel()
            watch.cancel()
        }
        for await event in events {
            switch event {
            case .signal(SIGHUP):
                supervisor.reloading()
                reload()
                supervisor.reloaded()
            case .signal(let number):
                log(.notice, .daemon, "stopping on \(number == SIGINT ? "SIGINT" : "SIGTERM")")
                return .fine
            case .engineEnded:
                // It promises to return only when it is told to.
                log(.error, .daemon, "the sync engine ended unexpectedly; please report this with the log")
                return .error
            }
        }
        return .error
    }

    /// Reads the configuration again. One that is wrong changes nothing.
    private mutating func reload() {
        let new: LoadedConfiguration
        do throws(UserFacingError) {
            new = try setup.load()
        } catch {
            for line in error.message.split(separator: "\n") { log(.error, .config, "\(line)") }
            return log(.error, .config, "the configuration was not read again; everything stays as it was")
        }
        for warning in new.warnings { log(.warning, .config, "\(warning)") }
        logger.setLevel(new.configuration.logLevel)
        var changed: [String] = []
        for key in ConfigurationKey.all {
            let value = key.value(new.configuration)
            guard value != key.value(loaded.configuration) else { continue }
            changed.append("\(key.name) = \(value ?? "none")" + (key.effect == .restart ? " (after a restart)" : ""))
        }
        do throws(UserFacingError) { try parts.login.readAgain(new.configuration) } catch {
            log(.warning, .config, error.inFull)
        }
        parts.engine.apply(new.configuration.sync)
        groupRight.set(mayWrite: new.configuration.groupMayWrite)
        loaded = new
        log(
            .notice, .config,
            "configuration read again: \(changed.isEmpty ? "nothing changed" : changed.joined(separator: ", "))")
    }
}
