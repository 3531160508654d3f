package import Console
import PRSNLCore
import Requests
package import Store

/// `prsnlctl sync`: asks the daemon to pull now.
enum SyncCommand {
    static let command = Command(
        "sync", or: ["pull"], "Pull now.", examples: [("--wait", "Look for new items, and say what came.")],
        options: [
            CommandOption(
                "--full", nil,
                "Read the whole timeline again: edits and deletions too. Items that the list lacks are asked about at once."
            ),
            CommandOption("--wait", nil, "Wait for the end, showing progress."),
            CommandOption("--accept-deletions", nil, "Believe the deletions that were held back."),
            CommandOption("--texts", nil, "Then fetch the texts that are missing, four at a time, without pauses."),
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
        return try context.write(try context.answerShowingProgress(request))
    }
}

extension SyncResult: Report {
    package func text(_ style: TextStyle) -> String {
        paragraphs(style) {
            switch outcome {
            case .started:
                let began = followed == true ? "A pull is under way. Another one follows." : "Sync started."
                "\(began) Follow it with \(style.command("prsnlctl status"))."
            case .complete: "\(style.paint("Complete", .green)): \(amounts)."
            case .incomplete:
                "\(style.paint("Incomplete", .yellow)): \(amounts). \(style.command("prsnlctl status")) names what is missing."
            case .failed:
                let isNothing = [added, changed, deleted, texts].allSatisfy { $0 ?? 0 == 0 }
                style.paint("The pull failed", .red) + (isNothing ? "; nothing was changed." : ": \(amounts).")
            }
            if outcome != .started, followed == true { "A pull that was already running was waited for first." }
            if let problem { problem.lines(style) }
        }
    }
}
