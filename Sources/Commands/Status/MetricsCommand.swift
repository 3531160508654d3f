import Console
import PRSNLCore
import Requests

/// `prsnlctl metrics`: the status for Prometheus.
enum MetricsCommand {
    static let command = Command(
        "metrics", "Print the status as metrics for Prometheus.", examples: [("", "The metrics on stdout.")],
        options: [
            CommandOption("--output", "FILE", "Write into FILE (mode 0644), for the textfile collector."),
            CommandOption("--http", nil, "Answer one HTTP request on stdin, for a systemd socket with `Accept=yes`."),
        ], hasJSON: false, onlyReads: true,
        // Root's FILE is in a folder of root's.
        needsRoot: true
    ) { context, arguments throws(UserFacingError) in
        if arguments.has("--http") {
            if arguments.has("--output") { throw arguments.failure("--http and --output exclude each other") }
            try MetricsConnection.serve { () throws(UserFacingError) in try text(context) }
        } else if let path = arguments.value("--output") {
            if let reason = WholeFile.replace(path, by: try text(context), mode: 0o644) {
                throw UserFacingError(
                    .diskError, "\(path) cannot be written: \(reason).", consequence: "Nothing was written.",
                    recoverySuggestion: "Check that its folder is there, may be written to, and has room.")
            }
        } else {
            try context.print(try text(context))
        }
        return .fine
    }

    private static func text(_ context: CommandContext) throws(UserFacingError) -> String {
        var client = RequestClient(context)
        // A scraper waits for ten seconds. The file knows the most of it, too.
        let report = try client.ask(StatusRequest(), within: .seconds(3))
        let readers = Cursor.readers(context)
        return Metrics.text(report, readers: (readers.behind, readers.setAside))
    }
}

/// The metrics of the facts, and those of `prsnlctl changes` of the person who asks.
enum Metrics {
    static func text(_ report: StatusReport, readers: (behind: Int64?, setAside: Int) = (nil, 0)) -> String {
        let ofReaders = [
            Metric("readers_behind_changes", "How far the last of the readers is behind.") { _ in
                [("", readers.behind.map { Double($0) })]
            },
            Metric("changes_set_aside", "Changes that a reader's command has refused.") { _ in
                [("", Double(readers.setAside))]
            },
        ]
        return (StatusFact.all.flatMap(\.metrics) + ofReaders).map { $0.text(report) }.joined()
    }
}
