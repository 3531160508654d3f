import Console
import Control
import PRSNLCore
import Reports

/// `prsnlctl sync`: asks the daemon to pull now.
enum SyncCommand {
    static let command = Command(
        "sync", "Pull now.",
        options: [
            CommandOption(
                "--full", nil,
                "Read the whole timeline again: edits and deletions too. Items that the list lacks are asked about at once."
            ),
            CommandOption("--wait", nil, "Wait for the end, showing progress."),
            CommandOption("--accept-deletions", nil, "Believe the deletions that were held back."),
            CommandOption("--texts", nil, "Then fetch the texts that are missing, without pauses."),
            CommandOption("--text", "ID", "Fetch the text of one item only, of any size."),
        ]
    ) { context, arguments throws(UserFacingError) in
        let text = arguments.value("--text")
        if text != nil, ["--full", "--accept-deletions", "--texts"].contains(where: arguments.has) {
            throw arguments.failure("--text fetches one text and does nothing else")
        }
        let wait = arguments.has("--wait") || text != nil
        let request = SyncNowRequest(
            full: arguments.has("--full"), wait: wait, acceptDeletions: arguments.has("--accept-deletions"),
            texts: arguments.has("--texts"), text: text)
        var client = try ControlClient(path: context.paths.controlSocket)
        var display = ProgressDisplay(style: context.errorStyle, isQuiet: context.format == .json)
        defer { display.end() }
        // A pull takes as long as it takes; the connection ends with the daemon.
        let report = try client.ask(request, timeout: wait ? nil : .seconds(10)) { display.show($0) }.get()
        display.end()
        try context.write(report)
        return report.exitCode
    }
}
