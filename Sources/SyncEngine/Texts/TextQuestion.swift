import PRSNLClient
import PRSNLCore
import Store

/// Asks for one text, and says what the answer means.
struct TextQuestion {
    let client: PRSNLClient
    let time: TimeSource
    let requests: RequestCounter

    struct Answer {
        var answer: TextAnswer
        /// What failed, where it may be of this one item.
        var failure: SyncFailure?
        /// 404 of the path, and not of the item.
        var isRouteUnknown = false
    }

    static let largestByHand = 1 << 30
    /// Between two questions about a text that fails.
    static let backoff = Backoff(base: .seconds(60), cap: .seconds(12 * 3_600), jitter: 1...1)
    /// Servers cache an answer for 30 minutes. One that is older than the item's row is asked for again after this.
    static let cacheTime: Duration = .seconds(31 * 60)
    /// An answer repeats a text up to three times, and JSON writes some characters as several.
    private static let answerFactor = 4

    /// - Parameters:
    ///   - limit: of the text, in bytes.
    ///   - byHand: a person asks.
    /// - Throws: what is not of this one item.
    func ask(_ due: DueText, limit: Int, byHand: Bool = false) async throws(SyncFailure) -> Answer {
        requests.add()
        let text: ItemText?
        do throws(APIError) {
            let answerLimit = byHand ? limit : limit * Self.answerFactor + 65_536
            // No proof is needed, so any login will do.
            text = try await client.session().text(of: due.id, limit: answerLimit, mayExceed: byHand)
        } catch {
            var failure = SyncFailure(error)
            if failure.error.code == .answerTooLarge { return Answer(answer: tooLarge(due, limit)) }
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
        if let version = text.updatedAt, version < due.rowVersion, !version.isSame(as: due.rowVersion) {
            return Answer(answer: stale(due, version))
        }
        return Answer(answer: text.longest > limit ? tooLarge(due, limit) : TextAnswer(due, .text(text)))
    }

    private func tooLarge(_ due: DueText, _ limit: Int) -> TextAnswer {
        problem(
            due,
            TextProblem(
                .tooLarge, failures: 1, nextAt: nil, size: limit, code: .textTooLarge,
                message: "The text is larger than text_max_size, \(limit) bytes."))
    }

    private func failed(_ due: DueText, _ error: UserFacingError) -> TextAnswer {
        let count = due.failures + 1
        return problem(
            due,
            TextProblem(
                .failing, failures: count, nextAt: time.now().advanced(by: Self.backoff.step(count)), code: error.code,
                message: error.message))
    }

    private func stale(_ due: DueText, _ version: Timestamp) -> TextAnswer {
        let count = due.failures + 1
        let wait = max(Self.cacheTime, Self.backoff.step(count))
        return problem(
            due,
            TextProblem(
                .stale, failures: count, nextAt: time.now().advanced(by: wait), code: .staleAnswer,
                message: "The server's answer is of \(version), older than its list says (\(due.rowVersion))."))
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
