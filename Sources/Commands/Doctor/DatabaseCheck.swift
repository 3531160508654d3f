import Console
import PRSNLCore
import Requests
import Store

/// What is in the database file, beyond its timeline.
struct DatabaseCheck: Check {
    static let group = DoctorReport.Group.file
    static let name = "schema"

    /// Or why it cannot be opened or read.
    var figures: Result<FileFigures, UserFacingError>
    /// Processes that read the file at the moment, the daemon not among them: `sqlite3 (4242)`.
    var readers: [String] = []

    /// As in Store: far above what a checkpoint needs.
    static let logLimit: Int64 = 64 << 20

    @Findings var findings: [Finding] {
        switch figures {
        case .success(let figures):
            let log = "\(Formatting.size(figures.logSize)) of write-ahead log"
            ok("schema", "version \(figures.schemaVersion)")
            ok(
                "size",
                "\(Formatting.size(figures.size)) (\(Formatting.size(figures.freeSize)) reusable inside the file)")
            if figures.logSize > Self.logLimit {
                let who = readers.isEmpty ? "a program that keeps reading" : readers.joined(separator: ", ")
                warning(
                    "log", "\(log), held back by \(who)",
                    "Close it, or let it end its transaction: the log grows until then.")
            } else {
                ok("log", log)
            }
        case .failure(let error) where error.code == .noDatabase: [Finding]()  // said already
        case .failure(let error) where error.code == .databaseUnreadable:
            notChecked("schema", error.message, error.recoverySuggestion, next: error.nextCommand)
        case .failure(let error): failed("schema", error)
        }
    }

    static func gather(_ scene: DoctorScene) -> Self {
        let figures = scene.read { reader throws(UserFacingError) in try reader.figures() }
        let readers = ReaderFiles.readers(path: scene.database).filter { $0 != scene.status?.daemon?.pid }
        return Self(figures: figures, readers: readers.map(ProcessName.text))
    }
}

/// Whether the file is damaged, as SQLite's `quick_check` says, which reads all of it.
struct IntegrityCheck: Check {
    static let group = DoctorReport.Group.file
    static let name = "integrity"
    static let limit = patience + .seconds(10)
    /// Longer than a file of some gigabytes takes that is in the page cache.
    static let patience: Duration = .seconds(30)

    var path: String
    /// What is damaged, or why it cannot be read. `nil` where it was given up after `patience`.
    var outcome: Result<[String], UserFacingError>?

    @Findings var findings: [Finding] {
        let advice: Advice = """
            Stop the daemon. Move the file away and keep it, because writes that wait are only in it. Then start the daemon, \
            which pulls a new copy.
            """
        switch outcome {
        case .success([]): ok(Self.name, "the whole file was read, and nothing is damaged")
        case .success(let lines):
            let words = (["the file is damaged"] + lines.prefix(3)).joined(separator: "\n")
            failed(Self.name, words, advice, next: "prsnlctl queue")
        case nil:
            notChecked(
                Self.name,
                "reading all of it takes longer than \(Formatting.duration(Self.patience)); without a limit:",
                next: "sqlite3 -readonly \(path) 'PRAGMA quick_check'")
        case .failure(let error) where error.code == .databaseDamaged: failed(Self.name, error.message, advice)
        case .failure(let error) where error.code == .noDatabase: [Finding]()
        case .failure: notChecked(Self.name, "the file cannot be read")
        }
    }

    static func gather(_ scene: DoctorScene) -> Self {
        let outcome = BoundedCheck.run(within: patience) {
            scene.read { reader throws(UserFacingError) in try reader.damage() }
        }
        return Self(path: scene.database, outcome: outcome)
    }
}

/// Whether the full-text index is right about each item, and finds it by its title.
struct IndexCheck: Check {
    static let group = DoctorReport.Group.copy
    static let name = "search"

    /// Items about which it is wrong, and those that are still to be indexed; or why it could not be examined.
    var outcome: Result<(checked: Int, lost: Int, due: Int), UserFacingError>
    /// Whether the daemon keeps it up to date; `nil` where that is not known.
    var isEnabled: Bool?

    @Findings var findings: [Finding] {
        let rebuild: NextCommand = "prsnlctl doctor --rebuild-index"
        switch outcome {
        case .failure(let error) where error.code == .noSearchIndex:
            notChecked(Self.name, error.message, error.recoverySuggestion)
        case .failure(let error) where error.code == .databaseDamaged:
            failed(
                Self.name, "the full-text index is damaged", "The items are not. Build it again:", next: rebuild)
        // Other checks say why a file cannot be read at all.
        case .failure: [Finding]()
        case .success(let found) where found.lost > 0:
            failed(
                Self.name, "the full-text index is wrong about \(Formatting.count(found.lost, "item"))",
                "The items themselves are there. Build it again:", next: rebuild)
        // New items are indexed within seconds.
        case .success(let found) where found.due > (isEnabled == true ? StatusReport.indexedAtOnce : 0):
            let rest = isEnabled == false ? "; search_index = no" : ""
            ok(Self.name, "\(Formatting.count(found.due, "item")) to be indexed\(rest)")
        case .success: ok(Self.name, "items are found by their words")
        }
    }

    static func gather(_ scene: DoctorScene) -> Self {
        let outcome = scene.read { reader throws(UserFacingError) in try reader.checkIndex() }
        return Self(outcome: outcome, isEnabled: scene.status?.copy.search?.enabled)
    }
}
