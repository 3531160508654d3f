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
                "\(Figures.size(size)), of it \(Figures.size(freeSize)) free for new items"),
            log,
        ]
    }

    private var log: DoctorReport.Finding {
        let text = "\(Figures.size(logSize)) of write-ahead log"
        guard logSize > Self.logLimit else { return .ok(.file, "log", text) }
        let who = readers.isEmpty ? "a program that keeps reading" : readers.joined(separator: ", ")
        return .warning(
            .file, "log", "\(text), held back by \(who)",
            "Close it, or let it end its transaction: the log grows until then.")
    }
}

// MARK: Looking

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
