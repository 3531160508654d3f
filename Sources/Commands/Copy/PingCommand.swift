import Console
import PRSNLCore
import Reports

/// `prsnlctl ping`: the daemon asks the server, with its own settings and on its own route.
enum PingCommand {
    /// A name, a connection and an answer, each as slow as it usually may be.
    private static let patience: Duration = .seconds(120)

    static let command = Command(
        "ping", "Ask the server now whether it can be reached, and show how long each step takes."
    ) { context, _ throws(UserFacingError) in
        var client = try context.connect()
        let report = try client.ask(PingRequest(), timeout: patience).get()
        try context.write(report)
        if let error = report.error, context.isText {
            StandardStream.error.write(FailureReport(error).text(program: "prsnlctl", context.errorStyle))
        }
        return report.exitCode
    }
}
