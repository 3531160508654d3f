import Configuration
import Console
import Control
import Glibc
import PRSNLCore
import Requests

/// `prsnlctl status`: from the daemon when it runs, from the file when it does not.
enum StatusCommand {
    static let command = Command(
        "status", "Show how complete and how fresh the copy is.",
        examples: [("", "Whether the copy is complete, and how old.")],
        options: [.watch, CommandOption("--quiet", nil, "Print nothing; exit code 0 if the daemon answers.")],
        onlyReads: true
    ) { context, arguments throws(UserFacingError) in
        func report() throws(UserFacingError) -> StatusReport {
            let report = try context.answer(StatusRequest())
            guard report.schemaVersion <= StatusReport.schemaVersion else {
                throw UserFacingError(.controlProtocol, "The daemon is newer than this prsnlctl.")
            }
            return report
        }
        if arguments.has("--watch") {
            if arguments.has("--quiet") { throw arguments.failure("--watch prints, and --quiet forbids it") }
            return try Watch.run(context, report, line: \.sentence)
        }
        // For what starts a daemon again that does not answer. A write that waits for a person would wait after that too.
        if arguments.has("--quiet") {
            var daemon = try context.reach()
            _ = try daemon.ask(StatusRequest()).get()
            return .fine
        }
        let report = try report()
        try context.write(report)
        if context.isText { for warning in Cursor.readers(context).warnings { context.say(warning) } }
        if context.isText, let writer = context.otherWriter {
            context.say("\(writer) holds the write lock of \(context.database); pulls and writes wait for it")
        }
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
}

extension CommandContext {
    func status(because noDaemon: UserFacingError) throws(UserFacingError) -> StatusReport {
        let summary = try reader().summary()
        var report = StatusReport(summary, now: TimeSource.system.now())
        report.noDaemon = absence(because: noDaemon, wasClosed: summary.wasClosed)
        return report
    }

    /// What systemd says of the unit, else what the file says.
    private func absence(because error: UserFacingError, wasClosed: Bool) -> StatusReport.Absence {
        switch error.code {
        case .daemonBusy: return .init(state: .notResponding)
        case .controlRefused: return .init(state: .refused, reason: error.message)
        case _ where holder != nil:
            return .init(state: .unreachable, reason: error.message, nextCommand: error.nextCommand)
        default: break
        }
        if let failure = SystemdUnit(of: unit).failure {
            return .init(state: .failed, reason: failure, nextCommand: unit.fit(SystemdUnit.log))
        }
        return wasClosed
            ? .init(state: .stopped)
            : .init(state: .failed, reason: "It did not stop cleanly (killed or crashed). Nothing is lost.")
    }
}
