import PRSNLCore
import Reports
import Store

/// `prsnlctl history`: from the daemon when it runs, because this user may not be allowed to read the file.
enum HistoryCommand {
    static let command = Command("history", "List the last pulls.") { context, _ throws(UserFacingError) in
        try context.write(
            try context.read(HistoryRequest()) { path throws(UserFacingError) in
                HistoryReport(try StoreReader(path: path).history(), source: .file)
            })
        return .fine
    }
}
