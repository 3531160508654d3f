import Configuration
import Console
import Doctor
import PRSNLCore
import Reports

/// `prsnlctl doctor`: everything that can be looked at, whatever else is broken.
enum DoctorCommand {
    static let command = Command(
        early: "doctor", "Check everything from the configuration to the service, and say what to do.",
        options: [
            CommandOption("--repair", nil, "Repair the files beside the database first, as root or as its owner."),
            CommandOption("--rebuild-index", nil, "Build the index for `prsnlctl search` again first."),
        ]
    ) { arguments, environment throws(UserFacingError) in
        let file = try CommandContext.configurationFile(arguments)
        let (loaded, problems) = LoadedConfiguration.examine(
            file: file, environment: environment, skippingUnreadable: true)
        let context = CommandContext(arguments, environment, loaded, file: file)
        if arguments.has("--rebuild-index") {
            var outbox = OutboxClient(context)
            let rebuilt = try outbox.perform(RebuildIndexRequest())
            context.say(
                rebuilt.notIndexed > 0
                    ? "the index is built again; `prsnlctl status` shows how many items are left"
                    : "the index was built again")
        }
        let question = DoctorQuestion(
            loaded: loaded, problems: problems, paths: context.paths, isFileGiven: context.isFileGiven,
            unit: context.unit, isToRepair: arguments.has("--repair"), asRoot: CommandContext.sudo())
        let (report, unit) = Examination.run(question, say: context.say)
        try context.write(report, of: unit)
        return report.exitCode
    }
}
