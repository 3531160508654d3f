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
    /// What `--repair` has done.
    let repair: DoctorReport.Finding?
    /// As they were before anything here was opened; `nil` where the disk did not answer.
    let files: DoctorFiles?
    /// Who reads the database.
    let readers: [String]
    /// From the daemon, else from the file; `nil` with the reason where neither told.
    let status: StatusReport?
    let statusReason: String
    let now: Timestamp

    /// A daemon that takes longer is one that hangs.
    private static let patience: Duration = .seconds(5)

    init(
        _ arguments: ParsedArguments, _ environment: ProcessEnvironment, _ loaded: LoadedConfiguration,
        _ problems: [ConfigurationProblem], _ context: CommandContext
    ) {
        self.loaded = loaded
        self.problems = problems
        let file = context.configurationFile.map { ["--config", $0] } ?? []
        checkCommand = ShellText.command("prsnld", file + ["--check-config"])
        socket = context.paths.controlSocket
        now = TimeSource.system.now()
        let answer = Self.ask(context)
        daemon = answer.daemon
        // The daemon knows best on which file it works.
        let path = answer.status?.file.path ?? context.paths.database
        database = path
        // First, so that what is looked at is what it has left.
        repair = arguments.has("--repair") ? Self.repair(path) : nil
        let isRunning = if case .stopped = daemon { false } else { true }
        let repairCommand = Self.repairCommand(arguments)
        files = BoundedCheck.run(within: Self.patience) {
            var files = GatherFiles.files(path, isDaemonRunning: isRunning)
            files.repairCommand = repairCommand
            return files
        }
        let process = answer.status?.daemon?.pid
        readers = BoundedCheck.run(within: Self.patience) { GatherFiles.readers(path, daemon: process) } ?? []
        let read = answer.status.map { ($0, "") } ?? Self.read(path, now)
        status = read.0
        statusReason = read.1
    }

    /// The status from the file, or why there is none.
    private static func read(_ path: String, _ now: Timestamp) -> (StatusReport?, String) {
        let read = BoundedCheck<Result<StatusReport, UserFacingError>>.run(within: patience) {
            do throws(UserFacingError) {
                let summary = try StoreReader(path: path, leavingNoTrace: true).summary()
                return .success(StatusReport(summary: summary, path: path, daemon: nil, now: now))
            } catch {
                return .failure(error)
            }
        }
        switch read {
        case .success(let report)?: return (report, "")
        case .failure(let error)?:
            return (nil, error.code == .noDatabase ? "there is no copy yet" : "the file cannot be read")
        case nil: return (nil, "the file did not answer in time")
        }
    }

    var processID: Int32? {
        if case .answers(let pid, _, _) = daemon { pid } else { nil }
    }

    /// For the same file.
    private static func repairCommand(_ arguments: ParsedArguments) -> String {
        let options = ["--config", "--instance", "--socket", "--database"].flatMap { option in
            arguments.value(option).map { [option, $0] } ?? []
        }
        return ShellText.command("sudo", ["prsnlctl"] + options + ["doctor", "--repair"])
    }

    private static func repair(_ database: String) -> DoctorReport.Finding {
        do throws(UserFacingError) {
            return .repaired(try ReaderFilesRepair.run(database))
        } catch {
            return .failed(.file, "repair", error)
        }
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
