import Glibc
import PRSNLCore

/// A system call in the folder of an export that failed.
enum FolderFailure {
    /// - Parameter code: its errno.
    static func error(_ code: Int32, _ operation: String, _ path: String) -> UserFacingError {
        let message = "\(path) could not be \(operation): \(String(cString: strerror(code)))."
        switch code {
        case ENOSPC, EDQUOT:
            return UserFacingError(
                .diskFull, message, consequence: done,
                recoverySuggestion: "Free some space, and give the command again. It goes on where it stopped.")
        case EIO: return UserFacingError(.diskError, message, consequence: done)
        case EROFS, EACCES, EPERM:
            return UserFacingError(
                .exportFolder, message, consequence: done,
                recoverySuggestion: "Check that this user may write there, or name another folder.")
        default:
            return UserFacingError(.of(errno: code, otherwise: .exportFolder), message, consequence: done)
        }
    }

    static let done = "What was exported before stays, and the next run goes on."

    /// Where a folder of ours should be there is a symbolic link or a file.
    static func taken(_ path: String) -> UserFacingError {
        UserFacingError(
            .exportFolder, "\(path) is no folder, or a symbolic link, which is not followed.", consequence: done,
            recoverySuggestion: "Move it away, and give the command again.")
    }
}
