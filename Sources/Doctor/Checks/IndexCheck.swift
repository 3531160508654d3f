import Console
import PRSNLCore
import Reports
import Store

/// Whether the index of words is right about each item, and finds it by its title.
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
                    .copy, "search", "the index of words is damaged", "The items are not. Build it again:",
                    next: rebuild)
            ]
        case .looked(_, let lost, _) where lost > 0:
            return [
                .failed(
                    .copy, "search", "the index of words is wrong about \(Figures.count(lost, "item"))",
                    "The items themselves are there. Build it again:", next: rebuild)
            ]
        // New items are indexed within seconds.
        case .looked(_, _, let due) where due > (isEnabled == true ? StatusReport.indexedAtOnce : 0):
            let rest = isEnabled == false ? "; search_index = no" : ""
            return [.ok(.copy, "search", "\(Figures.count(due, "item")) to be indexed" + rest)]
        case .looked: return [.ok(.copy, "search", "items are found by their words")]
        }
    }
}

// MARK: Looking

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
