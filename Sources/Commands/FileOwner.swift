import Configuration
import Control
import Glibc
import PRSNLCore
import Requests
import Store

/// Who may write the file while the daemon is stopped: the owner of its folder, who is the daemon's user. What anybody
/// else made there, SQLite's files beside the database above all, the daemon could not open.
enum FileOwner {
    /// Root becomes the user whose copy and daemon these are, and cannot go back. So nothing that a file or a daemon makes of
    /// this process can do more than that user. Root stays root for a copy of its own, and where file and daemon belong to
    /// different users.
    ///
    /// - Throws: `database_unreadable` where the kernel refuses.
    static func giveUpRoot(_ paths: ClientPaths) throws(UserFacingError) {
        let owner = FolderOwner(paths.database)
        var socket = stat()
        guard lstat(paths.controlSocket, &socket) != 0 || owner.isUser(socket.st_uid) else { return }
        try owner.become()
    }

    /// Root becomes the owner, for the rest of this process.
    ///
    /// - Throws: `no_database` where there is no file, so that a misspelt path does not swallow writes; `not_owner` for
    ///   any other user.
    static func become(
        ownerOf database: String, consequence: String
    ) throws(UserFacingError) {
        guard access(database, F_OK) == 0 else {
            if errno == EACCES { throw notOwner(nil, database, consequence) }
            throw UserFacingError(
                .noDatabase, "No daemon runs, and there is no copy yet at \(database).", consequence: consequence)
        }
        try require(ownerOf: database, consequence)
        try FolderOwner(database).become()
    }

    /// Makes the folder of a database where it is missing, for what stands beside it. A user who may not is told to be root, who
    /// may also write the configuration.
    ///
    /// - Throws: `not_owner`.
    static func prepareFolder(
        of database: String, consequence: String
    ) throws(UserFacingError) {
        let folder = Descriptors.folder(of: database)
        if access(folder, F_OK) != 0, errno == ENOENT, let reason = make(folder) {
            throw UserFacingError(
                .notOwner, "The folder \(folder) for the login cannot be made: \(reason).", consequence: consequence,
                recoverySuggestion: "Give the command as root.", nextCommand: CommandContext.sudo())
        }
        do throws(UserFacingError) {
            try require(ownerOf: database, consequence)
        } catch {
            throw error.with(
                suggestion: "Start the daemon, or give the command as root.", next: CommandContext.sudo())
        }
    }

    /// Root makes the folder of the machine's own daemon, or of an instance, as systemd would: for the daemon's user.
    private static func make(_ folder: String) -> String? {
        do throws(UserFacingError) {
            if let reason = try FolderOwner.run(beside: folder, { Folder.make($0) }) { return reason }
        } catch {
            return error.message
        }
        guard geteuid() == 0, DefaultPaths.isMachines(folder), let user = getpwnam("prsnld") else { return nil }
        let (owner, group) = (user.pointee.pw_uid, user.pointee.pw_gid)
        guard lchown(folder, owner, group) == 0, fchmodat(AT_FDCWD, folder, 0o750, AT_SYMLINK_NOFOLLOW) == 0 else {
            return String(cString: strerror(errno))
        }
        return nil
    }

    /// - Throws: `not_owner` for a user who is neither root nor the owner of the folder.
    private static func require(ownerOf database: String, _ consequence: String) throws(UserFacingError) {
        let owner = FileStatus.owner(Descriptors.folder(of: RealPath.of(database)))
        guard geteuid() != 0, geteuid() != owner else { return }
        throw notOwner(owner, database, consequence)
    }

    private static func notOwner(_ owner: uid_t?, _ database: String, _ consequence: String) -> UserFacingError {
        // A user who cannot see the owner is told to use root.
        let owner = owner.map(UserDatabase.user)
        let user = owner.map { ["-u", $0] } ?? []
        let command = NextCommand(["sudo"] + user + ["prsnlctl"] + CommandLine.arguments.dropFirst())
        return UserFacingError(
            .notOwner,
            "The daemon is not running, and \(database) belongs to \(owner ?? "another user"), not to "
                + "\(UserDatabase.user(geteuid())).",
            consequence: consequence,
            recoverySuggestion: "Start the daemon, or give the command as that user.", nextCommand: command)
    }
}

extension CommandContext: CommandHost {
    var database: String { paths.database }

    func openStore(waitsForLock: Bool = false) throws(UserFacingError) -> Store {
        try Store(path: database, waitsForLock: waitsForLock, allowsNetwork: paths.allowsNetworkFileSystem)
    }

    func withStore<Value: Sendable>(
        refused: String, isChange: Bool, _ body: (Store) async throws(UserFacingError) -> Value
    ) async throws(UserFacingError) -> Value {
        try FileOwner.become(ownerOf: database, consequence: refused)
        let store = try openStore()
        do throws(UserFacingError) {
            let value = try await body(store)
            if isChange { await Self.index(store) }
            await store.close()
            return value
        } catch {
            await store.close()
            throw error
        }
    }

    /// Works beside a database that need not be there yet, with the rights of the folder's owner.
    func withLock<Value>(
        refused: String, _ body: () throws(UserFacingError) -> Value
    ) throws(UserFacingError) -> Value {
        try FileOwner.prepareFolder(of: database, consequence: refused)
        return try FolderOwner.run(beside: database) { _ throws(UserFacingError) in
            Secrecy.begin()  // a change of user makes a process dumpable again, by the system's settings (prctl(2))
            let lock = try DatabaseLock(database: database)
            defer { withExtendedLifetime(lock) {} }
            return try body()
        }
    }

    /// Items that are indexed with a write. A larger backlog is left to the daemon.
    private static let mostIndexed = 32

    private static func index(_ store: Store) async {
        let time = TimeSource.system
        // The write is on the disk, and the next daemon indexes what is left here.
        guard let state = try? await store.searchState(), state.notIndexed <= mostIndexed else { return }
        _ = try? await store.indexSome(now: time.now(), uptime: time.uptime)
    }
}
