import Configuration
import Console
import Control
import Doctor
import PRSNLCore

/// `prsnlctl doctor`: everything that can be looked at, whatever else is broken.
enum DoctorCommand {
    static func run(_ arguments: ParsedArguments, _ environment: ProcessEnvironment) throws(UserFacingError) -> ExitCode
    {
        let file = try CommandContext.configurationFile(arguments)
        let (loaded, problems) = LoadedConfiguration.examine(
            file: file, environment: environment, skippingUnreadable: true)
        let context = CommandContext(arguments, environment, loaded, file: file)
        let question = DoctorQuestion(
            loaded: loaded, problems: problems, paths: context.paths, isFileGiven: context.isFileGiven,
            unit: context.unit, isToRepair: arguments.has("--repair"), asRoot: CommandContext.sudo())
        let report = Examination.run(question, say: context.say)
        try context.write(report)
        return report.exitCode
    }
}
