import PRSNLClient
import PRSNLCore
import Store

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
