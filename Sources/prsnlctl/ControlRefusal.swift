import Control
import Glibc
import PRSNLCore

extension UserFacingError {
    /// A refusal at the control socket with what this user can do about it: the very command for root, and, where the group
    /// of the socket is the way in, how to come into it. The daemon knows neither the command nor the names.
    func explainedRefusal(socket: String?) -> UserFacingError {
        guard code == .controlRefused, geteuid() != 0 else { return self }
        var suggestion = recoverySuggestion
        if suggestion == ErrorCode.controlRefused.recoverySuggestion, let socket, let group = Self.group(of: socket) {
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

    /// The name of the group that may connect; `nil` where it is root's, or nobody knows it. A user who may not even look
    /// into the socket's folder finds the same group on that.
    private static func group(of socket: String) -> String? {
        var information = stat()
        guard lstat(socket, &information) == 0 || stat(Folder.containing(socket), &information) == 0,
            information.st_gid != 0, let group = getgrgid(information.st_gid)
        else { return nil }
        return String(cString: group.pointee.gr_name)
    }
}
