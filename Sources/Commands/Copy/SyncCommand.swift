import Console
import Control
import PRSNLCore
import Reports

/// `prsnlctl sync`: asks the daemon to pull now.
enum SyncCommand {
    static let command = Command(
        "sync", "Pull now.",
        options: [
            CommandOption("--full", nil, "Read the whole timeline again: edits and deletions too."),
            CommandOption("--wait", nil, "Wait for the end, showing progress."),
            CommandOption("--accept-deletions", nil, "Believe the deletions that were held back."),
        ]
    ) { context, arguments throws(UserFacingError) in
        let wait = arguments.has("--wait")
        let request = SyncNowRequest(
            full: arguments.has("--full"), wait: wait, acceptDeletions: arguments.has("--accept-deletions"))
        var client = try ControlClient(path: context.paths.controlSocket)
        var display = ProgressDisplay(style: context.errorStyle, isQuiet: context.format == .json)
        defer { display.end() }
        // A pull takes as long as it takes; the connection ends with the daemon.
        let report = try client.ask(request, timeout: wait ? nil : .seconds(10)) { display.show($0) }.answer()
        display.end()
        try context.write(report)
        return report.exitCode
    }
}

/// Progress on stderr: a bar that is rewritten in place on a terminal, a line now and then elsewhere.
private struct ProgressDisplay {
    let style: TextStyle
    let isQuiet: Bool
    private var hasBar = false
    private var lastLine: ContinuousClock.Instant?

    /// Where lines stay, in a log for instance, a few are enough.
    private static let linePause: Duration = .seconds(5)

    init(style: TextStyle, isQuiet: Bool) {
        self.style = style
        self.isQuiet = isQuiet
    }

    mutating func show(_ progress: PullProgress) {
        guard !isQuiet else { return }
        if style.isTerminal {
            // CSI K: the rest of the line, from a longer bar before.
            StandardStream.error.write("\r\(progress.bar(style))\u{1B}[K")
            hasBar = true
        } else if lastLine.map({ $0.duration(to: .now) >= Self.linePause }) ?? true {
            StandardStream.error.write("\(progress.statusText)\n")
            lastLine = .now
        }
    }

    /// Takes the bar away, so that the result stands alone.
    mutating func end() {
        if hasBar { StandardStream.error.write("\r\u{1B}[K") }
        hasBar = false
    }
}
