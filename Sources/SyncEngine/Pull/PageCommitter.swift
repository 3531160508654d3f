import PRSNLClient
import PRSNLCore
import Store
import Synchronization

/// Takes pages as they arrive and commits them in groups, while the next ones are being fetched.
///
/// A group shares a transaction and the proof of its account, which costs a slow server as much as a page. Large groups write
/// less: each touches much of the index of ids, whose pages are written once for each group. What is not committed is what a kill can
/// cost: a second of reading; of a slow server as many pages as it has given before, and twelve at the most. So a pull gets on
/// however soon it is killed each time. Used by one task.
final class PageCommitter {
    /// Pages in memory at the most, in commit or waiting for it.
    static let mostPages = 80
    /// Of a group. The rest of `mostPages` is fetched while it is committed.
    private static let largestGroup = 64
    /// A group of so many pages, or of as many as were read before it, is closed once it is older than `quickWait`.
    private static let smallGroup = 12
    private static let quickWait: Duration = .seconds(1)
    /// Bytes of pages in memory, likewise, besides the newest page.
    static let largestSize = 8 << 20
    /// A group is closed when it would be older than this with the next page.
    static let longestWait: Duration = .seconds(10)

    /// How often a pull that only finds what is known writes down how far it has come.
    static let longestUnsaved: Duration = .seconds(60)

    private let store: Store
    private let identity: Identity
    let requests = RequestCounter()
    private let time: TimeSource
    /// The pull's row in the history, as of the last commit.
    var record: PullRecord

    private var group: [PageChange] = []
    /// What the group's pages were read in: one proof covers them all.
    private var session: ClientSession?
    /// Whether the next page is the first of a group, which may be read in another session.
    var isBetweenGroups: Bool { group.isEmpty }
    private var groupStarted: Duration = .zero
    /// Pages that were handed to a commit.
    private var handedOver = 0
    /// When the file last heard of the coverage.
    private var savedAt: Duration
    private var commit: Task<PullRecord, any Error>?
    private var committing = 0
    private var groupSize: Int { group.reduce(0) { $0 + $1.bytes } }
    private var committingSize = 0
    private let commitIsDone = Flag()

    init(store: Store, identity: Identity, time: TimeSource, record: PullRecord) {
        self.store = store
        self.identity = identity
        self.time = time
        self.record = record
        savedAt = time.uptime()
    }

    /// - Parameters:
    ///   - session: what the page was read in. The pages of a group have the same.
    ///   - fetchTook: How long the page took to arrive, as an estimate for the next one.
    func add(
        _ page: PageChange, readIn session: ClientSession, fetchTook: Duration
    ) async throws(SyncFailure) {
        if group.isEmpty { groupStarted = time.uptime() }
        group.append(page)
        self.session = session
        if commit != nil,
            commitIsDone.isSet || group.count + committing >= Self.mostPages
                || groupSize + committingSize >= Self.largestSize
        {
            try await finishCommit()
        }
        guard commit == nil else { return }
        let age = time.uptime() - groupStarted
        // The first page is committed alone, so that readers see something at once.
        if handedOver == 0 || group.count >= Self.largestGroup || age + fetchTook >= Self.longestWait
            || group.count >= min(Self.smallGroup, handedOver) && age + fetchTook >= Self.quickWait
            || groupSize >= Self.largestSize / 2
        {
            startCommit()
        }
        // A page of many megabytes is written before the next one is asked for.
        if committingSize >= Self.largestSize { try await finishCommit() }
    }

    /// Commits what is left and waits for it.
    func flush() async throws(SyncFailure) {
        try await finishCommit()
        if !group.isEmpty { startCommit() }
        try await finishCommit()
    }

    /// Waits for the commit under way and drops what is not committed: it may be another account's.
    func abandon() async {
        group = []
        commit?.cancel()
        if let commit, case .success(let committed) = await commit.result { record = committed }
        commit = nil
    }

    private func finishCommit() async throws(SyncFailure) {
        guard let task = commit else { return }
        commit = nil
        committing = 0
        committingSize = 0
        do {
            // The caller's cancellation must reach a request that the commit may be waiting for.
            record = try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                task.cancel()
            }
        } catch {
            throw SyncFailure(error)
        }
    }

    private func startCommit() {
        let pages = group
        committingSize = groupSize
        group = []
        committing = pages.count
        handedOver += pages.count
        commitIsDone.clear()
        let saves = time.uptime() - savedAt >= Self.longestUnsaved
        if saves { savedAt = time.uptime() }
        commit = Task(executorPreference: TaskLoop.current) {
            [record, commitIsDone, store, identity, requests, time, session] in
            defer { commitIsDone.set() }
            let novelty = try await store.novelty(of: pages)
            if novelty != .repeats, let session {
                try await identity.prove(session, counting: requests)
                // A cancelled pull writes nothing more.
                try Task.checkCancellation()
            }
            var record = record
            record.requests = requests.count
            if novelty == .news {
                let formerSize = identity.shared.settings.formerTextsMaxSize
                return try await store.commit(pages, now: time.now(), record: record, formerSize: formerSize)
            }
            await store.noteUnchanged(pages)
            if saves { try await store.saveCoverage() }
            record.pages += pages.count
            return record
        }
    }
}

/// Counts requests from several tasks.
final class RequestCounter: Sendable {
    private let value = Atomic(0)
    var count: Int { value.load(ordering: .relaxed) }
    func add() { value.wrappingAdd(1, ordering: .relaxed) }
}

/// One bit that another task may set.
final class Flag: Sendable {
    private let value = Atomic(false)
    var isSet: Bool { value.load(ordering: .acquiring) }
    func set() { value.store(true, ordering: .releasing) }
    func clear() { value.store(false, ordering: .releasing) }
}

/// Adds up the pages of a pull for `prsnlctl status`.
final class PullMeter: Sendable {
    private let meter: Mutex<ProgressMeter>
    /// Of the engine whose pull this is. It keeps the meter of the texts, so that a reference here would keep both forever.
    private unowned let shared: EngineSharedState

    init(_ meter: ProgressMeter, _ shared: EngineSharedState) {
        self.meter = Mutex(meter)
        self.shared = shared
    }

    /// - Parameter total: where the server has said it.
    @Sendable
    func page(_ items: Int, _ position: Timestamp? = nil, of total: Int? = nil) {
        let progress = meter.withLock { meter in
            meter.add(items, at: position, of: total)
            return meter.progress
        }
        shared.publish { $0.pull = progress }
    }

    /// Goes on with what is left to do now. `nil` where that was long ago.
    func goingOn(with left: Int) -> PullMeter? {
        meter.withLock { meter in
            meter.expect(left)
            return meter.pause < .seconds(60)
        } ? self : nil
    }
}
