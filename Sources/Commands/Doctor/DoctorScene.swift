import Configuration
import Control
import Glibc
import PRSNLCore
import Requests
import Store

/// What the checks share: the configuration as far as it could be read, the paths, and what the daemon says of itself.
struct DoctorScene: Sendable {
    let loaded: LoadedConfiguration
    let problems: [ConfigurationProblem]
    /// The daemon that is meant.
    let unit: ServiceUnit
    let socket: String
    let context: CommandContext
    let database: String
    let daemon: ServiceCheck.Daemon
    /// As they were before anything here was opened.
    let files: FilesCheck
    /// Who reads the database, but for the daemon.
    let readers: [String]
    /// From the daemon, else from the file; `nil` with the reason where neither told.
    let status: StatusReport?
    let statusReason: String
    /// Why this user may see neither the daemon nor the file.
    let refusal: UserFacingError?
    /// What the daemon uses, by its own word; `nil` where it was not asked.
    let credentials: CredentialsReport?
    let now: Timestamp

    /// A daemon that takes longer is one that hangs.
    private static let patience: Duration = .seconds(5)

    /// - Parameters:
    ///   - loaded: The configuration, as far as it could be read, and what is wrong with it.
    ///   - isToRepair: `--repair`
    init(
        _ context: CommandContext, _ loaded: LoadedConfiguration, _ problems: [ConfigurationProblem], isToRepair: Bool
    ) {
        self.loaded = loaded
        self.problems = problems
        self.context = context
        now = TimeSource.system.now()
        // Before any process opens the database, even the daemon for its answer: that creates `-wal` and `-shm`.
        let before = Self.look(context.paths.database)
        let answer = Self.ask(context)
        daemon = answer.daemon
        socket = answer.socket ?? context.paths.controlSocket
        var unit = context.unit
        if let process = answer.status?.daemon?.pid, let kind = SystemdUnit.kind(of: process) { unit.kind = kind }
        self.unit = unit
        // The daemon knows best which file it works on. Root follows its own configuration alone.
        let reported = answer.status?.file.path
        let path = geteuid() == 0 ? context.paths.database : reported ?? context.paths.database
        database = path
        // First, so that what is looked at is what it has left.
        let repair = isToRepair ? Result { () throws(UserFacingError) in try FilesCheck.repair(path) } : nil
        credentials = answer.credentials
        let isRunning = if case .stopped = daemon { false } else { true }
        let isSameFile = RealPath.isSameFile(path, context.paths.database)
        // What is missing was removed while the daemon runs, whatever is there by now.
        let wasTaken = isRunning && before.lacksReaderFiles
        var files = isSameFile && (repair == nil || wasTaken) ? before : Self.look(path)
        files.isDaemonRunning = isRunning
        files.repair = repair
        files.otherPath = reported.flatMap { RealPath.isSameFile($0, path) ? nil : $0 }
        self.files = files
        let process = answer.status?.daemon?.pid
        let readers = BoundedCheck.run(within: Self.patience) { ReaderFiles.readers(path: path) } ?? []
        self.readers = readers.filter { $0 != process }.map(ProcessName.text)
        var (status, reason, refusal) = (answer.status, "", UserFacingError?.none)
        if status == nil {
            let now = now
            let read = BoundedCheck.run(within: Self.patience) {
                Result { () throws(UserFacingError) in
                    StatusReport(try StoreReader(path: path, leavingNoTrace: true).summary(), now: now)
                }
            }
            switch read {
            case .success(let report)?: status = report
            case .failure(let error)? where error.code == .noDatabase: reason = "there is no copy yet"
            case .failure(let error)? where error.code == .databaseUnreadable:
                reason = "this user may not read the file"
                refusal = error.explainedRefusal(context.paths)
            case .failure?: reason = "the file cannot be read"
            case nil: reason = "the file did not answer in time"
            }
        }
        (self.status, statusReason, self.refusal) = (status, reason, refusal)
    }

    private static func look(_ path: String) -> FilesCheck {
        if let files = BoundedCheck.run(within: patience, { FilesCheck.look(path) }) { return files }
        var late = FilesCheck(path: path)
        late.didAnswer = false
        return late
    }

    /// Leaves no trace beside the file.
    func read<Value>(
        _ body: (StoreReader) throws(UserFacingError) -> Value
    ) -> Result<Value, UserFacingError> {
        Result { () throws(UserFacingError) in try body(StoreReader(path: database, leavingNoTrace: true)) }
    }

    private typealias Answer = (
        daemon: ServiceCheck.Daemon, status: StatusReport?, credentials: CredentialsReport?, socket: String?
    )

    private static func ask(_ context: CommandContext) -> Answer {
        do throws(UserFacingError) {
            var client = try context.reach(timeout: patience)
            let report = try client.ask(StatusRequest(), timeout: patience).get()
            guard let facts = report.daemon else {
                return (.silent(UserFacingError(.controlProtocol, "The daemon says nothing of itself.")), nil, nil, nil)
            }
            if context.isFileGiven, !RealPath.isSameFile(report.file.path, context.paths.database) {
                let other = UserFacingError(
                    .daemonNotRunning, "The daemon works on another file, \(report.file.path).")
                return (.stopped(other), nil, nil, nil)
            }
            let daemon = ServiceCheck.Daemon.answers(pid: facts.pid, version: facts.version, since: facts.since)
            return (daemon, report, credentials(&client), client.path)
        } catch {
            switch error.code {
            // One that holds the copy works on, and only its socket is gone.
            case .daemonNotRunning where context.holder == nil: return (.stopped(error), nil, nil, nil)
            case .daemonBusy: return (.hangs(error), nil, nil, nil)
            default: return (.silent(error), nil, nil, nil)
            }
        }
    }

    /// Without a question to the server. A daemon of an earlier version does not know this one.
    private static func credentials(_ client: inout ControlClient) -> CredentialsReport? {
        do throws(UserFacingError) {
            return try client.ask(AccountRequest(acceptNew: false, dryRun: true), timeout: patience).get()
                .credentials
        } catch {
            return nil
        }
    }
}
