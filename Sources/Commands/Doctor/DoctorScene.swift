import Control
import Glibc
import PRSNLCore
import Requests
import Store

/// What the checks share: the paths, and what the daemon says of itself.
struct DoctorScene: Sendable {
    let context: CommandContext
    let now = TimeSource.system.now()
    /// The daemon that is meant.
    private(set) var unit: ServiceUnit
    private(set) var socket: String
    private(set) var database: String
    /// As they were before anything here was opened.
    private(set) var files: FilesCheck
    /// Why no daemon has answered; `nil` where one has.
    private(set) var silence: UserFacingError?
    /// Also where it does not answer.
    private(set) var isRunning = true
    /// It answers, and systemd has not started it.
    private(set) var isManual = false
    /// What it uses, by its own word; `nil` where it was not asked.
    private(set) var credentials: CredentialsReport?
    /// From the daemon, else from the file.
    private(set) var status: StatusReport?
    /// Why neither reported it; `nil` where the file did not answer in time.
    private(set) var error: UserFacingError?

    /// A daemon that takes longer is one that hangs.
    private static let patience: Duration = .seconds(5)

    /// - Parameter isToRepair: `--repair`
    init(_ context: CommandContext, isToRepair: Bool) {
        self.context = context
        (unit, socket, database) = (context.unit, context.paths.controlSocket, context.database)
        // Before any process opens the database, even the daemon for its answer: that creates `-wal` and `-shm`.
        files = FilesCheck.look(context.database, within: Self.patience)
        ask()
        // The daemon knows best which file it works on. Root follows its own configuration alone.
        let reported = status?.file.path
        if geteuid() != 0, let reported { database = reported }
        let path = database
        // First, so that what is looked at is what it has left.
        let repair = isToRepair ? Result { () throws(UserFacingError) in try FilesCheck.repair(path) } : nil
        // What is missing was removed while the daemon runs, whatever is there by now.
        let wasTaken = isRunning && files.lacksReaderFiles
        if repair != nil && !wasTaken || !RealPath.isSameFile(path, context.database) {
            files = FilesCheck.look(path, within: Self.patience)
        }
        files.isDaemonRunning = isRunning
        files.repair = repair
        files.otherPath = reported.flatMap { RealPath.isSameFile($0, path) ? nil : $0 }
        if status == nil { readStatus() }
    }

    private mutating func ask() {
        do throws(UserFacingError) {
            var client = try context.reach(timeout: Self.patience)
            let report = try client.ask(StatusRequest(), timeout: Self.patience).get()
            guard let daemon = report.daemon else {
                throw UserFacingError(.controlProtocol, "The daemon says nothing of itself.")
            }
            guard !context.isFileGiven || RealPath.isSameFile(report.file.path, context.database) else {
                silence = UserFacingError(.daemonNotRunning, "The daemon works on another file, \(report.file.path).")
                isRunning = false
                return
            }
            (status, socket) = (report, client.path)
            if let kind = SystemdUnit.kind(of: daemon.pid) { unit.kind = kind } else { isManual = true }
            // Without a question to the server. A daemon of an earlier version does not know this one.
            credentials = try? client.ask(AccountRequest(), timeout: Self.patience).get().credentials
        } catch {
            silence = error
            // One that holds the copy works on, and only its socket is gone.
            isRunning = error.code != .daemonNotRunning || context.holder != nil
        }
    }

    private mutating func readStatus() {
        let scene = self
        do throws(UserFacingError) {
            let summary = try BoundedCheck.run(within: Self.patience) {
                scene.read { reader throws(UserFacingError) in try reader.summary() }
            }?.get()
            status = summary.map { StatusReport($0, now: scene.now) }
        } catch {
            self.error = error
        }
    }

    /// Leaves no trace beside the file.
    func read<Value>(_ body: (StoreReader) throws(UserFacingError) -> Value) -> Result<Value, UserFacingError> {
        Result { () throws(UserFacingError) in try body(StoreReader(path: database, leavingNoTrace: true)) }
    }
}
