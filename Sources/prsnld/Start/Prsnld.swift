import CLinux
import Configuration
import Console
import Glibc
import PRSNLCore
import Store

/// The daemon's command line: decides what to do, and turns errors into words and exit codes.
@main
enum Prsnld {
    static func main() {
        Descriptors.holdStandardPlaces()
        // Before there is a second thread: signal masks are inherited.
        let signals = TerminationSignals()
        MemoryUse.forbidInspection()
        // libcurl would write the keys of our connections there.
        unsetenv("SSLKEYLOGFILE")
        Heap.share()
        MemoryBound.countNothing()
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
            try ServiceNotification(environment: environment.variables).send([.status(error.message)])
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

/// What the daemon is started with, and how it becomes the parts' own settings.
struct Setup {
    let configurationFile: String?
    let environment: ProcessEnvironment
    let signals: TerminationSignals
    let time: TimeSource

    /// This daemon, for the commands that its words name: with the configuration that it was given.
    var unit: ServiceUnit {
        guard let configurationFile else {
            let isOwn = DefaultPaths.ownConfiguration(environment).map { access($0, F_OK) == 0 } ?? false
            return ServiceUnit(DefaultPaths.kind(ofUnit: isOwn ? nil : "prsnld"))
        }
        let path = environment.absolute(configurationFile)
        if let instance = DefaultPaths.instance(ofConfigurationFile: path) {
            let kind = DefaultPaths.kind(ofUnit: "prsnld@\(instance)", file: path)
            return ServiceUnit(kind, options: ["--instance", instance])
        }
        let kind =
            DefaultPaths.unit(ofConfigurationFile: path).map { DefaultPaths.kind(ofUnit: $0, file: path) }
            ?? .manual(path)
        // To the machine's service its unit says so, and prsnlctl finds that without being told.
        let isService = kind == .system("prsnld") && environment.variables["STATE_DIRECTORY"] != nil
        return ServiceUnit(kind, options: isService ? [] : ["--config", path])
    }

    /// The configuration, with the file of certificates.
    func load() throws(UserFacingError) -> LoadedConfiguration {
        var (loaded, problems) = LoadedConfiguration.examine(file: configurationFile, environment: environment)
        if let problem = loaded.caFileProblem { problems.append(problem) }
        if let missing = ConfigurationFailure.missingInstance(configurationFile.map(environment.absolute)) {
            throw missing
        }
        guard problems.isEmpty else { throw ConfigurationFailure(problems: problems).userFacing }
        return loaded
    }

    /// The log, which begins with the warnings of the configuration.
    func logger(_ loaded: LoadedConfiguration) -> Logger {
        let form = Logger.Form(environment: environment.variables)
        let logger = Logger(level: loaded.configuration.logLevel, form: form, unit: unit)
        for warning in loaded.warnings { logger.log(.warning, .config, "\(warning)") }
        return logger
    }

    func server(_ configuration: DaemonConfiguration) throws(UserFacingError) -> ServerURL {
        guard let server = configuration.serverURL else {
            throw UserFacingError(.noServer, "No server is configured.")
        }
        return server
    }
}
