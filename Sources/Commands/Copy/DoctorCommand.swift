import Configuration
import Console
import Doctor
import PRSNLCore

/// `prsnlctl doctor`: everything that can be looked at, whatever else is broken.
enum DoctorCommand {
    static let command = Command(
        early: "doctor", "Check everything from the configuration to the log, and say what to do.",
        options: [
            CommandOption("--repair", nil, "Repair the files beside the database first, as root or as its owner.")
        ]
    ) { arguments, environment throws(UserFacingError) in
        let file = try CommandContext.configurationFile(arguments)
        let (loaded, problems) = LoadedConfiguration.examine(
            file: file, environment: environment, skippingUnreadable: true)
        let context = CommandContext(arguments, environment, loaded, file: file)
        let question = DoctorQuestion(
            loaded: loaded, problems: problems, paths: context.paths, isFileGiven: context.isFileGiven,
            unit: context.unit, isToRepair: arguments.has("--repair"), asRoot: CommandContext.sudo())
        let (report, unit) = Examination.run(question, say: context.say)
        try context.write(report, of: unit)
        return report.exitCode
    }
}
