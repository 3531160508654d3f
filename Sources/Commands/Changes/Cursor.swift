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
    /// Of the folder: root takes no other rights in it.
    private let owner: FolderOwner
    /// As a line: a path may have line breaks.
    private let database: String

    /// - Throws: `usage` for an invalid name; `disk_error`.
    init(_ name: String, _ context: CommandContext) throws(UserFacingError) {
        guard Self.isName(name) else {
            let endings = Self.endings.joined(separator: ", ")
            let rule = "letters, digits and `-_.:`, 64 at most, without \(endings) at the end"
            throw UserFacingError(.usage, "\(SafeText.harmless(name)) is not a name of a cursor: \(rule).")
        }
        guard let folder = DefaultPaths.cursors(context.environment) else {
            throw UserFacingError(.usage, "There is no home directory that could have places.")
        }
        path = "\(folder)/\(name)"
        owner = FolderOwner(path)
        if let reason = try owner.run({ Folder.make(folder) }) {
            throw UserFacingError(.diskError, "The folder \(folder) for places cannot be made: \(reason).")
        }
        self.name = name
        database = SafeText.harmless(RealPath.of(context.database))
    }

    /// Of the files beside a reader's own.
    static let endings = [".failed", ".lock", ".new"]

    static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && ListOptions.isPlain(text) && !endings.contains(where: text.hasSuffix)
    }

    /// `nil` before anything was read.
    ///
    /// - Throws: `usage` for the place of another database.
    func place() throws(UserFacingError) -> ChangePlace? {
        guard let saved = try saved() else { return nil }
        guard saved.database == database else {
            throw UserFacingError(
                .usage, "The place \(name) is one in \(SafeText.harmless(saved.database)), and not in \(database).",
                recoverySuggestion: "Take another --cursor for this one.")
        }
        return saved.place
    }

    private func saved() throws(UserFacingError) -> (place: ChangePlace, database: String)? {
        guard let lines = try lines(path) else { return nil }
        guard let saved = Self.parse(lines) else {
            throw UserFacingError(
                .changesMissed, "\(path) has no place any more.", consequence: "Changes may have been missed.",
                recoverySuggestion: "Remove the file, and read everything again: `prsnlctl changes --reread`.")
        }
        return saved
    }

    /// The lines of a place's file: the place, its database, and when that change was committed, where it is known.
    static func parse(_ lines: [String]) -> (place: ChangePlace, database: String)? {
        guard lines.count >= 2, var place = ChangePlace(lines[0]) else { return nil }
        place.at = lines.count > 2 ? Timestamp(lines[2]) : nil
        return (place, lines[1])
    }

    static func text(_ place: ChangePlace, _ database: String) -> String {
        "\(place)\n\(database)\n" + (place.at.map { "\($0)\n" } ?? "")
    }

    /// For as long as this process lives: of two readers, one would take the place of the other back.
    func lock() throws(UserFacingError) {
        let file = try owner.run { open(path + ".lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600) }
        guard file >= 0 else { throw failure(path + ".lock", String(cString: strerror(errno))) }
        // A reader that was killed while it started its command leaves the lock to that one for some moments, until exec(3).
        for _ in 0..<20 {
            if prsnl_lock_file(file) == 0 { return }
            usleep(50_000)
        }
        close(file)
        throw UserFacingError(
            .usage, "Another reader has the place \(name) now.", recoverySuggestion: "Take another --cursor.")
    }

    /// Another file in its place, which is on the disk.
    func move(to place: ChangePlace) throws(UserFacingError) {
        try replace(path, by: Self.text(place, database))
    }

    // MARK: Rows that were set aside

    private var failedPath: String { path + ".failed" }
    /// Bytes. Where a command refuses everything, the pauses between two rows have long been minutes by then.
    private static let mostSetAside = 64 << 20

    /// Lines of changes that the command has refused, each time.
    func failed() throws(UserFacingError) -> [String] { try lines(failedPath) ?? [] }

    func save(failed lines: [String]) throws(UserFacingError) {
        try replace(failedPath, by: lines.map { $0 + "\n" }.joined())
    }

    // MARK: Files

    private func lines(_ path: String) throws(UserFacingError) -> [String]? {
        try owner.run { () throws(UserFacingError) in
            try WholeFile.text(of: path, atMost: Self.mostSetAside)?.split(separator: "\n").map(String.init)
        }
    }

    private func replace(_ path: String, by text: String) throws(UserFacingError) {
        guard let reason = try owner.run({ WholeFile.replace(path, by: text, isKept: true) }) else { return }
        throw failure(path, reason)
    }

    private func failure(_ path: String, _ reason: String) -> UserFacingError {
        UserFacingError(.diskError, "\(path) cannot be used: \(reason).")
    }

    // MARK: In the status

    /// Half of what is kept.
    private static let farBehind = Int64(StoreReader.keptChanges / 2)
    private static let longBehind = Duration.seconds(StoreReader.keptDays * 86_400 / 2)

    private static func names(_ folder: String) -> [String] {
        DefaultPaths.files(like: folder + "/*").map { String($0.dropFirst(folder.count + 1)) }.filter(isName)
    }

    /// How far this person's readers of this copy are: of all, how many changes the last one is behind, `nil` without any, and how
    /// many were set aside. With what a person should know of them.
    static func readers(_ context: CommandContext) -> (behind: Int64?, setAside: Int, warnings: [Advice]) {
        var (behind, setAside, warnings): (Int64?, Int, [Advice]) = (nil, 0, [])
        guard let folder = DefaultPaths.cursors(context.environment) else { return (nil, 0, []) }
        for name in names(folder).sorted() {
            do throws(UserFacingError) {
                let cursor = try Cursor(name, context)
                guard let (place, database) = try cursor.saved(), database == cursor.database else { continue }
                let (distance, since) = try context.reader().distance(from: place) ?? (0, nil)
                behind = max(behind ?? 0, distance)
                let isOld = since.map { $0 < TimeSource.system.now().advanced(by: .zero - longBehind) } ?? false
                if distance > farBehind || isOld {
                    let first = since.map { ", the first of \(Formatting.time($0))" } ?? ""
                    warnings.append(
                        "The reader \(name) is \(Formatting.count(Int(distance), "change")) behind\(first). \(Formatting.count(StoreReader.keptChanges)) are kept, for \(StoreReader.keptDays) days."
                    )
                }
                let failed = try cursor.failed().count
                setAside += failed
                if failed > 0 {
                    warnings.append(
                        "The reader \(name) has set \(Formatting.count(failed, "change")) aside: `prsnlctl changes --failed --cursor \(name)`."
                    )
                }
            } catch {
                warnings.append("The reader \(name): \(error.message)")
            }
        }
        return (behind, setAside, warnings)
    }
}
