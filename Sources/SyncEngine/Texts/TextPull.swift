import PRSNLClient
import PRSNLCore
import Store

/// Fetches the texts that are due, the newest first, one request at a time, and commits them in groups.
///
/// An id of the copy's own timeline needs no proof of the account: whose item it is was proven when its row was written.
struct TextPull {
    let store: Store
    let client: PRSNLClient
    let board: EngineBoard
    let time: TimeSource
    let requests: RequestCounter
    /// Called with each text.
    let onText: @Sendable () -> Void
    /// The pull's row in the history, as of the last commit.
    private(set) var record: PullRecord
    /// Where the timeline has items that the server has changed, or lost, since their rows were read.
    private(set) var changedRows: [Timestamp] = []

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
    /// So many failures in a row are the server's, not the items'.
    private static let fruitless = 3
    /// Between two questions about a text that fails.
    static let backoff = Backoff(base: .seconds(60), cap: .seconds(12 * 3_600), jitter: 1...1)
    /// While the outbox sends.
    private static let afterOutbox: Duration = .seconds(1)
    /// Servers cache an answer for 30 minutes. One that is older than the item's row is asked for again after this.
    static let cacheTime: Duration = .seconds(31 * 60)
    /// An answer repeats a text up to three times, and JSON writes some characters as several.
    private static let answerFactor = 4

    init(
        store: Store, client: PRSNLClient, board: EngineBoard, time: TimeSource, requests: RequestCounter,
        record: PullRecord, onText: @escaping @Sendable () -> Void
    ) {
        self.store = store
        self.client = client
        self.board = board
        self.time = time
        self.requests = requests
        self.record = record
        self.onText = onText
    }

    /// All that are due, until something more urgent waits. What has arrived is committed, also where it fails.
    ///
    /// - Throws: `texts_unavailable` where the server has none to give.
    mutating func run(_ dialect: Dialect, pacing: Pacing) async throws(SyncFailure) -> End {
        do throws(SyncFailure) {
            if dialect == .page, try await !SyncFailure.from(try await store.hasTexts()) { unknown = 0 }
            let end = try await readDue(pacing)
            try await flush()
            return end
        } catch {
            // The first failure is the cause. What cannot be written now is fetched again.
            if error.origin != .database { try await flush() }
            throw error
        }
    }

    private mutating func readDue(_ pacing: Pacing) async throws(SyncFailure) -> End {
        while true {
            let due = try await SyncFailure.from(
                try await store.dueTexts(now: time.now(), limit: Self.largestGroup))
            guard !due.isEmpty else { return .done }
            for text in due {
                if text.isStored {
                    add(TextAnswer(text, .known))
                    continue
                }
                let start = time.uptime()
                let outcome = try await ask(text, limit: board.settings.textMaxSize)
                add(TextAnswer(text, outcome))
                onText()
                try countUnknown(outcome)
                if isFull { try await flush() }
                let owed: Duration
                do { owed = try await pacing.pause(after: time.uptime() - start) } catch { throw .cancelled }
                if pacing.givesWay { return .gaveWay(owing: owed) }
                if board.isSending { return .gaveWay(owing: max(owed, Self.afterOutbox)) }
            }
            try await flush()
        }
    }

    /// One text that a person asks for, of any size.
    mutating func one(_ id: String) async throws(SyncFailure) {
        guard let question = try await SyncFailure.from(try await store.textQuestion(of: id)) else {
            throw SyncFailure(
                UserFacingError(.itemUnknown, "The copy has no item with the id \(id)."), verdict: .tryRarely,
                origin: .database)
        }
        let outcome = try await ask(question, limit: Self.largestByHand, byHand: true)
        add(TextAnswer(question, outcome))
        try await flush()
        switch outcome {
        case .text, .known: break
        case .problem(let problem):
            throw SyncFailure(
                UserFacingError(problem.code, problem.message), verdict: .retry(after: nil),
                origin: .server(endpoint: Store.textEndpoint))
        }
    }

    private static let largestByHand = 1 << 30

    // MARK: One text

    private mutating func ask(
        _ due: DueText, limit: Int, byHand: Bool = false
    ) async throws(SyncFailure) -> TextAnswer.Outcome {
        requests.add()
        let text: ItemText?
        do throws(APIError) {
            let answerLimit = byHand ? limit : limit * Self.answerFactor + 65_536
            // No proof is needed, so any login will do.
            text = try await client.session().text(of: due.id, limit: answerLimit, mayExceed: byHand)
        } catch {
            if case .notFound = error.kind { throw Self.unavailable }
            let failure = SyncFailure(error)
            if failure.error.code == .answerTooLarge { return tooLarge(limit) }
            guard failure.isOfOneItem, !byHand else { throw failure }
            failures += 1
            let problem = failed(due, failure.error)
            guard failures < Self.fruitless else {
                add(TextAnswer(due, problem))
                throw failure
            }
            return problem
        }
        failures = 0
        // No proof that the item is gone: only the list, and then the absence check, may say so.
        guard let text else {
            return failed(due, UserFacingError(.notFound, "The server does not know the item \(due.id)."))
        }
        if let version = text.updatedAt, version < due.rowVersion { return stale(due, version) }
        return text.longest > limit ? tooLarge(limit) : .text(text)
    }

    private func tooLarge(_ limit: Int) -> TextAnswer.Outcome {
        .problem(
            TextProblem(
                .tooLarge, failures: 1, nextAt: nil, size: limit, code: .textTooLarge,
                message: "The text is larger than text_max_size, \(limit) bytes."))
    }

    private func failed(_ due: DueText, _ error: UserFacingError) -> TextAnswer.Outcome {
        let count = due.failures + 1
        return .problem(
            TextProblem(
                .failing, failures: count, nextAt: time.now().advanced(by: Self.backoff.step(count)), code: error.code,
                message: error.message))
    }

    private func stale(_ due: DueText, _ version: Timestamp) -> TextAnswer.Outcome {
        let count = due.failures + 1
        let wait = max(Self.cacheTime, Self.backoff.step(count))
        return .problem(
            TextProblem(
                .stale, failures: count, nextAt: time.now().advanced(by: wait), code: .staleAnswer,
                message:
                    "The server's answer is of \(version), older than its list says (\(due.rowVersion)): it comes from a cache."
            ))
    }

    /// Older releases answer 404 for every id. Of a server that has given a text, a 404 is about the item.
    private mutating func countUnknown(_ outcome: TextAnswer.Outcome) throws(SyncFailure) {
        guard let count = unknown, case .problem(let problem) = outcome, problem.code == .notFound else {
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
        record.requests = requests.count
        record = try await SyncFailure.from(try await store.commit(answers, now: time.now(), record: record))
        changedRows += answers.filter(\.doubtsRow).map(\.due.createdAt)
        for answer in answers {
            guard case .problem(let problem) = answer.outcome, problem.kind == .failing else { continue }
            try await SyncFailure.from(
                try await store.recordError(
                    code: problem.code, endpoint: Store.textEndpoint, message: problem.message, at: time.now()))
        }
    }
}
