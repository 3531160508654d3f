import Glibc
import PRSNLCore
import Store

/// The database and the files beside it: whose they are, who may read them, and whether they are there.
struct FilesCheck: Check {
    static let group = DoctorReport.Group.file
    static let name = "database"

    enum Entry: Sendable, Equatable {
        case missing
        /// This user may not look.
        case hidden
        /// A link that another user than root has made. Root neither follows nor repairs it.
        case linked(UserFacingError)
        /// - Parameters:
        ///   - mode: the permission bits.
        ///   - owner, group: by name.
        ///   - isFile: whether it is a file of its own, without a second name.
        case there(mode: UInt32, owner: String, group: String, isFile: Bool)
    }

    var path: String
    var folder = Entry.missing
    var database = Entry.missing
    /// By what stands behind the database's name: `-wal`, `-shm`, `.lock`.
    var beside: [String: Entry] = [:]
    var isDaemonRunning = false
    /// What `--repair` has done.
    var repair: Result<[String], UserFacingError>?
    /// The file on which the daemon says that it works, where root looks at another one.
    var otherPath: String?
    var didAnswer = true

    /// The database is there, and SQLite's files beside it are not.
    var lacksReaderFiles: Bool {
        if case .there = database { !missing.isEmpty } else { false }
    }

    private var missing: [String] { ["-wal", "-shm"].filter { beside[$0, default: .missing] == .missing } }
    private var folderPath: String { Descriptors.folder(of: path) }

    @Findings var findings: [Finding] {
        switch repair {
        case .success([])?: ok("repair", "there was nothing to repair")
        case .success(let created)?: ok("repair", "created \(created.joined(separator: " and "))")
        case .failure(let error)?: failed("repair", error)
        case nil: [Finding]()
        }
        if didAnswer { entries } else { notChecked("database", "the disk did not answer in time") }
        if let otherPath {
            // The daemon's word is not enough for root.
            warning(
                "database", "the daemon says that it works on \(otherPath); root looks at \(path) only",
                "Set database in the configuration to the file of the daemon, or give the command as its user.")
        }
    }

    @Findings private var entries: [Finding] {
        switch (folder, database) {
        case (.missing, _), (_, .missing):
            if isDaemonRunning {
                failed(
                    "database", "\(path) is gone, and the daemon still works on it",
                    "Put it back: writes that wait are in it.")
            } else {
                warning(
                    "database", "there is no copy yet at \(path)",
                    "Start the daemon, or run `prsnld --once`, to make the first one.")
            }
        case (.there(_, _, let group, _), .hidden):
            notChecked(
                "database", "this user may not look into \(folderPath)", "Members of the group \(group) may.")
        case (.hidden, _), (_, .hidden): notChecked("database", "this user may not look into \(folderPath)")
        case (.linked(let error), _), (_, .linked(let error)): link(error)
        case (.there(let folderMode, let folderOwner, _, _), .there(let mode, let owner, let group, let isFile)):
            // In a folder for everybody (/tmp) each has files of their own.
            let user = folderMode & 0o1000 == 0 ? folderOwner : owner
            let rule: Rule = (owner: user, group: group, isShared: mode & 0o040 != 0, folderMode: folderMode)
            let all = [("", database)] + beside.sorted { $0.key < $1.key }
            let wrong = all.flatMap { judge($0, $1, rule) } + exposedFolder(folderMode)
            if wrong.isEmpty {
                ok("database", "\(path)\n\(owner):\(group), mode \(Self.octal(mode)) in \(Self.octal(folderMode))")
            }
            wrong
            if isFile { readers(folderMode, mode) }
        }
    }

    /// What the files have to be: of the daemon's user, who owns the folder, and readable for the group if the database is.
    private typealias Rule = (owner: String, group: String, isShared: Bool, folderMode: UInt32)

    private func link(_ error: UserFacingError) -> Finding {
        failed("link", error.message.withoutFullStop, error.recoverySuggestion)
    }

    @Findings private func judge(_ suffix: String, _ entry: Entry, _ rule: Rule) -> [Finding] {
        let file = path + suffix
        let isLock = suffix == ".lock"
        let back: NextCommand = "sudo chown --no-dereference \("--reference=\(folderPath)") \(file)"
        switch entry {
        case .missing, .hidden: [Finding]()
        case .linked(let error): link(error)
        case .there(_, _, _, isFile: false):
            failed("owner", "\(file) is not a file of its own", "Look at it, and move it away.")
        case .there(let mode, let owner, let group, _):
            if owner != rule.owner {
                failed(
                    "owner", "\(file) belongs to \(owner), not to \(rule.owner), who is the daemon's user", next: back)
            } else if rule.isShared, !isLock, mode & 0o040 == 0 || group != rule.group {
                warning(
                    "mode", "\(file) may not be read by the group \(rule.group): its members cannot read the copy",
                    next: group == rule.group ? "sudo chmod 640 \(file)" : back)
            }
            // A folder that others cannot enter hides what is in it, whatever the modes are.
            if mode & 0o006 != 0, rule.folderMode & 0o001 != 0 {
                let verb = mode & 0o002 != 0 ? "change" : "read"
                failed("mode", "everybody can \(verb) \(file) (\(Self.octal(mode)))", next: "chmod o= \(file)")
            }
            if mode & 0o020 != 0, rule.folderMode & 0o010 != 0, !isLock {
                warning(
                    "mode", "the group can change \(file) (\(Self.octal(mode)))", "Only the daemon may write it.",
                    next: "chmod g=r \(file)")
            }
        }
    }

    @Findings private func exposedFolder(_ mode: UInt32) -> [Finding] {
        if mode & 0o002 != 0, mode & 0o1000 == 0 {
            failed(
                "mode", "everybody can replace files in \(folderPath) (\(Self.octal(mode)))",
                next: "chmod o= \(folderPath)")
        }
    }

    /// Readers who may not write can open the file only while `-wal` and `-shm` are there.
    private func readers(_ folderMode: UInt32, _ mode: UInt32) -> Finding {
        let names = missing.joined(separator: " and ")
        if isDaemonRunning, !missing.isEmpty {
            return failed(
                "readers", "\(names) were removed while the daemon works on the file",
                "Restart the daemon, so that nothing is written into files that are gone.",
                next: "sudo systemctl restart prsnld")
        }
        guard mode & 0o040 != 0, folderMode & 0o050 == 0o050 else {
            return ok("readers", "only the owner may read it")
        }
        guard !missing.isEmpty else { return ok("readers", "members of the group can read it") }
        return warning(
            "readers", "\(names) are gone, without which members of the group cannot read the file",
            "A plain sqlite3 by root removes them; use `sqlite3 -readonly`. Starting the daemon makes them, too.",
            next: "sudo prsnlctl doctor --repair")
    }

    static func octal(_ mode: UInt32) -> String { "0" + String(mode & 0o7777, radix: 8) }

    /// Reads nothing but what is known by now: asking the daemon, and opening the file, create `-wal` and `-shm`.
    static func gather(_ scene: DoctorScene) -> Self { scene.files }

    static func look(_ database: String, within patience: Duration) -> Self {
        BoundedCheck.run(within: patience) {
            var files = Self(path: database)
            files.folder = FileStatus.entry(Descriptors.folder(of: database))
            files.database = FileStatus.entry(database)
            for suffix in ["-wal", "-shm", ".lock"] { files.beside[suffix] = FileStatus.entry(database + suffix) }
            return files
        } ?? Self(path: database, didAnswer: false)
    }

    /// `--repair`: creates the files beside the database that are gone, so that members of the group can read the copy while
    /// the daemon is stopped. Owners and modes are for `chown` and `chmod`, whose lines `findings` have.
    ///
    /// - Returns: what was created.
    /// - Throws: `no_database`; `database_locked` where another process has the database.
    static func repair(_ database: String) throws(UserFacingError) -> [String] {
        // What root makes would be root's.
        try FolderOwner.run(beside: database) { path throws(UserFacingError) in
            let missing = ["-wal", "-shm"].filter { access(path + $0, F_OK) != 0 }
            guard !missing.isEmpty || access(path, F_OK) != 0 else { return [] }
            try ReaderFiles.restore(path: path)
            return missing
        }
    }
}
