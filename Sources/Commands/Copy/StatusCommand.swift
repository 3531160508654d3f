import Configuration
import Console
import Control
import PRSNLCore
import Reports

/// `prsnlctl status`: from the daemon when it runs, from the file when it does not.
enum StatusCommand {
    static let command = Command(
        "status", "Show how complete and how fresh the copy is."
    ) { context, _ throws(UserFacingError) in
        let report = try report(context)
        try context.write(report)
        if report.source == .daemon { sayOther(context) }
        return report.exitCode
    }

    /// Where the machine's daemon and the person's own both run, a person may mean either.
    private static func sayOther(_ context: CommandContext) {
        guard let other = context.paths.otherSocket else { return }
        do throws(UserFacingError) {
            _ = try ControlClient(path: other)
        } catch {
            return  // none that could be meant
        }
        let isMachines = context.paths.controlSocket == DefaultPaths.systemControlSocket
        context.say(
            """
            This was \(isMachines ? "the machine's daemon" : "your own daemon"). \
            \(isMachines ? "Your own" : "The machine's") runs too: `prsnlctl --socket \(other) status`.
            """)
    }

    private static func report(_ context: CommandContext) throws(UserFacingError) -> StatusReport {
        let report: StatusReport
        switch try context.askDaemon(StatusRequest()) {
        case .success(let answer): report = answer
        case .failure(let error):
            return try StatusReport(path: context.paths.database, now: TimeSource.system.now()) { wasClosed in
                SystemdUnit.absence(after: error, of: context.unit, closedCopy: wasClosed)
            }
        }
        guard report.schemaVersion <= StatusReport.schemaVersion else {
            throw UserFacingError(.controlProtocol, "The daemon is newer than this prsnlctl.")
        }
        return report
    }
}
