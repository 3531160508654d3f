import Console
import Glibc
import PRSNLCore
import Store

/// What is in the database file, beyond its timeline.
struct DatabaseCheck: Check, Equatable {
    /// Why it cannot be opened or read.
    var error: UserFacingError?
    var schemaVersion = 0
    /// Bytes.
    var size: Int64 = 0
    var freeSize: Int64 = 0
    var logSize: Int64 = 0
    /// Processes that read the file at the moment, the daemon not among them: `sqlite3 (4242)`.
    var readers: [String] = []
    var path: String

    /// As in Store: far above what a checkpoint needs.
    static let logLimit: Int64 = 64 << 20

    var findings: [DoctorReport.Finding] {
        if let error {
            switch error.code {
            case .noDatabase: return []  // said already
            case .databaseUnreadable:
                return [
                    .notChecked(.file, "schema", error.message, error.recoverySuggestion, next: error.nextCommand)
                ]
            default: return [.failed(.file, "schema", error)]
            }
        }
        return [
            .ok(.file, "schema", "version \(schemaVersion)"),
            .ok(
                .file, "size",
                "\(Formatting.size(size)), of it \(Formatting.size(freeSize)) free for new items"),
            log,
        ]
    }

    private var log: DoctorReport.Finding {
        let text = "\(Formatting.size(logSize)) of write-ahead log"
        guard logSize > Self.logLimit else { return .ok(.file, "log", text) }
        let who = readers.isEmpty ? "a program that keeps reading" : readers.joined(separator: ", ")
        return .warning(
            .file, "log", "\(text), held back by \(who)",
            "Close it, or let it end its transaction: the log grows until then.")
    }
}

// MARK: Reading

extension DatabaseCheck {
    init(_ scene: DoctorScene) {
        self.init(path: scene.database)
        readers = scene.readers
        do throws(UserFacingError) {
            let figures = try StoreReader(path: scene.database, leavingNoTrace: true).figures()
            schemaVersion = figures.schemaVersion
            size = figures.size
            freeSize = figures.freeSize
            logSize = figures.logSize
        } catch {
            self.error = error
        }
    }

    /// Who reads the file, but for the daemon. Before this process opens it: see `ReaderFiles.readers`.
    static func readers(_ database: String, daemon: Int32?) -> [String] {
        ReaderFiles.readers(path: database).filter { $0 != daemon }.map(processName)
    }

    /// `sqlite3 (4242)`, by proc(5).
    private static func processName(_ process: Int32) -> String {
        guard let text = SmallText.read("/proc/\(process)/comm") else { return "process \(process)" }
        return "\(text.filter { !$0.isNewline }) (\(process))"
    }
}

/// Whether the file is damaged, as SQLite's `quick_check` says, which reads all of it.
struct IntegrityCheck: Check, Equatable {
    enum Outcome: Sendable, Equatable {
        case sound
        case damaged([String])
        /// It was given up after so long.
        case unfinished(Duration)
        case unreadable(UserFacingError)
    }

    var path: String
    /// Bytes.
    var size: Int64
    var outcome: Outcome

    static let advice: Advice =
        "Stop the daemon. Move the file away and keep it, because writes that wait are only in it. Then start the daemon, "
        + "which pulls a new copy."

    var findings: [DoctorReport.Finding] {
        switch outcome {
        case .sound: return [.ok(.file, "integrity", "the whole file was read, and nothing is damaged")]
        case .damaged(let lines):
            let words = (["the file is damaged"] + lines.prefix(3)).joined(separator: "\n")
            return [.failed(.file, "integrity", words, Self.advice, next: "prsnlctl queue")]
        case .unfinished(let limit):
            return [
                .notChecked(
                    .file, "integrity",
                    "\(Formatting.size(size)) take longer than \(Formatting.duration(limit)); by hand:",
                    next: "sqlite3 -readonly \(path) 'PRAGMA quick_check'")
            ]
        case .unreadable(let error):
            switch error.code {
            case .databaseDamaged: return [.failed(.file, "integrity", error.message, Self.advice)]
            case .noDatabase: return []
            default: return [.notChecked(.file, "integrity", "the file cannot be read")]
            }
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
        let size = Int64(status.st_size)
        let path = scene.database
        let outcome = BoundedCheck<Outcome>.run(within: Self.limit) {
            do throws(UserFacingError) {
                let damage = try StoreReader(path: path, leavingNoTrace: true).damage()
                return damage.isEmpty ? .sound : .damaged(damage)
            } catch {
                return .unreadable(error)
            }
        }
        self.init(path: path, size: size, outcome: outcome ?? .unfinished(Self.limit))
    }
}

/// Whether the full-text index is right about each item, and finds it by its title.
struct IndexCheck: Check, Equatable {
    enum Outcome: Sendable, Equatable {
        case looked(checked: Int, lost: Int, due: Int)
        case missing(UserFacingError)
        case broken(UserFacingError)
    }

    var outcome: Outcome
    /// Whether the daemon keeps it up to date; `nil` where that is not known.
    var isEnabled: Bool?

    var findings: [DoctorReport.Finding] {
        let rebuild: NextCommand = "prsnlctl doctor --rebuild-index"
        switch outcome {
        case .missing(let error):
            return [.notChecked(.copy, "search", error.message, error.recoverySuggestion)]
        case .broken(let error):
            // Why a file cannot be read at all, others say.
            guard error.code == .databaseDamaged else { return [] }
            return [
                .failed(
                    .copy, "search", "the full-text index is damaged", "The items are not. Build it again:",
                    next: rebuild)
            ]
        case .looked(_, let lost, _) where lost > 0:
            return [
                .failed(
                    .copy, "search", "the full-text index is wrong about \(Formatting.count(lost, "item"))",
                    "The items themselves are there. Build it again:", next: rebuild)
            ]
        // New items are indexed within seconds.
        case .looked(_, _, let due) where due > (isEnabled == true ? StatusReport.indexedAtOnce : 0):
            let rest = isEnabled == false ? "; search_index = no" : ""
            return [.ok(.copy, "search", "\(Formatting.count(due, "item")) to be indexed" + rest)]
        case .looked: return [.ok(.copy, "search", "items are found by their words")]
        }
    }
}

// MARK: Reading

extension IndexCheck {
    /// `nil` where there is no copy, which others say.
    init?(_ scene: DoctorScene) {
        isEnabled = scene.status?.copy.search?.enabled
        do throws(UserFacingError) {
            let reader = try StoreReader(path: scene.database, leavingNoTrace: true)
            let found = try reader.checkIndex()
            outcome = .looked(checked: found.checked, lost: found.lost, due: found.due)
        } catch {
            switch error.code {
            case .noDatabase: return nil
            case .noSearchIndex: outcome = .missing(error)
            default: outcome = .broken(error)
            }
        }
    }
}
