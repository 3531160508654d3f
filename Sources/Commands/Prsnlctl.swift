import Configuration
import Console
import Glibc
import PRSNLCore
import Store

/// The command line: finds the command and turns errors into words and exit codes.
package enum Prsnlctl {
    package static func main() {
        Descriptors.holdStandardPlaces()
        // libcurl would write the keys of our connections there.
        unsetenv("SSLKEYLOGFILE")
        Heap.share()
        MemoryBound.set()
        let environment = ProcessEnvironment.current()
        let code = run(environment).rawValue
        if BoundedCheck.isUnderWay { _exit(code) }
        exit(code)
    }

    private static func run(_ given: ProcessEnvironment) -> ExitCode {
        var environment = given
        // A wrong command line may still say that JSON is wanted.
        var isJSON = CommandLine.arguments.contains("--json")
        let isRoot = geteuid() == 0
        var unit = ServiceUnit()
        var context: CommandContext?
        var arguments: ParsedArguments?
        do throws(UserFacingError) {
            let words = try ProgramArguments.read(program: "prsnlctl")
            if words.isEmpty { return write(overview) }
            let parsed = try ParsedArguments(words, table: .prsnlctl)
            arguments = parsed
            isJSON = parsed.has("--json")
            try chooseColours(parsed, &environment)
            if parsed.has("--help") { return write(CommandTable.prsnlctl.help(for: parsed.command)) }
            if parsed.has("--version") { return write("prsnlctl \(ProductVersion.current)\n") }
            guard let command = Command.all.first(where: { $0.entry == parsed.command }) else {
                throw UserFacingError(.usage, "a command is missing.")
            }
            var found = try CommandContext(parsed, environment, judgesConfiguration: command.judgesConfiguration)
            unit = found.unit
            if !command.judgesConfiguration {
                try found.checkConfiguration(onlyReads: command.entry.onlyReads)
                context = found
            }
            // A reader's place is that of the person who asks, and root's folder is closed to the owner of the copy.
            if !command.needsRoot, !parsed.has("--cursor") { try FileOwner.giveUpRoot(found.paths) }
            found.hasGivenUpRoot = isRoot && geteuid() != 0
            return try command.run(found, parsed)
        } catch {
            let error = context?.withFoundItem(context?.withFirstStep(error) ?? error, arguments) ?? error
            return report(
                isRoot ? error : error.explainedRefusal(context?.paths), unit, isJSON: isJSON,
                isLine: arguments?.command == ChangesCommand.command.entry || arguments?.has("--watch") == true,
                environment)
        }
    }

    /// `--color` says what the environment would say, and stands above it.
    private static func chooseColours(
        _ arguments: ParsedArguments, _ environment: inout ProcessEnvironment
    ) throws(UserFacingError) {
        switch arguments.value("--color") {
        case nil, "auto": break
        case "never": environment.variables["NO_COLOR"] = "1"
        case "always": environment.variables.merge(["NO_COLOR": "", "CLICOLOR_FORCE": "1"]) { $1 }
        default: throw arguments.failure("--color takes auto, always or never")
        }
    }

    private static let overview = CommandTable.prsnlctl.overview(
        of: ["search", "list", "show", "capture", "note", "tag", "edit", "delete", "status", "queue"],
        more: "`prsnlctl --help` lists all commands, `prsnlctl help COMMAND` explains one.".filter { $0 != "`" })

    private static func report(
        _ error: UserFacingError, _ unit: ServiceUnit, isJSON: Bool, isLine: Bool, _ environment: ProcessEnvironment
    ) -> ExitCode {
        let report = FailureReport(error)
        let style = TextStyle(descriptor: STDERR_FILENO, environment: environment.variables, unit)
        // On stdout: who asked for JSON reads it from there, whatever happens. Among lines it is one.
        if isJSON, let json = try? JSONOutput.text(report, unit, pretty: !isLine) {
            StandardStream.output.write(json + "\n")
        } else {
            StandardStream.error.write(report.text(program: "prsnlctl", style))
        }
        return exitCode(error.code)
    }

    private static func exitCode(_ code: ErrorCode) -> ExitCode {
        switch code {
        case .usage: .usage
        case .daemonNotRunning, .daemonElsewhere: .daemonNotRunning
        case .changesMissed: .needsAttention
        default: .error
        }
    }

    private static func write(_ text: String) -> ExitCode {
        StandardStream.output.write(text) ? .fine : .error
    }
}
