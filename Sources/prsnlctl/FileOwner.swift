import Control
import Glibc
import PRSNLCore

/// Who may write the file while the daemon is stopped: the owner of its folder, who is the daemon's user. What anybody
/// else made there, SQLite's files beside the database above all, the daemon could not open.
enum FileOwner {
    /// Root becomes the owner, for the rest of this process.
    ///
    /// - Throws: `no_database` where there is no file, so that a misspelt path does not swallow writes; `not_owner` for
    ///   any other user.
    static func become(ownerOf database: String) throws(UserFacingError) {
        var file = stat()
        guard stat(database, &file) == 0 else {
            if errno == EACCES { throw notOwner(nil, database) }
            throw UserFacingError(
                .noDatabase, "No daemon runs, and there is no copy yet at \(database).",
                consequence: "Nothing was queued.")
        }
        var folder = stat()
        guard stat(Folder.containing(database), &folder) == 0 else { throw notOwner(nil, database) }
        let user = geteuid()
        if user == folder.st_uid { return }
        guard user == 0 else { throw notOwner(folder.st_uid, database) }
        // The groups first: afterwards there is no right to. setgroups(2): no other group's rights are kept.
        var group = folder.st_gid
        guard setgroups(1, &group) == 0, setegid(folder.st_gid) == 0, seteuid(folder.st_uid) == 0 else {
            throw UserFacingError(
                .notOwner,
                "Root could not become \(name(folder.st_uid)), who owns \(database): \(String(cString: strerror(errno))).",
                consequence: "Nothing was queued.")
        }
    }

    private static func notOwner(_ owner: uid_t?, _ database: String) -> UserFacingError {
        // Whoever may not even see who owns it lets root find out.
        let user = owner.map { ["-u", name($0)] } ?? []
        let command = ShellText.command("sudo", user + ["prsnlctl"] + CommandLine.arguments.dropFirst())
        return UserFacingError(
            .notOwner,
            "The daemon is not running, and \(database) belongs to \(owner.map(name) ?? "another user"), not to "
                + "\(name(geteuid())).",
            consequence: "Nothing was queued.",
            recoverySuggestion: "Start the daemon, or give the command as that user.", nextCommand: command)
    }

    private static func name(_ user: uid_t) -> String {
        getpwuid(user).map { String(cString: $0.pointee.pw_name) } ?? "#\(user)"
    }
}
