import Console
import Glibc
import PRSNLCore
import Reports
import SyncEngine

/// `prsnld --once`: pulls everything there is, then ends.
enum OncePull {
    static func run(_ setup: Setup) async throws(UserFacingError) -> ExitCode {
        let loaded = try setup.load()
        let logger = Logger(
            level: loaded.configuration.logLevel, form: Logger.Form(environment: setup.environment.variables),
            unit: setup.unit)
        let log = logger.handler
        for warning in loaded.warnings { log(.warning, .config, "\(warning)") }
        let parts = try await RunningParts.start(loaded, setup, log: log)
        let engine = parts.engine
        let pull = Task { await engine.runOnce() }
        let watch = Task {
            for await signal in setup.signals.stream where signal != SIGHUP {
                log(.notice, .daemon, "stopping")
                pull.cancel()
            }
        }
        let result = await pull.value
        watch.cancel()
        await parts.stop()
        let report = SyncReport(result)
        log(
            report.outcome == .failed ? .error : .notice, .daemon,
            "\(report.outcome.rawValue): \(result.added) added, \(result.changed) changed, \(result.deleted) deleted"
                + (result.problem.map { "; \($0.code.rawValue)" } ?? ""))
        return report.exitCode
    }
}
