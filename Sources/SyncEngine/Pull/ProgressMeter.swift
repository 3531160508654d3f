import PRSNLCore
import Store
import Synchronization

/// Adds up the pages of a pull for `prsnlctl status`.
final class ProgressMeter: Sendable {
    private let state: Mutex<PullProgress>
    private let started: Duration
    private let time: TimeSource
    private let shared: EngineSharedState

    init(kind: PullRecord.Kind, time: TimeSource, shared: EngineSharedState) {
        state = Mutex(PullProgress(kind: kind, startedAt: time.now()))
        started = time.uptime()
        self.time = time
        self.shared = shared
    }

    @Sendable
    func page(_ items: Int, _ position: Timestamp?) { page(items, position, expected: nil) }

    /// One of so many items, which comes by itself.
    func item(of expected: Int) { page(1, nil, expected: expected) }

    func page(_ items: Int, _ position: Timestamp?, expected: Int?) {
        let elapsed = (time.uptime() - started).seconds
        let progress = state.withLock { progress in
            progress.pages += 1
            progress.items += items
            progress.position = position
            progress.expectedItems = expected
            progress.rate = elapsed > 0 ? Double(progress.items) / elapsed : 0
            return progress
        }
        shared.publish { $0.pull = progress }
    }
}
