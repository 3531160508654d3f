import PRSNLClient
import PRSNLCore
import Store

/// Fetches the texts that are due, the newest first, one request at a time, and commits them in groups.
///
/// An id of the copy's own timeline needs no proof of the account: whose item it is was proven when its row was written. But
/// nothing is asked under a login that is refused, and where another login comes, it is proven first.
struct TextPull {
    let store: Store
    let shared: EngineSharedState
    let time: TimeSource
    let question: TextQuestion
    /// Called with each text.
    let onText: @Sendable () -> Void
    /// The pull's row in the history, as of the last commit.
    private(set) var record: PullRecord
    /// Where the timeline has items that the server has changed, or lost, since their rows were read: the newest first.
    private(set) var doubtfulRows: [Timestamp] = []

    private var group: [TextAnswer] = []
    private var groupStarted: Duration = .zero
    /// Failures in a row.
    private var failures = 0
    /// Ids in a row that the server did not know, while nothing shows that it has texts at all; `nil` once it has given one.
    private var unknown: Int?

    enum End: Sendable {
        /// No text is due.
        case done
        /// Something more urgent waits. The server is to be left alone for so long yet.
        case gaveWay(owing: Duration)
    }

    /// So many answers, bytes, or so much time are ever uncommitted: that is what a kill can cost.
    static let largestGroup = 16
    private static let largestSize = 1 << 20
    private static let longestWait: Duration = .seconds(10)
    /// So many failures in a row may be the server's, and not the items'.
    private static let fruitless = 3
    /// While the outbox sends.
    private static let afterOutbox: Duration = .seconds(1)

    init(
        store: Store, identity: Identity, shared: EngineSharedState, time: TimeSource, requests: RequestCounter,
        record: PullRecord, onText: @escaping @Sendable () -> Void
    ) {
        self.store = store
        self.shared = shared
        self.time = time
        self.record = record
        self.onText = onText
        question = TextQuestion(identity: identity, time: time, requests: requests)
    }

    /// All that are due, until something more urgent waits. What has arrived is committed, also where it fails.
    ///
    /// - Throws: `texts_unavailable` where the server has none to give.
    mutating func run(_ dialect: Dialect, pacing: Pacing) async throws(SyncFailure) -> End {
        do throws(SyncFailure) {
            if try await !SyncFailure.from(try await store.hasTexts()) { unknown = 0 }
            let end = try await readDue(dialect, pacing)
            try await flush()
            return end
        } catch {
            // The first failure is the cause. What cannot be written now is fetched again.
            if error.origin != .database { try await flush() }
            throw error
        }
    }

    private mutating func readDue(_ dialect: Dialect, _ pacing: Pacing) async throws(SyncFailure) -> End {
        while true {
            let due = try await SyncFailure.from(
                try await store.dueTexts(now: time.now(), limit: Self.largestGroup))
            guard !due.isEmpty else { return .done }
            try await SyncFailure.from(try await store.requireTextRoom())
            for text in due {
                if text.isStored {
                    add(TextAnswer(text, .known))
                    continue
                }
                let start = time.uptime()
                let isAsDue = try await ask(text, dialect)
                let owed: Duration
                do { owed = try await pacing.pause(after: time.uptime() - start) } catch { throw .cancelled }
                if pacing.givesWay { return .gaveWay(owing: owed) }
                if shared.isSending { return .gaveWay(owing: max(owed, Self.afterOutbox)) }
                if !isAsDue { break }
            }
            try await flush()
        }
    }

    /// - Returns: False where more than this text was asked for, so that what is due has to be read again.
    private mutating func ask(_ text: DueText, _ dialect: Dialect) async throws(SyncFailure) -> Bool {
        let answer = try await question.ask(text, limit: shared.settings.textMaxSize)
        try countUnknown(answer, dialect)
        add(answer.answer)
        onText()
        // The server has asked to wait.
        if let failure = answer.failure, case .retry(after: .some) = failure.verdict { throw failure }
        if isFull { try await flush() }
        failures = answer.failure == nil ? 0 : failures + 1
        guard failures >= Self.fruitless, let failure = answer.failure else { return true }
        // The items that are bad may all be new: the oldest tells whether it is them, or the server.
        try await flush()
        let witness = try await SyncFailure.from(
            try await store.dueTexts(now: time.now(), limit: 1, oldest: true)
        ).first
        guard let witness, witness.failures == 0 else { throw failure }
        let other = try await question.ask(witness, limit: shared.settings.textMaxSize)
        add(other.answer)
        try await flush()
        if let failure = other.failure { throw failure }
        failures = 0
        return false
    }

    /// One text that a person asks for, of any size.
    mutating func one(_ id: String) async throws(SyncFailure) {
        guard let due = try await SyncFailure.from(try await store.textQuestion(of: id)) else {
            throw SyncFailure(
                UserFacingError(.itemUnknown, "The copy has no item with the id \(id)."), verdict: .tryRarely,
                origin: .database)
        }
        let answer = try await question.ask(due, limit: TextQuestion.largestManual, manual: true)
        add(answer.answer)
        try await flush()
        if let failure = answer.failure { throw failure }
        guard case .problem(let problem) = answer.answer.outcome else { return }
        throw SyncFailure(
            UserFacingError(problem.code, problem.message), verdict: .retry(after: nil),
            origin: .server(endpoint: Store.textEndpoint))
    }

    /// Older releases answer 404 for every id. Of a server that has given a text, a 404 is about the item.
    private mutating func countUnknown(
        _ answer: TextQuestion.Answer, _ dialect: Dialect
    ) throws(SyncFailure) {
        guard let count = unknown,
            answer.isRouteUnknown || dialect == .page && answer.failure?.error.code == .textNotFound
        else {
            unknown = nil
            return
        }
        unknown = count + 1
        guard count + 1 >= Self.fruitless else { return }
        group = []
        throw Self.unavailable
    }

    private static let unavailable = SyncFailure(
        UserFacingError(
            .textsUnavailable, "This server does not give the texts of items.",
            consequence: "The timeline is copied as before. The server is asked again after a day."),
        verdict: .tryRarely, origin: .server(endpoint: Store.textEndpoint))

    // MARK: Groups

    private mutating func add(_ answer: TextAnswer) {
        if group.isEmpty { groupStarted = time.uptime() }
        group.append(answer)
    }

    private var isFull: Bool {
        // Whether the server has texts at all is not known yet.
        if let unknown, unknown > 0 { return false }
        return group.count >= Self.largestGroup || group.reduce(0) { $0 + $1.size } >= Self.largestSize
            || time.uptime() - groupStarted >= Self.longestWait
    }

    private mutating func flush() async throws(SyncFailure) {
        guard !group.isEmpty else { return }
        let answers = group
        group = []
        record.requests = question.requests.count
        record = try await SyncFailure.from(try await store.commit(answers, now: time.now(), record: record))
        doubtfulRows += answers.filter(\.doubtsRow).map(\.due.createdAt)
        for answer in answers {
            guard case .problem(let problem) = answer.outcome, problem.kind == .failing else { continue }
            try await SyncFailure.from(
                try await store.recordError(
                    code: problem.code, endpoint: Store.textEndpoint, message: problem.message, at: time.now()))
        }
    }
}
