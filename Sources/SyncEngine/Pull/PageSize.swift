import Synchronization

/// How many items a page may have: fewer once one was too large to be read, and slowly more again.
final class PageSize: Sendable {
    private struct State {
        var limit: Int
        /// Good ones since the limit was changed.
        var good = 0
        /// So many good ones let it grow.
        var needed: Int
        /// Whether it was let grow, which may turn out to have been too early.
        var hasGrown = false
    }

    let largest: Int
    let smallest: Int
    private let patience: Int
    private let state: Mutex<State>

    /// - Parameter patience: How many pages, or passes, are read with a smaller limit before a larger one is tried.
    init(largest: Int, smallest: Int, patience: Int) {
        self.largest = largest
        self.smallest = smallest
        self.patience = patience
        state = Mutex(State(limit: largest, needed: patience))
    }

    var limit: Int { state.withLock(\.limit) }
    var isReduced: Bool { limit < largest }

    /// Where growing fails again and again, it is tried after this many times the patience.
    private static let longestPatience = 64

    func reduce(to smaller: Int) {
        state.withLock { state in
            guard smaller < state.limit else { return }
            if state.hasGrown { state.needed = min(state.needed * 2, patience * Self.longestPatience) }
            state.hasGrown = false
            state.limit = max(smaller, smallest)
            state.good = 0
        }
    }

    /// - Returns: False where they are as small as they can be.
    func reduce(below current: Int) -> Bool {
        guard current > smallest else { return false }
        reduce(to: max(current / 2, smallest))
        return true
    }

    func noteGood() {
        state.withLock { state in
            state.good += 1
            guard state.good >= state.needed else { return }
            state.good = 0
            if state.limit < largest {
                state.limit = min(state.limit * 2, largest)
                state.hasGrown = true
            } else {
                state.needed = patience
                state.hasGrown = false
            }
        }
    }

    /// Reads pages that nothing is remembered of: with half as many items each where one was too large to be read.
    static func fitting<Answer>(
        _ largest: Int, _ read: (_ limit: Int) async throws(SyncFailure) -> Answer
    ) async throws(SyncFailure) -> Answer {
        var limit = largest
        while true {
            do throws(SyncFailure) {
                return try await read(limit)
            } catch {
                guard error.error.code == .answerTooLarge, limit > 1 else { throw error }
                limit /= 2
            }
        }
    }
}
