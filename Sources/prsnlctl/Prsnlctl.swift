import Configuration
import Console
import Control
import Doctor
import Glibc
import PRSNLCore
import Reports
import Store

/// The command line: one file per command; this one finds the command and turns errors into words and exit codes.
@main
enum Prsnlctl {
    static func main() {
        // libcurl would write the keys of our connections there.
        unsetenv("SSLKEYLOGFILE")
        MemoryBound.set()
        let environment = ProcessEnvironment.current()
        let code = run(environment).rawValue
        if Examination.isUnderWay { _exit(code) }
        exit(code)
    }

    private static func run(_ environment: ProcessEnvironment) -> ExitCode {
        // A wrong command line may still say that JSON is wanted.
        var isJSON = CommandLine.arguments.contains("--json")
        var unit = ServiceUnit()
        var context: CommandContext?
        do throws(UserFacingError) {
            let parsed = try ParsedArguments(ProgramArguments.read(program: "prsnlctl"), table: .prsnlctl)
            isJSON = parsed.has("--json")
            if parsed.has("--help") { return write(CommandTable.prsnlctl.help(for: parsed.command)) }
            if parsed.has("--version") { return write("prsnlctl \(ProductVersion.current)\n") }
            // A configuration that cannot be read is one of its findings.
            if parsed.command?.name == "doctor" { return try DoctorCommand.run(parsed, environment) }
            unit = try CommandContext.unit(parsed, environment)
            let found = try CommandContext(parsed, environment)
            context = found
            unit = found.unit
            return try run(parsed, found)
        } catch {
            let error = context?.withFirstStep(error) ?? error
            return report(
                error.explainedRefusal(context?.paths), unit, isJSON: isJSON, environment)
        }
    }

    private static func run(
        _ parsed: ParsedArguments, _ context: CommandContext
    ) throws(UserFacingError) -> ExitCode {
        switch parsed.command?.name {
        case "status": return try StatusCommand.run(context)
        case "sync": return try SyncCommand.run(context, parsed)
        case "history": return try HistoryCommand.run(context)
        case "ping": return try PingCommand.run(context)
        case "net": return try NetCommand.run(context, parsed)
        case "capture": return try CaptureCommand.run(context, parsed)
        case "note": return try NoteCommand.run(context, parsed)
        case "edit": return try EditCommand.run(context, parsed)
        case "delete": return try DeleteCommand.run(context, parsed)
        case "queue": return try QueueCommand.run(context, parsed)
        case "queue show": return try QueueShowCommand.run(context, parsed)
        case "queue drop": return try QueueDropCommand.run(context, parsed)
        case "retry-queue": return try RetryQueueCommand.run(context, parsed)
        case "errors": return try ErrorsCommand.run(context, parsed)
        case "login": return try LoginCommand.run(context, parsed)
        case "logout": return try LogoutCommand.run(context)
        case "whoami": return try WhoamiCommand.run(context)
        case "account": return try AccountCommand.run(context, parsed)
        default: throw UserFacingError(.usage, "a command is missing.")
        }
    }

    private static func report(
        _ error: UserFacingError, _ unit: ServiceUnit, isJSON: Bool, _ environment: ProcessEnvironment
    ) -> ExitCode {
        var report = FailureReport(error)
        report.error.fit(unit)
        if isJSON {
            do {
                // On stdout: who asked for JSON reads one object from there, whatever happens.
                StandardStream.output.write(try JSONOutput.pretty(report) + "\n")
                return exitCode(error.code)
            } catch {
                // Then in words, below.
            }
        }
        let style = TextStyle(descriptor: STDERR_FILENO, environment: environment.variables)
        StandardStream.error.write(report.text(program: "prsnlctl", style))
        return exitCode(error.code)
    }

    private static func exitCode(_ code: ErrorCode) -> ExitCode {
        switch code {
        case .usage: .usage
        case .daemonNotRunning: .daemonNotRunning
        default: .error
        }
    }

    private static func write(_ text: String) -> ExitCode {
        StandardStream.output.write(text) ? .fine : .error
    }
}
