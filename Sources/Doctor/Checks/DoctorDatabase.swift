import Console
package import PRSNLCore

/// What is in the database file, beyond its timeline.
package struct DoctorDatabase: DoctorFacts, Equatable {
    /// Why it cannot be opened or read.
    package var error: UserFacingError?
    package var schemaVersion = 0
    /// Bytes.
    package var size: Int64 = 0
    package var freeSize: Int64 = 0
    package var logSize: Int64 = 0
    /// Processes that read the file at the moment, the daemon not among them: `sqlite3 (4242)`.
    package var readers: [String] = []
    package var path: String

    /// As in Store: far above what a checkpoint needs.
    static let logLimit: Int64 = 64 << 20

    package init(path: String) {
        self.path = path
    }

    package var findings: [DoctorReport.Finding] {
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

/// Whether the file is damaged, as SQLite's `quick_check` says, which reads all of it.
package struct DoctorIntegrity: DoctorFacts, Equatable {
    package enum Outcome: Sendable, Equatable {
        case sound
        case damaged([String])
        /// It was given up after so long.
        case unfinished(Duration)
        case unreadable(UserFacingError)
    }

    package var path: String
    /// Bytes.
    package var size: Int64
    package var outcome: Outcome

    package init(path: String, size: Int64, outcome: Outcome) {
        self.path = path
        self.size = size
        self.outcome = outcome
    }

    static let advice =
        "Stop the daemon, keep the file, because writes that wait are only in it, and let a new one be pulled: move it "
        + "away and start again."

    package var findings: [DoctorReport.Finding] {
        switch outcome {
        case .sound: return [.ok(.file, "integrity", "the whole file was read, and nothing is damaged")]
        case .damaged(let lines):
            let words = (["the file is damaged"] + lines.prefix(3)).joined(separator: "\n")
            return [.failed(.file, "integrity", words, Self.advice, next: "prsnlctl queue")]
        case .unfinished(let limit):
            return [
                .notChecked(
                    .file, "integrity", "\(Figures.size(size)) take longer than \(Figures.duration(limit)); by hand:",
                    next: ShellText.command("sqlite3", ["-readonly", path, "PRAGMA quick_check"]))
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
