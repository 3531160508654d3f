import Configuration
import Control
import Glibc
import PRSNLCore

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
