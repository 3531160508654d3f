import CLinux
import Configuration
import Console
import Glibc
import PRSNLCore
import Reports

/// The daemon's command line: decides what to do, and turns errors into words and exit codes.
@main
enum Prsnld {
    static func main() {
        // Before there is a second thread: signal masks are inherited, and malloc's arenas are made on first use.
        let signals = TerminationSignals()
        MemoryUse.forbidInspection()
        // libcurl would write the keys of our connections there.
        unsetenv("SSLKEYLOGFILE")
        // After `prsnlctl account --accept-new` it was started as /proc/self/exe, which would be its name.
        _ = prsnl_set_thread_name("prsnld")
        MemoryUse.limitArenas()
        let loop = TaskLoop.start()
        let arguments = Array(CommandLine.arguments.dropFirst())
        Task.detached(executorPreference: loop) {
            exit(await run(arguments, ProcessEnvironment.current(), signals, loop.time).rawValue)
        }
        signals.watch()
    }

    private static func run(
        _ arguments: [String], _ environment: ProcessEnvironment, _ signals: TerminationSignals,
        _ time: TimeSource
    ) async -> ExitCode {
        let parsed: ParsedArguments
        let view: ServiceView?
        do throws(UserFacingError) {
            parsed = try ParsedArguments(arguments, table: .prsnld)
            if parsed.has("--help") { return write(CommandTable.prsnld.help()) }
            if parsed.has("--version") { return write("prsnld \(ProductVersion.current)\n") }
            view = try ServiceView(parsed)
        } catch {
            return report(error, environment)
        }
        let setup = Setup(
            configurationFile: view?.configurationFile ?? parsed.value("--config"),
            environment: view?.environment ?? environment, signals: signals, time: time)
        do throws(UserFacingError) {
            if parsed.has("--check-config") { return write(try CheckConfiguration.run(setup, as: view)) }
            guard parsed.has("--once") else { return try await Daemon.run(setup) }
            return try await OncePull.run(setup, texts: !parsed.has("--no-texts"))
        } catch {
            return report(error, environment, setup.unit)
        }
    }

    private static func report(
        _ error: UserFacingError, _ environment: ProcessEnvironment, _ unit: ServiceUnit = ServiceUnit()
    ) -> ExitCode {
        do throws(UserFacingError) {
            // systemd keeps it for `systemctl status` and `prsnlctl status` after the end.
            try ServiceNotification(environment: environment.variables).send(.status(error.message))
        } catch {
            // The reason below is what counts, and goes to the log.
        }
        var style = TextStyle(descriptor: STDERR_FILENO, environment: environment.variables, unit)
        if Logger.Form(environment: environment.variables) == .journal {
            // Each line is an entry of its own there, so that none should be broken; and one error is one entry of its
            // priority.
            style.width = .max
            var level = LogLevel.error
            for line in FailureReport(error).text(program: "prsnld", style).split(separator: "\n") {
                StandardStream.error.write("<\(level.rawValue)>\(line)\n")
                level = .notice
            }
        } else {
            StandardStream.error.write(FailureReport(error).text(program: "prsnld", style))
        }
        return ExitCode(ending: error)
    }

    private static func write(_ text: String) -> ExitCode {
        StandardStream.output.write(text) ? .fine : .error
    }
}
