import PRSNLClient
import PRSNLCore

extension TimelinePage {
    /// Whether the page says the same in all that it says: the API's own promises, which a page keeps by itself.
    ///
    /// Dialect C gives a cursor exactly with a full page, and it is the time of the last item. Dialects P and E give as many
    /// items as their total leaves for the page.
    ///
    /// - Throws: `SyncFailure` with `page_contradictory`.
    func requireConsistency(_ request: TimelineRequest) throws(SyncFailure) {
        switch request.position {
        case .before:
            guard let cursor = nextCursor else {
                if count < request.limit { return }
                throw CursorPlan.contradictory("it has \(count) items of \(request.limit), and no next_cursor")
            }
            if count != request.limit {
                throw CursorPlan.contradictory("it has \(count) items of \(request.limit), and a next_cursor")
            }
            if let last = lastCreatedAt, cursor != last {
                throw CursorPlan.contradictory("its next_cursor is not the time of its last item")
            }
        case .page(let number):
            guard let total else { return }
            let expected = min(request.limit, max(0, total - (number - 1) * request.limit))
            if count != expected {
                throw CursorPlan.contradictory("it has \(count) items where \(expected) of \(total) belong")
            }
        }
    }
}
