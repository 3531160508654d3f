import Console
import Glibc
import PRSNLCore
import Store

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
        "Stop the daemon, keep the file, because writes that wait are only in it, and let a new one be pulled: move it "
        + "away and start again."

    var findings: [DoctorReport.Finding] {
        switch outcome {
        case .sound: return [.ok(.file, "integrity", "the whole file was read, and nothing is damaged")]
        case .damaged(let lines):
            let words = (["the file is damaged"] + lines.prefix(3)).joined(separator: "\n")
            return [.failed(.file, "integrity", words, Self.advice, next: "prsnlctl queue")]
        case .unfinished(let limit):
            return [
                .notChecked(
                    .file, "integrity", "\(Figures.size(size)) take longer than \(Figures.duration(limit)); by hand:",
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

// MARK: Looking

extension IntegrityCheck {
    /// Longer than a file of some gigabytes takes that is in the page cache.
    static let limit: Duration = .seconds(30)

    /// `nil` where there is no file.
    init?(_ scene: DoctorScene) {
        guard let status = FileLook.status(scene.database).status else { return nil }
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
