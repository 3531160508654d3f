import PRSNLCore
import Store

/// How much a read may ask for: some times as many items as the copy has, those included that the read has brought.
///
/// A server can make a list that never ends, of items that the copy has already, and so keep it reading without end.
struct PageBound {
    let store: Store
    private var asked = 0
    private var most = Self.atLeast

    private static let atLeast = 100_000
    private static let factor = 4

    init(store: Store) { self.store = store }

    /// Call before each page.
    ///
    /// - Parameter limit: How many items it is asked for.
    /// - Throws: `page_contradictory`.
    mutating func add(_ limit: Int) async throws(SyncFailure) {
        asked += limit
        guard asked > most else { return }
        most = Self.atLeast + Self.factor * (try await SyncFailure.from(try await store.rowCount()))
        guard asked > most else { return }
        throw CursorPlan.contradictory("it does not end, and repeats items that were read before")
    }
}
