import Console
import PRSNLCore
import Requests

/// `prsnlctl doctor`: everything that can be looked at, whatever else is broken.
enum DoctorCommand {
    static let command = Command(
        "doctor", "Check everything from the configuration to the service, and say what to do.",
        examples: [("", "Check everything.")],
        options: [
            CommandOption("--repair", nil, "Create missing files beside the database first, as root or as its owner."),
            CommandOption("--rebuild-index", nil, "Build the index for `prsnlctl search` again first."),
        ], needsRoot: true, judgesConfiguration: true
    ) { context, arguments throws(UserFacingError) in
        if arguments.has("--rebuild-index") {
            let rebuilt = try context.answer(RebuildIndexRequest())
            context.say(
                rebuilt.notIndexed > 0
                    ? "the index is built again; `prsnlctl status` shows how many items are left"
                    : "the index was built again")
        }
        let scene = DoctorScene(context, isToRepair: arguments.has("--repair"))
        // With the commands of the daemon that was found.
        return try context.write(DoctorReport(Examination.findings(scene), now: scene.now), of: scene.unit)
    }
}
