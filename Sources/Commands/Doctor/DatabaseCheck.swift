import Console
import Glibc
import PRSNLCore
import Store

/// What is in the database file, beyond its timeline.
struct DatabaseCheck: Check, Equatable {
    /// Or why it cannot be opened or read.
    var figures: Result<FileFigures, UserFacingError>
    /// Processes that read the file at the moment, the daemon not among them: `sqlite3 (4242)`.
    var readers: [String] = []

    /// As in Store: far above what a checkpoint needs.
    static let logLimit: Int64 = 64 << 20

    var findings: [DoctorReport.Finding] {
        switch figures {
        case .success(let figures):
            let (size, free) = (Formatting.size(figures.size), Formatting.size(figures.freeSize))
            return [
                .ok(.file, "schema", "version \(figures.schemaVersion)"),
                .ok(.file, "size", "\(size) (\(free) reusable inside the file)"), log(figures.logSize),
            ]
        case .failure(let error) where error.code == .noDatabase: return []  // said already
        case .failure(let error) where error.code == .databaseUnreadable:
            return [.notChecked(.file, "schema", error.message, error.recoverySuggestion, next: error.nextCommand)]
        case .failure(let error): return [.failed(.file, "schema", error)]
        }
    }

    private func log(_ size: Int64) -> DoctorReport.Finding {
        let text = "\(Formatting.size(size)) of write-ahead log"
        guard size > Self.logLimit else { return .ok(.file, "log", text) }
        let who = readers.isEmpty ? "a program that keeps reading" : readers.joined(separator: ", ")
        return .warning(
            .file, "log", "\(text), held back by \(who)",
            "Close it, or let it end its transaction: the log grows until then.")
    }
}

// MARK: Reading

extension DatabaseCheck {
    init(_ scene: DoctorScene) {
        figures = Result { () throws(UserFacingError) in
            try StoreReader(path: scene.database, leavingNoTrace: true).figures()
        }
        readers = scene.readers
    }
}

/// Whether the file is damaged, as SQLite's `quick_check` says, which reads all of it.
struct IntegrityCheck: Check, Equatable {
    var path: String
    /// Bytes.
    var size: Int64
    /// What is damaged, or why it cannot be read. `nil` where it was given up after `limit`.
    var outcome: Result<[String], UserFacingError>?

    static let advice: Advice =
        "Stop the daemon. Move the file away and keep it, because writes that wait are only in it. Then start the daemon, "
        + "which pulls a new copy."

    var findings: [DoctorReport.Finding] {
        switch outcome {
        case .success([]): return [.ok(.file, "integrity", "the whole file was read, and nothing is damaged")]
        case .success(let lines):
            let words = (["the file is damaged"] + lines.prefix(3)).joined(separator: "\n")
            return [.failed(.file, "integrity", words, Self.advice, next: "prsnlctl queue")]
        case nil:
            return [
                .notChecked(
                    .file, "integrity",
                    "\(Formatting.size(size)) take longer than \(Formatting.duration(Self.limit)); by hand:",
                    next: "sqlite3 -readonly \(path) 'PRAGMA quick_check'")
            ]
        case .failure(let error) where error.code == .databaseDamaged:
            return [.failed(.file, "integrity", error.message, Self.advice)]
        case .failure(let error) where error.code == .noDatabase: return []
        case .failure: return [.notChecked(.file, "integrity", "the file cannot be read")]
        }
    }
}

// MARK: Reading

extension IntegrityCheck {
    /// Longer than a file of some gigabytes takes that is in the page cache.
    static let limit: Duration = .seconds(30)

    /// `nil` where there is no file.
    init?(_ scene: DoctorScene) {
        guard let status = FileStatus.status(scene.database).status else { return nil }
        let path = scene.database
        let outcome = BoundedCheck.run(within: Self.limit) {
            Result { () throws(UserFacingError) in try StoreReader(path: path, leavingNoTrace: true).damage() }
        }
        self.init(path: path, size: Int64(status.st_size), outcome: outcome)
    }
}

/// Whether the full-text index is right about each item, and finds it by its title.
struct IndexCheck: Check, Equatable {
    /// Items about which it is wrong, and those that are still to be indexed.
    var lost = 0
    var due = 0
    /// Why it could not be looked at.
    var error: UserFacingError?
    /// Whether the daemon keeps it up to date; `nil` where that is not known.
    var isEnabled: Bool?

    var findings: [DoctorReport.Finding] {
        let rebuild: NextCommand = "prsnlctl doctor --rebuild-index"
        switch error?.code {
        case .noSearchIndex?: return [.notChecked(.copy, "search", error?.message ?? "", error?.recoverySuggestion)]
        case .databaseDamaged?:
            return [
                .failed(
                    .copy, "search", "the full-text index is damaged", "The items are not. Build it again:",
                    next: rebuild)
            ]
        // Why a file cannot be read at all, others say.
        case .some: return []
        case nil where lost > 0:
            return [
                .failed(
                    .copy, "search", "the full-text index is wrong about \(Formatting.count(lost, "item"))",
                    "The items themselves are there. Build it again:", next: rebuild)
            ]
        // New items are indexed within seconds.
        case nil where due > (isEnabled == true ? StatusReport.indexedAtOnce : 0):
            let rest = isEnabled == false ? "; search_index = no" : ""
            return [.ok(.copy, "search", "\(Formatting.count(due, "item")) to be indexed" + rest)]
        case nil: return [.ok(.copy, "search", "items are found by their words")]
        }
    }
}

// MARK: Reading

extension IndexCheck {
    init(_ scene: DoctorScene) {
        isEnabled = scene.status?.copy.search?.enabled
        do throws(UserFacingError) {
            let found = try StoreReader(path: scene.database, leavingNoTrace: true).checkIndex()
            (lost, due) = (found.lost, found.due)
        } catch {
            self.error = error
        }
    }
}
