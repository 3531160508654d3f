import Configuration
import Console
import Control
import PRSNLCore
import Store

/// `prsnlctl doctor`: everything that can be looked at, whatever else is broken.
enum DoctorCommand {
    static let command = Command(
        early: "doctor", "Check everything from the configuration to the service, and say what to do.",
        options: [
            CommandOption("--repair", nil, "Create missing files beside the database first, as root or as its owner."),
            CommandOption("--rebuild-index", nil, "Build the index for `prsnlctl search` again first."),
        ], asks: [RebuildIndexRequest.self]
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
        let report = DoctorReport(Examination.findings(scene, say: context.say), now: scene.now)
        // With the commands of the daemon that was found.
        try context.write(report, of: scene.unit)
        return report.exitCode
    }
}

/// Builds the full-text index again: the daemon does it in the background, and prsnlctl at once where none runs.
struct RebuildIndexRequest: Request, BareRequest {
    typealias Answer = RebuildIndexReport
    static let command = "rebuild_index"
    var isChange: Bool { true }

    func answer(_ context: RequestContext) async throws(UserFacingError) -> RebuildIndexReport? {
        guard context.engine?.keepsSearchIndex ?? true else {
            throw UserFacingError(
                .usage, "The daemon keeps no index: its configuration has search_index = no.",
                consequence: "Nothing was changed.",
                recoverySuggestion: "Set search_index = yes, then `systemctl reload prsnld`.")
        }
        return try await context.withStore(isChange: false) { store throws(UserFacingError) in
            try await store.rebuildIndex()
            if context.daemon != nil {
                store.committed.signal()
            } else {
                while try await store.indexSome(now: context.now, uptime: context.time.uptime) == .more {}
            }
            return RebuildIndexReport(notIndexed: try await store.searchState().notIndexed)
        }
    }

    func remark(_ answer: RebuildIndexReport, path: String) -> String? { Remark.change(true, path: path) }
}

package struct RebuildIndexReport: ControlReply {
    package static let type = "rebuild_index"

    package var schemaVersion = 1
    package var notIndexed: Int
}
