package import Console
import Control
import PRSNLCore
package import Store
import SyncEngine

/// `prsnlctl sync`: asks the daemon to pull now.
enum SyncCommand {
    static let command = Command(
        "sync", or: ["pull"], "Pull now.",
        options: [
            CommandOption(
                "--full", nil,
                "Read the whole timeline again: edits and deletions too. Items that the list lacks are asked about at once."
            ),
            CommandOption("--wait", nil, "Wait for the end, showing progress."),
            CommandOption("--accept-deletions", nil, "Believe the deletions that were held back."),
            CommandOption("--texts", nil, "Then fetch the texts that are missing, four at a time, without pauses."),
            CommandOption("--text", "ID", "Fetch the text of one item only, of any size."),
        ], asks: [SyncNowRequest.self]
    ) { context, arguments throws(UserFacingError) in
        let text = arguments.value("--text")
        if text != nil, ["--full", "--accept-deletions", "--texts"].contains(where: arguments.has) {
            throw arguments.failure("--text fetches one text and does nothing else")
        }
        let wait = arguments.has("--wait") || text != nil
        let request = SyncNowRequest(
            full: arguments.has("--full"), wait: wait, acceptDeletions: arguments.has("--accept-deletions"),
            texts: arguments.has("--texts"), text: text)
        var client = RequestClient(context)
        var display = ProgressDisplay(style: context.errorStyle, isQuiet: context.format == .json)
        defer { display.end() }
        let report = try client.ask(request) { display.show($0) }
        display.end()
        try context.write(report)
        return report.exitCode
    }
}

/// Asks the daemon to pull now.
struct SyncNowRequest: Request {
    typealias Answer = SyncResult
    typealias Update = Progress
    static let command = "sync"

    /// The whole timeline again.
    let full: Bool
    /// Answered at the end of the pull, with its progress before that.
    let wait: Bool
    let acceptDeletions: Bool
    /// The texts that are missing, without pauses.
    var texts = false
    /// The text of this item, of any size. The beginning of an id is enough.
    var text: String?
    var isChange: Bool { true }
    var place: RequestPlace { .daemon }
    /// A pull takes as long as it takes; the connection ends with the daemon.
    var patience: Duration? { wait ? nil : .seconds(10) }

    /// More requested pulls than this are refused, not remembered.
    private static let mostPulls = 100
    /// Between two lines of progress.
    private static let progressInterval: Duration = .milliseconds(200)
}

extension SyncNowRequest {
    init(_ members: RequestMembers) throws(RequestRefusal) {
        full = try members.bool("full")
        wait = try members.bool("wait")
        acceptDeletions = try members.bool("accept_deletions")
        texts = try members.bool("texts")
        text = try members.text("text")
    }

    func write(to line: inout RequestLine) {
        line.add("full", full)
        line.add("wait", wait)
        line.add("accept_deletions", acceptDeletions)
        line.add("texts", texts)
        if let text { line.add("text", text) }
    }

    /// The pull belongs to the daemon: it goes on when the client that asked for it leaves.
    func answer(_ context: RequestContext) async throws(UserFacingError) -> SyncResult? {
        let daemon = try context.requireDaemon()
        let engine = daemon.parts.engine
        if texts, !engine.state.copiesTexts {
            throw UserFacingError(
                .usage, "The daemon copies no texts: its configuration has texts = no.",
                recoverySuggestion: "Set texts = yes, then `systemctl reload prsnld`.")
        }
        var textOf: String?
        if let text { textOf = try context.reader().itemID(text) }
        let isAccepted = daemon.pulls.withLock { pulls in
            guard pulls < Self.mostPulls else { return false }
            pulls += 1
            return true
        }
        guard isAccepted else {
            throw UserFacingError(.daemonBusy, "\(Self.mostPulls) pulls have been asked for and not yet ended.")
        }
        let follows = text == nil && engine.state.activity == .pulling
        let order = SyncRequest(full: full, acceptDeletions: acceptDeletions, texts: texts, textOf: textOf)
        let pull = Task(executorPreference: TaskLoop.current) {
            var result = await engine.sync(order)
            result.followed = follows
            daemon.pulls.withLock { $0 -= 1 }
            return result
        }
        guard wait else { return SyncResult(followed: follows) }
        return await withTaskGroup(of: Void.self) { group in
            group.addTask { await Self.showProgress(engine, context) }
            let result = await pull.value
            group.cancelAll()
            return result
        }
    }

    private static func showProgress(_ engine: SyncEngine, _ context: RequestContext) async {
        var last: Progress?
        while !Task.isCancelled {
            let progress = engine.state.pull
            if let progress, progress != last { context.send(progress) }
            last = progress
            // Cancelled: the pull is over, or the client has left.
            do { try await context.time.sleep(progressInterval) } catch { return }
        }
    }
}

extension SyncResult: ControlReply {
    package static let type = "sync"

    package var exitCode: ExitCode {
        switch outcome {
        case .started, .complete: .fine
        case .incomplete: .needsAttention
        // A person has to log in; asking again would change nothing.
        case .failed: problem?.code == .needsLogin ? .needsAttention : .error
        }
    }
}

extension SyncResult: Report {
    package func text(_ style: TextStyle) -> String {
        var lines: [String]
        switch outcome {
        case .started:
            let began = followed == true ? "A pull is under way. Another one follows." : "Sync started."
            lines = ["\(began) Follow it with \(style.command("prsnlctl status"))."]
        case .complete: lines = ["\(style.paint("Complete", .green)): \(amounts)."]
        case .incomplete:
            lines = [
                "\(style.paint("Incomplete", .yellow)): \(amounts). \(style.command("prsnlctl status")) names what is missing."
            ]
        case .failed:
            let isNothing = [added, changed, deleted, texts].allSatisfy { $0 ?? 0 == 0 }
            lines = [style.paint("The pull failed", .red) + (isNothing ? "; nothing was changed." : ": \(amounts).")]
        }
        if outcome != .started, followed == true {
            lines.append("A pull that was already running was waited for first.")
        }
        lines += problem?.lines(style) ?? []
        return paragraphs(lines, style)
    }

    /// `12 added, 3 changed, 0 deleted, 5 texts`
    package var amounts: String {
        var parts = [(added, "added"), (changed, "changed"), (deleted, "deleted")].compactMap { number, word in
            number.map { "\(Formatting.count($0)) \(word)" }
        }
        if let texts, texts > 0 { parts.append(Formatting.count(texts, "text")) }
        return parts.joined(separator: ", ")
    }
}
