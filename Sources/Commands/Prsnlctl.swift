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
            let command = Command.all.first { $0.entry == parsed.command }
            unit = try CommandContext.unit(parsed, environment)
            if case .early(let run)? = command?.run { return try run(parsed, environment) }
            var found = try CommandContext(parsed, environment, onlyReads: command?.entry.onlyReads ?? false)
            context = found
            unit = found.unit
            guard case .withContext(let run)? = command?.run else {
                throw UserFacingError(.usage, "a command is missing.")
            }
            // A reader's place is that of the person who asks, and root's folder is closed to the owner of the copy.
            if command?.needsRoot == false, !parsed.has("--cursor") { try FileOwner.giveUpRoot(found.paths) }
            found.hasGivenUpRoot = isRoot && geteuid() != 0
            return try run(found, parsed)
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
        if isJSON {
            do {
                // On stdout: who asked for JSON reads it from there, whatever happens. Among lines it is one.
                let text =
                    isLine
                    ? String(decoding: try JSONOutput.line(report, unit), as: UTF8.self)
                    : try JSONOutput.pretty(report, unit)
                StandardStream.output.write(text + "\n")
                return exitCode(error.code)
            } catch {
                // Then in words, below.
            }
        }
        let style = TextStyle(descriptor: STDERR_FILENO, environment: environment.variables, unit)
        StandardStream.error.write(report.text(program: "prsnlctl", style))
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
