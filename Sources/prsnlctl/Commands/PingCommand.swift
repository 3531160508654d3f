import Console
import PRSNLCore
import Reports

/// `prsnlctl ping`: the daemon asks the server, with its own settings and on its own way.
enum PingCommand {
    /// A name, a connection and an answer, each as slow as it usually may be.
    private static let patience: Duration = .seconds(120)

    static func run(_ context: CommandContext) throws(UserFacingError) -> ExitCode {
        var client = try context.connect()
        try client.send(.ping)
        let reply = try client.receive(timeout: patience)
        guard case .ping(let report) = reply else { throw reply.unexpected() }
        try context.write(report)
        if let error = report.error, context.isText {
            StandardStream.error.write(FailureReport(error).text(program: "prsnlctl", context.errorStyle))
        }
        return report.exitCode
    }
}
