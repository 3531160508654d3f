import Configuration
import Console
import PRSNLCore
import Requests

/// `prsnlctl doctor`: everything that can be looked at, whatever else is broken.
enum DoctorCommand {
    static let command = Command(
        early: "doctor", "Check everything from the configuration to the service, and say what to do.",
        examples: [("", "Check everything.")],
        options: [
            CommandOption("--repair", nil, "Create missing files beside the database first, as root or as its owner."),
            CommandOption("--rebuild-index", nil, "Build the index for `prsnlctl search` again first."),
        ]
    ) { arguments, environment throws(UserFacingError) in
        let file = try CommandContext.configurationFile(arguments)
        let (loaded, problems) = LoadedConfiguration.examine(
            file: file, environment: environment, skippingUnreadable: true)
        let context = CommandContext(arguments, environment, loaded, file: file)
        if arguments.has("--rebuild-index") {
            let rebuilt = try context.answer(RebuildIndexRequest())
            context.say(
                rebuilt.notIndexed > 0
                    ? "the index is built again; `prsnlctl status` shows how many items are left"
                    : "the index was built again")
        }
        let scene = DoctorScene(context, loaded, problems, isToRepair: arguments.has("--repair"))
        let report = DoctorReport(Examination.findings(scene), now: scene.now)
        // With the commands of the daemon that was found.
        try context.write(report, of: scene.unit)
        return report.exitCode
    }
}
