import Console
import Glibc
import PRSNLCore
import Requests
import SyncEngine

/// `prsnld --once`: pulls everything there is, then ends.
enum OncePull {
    /// - Parameter texts: the texts of items too.
    static func run(_ setup: Setup, texts: Bool) async throws(UserFacingError) -> ExitCode {
        let loaded = try setup.load()
        let log = setup.logger(loaded).handler
        let parts = try await RunningParts.start(loaded, setup, log: log)
        let engine = parts.engine
        let pull = Task(executorPreference: TaskLoop.current) { await engine.runOnce(texts: texts) }
        let watch = Task(executorPreference: TaskLoop.current) {
            for await signal in setup.signals.stream where signal != SIGHUP {
                log(.notice, .daemon, "stopping")
                pull.cancel()
            }
        }
        let bar = Task(executorPreference: TaskLoop.current) { await showProgress(of: engine, setup) }
        let report = await pull.value
        watch.cancel()
        bar.cancel()
        await bar.value
        await parts.stop()
        log(
            report.outcome == .failed ? .error : .notice, .daemon,
            "\(report.outcome.rawValue): \(report.amounts)" + (report.problem.map { "; \($0.code.rawValue)" } ?? ""))
        return report.exitCode
    }

    private static func showProgress(of engine: SyncEngine, _ setup: Setup) async {
        let style = TextStyle(
            descriptor: STDERR_FILENO, environment: setup.environment.variables, setup.unit)
        var display = ProgressDisplay(style: style)
        defer { display.end() }
        while !Task.isCancelled {
            let state = engine.state
            if let progress = state.pull ?? state.indexing { display.show(progress) }
            do { try await setup.time.sleep(.milliseconds(200)) } catch { return }
        }
    }
}
