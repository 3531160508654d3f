import CLinux
import Glibc
import PRSNLCore
import Store

/// `prsnlctl doctor --repair`: gives the files beside the database back to its owner and creates those that are gone,
/// so that members of the group can read the copy while the daemon is stopped.
enum ReaderFilesRepair {
    /// What was done, in words.
    ///
    /// - Throws: `no_database`; `not_owner`; `database_locked` where files are gone and another process has the database.
    static func run(_ database: String, asRoot: NextCommand) throws(UserFacingError) -> [String] {
        let place = try GuardedPath(database)
        guard let file = try place.open(place.name) else {
            throw UserFacingError(.noDatabase, "There is no copy yet at \(database).")
        }
        close(file.descriptor)
        var done: [String] = []
        var missing: [String] = []
        for suffix in [""] + FilesCheck.suffixes {
            if let file = try place.open(place.name + suffix) {
                defer { close(file.descriptor) }
                if let change = try giveBack(file, suffix, place, asRoot) { done.append(change) }
            } else if suffix != ".lock" {
                missing.append(suffix)
            }
        }
        guard !missing.isEmpty else { return done }
        // What root makes would be root's.
        try FolderOwner.run(beside: database) { path throws(UserFacingError) in try ReaderFiles.restore(path: path) }
        return done + ["created \(missing.joined(separator: " and "))"]
    }

    /// What root has made in the folder of another user goes to that user. The mode is always the same. What belongs to a third is
    /// left alone: it was not the daemon that made it.
    ///
    /// - Returns: what was changed; `nil` where all is well.
    private static func giveBack(
        _ file: GuardedPath.File, _ suffix: String, _ place: borrowing GuardedPath,
        _ asRoot: NextCommand
    ) throws(UserFacingError) -> String? {
        let mode: mode_t = suffix == ".lock" ? 0o600 : 0o640
        let isOwn = file.owner == place.owner && file.group == place.group
        // The owner decides whether the group may read the database.
        if isOwn, suffix.isEmpty || file.mode == mode { return nil }
        let name = suffix.isEmpty ? "the database" : suffix
        guard file.owner == place.owner || file.owner == 0 else {
            throw UserFacingError(
                .notOwner,
                "\(place.path)\(suffix) belongs to \(UserDatabase.user(file.owner)), and its folder to "
                    + "\(UserDatabase.user(place.owner)); it was left as it is.",
                recoverySuggestion: "Find out who made it, and give it back with chown.")
        }
        guard isOwn || fchown(file.descriptor, place.owner, place.group) == 0,
            fchmod(file.descriptor, mode) == 0
        else {
            throw UserFacingError(
                .notOwner, "\(place.path)\(suffix) cannot be given back: \(String(cString: strerror(errno))).",
                recoverySuggestion: "Repair as root.", nextCommand: asRoot)
        }
        return "gave \(name) back to \(UserDatabase.user(place.owner)):\(UserDatabase.group(place.group))"
    }
}
