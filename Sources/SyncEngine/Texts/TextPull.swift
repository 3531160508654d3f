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

    /// So many answers, bytes, or so much time are ever uncommitted: that is what a kill can cost. Large groups write less, but
    /// only those of a quick server are: as in `PageCommitter`.
    static let largestGroup = 64
    private static let smallGroup = 16
    private static let quickWait: Duration = .seconds(1)
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
        let age = time.uptime() - groupStarted
        return group.count >= Self.largestGroup || group.count >= Self.smallGroup && age >= Self.quickWait
            || age >= Self.longestWait || group.reduce(0) { $0 + $1.size } >= Self.largestSize
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

/// Asks for one text, and says what the answer means.
struct TextQuestion {
    let identity: Identity
    let time: TimeSource
    let requests: RequestCounter

    struct Answer {
        var answer: TextAnswer
        /// What failed, where it may be of this one item.
        var failure: SyncFailure?
        /// 404 of the path, and not of the item.
        var isRouteUnknown = false
    }

    static let largestManual = 1 << 30
    /// Between two questions about a text that fails.
    static let backoff = Backoff(base: .seconds(60), cap: .seconds(12 * 3_600), jitter: 1...1)
    /// Servers cache an answer for 30 minutes. One that may not be the row's is asked for again after this.
    static let cacheTime: Duration = .seconds(31 * 60)
    /// An answer repeats a text up to three times, and JSON writes some characters as several.
    private static let answerFactor = 4

    /// - Parameters:
    ///   - limit: of the text, in bytes.
    ///   - manual: a person asks.
    /// - Throws: what is not of this one item.
    func ask(_ due: DueText, limit: Int, manual: Bool = false) async throws(SyncFailure) -> Answer {
        let session = try await identity.session()
        requests.add()
        let text: ItemText?
        do throws(APIError) {
            let answerLimit = manual ? limit : limit * Self.answerFactor + 65_536
            text = try await session.text(of: due.id, limit: answerLimit, mayExceed: manual)
        } catch {
            if case .networkError(.answerTooLarge(let reached)) = error.kind {
                return Answer(answer: answerTooLarge(due, reached, manual ? nil : limit))
            }
            var failure = SyncFailure(error)
            guard case .notFound = error.kind else {
                guard failure.isOfOneText else { throw failure }
                return Answer(answer: failed(due, failure.error), failure: failure)
            }
            failure = notFound(due)
            return Answer(answer: failed(due, failure.error), failure: failure, isRouteUnknown: true)
        }
        guard let text else {
            let failure = notFound(due)
            return Answer(answer: failed(due, failure.error), failure: failure)
        }
        return Answer(answer: judge(text, due, limit))
    }

    /// A text is done for the version that it is: the row's. One of another version is asked for again until both agree, and
    /// one of no version until the answer cannot come from before the row was read.
    private func judge(_ text: ItemText, _ due: DueText, _ limit: Int) -> TextAnswer {
        let version = due.rowHasVersion ? text.updatedAt : nil
        let isOther = version.map { !$0.isSame(as: due.rowVersion) } ?? false
        if let version, isOther, version < due.rowVersion {
            return problem(
                due, stale(due, "The server's answer is of \(version), older than its list says (\(due.rowVersion))."))
        }
        if text.longest > limit {
            return tooLarge(
                due, .textTooLarge, limit, "The text is larger than text_max_size, \(Count.text(limit, "byte")).")
        }
        if let version, isOther {
            let message = "The server's answer is of \(version), newer than its list says (\(due.rowVersion))."
            return TextAnswer(due, .doubted(text, stale(due, message)))
        }
        if version == nil, !(due.doubtedAt.map { time.now().duration(since: $0) >= Self.cacheTime } ?? false) {
            let message = "The server does not say of when its answer is. It is asked again, to be sure of the text."
            return TextAnswer(due, .doubted(text, stale(due, message)))
        }
        return TextAnswer(due, .text(text))
    }

    /// - Parameters:
    ///   - reached: the limit that has cut the answer off.
    ///   - limit: of the text; `nil` where a person asks.
    private func answerTooLarge(_ due: DueText, _ reached: Int, _ limit: Int?) -> TextAnswer {
        let answer = "The answer with the text is larger than"
        let bytes = Count.text(reached, "byte")
        guard let limit else { return tooLarge(due, .answerTooLarge, reached, "\(answer) \(bytes).") }
        guard reached < identity.client.maximumAnswerSize else {
            return tooLarge(due, .answerTooLarge, reached, "\(answer) max_answer_size, \(bytes).")
        }
        return tooLarge(
            due, .textTooLarge, limit,
            "\(answer) \(bytes), which is more than text_max_size, \(Count.text(limit, "byte")), leaves room for.")
    }

    private func tooLarge(_ due: DueText, _ code: ErrorCode, _ size: Int, _ message: String) -> TextAnswer {
        problem(due, TextProblem(.tooLarge, failures: 1, nextAt: nil, size: size, code: code, message: message))
    }

    private func failed(_ due: DueText, _ error: UserFacingError) -> TextAnswer {
        let count = due.failures + 1
        return problem(
            due,
            TextProblem(
                .failing, failures: count, nextAt: time.now().advanced(by: Self.backoff.step(count)), code: error.code,
                message: error.message))
    }

    private func stale(_ due: DueText, _ message: String) -> TextProblem {
        let count = due.failures + 1
        let wait = max(Self.cacheTime, Self.backoff.step(count))
        return TextProblem(
            .stale, failures: count, nextAt: time.now().advanced(by: wait), code: .staleAnswer, message: message)
    }

    private func problem(_ due: DueText, _ problem: TextProblem) -> TextAnswer { TextAnswer(due, .problem(problem)) }

    /// No proof that the item is gone: only the list, and then the absence check, may say so.
    private func notFound(_ due: DueText) -> SyncFailure {
        SyncFailure(
            UserFacingError(
                .textNotFound, "The server does not know the item \(due.id).", consequence: "The copy keeps it."),
            verdict: .retry(after: nil), origin: .server(endpoint: Store.textEndpoint))
    }
}

extension SyncFailure {
    /// Whether it may be of the one text that was asked for: an answer, also one that asks to wait.
    fileprivate var isOfOneText: Bool {
        guard case .server = origin, verdict != .cancelled else { return false }
        return switch error.code {
        case .offline, .nameNotResolved, .connectFailed, .tlsFailed: false
        default: true
        }
    }
}
