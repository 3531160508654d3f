import Console
import Control
import PRSNLCore
import Reports

/// prsnlctl's connection to the daemon that is meant. The first question opens it, and all later ones use it.
struct DaemonConnection: ~Copyable {
    let context: CommandContext
    private var client: ControlClient?
    private var lastUse = ContinuousClock.now

    /// After a longer pause a new connection is made. The daemon closes an idle one after a minute, and a request into a
    /// connection that closes could not be told from one whose answer was lost. People think, and type, for longer.
    private static let longestIdle: Duration = .seconds(20)

    init(_ context: CommandContext) {
        self.context = context
    }

    /// - Throws: `daemon_not_running` where none runs, or only one that works on another file than the given one. Any
    ///   other error means that there is a daemon, which has the lock.
    mutating func open() throws(UserFacingError) {
        if lastUse.duration(to: .now) > Self.longestIdle { client = nil }
        guard client == nil else { return }
        var found = try context.connect()
        lastUse = .now
        if context.isFileGiven {
            let path = try found.ask(StatusRequest()).answer().file.path
            guard RealPath.isSameFile(path, context.paths.database) else {
                throw UserFacingError(
                    .daemonNotRunning, "The daemon works on \(path), and none on \(context.paths.database).")
            }
        }
        client = consume found
    }

    /// - Returns: the answer, or the error that the daemon answered with.
    mutating func ask<Request: ControlRequest>(
        _ request: Request, timeout: Duration?, _ interruption: Interruption? = nil,
        update: (Request.Update) throws(UserFacingError) -> Void = { _ in }
    ) throws(UserFacingError) -> Result<Request.Answer, ErrorReport> {
        // Put back where it can be used again: after an error it is gone, or its answers would no longer be those to our
        // questions.
        guard var connection = client.take() else {
            throw UserFacingError(.daemonNotRunning, "There is no connection to the daemon.")
        }
        let reply = try connection.ask(request, timeout: timeout, interruption: interruption, update: update)
        lastUse = .now
        // A daemon that is busy closes the connection.
        if case .failure(let report) = reply, report.knownCode == .daemonBusy { return reply }
        client = consume connection
        return reply
    }
}
