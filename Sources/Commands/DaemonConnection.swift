import Configuration
import Console
import Control
import Glibc
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
            let path = try found.ask(StatusRequest()).get().file.path
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
    ) throws(UserFacingError) -> Result<Request.Answer, UserFacingError> {
        // Put back where it can be used again: after an error it is gone, or its answers would no longer be those to our
        // questions.
        guard var connection = client.take() else {
            throw UserFacingError(.daemonNotRunning, "There is no connection to the daemon.")
        }
        let reply = try connection.ask(request, timeout: timeout, interruption: interruption, update: update)
        lastUse = .now
        // A daemon that is busy closes the connection.
        if case .failure(let report) = reply, report.code == .daemonBusy { return reply }
        client = consume connection
        return reply
    }
}

extension UserFacingError {
    /// A refusal at the control socket, or at the file, with what this user can do about it: the very command for root, and,
    /// where a group is the way in, how to come into it. The daemon knows neither the command nor the names.
    func explainedRefusal(_ paths: ClientPaths?) -> UserFacingError {
        guard code == .controlRefused || code == .databaseUnreadable, geteuid() != 0 else { return self }
        var suggestion = recoverySuggestion
        let place = code == .controlRefused ? paths?.controlSocket : paths?.database
        if suggestion == code.recoverySuggestion, let place, let group = Self.group(of: place) {
            suggestion =
                "Root can let this user look: `adduser \(Self.userName) \(group)`, which counts from the next login on. "
                + "Or give the command as root."
        }
        return UserFacingError(
            code, message, consequence: consequence, recoverySuggestion: suggestion,
            nextCommand: CommandContext.sudo(), cause: cause)
    }

    private static var userName: String {
        getpwuid(geteuid()).map { String(cString: $0.pointee.pw_name) } ?? "#\(geteuid())"
    }

    /// The name of the group that may come in; `nil` where it is root's, or not known. A user who may not even look
    /// into the folder finds the same group on that.
    private static func group(of place: String) -> String? {
        var information = stat()
        guard lstat(place, &information) == 0 || stat(Folder.containing(place), &information) == 0,
            information.st_gid != 0, let group = getgrgid(information.st_gid)
        else { return nil }
        return String(cString: group.pointee.gr_name)
    }
}
