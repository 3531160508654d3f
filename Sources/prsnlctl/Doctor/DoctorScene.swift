import Configuration
import Control
import Glibc
import PRSNLCore
import Store

/// What the checks share: the configuration as far as it could be read, the paths, and what the daemon says of itself.
struct DoctorScene: Sendable {
    let loaded: LoadedConfiguration
    let problems: [ConfigurationProblem]
    let checkCommand: String
    let socket: String
    let database: String
    let daemon: DoctorService.Daemon
    /// From the daemon, else from the file; `nil` with the reason where neither told.
    let status: StatusReport?
    let statusReason: String
    let now: Timestamp

    /// A daemon that takes longer is one that hangs.
    private static let patience: Duration = .seconds(5)

    init(
        _ configurationFile: String?, _ environment: ProcessEnvironment, _ loaded: LoadedConfiguration,
        _ problems: [ConfigurationProblem], _ context: CommandContext
    ) {
        self.loaded = loaded
        self.problems = problems
        let file = configurationFile.map { ["--config", $0] } ?? []
        checkCommand = ShellText.command("prsnld", file + ["--check-config"])
        socket = context.paths.controlSocket
        now = TimeSource.system.now()
        let answer = Self.ask(context)
        daemon = answer.daemon
        // The daemon knows best on which file it works.
        let path = answer.status?.file.path ?? context.paths.database
        database = path
        if let status = answer.status {
            self.status = status
            statusReason = ""
            return
        }
        let now = now
        let read = BoundedCheck<Result<StatusReport, UserFacingError>>.run(within: Self.patience) {
            do throws(UserFacingError) {
                let summary = try StoreReader(path: path).summary()
                return .success(StatusReport(summary: summary, path: path, daemon: nil, now: now))
            } catch {
                return .failure(error)
            }
        }
        switch read {
        case .success(let report)?:
            status = report
            statusReason = ""
        case .failure(let error)?:
            status = nil
            statusReason = error.code == .noDatabase ? "there is no copy yet" : "the file cannot be read"
        case nil:
            status = nil
            statusReason = "the file did not answer in time"
        }
    }

    /// Whether there is a daemon, be it that it does not answer.
    var isDaemonRunning: Bool {
        if case .stopped = daemon { false } else { true }
    }

    var processID: Int32? {
        if case .answers(let pid, _, _) = daemon { pid } else { nil }
    }

    private static func ask(_ context: CommandContext) -> (daemon: DoctorService.Daemon, status: StatusReport?) {
        do throws(UserFacingError) {
            var client = try ControlClient(path: context.paths.controlSocket, timeout: patience)
            try client.send(.status)
            let reply = try client.receive(timeout: patience)
            guard case .status(let report) = reply, let facts = report.daemon else {
                return (.silent(reply.unexpected()), nil)
            }
            if context.isFileGiven, !CommandContext.isSameFile(report.file.path, context.paths.database) {
                let other = UserFacingError(
                    .daemonNotRunning, "The daemon works on another file, \(report.file.path).")
                return (.stopped(other), nil)
            }
            return (.answers(pid: facts.pid, version: facts.version, since: facts.since), report)
        } catch {
            return (error.code == .daemonNotRunning ? .stopped(error) : .silent(error), nil)
        }
    }
}
