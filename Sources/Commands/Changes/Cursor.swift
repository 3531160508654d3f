import CLinux
import Configuration
import Console
import Control
import Glibc
import PRSNLCore
import Store

/// A reader's place among the changes, in a file of the person's own: `~/.local/state/prsnld/cursors/NAME`.
struct Cursor {
    let name: String
    private let path: String
    /// The database that it is of.
    private let database: String

    /// - Throws: `usage` for a name that is none; `disk_error`.
    init(_ name: String, _ context: CommandContext) throws(UserFacingError) {
        guard (1...64).contains(name.utf8.count), ListOptions.isPlain(name) else {
            throw UserFacingError(
                .usage, "\(SafeText.harmless(name)) is no name of a place: letters, digits and `-_.:`, 64 at most.")
        }
        let folder = try Self.folder(context)
        if let reason = Folder.make(folder) {
            throw UserFacingError(.diskError, "The folder \(folder) for places cannot be made: \(reason).")
        }
        self.name = name
        path = "\(folder)/\(name)"
        database = RealPath.of(context.paths.database)
    }

    private static func folder(_ context: CommandContext) throws(UserFacingError) -> String {
        guard let folder = DefaultPaths.cursors(context.environment) else {
            throw UserFacingError(.usage, "There is no home directory that could have places.")
        }
        return folder
    }

    /// `nil` before anything was read.
    ///
    /// - Throws: `usage` for the place of another database.
    func place() throws(UserFacingError) -> ChangePlace? {
        guard let lines = try Self.lines(path) else { return nil }
        guard lines.count >= 2, let place = ChangePlace(lines[0]) else {
            throw UserFacingError(
                .changesMissed, "\(path) has no place any more.", consequence: "Changes may have been missed.",
                recoverySuggestion: "Remove the file, and read everything again: `prsnlctl changes --reread`.")
        }
        guard lines[1] == database else {
            throw UserFacingError(
                .usage, "The place \(name) is one in \(lines[1]), and not in \(database).",
                recoverySuggestion: "Take another --cursor for this one.")
        }
        return ChangePlace(epoch: place.epoch, seq: place.seq, at: lines.count > 2 ? Timestamp(lines[2]) : nil)
    }

    /// For as long as this process lives: of two readers, one would take the place of the other back.
    func lock() throws(UserFacingError) {
        let file = open(path + ".lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw Self.failure(path + ".lock") }
        guard prsnl_lock_file(file) == 0 else {
            close(file)
            throw UserFacingError(
                .usage, "Another reader has the place \(name) now.", recoverySuggestion: "Take another --cursor.")
        }
    }

    /// Another file in its place, which is on the disk.
    func move(to place: ChangePlace) throws(UserFacingError) {
        try Self.replace(path, by: "\(place)\n\(database)\n" + (place.at.map { "\($0)\n" } ?? ""))
    }

    // MARK: Rows that were set aside

    private var failedPath: String { path + ".failed" }

    /// Lines of changes that the command has refused, each time.
    func failed() throws(UserFacingError) -> [String] { try Self.lines(failedPath) ?? [] }

    func save(failed lines: [String]) throws(UserFacingError) {
        try Self.replace(failedPath, by: lines.map { $0 + "\n" }.joined())
    }

    // MARK: Files

    private static func lines(_ path: String) throws(UserFacingError) -> [String]? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        if file < 0, errno == ENOENT { return nil }
        guard file >= 0 else { throw failure(path) }
        defer { close(file) }
        return try TextInput.all(of: file, path).split(separator: "\n").map(String.init)
    }

    private static func replace(_ path: String, by text: String) throws(UserFacingError) {
        let next = path + ".new"
        let file = open(next, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0o600)
        defer { if file >= 0 { close(file) } }
        let bytes = Array(text.utf8)
        guard file >= 0, Glibc.write(file, bytes, bytes.count) == bytes.count, fsync(file) == 0,
            rename(next, path) == 0
        else { throw failure(path) }
    }

    private static func failure(_ path: String) -> UserFacingError {
        UserFacingError(.diskError, "\(path) cannot be used: \(String(cString: strerror(errno))).")
    }

    // MARK: In the status

    /// Half of what is kept.
    private static let farBehind = Int64(StoreReader.keptChanges / 2)

    private static func names(_ folder: String) -> [String] {
        var found = glob_t()
        defer { globfree(&found) }
        guard glob(folder + "/*", 0, nil, &found) == 0 else { return [] }
        return (0..<Int(found.gl_pathc)).compactMap { place in
            found.gl_pathv[place].map { String(String(cString: $0).dropFirst(folder.count + 1)) }
        }
    }

    /// What a person should know of the readers of this copy.
    static func warnings(_ context: CommandContext) -> [String] {
        guard let folder = try? folder(context), case let names = Self.names(folder), !names.isEmpty else { return [] }
        let database = RealPath.of(context.paths.database)
        return names.sorted().flatMap { name -> [String] in
            guard ![".failed", ".new", ".lock"].contains(where: name.hasSuffix),
                let lines = try? lines("\(folder)/\(name)"), lines.count >= 2, lines[1] == database,
                let place = ChangePlace(lines[0]), let cursor = try? Cursor(name, context)
            else { return [] }
            var warnings: [String] = []
            if let behind = try? StoreReader(path: database).distance(from: place), behind > farBehind {
                warnings.append(
                    "The reader \(name) is \(Formatting.count(Int(behind), "change")) behind; \(Formatting.count(StoreReader.keptChanges)) are kept."
                )
            }
            if let failed = try? cursor.failed(), !failed.isEmpty {
                warnings.append(
                    "The reader \(name) has set \(Formatting.count(failed.count, "change")) aside: `prsnlctl changes --failed --cursor \(name)`."
                )
            }
            return warnings
        }
    }
}
