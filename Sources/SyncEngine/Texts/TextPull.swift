import PRSNLClient
import PRSNLCore
import Store

/// Fetches the texts that are due, the newest first, and commits them in groups. It asks for one at a
/// time, or for several at once where a person waits.
///
/// An id of the copy's own timeline needs no proof of the account: whose item it is was proven when its row was written. But
/// nothing is asked under a login that is refused, and where another login comes, it is proven first.
struct TextPull {
    let store: Store
    let shared: EngineSharedState
    let time: TimeSource
    let question: TextQuestion
    let onText: @Sendable () -> Void
    /// The pull's row in the history, as of the last commit.
    private(set) var record: PullRecord
    /// Where the timeline has items that the server has changed, or lost, since their rows were read: the newest first.
    private(set) var doubtfulRows: [Timestamp] = []

    private(set) var group: [TextAnswer] = []
    /// Of the group, in bytes.
    private var size: Int { group.reduce(0) { $0 + $1.size } }
    private(set) var groupStarted: Duration = .zero
    /// The group before it, which is written while the next texts are asked for.
    private(set) var commit: Task<PullRecord, any Error>?
    private(set) var committing: [TextAnswer] = []
    private(set) var failures = 0
    /// Ids in a row that the server did not know, while nothing shows that it has texts at all; `nil` once it has given one.
    private(set) var unknown: Int?

    enum End: Sendable {
        /// No text is due.
        case done
        /// Something more urgent waits. The server is to be left alone for so long yet.
        case gaveWay(owing: Duration)
    }

    /// Of a group. Twice as many answers, bytes, or so much time are ever uncommitted: that is what a kill can cost. Large groups
    /// write less, but only those of a quick server are: as in `PageCommitter`.
    static let largestGroup = 64
    private static let mostDue = 4 * largestGroup
    private static let smallGroup = 16
    private static let quickWait: Duration = .seconds(1)
    private static let largestSize = 1 << 20
    private static let longestWait: Duration = .seconds(10)
    /// So many failures in a row may be the server's, and not the items'.
    private static let fruitless = 3
    /// While the outbox sends.
    private static let afterOutbox: Duration = .seconds(1)
    /// Requests under way at once where a person waits: fewer than a browser makes.
    static let inHurry = 4

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
            if error.origin != .database {
                try await flush()
            } else if case .success(let committed)? = await commit?.result {
                // Nothing is written after it has ended.
                record = committed
            }
            throw error
        }
    }

    private mutating func readDue(_ dialect: Dialect, _ pacing: Pacing) async throws(SyncFailure) -> End {
        while true {
            let due = try await SyncFailure.from(
                try await store.dueTexts(now: time.now(), limit: Self.mostDue))
            guard !due.isEmpty else { return .done }
            try await SyncFailure.from(try await store.requireTextRoom())
            switch await ask(due, dialect, pacing) {
            case nil: try await flush()
            case .gaveWay(let owed): return .gaveWay(owing: owed)
            case .failed(let failure): throw failure
            case .doubted(let failure): try await doubtServer(for: failure)
            }
        }
    }

    /// Why it stops before all texts were asked for.
    private enum Stop {
        case gaveWay(owing: Duration)
        case failed(SyncFailure)
        /// So many have failed in a row that it may be the server.
        case doubted(SyncFailure)
    }

    private typealias Asked = (answer: Result<TextQuestion.Answer, SyncFailure>, took: Duration)

    /// What is under way when it stops is still heard: its answers count.
    private mutating func ask(_ due: [DueText], _ dialect: Dialect, _ pacing: Pacing) async -> Stop? {
        await withTaskGroup(of: Asked.self) { [question, time, limit = shared.settings.textMaxSize] requests in
            var waiting = due[...]
            var underWay = 0
            var stop: Stop?
            while true {
                // Of a server that fails, or may have no texts at all, no more is asked than it takes to find out.
                let most = pacing.manner == .hurry && unknown == nil && failures == 0 ? Self.inHurry : 1
                while stop == nil, underWay < most, let text = waiting.popFirst() {
                    guard !text.isStored else {
                        add(TextAnswer(text, .known))
                        continue
                    }
                    underWay += 1
                    requests.addTask {
                        let start = time.uptime()
                        let answer: Result<TextQuestion.Answer, SyncFailure>
                        do throws(SyncFailure) {
                            answer = .success(try await question.ask(text, limit: limit))
                        } catch {
                            answer = .failure(error)
                        }
                        return (answer, time.uptime() - start)
                    }
                }
                guard underWay > 0, let asked = await requests.next() else { return stop }
                underWay -= 1
                let next: Stop?
                do throws(SyncFailure) { next = try await take(asked, dialect, pacing) } catch { next = .failed(error) }
                // The first is the cause.
                stop = stop ?? next
            }
        }
    }

    private mutating func take(
        _ asked: Asked, _ dialect: Dialect, _ pacing: Pacing
    ) async throws(SyncFailure) -> Stop? {
        let answer = try asked.answer.get()
        try countUnknown(answer, dialect)
        add(answer.answer)
        onText()
        // The server has asked to wait.
        if let failure = answer.failure, case .retry(after: .some) = failure.verdict { throw failure }
        if isFull { try await startCommit() }
        failures = answer.failure == nil ? 0 : failures + 1
        let owed: Duration
        do { owed = try await pacing.pause(after: asked.took) } catch { throw .cancelled }
        if failures >= Self.fruitless, let failure = answer.failure { return .doubted(failure) }
        if pacing.givesWay { return .gaveWay(owing: owed) }
        // Work in the background lets the outbox go first.
        return pacing.manner != .hurry && shared.isSending ? .gaveWay(owing: max(owed, Self.afterOutbox)) : nil
    }

    /// The items that fail may all be new: the oldest tells whether it is them, or the server.
    private mutating func doubtServer(for failure: SyncFailure) async throws(SyncFailure) {
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
    }

    /// One text that a person asks for, of any size.
    mutating func one(_ id: String) async throws(SyncFailure) {
        guard let due = try await SyncFailure.from(try await store.textQuestion(of: id, now: time.now()))
        else { throw SyncFailure(.itemUnknown, "The copy has no item with the id \(id).", origin: .database) }
        let answer = try await question.ask(due, limit: TextQuestion.largestManual, manual: true)
        add(answer.answer)
        try await flush()
        if let failure = answer.failure { throw failure }
        guard case .problem(let problem) = answer.answer.outcome else { return }
        throw SyncFailure(
            problem.code, problem.message, verdict: .retry(after: nil), origin: .server(endpoint: Store.textEndpoint))
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
        throw SyncFailure(
            .textsUnavailable, "This server does not give the texts of items.",
            consequence: "The timeline is copied as before. The server is asked again after a day.",
            origin: .server(endpoint: Store.textEndpoint))
    }

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
            || age >= Self.longestWait || size >= Self.largestSize
    }

    private mutating func flush() async throws(SyncFailure) {
        try await startCommit()
        try await finishCommit()
    }

    private mutating func startCommit() async throws(SyncFailure) {
        try await finishCommit()
        guard !group.isEmpty else { return }
        committing = group
        group = []
        record.requests = question.requests.count
        let formerSize = shared.settings.formerTextsMaxSize
        commit = Task(executorPreference: TaskLoop.current) { [store, committing, record, now = time.now()] in
            try await store.commit(committing, now: now, record: record, formerSize: formerSize)
        }
    }

    private mutating func finishCommit() async throws(SyncFailure) {
        guard let task = commit else { return }
        let answers = committing
        commit = nil
        committing = []
        do { record = try await task.value } catch { throw SyncFailure(error) }
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
    /// Servers cache an answer for 30 minutes. One that may not be the row's is asked for again after this.
    static let cacheTime: Duration = .seconds(31 * 60)
    /// Between two questions about an item that the server works on for longer than a day, and has no text of.
    static let pendingBackoff = Backoff(base: .seconds(86_400), cap: .seconds(7 * 86_400), jitter: 1...1)
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
            if case .notFound = error.kind { return failed(due, notFound(due), isRouteUnknown: true) }
            let failure = SyncFailure(error)
            guard failure.isOfOneText else { throw failure }
            return failed(due, failure)
        }
        return if let text { Answer(answer: judge(text, due, limit)) } else { failed(due, notFound(due)) }
    }

    /// A text is done for the version that it is: the row's. One of another version is asked for again until both agree, and
    /// one of no version until the answer cannot come from before the row was read.
    private func judge(_ text: ItemText, _ due: DueText, _ limit: Int) -> TextAnswer {
        let version = due.rowHasVersion ? text.updatedAt : nil
        let isOther = version.map { !$0.isSame(as: due.rowVersion) } ?? false
        if let version, isOther, version < due.rowVersion {
            let message = "The server's answer is of \(version), older than its list says (\(due.rowVersion))."
            return TextAnswer(due, .problem(stale(due, message)))
        }
        if due.isStuck, text.content == nil, text.transcription == nil {
            let wait = Self.pendingBackoff.step(due.failures + 1)
            let message = "The server still works on the item, and has no text of it."
            return TextAnswer(due, .problem(problem(.stale, due, nextAfter: wait, .textNotFound, message)))
        }
        if text.longest > limit {
            return tooLarge(
                due, .textTooLarge, limit, "The text is larger than text_max_size, \(Count.text(limit, "byte")).",
                isSure: version != nil)
        }
        if let version, isOther {
            let message = "The server's answer is of \(version), newer than its list says (\(due.rowVersion))."
            return TextAnswer(due, .text(text, doubt: stale(due, message)))
        }
        if version == nil, !(due.doubtedAt.map { time.now().duration(since: $0) >= Self.cacheTime } ?? false) {
            let message = "The server does not say of when its answer is. It is asked again, to be sure of the text."
            return TextAnswer(due, .text(text, doubt: stale(due, message)))
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

    /// - Parameter isSure: The answer is of the row's version.
    private func tooLarge(
        _ due: DueText, _ code: ErrorCode, _ size: Int, _ message: String, isSure: Bool = false
    ) -> TextAnswer {
        // An answer that does not say its version may be out of a cache, and the text be shorter since.
        let wait = isSure || due.failures > 0 ? nil : Self.cacheTime
        var problem = problem(.tooLarge, due, nextAfter: wait, code, message)
        problem.size = size
        return TextAnswer(due, .problem(problem))
    }

    private func failed(_ due: DueText, _ failure: SyncFailure, isRouteUnknown: Bool = false) -> Answer {
        let (error, wait) = (failure.error, Backoff.items.step(due.failures + 1))
        let answer = TextAnswer(due, .problem(problem(.failing, due, nextAfter: wait, error.code, error.message)))
        return Answer(answer: answer, failure: failure, isRouteUnknown: isRouteUnknown)
    }

    private func stale(_ due: DueText, _ message: String) -> TextProblem {
        let wait = max(Self.cacheTime, Backoff.items.step(due.failures + 1))
        return problem(.stale, due, nextAfter: wait, .staleAnswer, message)
    }

    private func problem(
        _ kind: TextProblem.Kind, _ due: DueText, nextAfter wait: Duration?, _ code: ErrorCode, _ message: String
    ) -> TextProblem {
        TextProblem(kind, of: due, nextAt: wait.map { time.now().advanced(by: $0) }, code: code, message: message)
    }

    /// No proof that the item is gone: only the list, and then the absence check, may say so.
    private func notFound(_ due: DueText) -> SyncFailure {
        SyncFailure(
            .textNotFound, "The server does not know the item \(due.id).", consequence: "The copy keeps it.",
            verdict: .retry(after: nil), origin: .server(endpoint: Store.textEndpoint))
    }
}

extension SyncFailure {
    /// Whether it may be of the one text that was asked for: an answer, also one that asks to wait.
    fileprivate var isOfOneText: Bool {
        guard case .server = origin, verdict != .cancelled else { return false }
        return switch error.code.traits.reply {
        // The server may be slow with this text alone.
        case .silence: error.code == .timedOut
        case .stopped: false
        case .cutOff, .portal, .login, .refusal, .later, .other: true
        }
    }
}
