import CLinux
import Glibc
import PRSNLCore
import Store

/// What stat(2) says of a path.
enum FileStatus {
    static func status(_ path: String) -> (status: stat?, errno: Int32) {
        var status = stat()
        if stat(path, &status) == 0 { return (status, 0) }
        return (nil, errno)
    }

    /// Who made the link that root finds there. `nil` where there is none, or where root made it.
    static func foreignLink(_ path: String) -> uid_t? {
        var status = stat()
        guard geteuid() == 0, lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK, status.st_uid != 0 else {
            return nil
        }
        return status.st_uid
    }

    /// Whether it is this user who may not look, rather than the file that is broken.
    static func isHidden(_ path: String) -> Bool {
        geteuid() != 0 && access(path, R_OK) != 0 && errno == EACCES
    }

    static func entry(_ path: String) -> FilesCheck.Entry {
        if let owner = foreignLink(path) { return .linked(owner: UserDatabase.user(owner)) }
        let (status, code) = status(path)
        guard let status else { return code == ENOENT || code == ENOTDIR ? .missing : .hidden }
        return .there(
            mode: status.st_mode & 0o7777, owner: UserDatabase.user(status.st_uid),
            group: UserDatabase.group(status.st_gid), isFile: status.st_mode & S_IFMT == S_IFREG)
    }
}

/// Names of users and groups, or `#1234` for one that has none. Reentrant, because checks run side by side.
enum UserDatabase {
    static func user(_ id: uid_t) -> String {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 65_536)
        guard getpwuid_r(id, &entry, &buffer, buffer.count, &found) == 0, found != nil else { return "#\(id)" }
        return String(cString: entry.pw_name)
    }

    static func group(_ id: gid_t) -> String { withGroup(id) { String(cString: $0.gr_name) } ?? "#\(id)" }

    /// Whether the group's list, as it is now, names the user.
    static func group(_ id: gid_t, lists user: String) -> Bool {
        withGroup(id) { entry in
            var member = entry.gr_mem
            while let name = member?.pointee {
                if String(cString: name) == user { return true }
                member = member?.advanced(by: 1)
            }
            return false
        } ?? false
    }

    private static func withGroup<Result>(_ id: gid_t, _ body: (group) -> Result) -> Result? {
        var entry = Glibc.group()
        var found: UnsafeMutablePointer<group>?
        var buffer = [CChar](repeating: 0, count: 65_536)
        guard getgrgid_r(id, &entry, &buffer, buffer.count, &found) == 0, found != nil else { return nil }
        return body(entry)
    }
}

enum ProcessName {
    /// By proc_pid_comm(5). `nil` where there is no such process.
    static func of(_ process: Int32) -> String? {
        SmallText.read("/proc/\(process)/comm").map { SafeText.harmless($0.filter { !$0.isNewline }) }
    }

    static func text(_ process: Int32) -> String {
        "process \(process)" + (of(process).map { " (\($0))" } ?? "")
    }
}

/// The small files of proc(5).
enum SmallText {
    /// The first 64 KiB; `nil` where it cannot be read.
    static func read(_ path: String) -> String? {
        guard let file = fopen(path, "re") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = fread(&bytes, 1, bytes.count, file)
        guard ferror(file) == 0 else { return nil }
        return String(decoding: bytes[..<count], as: UTF8.self)
    }
}

/// The database and the files beside it: whose they are, who may read them, and whether they are there.
struct FilesCheck: Check, Equatable {
    enum Entry: Sendable, Equatable {
        case missing
        /// This user may not look.
        case hidden
        /// A link that another user than root has made. Root neither follows nor repairs it.
        case linked(owner: String)
        /// - Parameters:
        ///   - mode: the permission bits.
        ///   - owner, group: by name.
        case there(mode: UInt32, owner: String, group: String, isFile: Bool)
    }

    var path: String
    var folder = Entry.missing
    var database = Entry.missing
    /// By what stands behind the database's name: `-wal`, `-shm`, `.lock`.
    var beside: [String: Entry] = [:]
    var isDaemonRunning = false

    /// Repairs the files beside the database.
    private static let repairCommand: NextCommand = "sudo prsnlctl doctor --repair"

    static let suffixes = ["-wal", "-shm", ".lock"]

    /// The database is there, and SQLite's files beside it are not.
    var lacksReaderFiles: Bool {
        if case .there = database { !missing.isEmpty } else { false }
    }

    private var missing: [String] { ["-wal", "-shm"].filter { beside[$0, default: .missing] == .missing } }

    private var folderPath: String { Descriptors.folder(of: path) }

    var findings: [DoctorReport.Finding] {
        switch (folder, database) {
        case (.missing, _), (_, .missing):
            guard !isDaemonRunning else {
                return [
                    .failed(
                        .file, "database", "\(path) is gone, and the daemon still works on it",
                        "Put it back: writes that wait are in it.")
                ]
            }
            return [
                .warning(
                    .file, "database", "there is no copy yet at \(path)",
                    "Start the daemon, or run `prsnld --once`, to make the first one.")
            ]
        case (.hidden, _), (_, .hidden):
            let advice: Advice? =
                if case .there(_, _, let group, _) = folder { "Members of the group \(group) may." } else { nil }
            return [.notChecked(.file, "database", "this user may not look into \(folderPath)", advice)]
        case (.linked(let owner), _): return [Self.link(folderPath, owner)]
        case (_, .linked(let owner)): return [Self.link(path, owner)]
        case (.there(let folderMode, let folderOwner, _, _), .there(let mode, let owner, let group, let isFile)):
            guard isFile else { return [.failed(.file, "database", "\(path) is not a file")] }
            let wrong =
                ownership(folderMode, folderOwner, owner) + modes(folderMode, mode) + besides(mode, owner, group)
            let whose = "\(owner):\(group), mode \(Self.octal(mode)) in \(Self.octal(folderMode))"
            return (wrong.isEmpty ? [.ok(.file, "database", "\(path)\n\(whose)")] : wrong)
                + readers(folderMode, mode)
        }
    }

    private static func link(_ path: String, _ owner: String) -> DoctorReport.Finding {
        .failed(
            .file, "link", "\(path) is a symbolic link that \(owner) has made, and root does not follow it",
            "Find out why it is there, and what it leads to.")
    }

    private func ownership(_ folderMode: UInt32, _ folderOwner: String, _ owner: String) -> [DoctorReport.Finding] {
        // In a folder for everybody (/tmp) each has files of their own.
        guard owner != folderOwner, folderMode & 0o1000 == 0 else { return [] }
        return [
            .failed(
                .file, "owner", "\(path) belongs to \(owner), its folder to \(folderOwner), who is the daemon's user",
                next: "sudo chown --no-dereference \("--reference=\(folderPath)") \(path)")
        ]
    }

    private func modes(_ folderMode: UInt32, _ mode: UInt32) -> [DoctorReport.Finding] {
        var findings: [DoctorReport.Finding] = []
        let all =
            [("", Entry.there(mode: mode, owner: "", group: "", isFile: true))] + beside.sorted { $0.key < $1.key }
        // A folder that others cannot enter hides what is in it, whatever the modes are.
        let isOpen = folderMode & 0o001 != 0
        for case (let suffix, .there(let mode, _, _, _)) in all where mode & 0o006 != 0 && isOpen {
            findings.append(
                .failed(
                    .file, "mode",
                    "everybody can \(mode & 0o002 != 0 ? "change" : "read") \(path)\(suffix) (\(Self.octal(mode)))",
                    next: "chmod o= \(path + suffix)"))
        }
        for case (let suffix, .there(let mode, _, _, _)) in all
        where mode & 0o020 != 0 && folderMode & 0o010 != 0 && suffix != ".lock" {
            findings.append(
                .warning(
                    .file, "mode", "the group can change \(path)\(suffix) (\(Self.octal(mode)))",
                    "Only the daemon may write it.", next: "chmod g=r \(path + suffix)"))
        }
        if folderMode & 0o002 != 0, folderMode & 0o1000 == 0 {
            findings.append(
                .failed(
                    .file, "mode", "everybody can replace files in \(folderPath) (\(Self.octal(folderMode)))",
                    next: "chmod o= \(folderPath)"))
        }
        return findings
    }

    /// What SQLite keeps beside the database has to belong to the database's owner, and be readable for the same group.
    private func besides(_ mode: UInt32, _ owner: String, _ group: String) -> [DoctorReport.Finding] {
        beside.sorted { $0.key < $1.key }.compactMap { suffix, entry in
            if case .linked(let owner) = entry { return Self.link(path + suffix, owner) }
            guard case .there(let own, let whose, let whoseGroup, let isFile) = entry else { return nil }
            if !isFile { return .failed(.file, "owner", "\(path)\(suffix) is not a file") }
            if whose != owner {
                return .failed(
                    .file, "owner", "\(path)\(suffix) belongs to \(whose), not to \(owner): the daemon cannot open it",
                    next: Self.repairCommand)
            }
            guard suffix != ".lock", mode & 0o040 != 0, own & 0o040 == 0 || whoseGroup != group else { return nil }
            return .warning(
                .file, "mode",
                "\(path)\(suffix) may not be read by the group \(group): its members cannot read the copy",
                next: Self.repairCommand)
        }
    }

    /// Readers who may not write can open the file only while `-wal` and `-shm` are there.
    private func readers(_ folderMode: UInt32, _ mode: UInt32) -> [DoctorReport.Finding] {
        let names = missing.joined(separator: " and ")
        if isDaemonRunning, !missing.isEmpty {
            return [
                .failed(
                    .file, "readers", "\(names) were removed while the daemon works on the file",
                    "Restart the daemon, so that nothing is written into files that are gone.",
                    next: "sudo systemctl restart prsnld")
            ]
        }
        guard mode & 0o040 != 0, folderMode & 0o050 == 0o050 else {
            return [.ok(.file, "readers", "only the owner may read it")]
        }
        guard !missing.isEmpty else { return [.ok(.file, "readers", "members of the group can read it")] }
        return [
            .warning(
                .file, "readers", "\(names) are gone, without which members of the group cannot read the file",
                "A plain sqlite3 by root removes them; use `sqlite3 -readonly`. Starting the daemon makes them, too.",
                next: Self.repairCommand)
        ]
    }

    private static func octal(_ mode: UInt32) -> String { "0" + String(mode & 0o7777, radix: 8) }
}

// MARK: Reading

extension FilesCheck {
    static func look(_ database: String) -> FilesCheck {
        var files = FilesCheck(path: database)
        files.folder = FileStatus.entry(Descriptors.folder(of: database))
        files.database = FileStatus.entry(database)
        for suffix in suffixes { files.beside[suffix] = FileStatus.entry(database + suffix) }
        return files
    }
}

/// `prsnlctl doctor --repair`: gives the files beside the database back to its owner and creates those that are gone,
/// so that members of the group can read the copy while the daemon is stopped.
enum ReaderFilesRepair {
    /// What was done, in words.
    ///
    /// - Throws: `no_database`; `not_owner`; `database_locked` where files are gone and another process has the database.
    static func run(_ database: String) throws(UserFacingError) -> [String] {
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
                if let change = try giveBack(file, suffix, place) { done.append(change) }
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
        _ file: GuardedPath.File, _ suffix: String, _ place: borrowing GuardedPath
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
                recoverySuggestion: "Repair as root.", nextCommand: CommandContext.sudo())
        }
        return "gave \(name) back to \(UserDatabase.user(place.owner)):\(UserDatabase.group(place.group))"
    }
}
