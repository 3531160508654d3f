import PRSNLClient
import PRSNLCore
import Store

/// Decides what becomes of each write, and when the next one may go: state and event in, one action out.
///
/// It has no I/O. The file holds the state of each entry (docs/outbox.md), the machine only how the server behaves at the
/// moment. `Replayer` carries the actions out.
struct OutboxMachine: Sendable {
    var gate = SendGate()
    /// What concerns no single entry, until the loop has taken it.
    var notes: [Note] = []

    /// What happened to one entry.
    enum Event {
        /// The server took the write, and its answer shows it.
        case accepted(WriteOutcome.Delivery)
        case failed(APIError)
        /// A lookup before a send, or after one, says this. The account that it was shown to is proven.
        case lookedUp(WriteOutcome)
        case lookupFailed(SyncFailure)
        /// Which item of the server has the URL that was refused with this error.
        case located(OutboxLookup.Whereabouts, APIError)
        /// The account that this final answer was given to is proven.
        case proven(APIError)
        /// What the action asks for could not be asked.
        case unanswered(Action, SyncFailure)
    }

    enum Action {
        /// Write this into the file before anything else is done.
        ///
        /// - Parameters:
        ///   - dueAt: When it is sent again, or looked up.
        ///   - error: What the server has answered, or what stood in the way.
        case record(WriteOutcome, dueAt: Timestamp? = nil, error: UserFacingError? = nil)
        /// Ask which item of the server has the URL. The server did not say so itself where `mayBeForeign`.
        case locate(APIError, mayBeForeign: Bool)
        /// Prove that the answer was given to the pinned account.
        case prove(APIError)
    }

    enum Note {
        /// The server has answered, so it can be reached.
        case answered
        /// The server has not answered, or not as it should.
        case failed(SyncFailure)
        /// The account has to be proven again before the next send.
        case unproven
        case log(Advice)
    }

    /// What a decision depends on besides the state.
    struct Moment: Sendable {
        var now: Timestamp
        var uptime: Duration
        /// From 0 to 1, at random.
        var draw: Double
        /// A write whose outcome cannot be found out is sent again (`resend_unknown`).
        var resendsUnknown = false
    }

    /// - Returns: `nil` where the entry stays as it is.
    mutating func handle(_ event: Event, of task: OutboxTask, _ moment: Moment) -> Action? {
        switch event {
        case .accepted(let delivery): return conclude(.delivered(delivery), task, moment)
        case .failed(let error):
            return conclude(WriteOutcome(error, kind: task.entry.kind), because: error, task, moment)
        case .lookedUp(let outcome):
            gate.hindrance = nil
            return conclude(outcome, task, moment)
        case .lookupFailed(let failure): return lookupFailed(failure, task, moment)
        case .located(let whereabouts, let error): return located(whereabouts, error, task, moment)
        case .proven(let error):
            let outcome = WriteOutcome(error, kind: task.entry.kind)
            return .record(outcome.state == .delivered ? outcome : .parked(.itemGone))
        case .unanswered(let question, let failure):
            if failure.isOfTheWay { pause(after: failure, moment) }
            // It is certain that nothing was applied, but not yet what follows from that.
            guard case .locate = question else { return retry(task, error: failure.error, moment) }
            let wait = WriteBackoff.afterFailure(failures: 1, after: failure.retryAfter, draw: moment.draw)
            return .record(.unknown(.alreadyThere(failedLookups: 1)), dueAt: moment.now.advanced(by: wait))
        }
    }

    // MARK: Outcomes

    /// The table of docs/outbox.md.
    ///
    /// - Parameter error: The answer to the send; `nil` for a send that succeeded, and after a lookup.
    private mutating func conclude(
        _ outcome: WriteOutcome, because error: APIError? = nil, _ task: OutboxTask, _ moment: Moment
    ) -> Action {
        switch outcome {
        case .queued(let reason): return again(reason, error, task, moment)
        case .unknown(.maybeApplied), .unknown(.lookupFailed):
            if let error { slowDown(task.entry.kind, after: SyncFailure(error), moment) }
            return .record(outcome, dueAt: moment.now, error: error?.userFacing)
        case .delivered, .unknown, .parked: noteAnswer()
        }
        switch (outcome, error) {
        case (.delivered, let error?), (.parked(.itemGone), let error?): return .prove(error)
        // What a lookup before the first send has found was not taken from us.
        case (.delivered, nil): if task.entry.state != .queued { gate.noteAccepted(task.entry.kind) }
        case (.unknown(.notFoundYet(let wait, _)), _):
            guard task.entry.reachableAge < WriteBackoff.ageLimit else { return .record(.parked(.undecidable)) }
            return .record(outcome, dueAt: moment.now.advanced(by: wait), error: task.lastError)
        case (.unknown, let error?): return .locate(error, mayBeForeign: false)
        case (.unknown, nil): return .record(outcome, dueAt: moment.now)
        case (.parked(.undecidable), _) where moment.resendsUnknown: return resend(task, moment)
        case (.parked(.rejected), _) where !task.others.isEmpty:
            return .record(.queued(.apart), dueAt: moment.now, error: error?.userFacing)
        // The URL may be on the server by now.
        case (.parked(.rejected), let error?) where task.entry.kind == .capture && error.saysNothingOfTheURL:
            return .locate(error, mayBeForeign: true)
        case (.queued, _), (.parked, _): break
        }
        return .record(outcome, error: error?.userFacing)
    }

    /// The server does not have it.
    private mutating func again(
        _ reason: WriteOutcome.Queued, _ error: APIError?, _ task: OutboxTask, _ moment: Moment
    ) -> Action {
        let failure = error.map(SyncFailure.init)
        switch reason {
        case .notApplied(let asked):
            guard let failure else {
                noteAnswer()
                return resend(task, moment)
            }
            slowDown(task.entry.kind, after: failure, moment)
            return retryOrPark(task, failure.error, after: asked, moment)
        case .stopped(let isReplacedLogin):
            if isReplacedLogin { replacedLogin(moment) }
            return .record(.queued(reason), dueAt: moment.now)
        case .unreachable, .needsLogin: if let failure { pause(after: failure, moment) }
        case .refused where gate.isRefusedAgain(task.entry.id):
            return .record(.parked(.refusedAlone), error: error?.userFacing)
        case .refused: if let failure { leaveAlone(task.entry.id, failure, moment) }
        case .slowDown(let wait):
            gate.keepPace(of: task.entry.kind, after: wait, moment)
            noteAnswer()
        case .apart, .settling: noteAnswer()
        case .behindDeletion, .lookupFailed: return retry(task, .queued(reason), moment)
        }
        // Nothing was sent, or nothing was taken: this costs the entry no attempt.
        return .record(.queued(reason), dueAt: moment.now, error: error?.userFacing)
    }

    mutating func noteAnswer() {
        gate.unanswered = 0
        notes.append(.answered)
    }

    /// The server has this URL, or something in front of it refuses the URL.
    private mutating func located(
        _ whereabouts: OutboxLookup.Whereabouts, _ error: APIError, _ task: OutboxTask, _ moment: Moment
    ) -> Action {
        let isRefusal = WriteOutcome(error, kind: task.entry.kind) == .parked(.rejected)
        switch whereabouts {
        case .toBeDeleted(let deletion): return retry(task, .queued(.behindDeletion(deletion)), moment)
        case .was(let delivery) where isRefusal: return .record(.delivered(delivery, remark: OutboxEntry.wasThere))
        case .was(let delivery), .ours(let delivery):
            gate.noteAccepted(task.entry.kind)
            return .record(.delivered(delivery, remark: OutboxEntry.wasThere))
        case _ where isRefusal: return .record(.parked(.rejected), error: error.userFacing)
        case .nowhere where !task.entry.saysMoreThanItsURL:
            return .record(.delivered(WriteOutcome.Delivery(there: ItemEdit()), remark: OutboxEntry.wasThere))
        // It is not sent again: only the question is still open.
        case .nowhere, .ambiguous: return .record(.unknown(.alreadyThere()), dueAt: moment.now)
        }
    }

    /// A lookup that failed counts against the entry, so that each lookup waits longer and others have their turn.
    private mutating func lookupFailed(_ failure: SyncFailure, _ task: OutboxTask, _ moment: Moment) -> Action? {
        if failure.verdict == .cancelled { return nil }
        let isUnknown = task.entry.state == .unknown
        if failure.origin == .session {
            notes.append(.unproven)
            replacedLogin(moment)
            return nil
        }
        // Something may refuse this one question. The next entry shows whether it is the login.
        if failure.isRefusal {
            leaveAlone(task.entry.id, failure, moment)
            return isUnknown ? nil : .record(.queued(.refused), dueAt: moment.now, error: failure.error)
        }
        // The server's wait holds for all.
        let isLimit = failure.error.code == .rateLimited
        if failure.isOfTheWay || failure.origin == .database || isLimit { pause(after: failure, moment) }
        guard failure.isOfTheEntry else { return nil }
        gate.slowDown(task.entry.kind, moment)
        if task.isTooOld {
            let age = WriteOutcome.parked(isUnknown ? .undecidable : .tooOld)
            return .record(.parked(.lookupFailed), error: age.error)
        }
        if !isUnknown, task.manual != nil, !isLimit {
            return .record(.parked(.lookupFailed), error: failure.error)
        }
        let failures = 1 + (isUnknown ? task.failedLookups : task.failures)
        let wait = WriteBackoff.afterFailure(failures: failures, after: failure.retryAfter, draw: moment.draw)
        // After "already exists", the error says what is asked for.
        let error = isUnknown && task.isOfExistingURL ? task.lastError ?? failure.error : failure.error
        let outcome: WriteOutcome =
            isUnknown
            ? .unknown(.lookupFailed(failures, undecidedSince: task.undecidedSince)) : .queued(.lookupFailed)
        return .record(outcome, dueAt: moment.now.advanced(by: wait), error: error)
    }

    // MARK: The next attempt

    /// The server does not have it. It is sent again at once where only its answer was lost, later where the server failed.
    private func resend(_ task: OutboxTask, _ moment: Moment) -> Action {
        if let error = task.lastError, error.code == .serverError || task.failures > 0 || task.manual != nil {
            return retryOrPark(task, error, after: nil, moment)
        }
        return .record(.queued(.notApplied()), dueAt: moment.now, error: task.lastError)
    }

    private func retryOrPark(
        _ task: OutboxTask, _ error: UserFacingError, after asked: Duration?, _ moment: Moment
    ) -> Action {
        guard let wait = WriteBackoff.wait(of: task, after: error, asked: asked, moment) else {
            return task.isTooOld ? .record(.parked(.tooOld)) : .record(.parked(.failing), error: error)
        }
        return .record(.queued(.notApplied()), dueAt: moment.now.advanced(by: wait), error: error)
    }

    /// After the wait of one failure more.
    private func retry(
        _ task: OutboxTask, _ outcome: WriteOutcome = .queued(.notApplied()), error: UserFacingError? = nil,
        _ moment: Moment
    ) -> Action {
        let wait = WriteBackoff.afterFailure(failures: task.failures + 1, after: nil, draw: moment.draw)
        return .record(outcome, dueAt: moment.now.advanced(by: wait), error: error)
    }

    // MARK: The server

    /// Leaves the server alone for a while.
    mutating func pause(after failure: SyncFailure, _ moment: Moment) {
        guard let wait = gate.pause(after: failure, moment) else { return }
        notes.append(.failed(failure))
        notes.append(.log("the outbox waits \((wait.wholeMilliseconds + 999) / 1_000) s: \(failure.inWords)"))
    }

    private mutating func slowDown(_ kind: OutboxEntry.Kind, after failure: SyncFailure, _ moment: Moment) {
        if failure.concernsEverything { return pause(after: failure, moment) }
        gate.slowDown(kind, moment)
        notes.append(.failed(failure))
    }

    private mutating func leaveAlone(_ entry: Int64, _ failure: SyncFailure, _ moment: Moment) {
        gate.leaveAlone(entry, moment)
        notes.append(.log("#\(entry) was refused, and others are tried: \(failure.inWords)"))
    }

    /// The login was replaced between its proof and the write. Once is a renewal. More in a row are a server that refuses
    /// writes with every login that it proves to know.
    private mutating func replacedLogin(_ moment: Moment) {
        gate.replacedLogins += 1
        guard gate.replacedLogins > SendGate.tolerated else { return }
        let error = UserFacingError(.unauthorized, "The server refuses writes, whatever login they are sent with.")
        pause(after: SyncFailure(error, verdict: .tryRarely, origin: .server(endpoint: "the outbox")), moment)
    }
}

extension OutboxTask {
    /// Why it was sent in vain; `nil` where it was not, or where the daemon ended before it knew.
    var lastError: UserFacingError? {
        guard let code = entry.errorCode.flatMap(ErrorCode.init) else { return nil }
        return UserFacingError(code, entry.errorMessage ?? code.rawValue)
    }

    /// The server has answered that it has the URL, and could not be asked under which id.
    var isOfExistingURL: Bool { entry.errorCode == ErrorCode.conflict.rawValue }

    /// Whether the server could be reached for so long that it is given up.
    var isTooOld: Bool { entry.follows == nil && entry.reachableAge >= WriteBackoff.ageLimit }
}

extension SyncFailure {
    /// The route to the server, or what lets us in, has failed: another question would fail in the same way.
    var isOfTheWay: Bool { retryAfter == nil && concernsEverything }

    /// The question itself may be what failed: it waits longer each time.
    var isOfTheEntry: Bool {
        guard origin != .database, isOfTheWay else { return origin != .database }
        return !isOfAccount && (error.code == .portal || error.code == .timedOut)
    }

    /// One question was refused. A login that was refused shows at the account's endpoint too.
    var isRefusal: Bool {
        (error.code == .unauthorized || error.code == .forbidden) && !isOfAccount
    }

    /// What the server asks to wait.
    var retryAfter: Duration? { if case .retry(let wait) = verdict { wait } else { nil } }

    fileprivate var inWords: Advice { "\(endpoint): \(logText) [\(error.code.rawValue)]" }
}

extension OutboxEntry {
    /// Whether something would be lost if only the URL were on the server.
    var saysMoreThanItsURL: Bool {
        guard case .create(let item) = payload else { return false }
        return item.title != nil || !item.tags.isEmpty || item.note != nil
    }
}

extension WriteOutcome {
    /// What a failed request says of the write that it carried.
    init(_ error: APIError, kind: OutboxEntry.Kind) {
        self =
            switch error.kind {
            case _ where error.origin == .renewal: .queued(Self.unrenewed(error))
            case .unauthorized, .forbidden: .queued(.refused)
            case .loginExpired, .loginFailed: .queued(.needsLogin)
            case .rateLimitExceeded(let wait): .queued(.slowDown(wait))
            case .conflict: .parked(.rejected)
            case .invalidInput: kind == .capture && error.saysURLExists ? .unknown(.alreadyThere()) : .parked(.rejected)
            case .notFound: Self.notFound(error, kind)
            case .serverError: .unknown(.maybeApplied)
            // 502 and 504 are a proxy's words about a request that it has passed on. PRSNL itself says 503 before it acts.
            case .serviceUnavailable(_, let wait):
                error.status == 503 && error.isSurelyPRSNL ? .queued(.notApplied(after: wait)) : .unknown(.maybeApplied)
            case .networkError(.cancelled): error.mayHaveReachedServer ? .unknown(.maybeApplied) : .queued(.stopped())
            case .sessionEnded:
                error.mayHaveReachedServer ? .unknown(.maybeApplied) : .queued(.stopped(isReplacedLogin: true))
            // A server that takes writes does not redirect them: something stands in between.
            case .networkError(.redirectRefused): .queued(.refused)
            case .networkError: error.mayHaveReachedServer ? .unknown(.maybeApplied) : .queued(.unreachable)
            // A page of a portal, or half of PRSNL's own answer.
            case .decodingError: .unknown(.maybeApplied)
            case .unknown(let status, _): status >= 500 ? .unknown(.maybeApplied) : .queued(.notApplied())
            }
    }

    /// The write was not sent, because the login could not be renewed: the entry itself has not failed.
    private static func unrenewed(_ error: APIError) -> WriteOutcome.Queued {
        switch error.kind {
        case .unauthorized, .loginExpired, .loginFailed, .forbidden: .needsLogin
        case .rateLimitExceeded(let wait): .slowDown(wait)
        case .networkError(.cancelled), .sessionEnded: .stopped(isReplacedLogin: true)
        case .networkError, .serviceUnavailable, .serverError, .decodingError, .notFound, .invalidInput, .conflict,
            .unknown:
            .unreachable
        }
    }

    /// Only the item's own 404 says something about the item. A proxy's 404 does not.
    private static func notFound(_ error: APIError, _ kind: OutboxEntry.Kind) -> WriteOutcome {
        guard error.isItemNotFound else { return .queued(.notApplied()) }
        return switch kind {
        case .delete: .delivered(WriteOutcome.Delivery(), remark: Deletion.wasGone)
        case .edit: .parked(.itemGone)
        case .capture, .note: .queued(.notApplied())
        }
    }
}
