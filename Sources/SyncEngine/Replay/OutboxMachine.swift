import PRSNLClient
import PRSNLCore
import Store

/// Decides what becomes of each write, and when the next one may go: state and event in, one action out.
///
/// It has no I/O. The file holds the state of each entry (docs/outbox.md), the machine only how the server behaves at the
/// moment. `Replayer` carries the actions out.
struct OutboxMachine: Sendable {
    var gate = SendGate()

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
        /// Write this into the file first: when it is sent again, or looked up, and what the server has answered.
        case record(WriteOutcome, dueAt: Timestamp? = nil, error: UserFacingError? = nil)
        /// Ask which item of the server has the URL.
        case locate(APIError)
        /// Prove that the answer was given to the pinned account.
        case prove(APIError)
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
            gate.blocker = nil
            return conclude(outcome, task, moment)
        case .lookupFailed(let failure): return lookupFailed(failure, task, moment)
        case .located(let whereabouts, let error): return located(whereabouts, error, task, moment)
        case .proven(let error):
            let outcome = WriteOutcome(error, kind: task.entry.kind)
            return .record(outcome.state == .delivered ? outcome : .parked(.itemGone))
        case .unanswered(let question, let failure):
            if failure.isOfTheWay { gate.pause(after: failure, moment) }
            // It is certain that nothing was applied, but not yet what follows from that.
            guard case .locate = question else { return retry(task, .queued(.notApplied()), failure.error, moment) }
            let wait = WriteBackoff.afterFailure(failures: 1, after: failure.retryAfter, draw: moment.draw)
            return .record(.unknown(.alreadyThere(failedLookups: 1)), dueAt: moment.now.advanced(by: wait))
        }
    }

    // MARK: Outcomes

    /// The table of docs/outbox.md. `error`: the answer to the send; `nil` for a send that succeeded, and after a lookup.
    private mutating func conclude(
        _ outcome: WriteOutcome, because error: APIError? = nil, _ task: OutboxTask, _ moment: Moment
    ) -> Action {
        switch outcome {
        case .queued(let reason): return again(reason, error, task, moment)
        case .unknown(.maybeApplied), .unknown(.lookupFailed):
            if let error { gate.noteFailure(of: task.entry.kind, SyncFailure(error), moment) }
            return .record(outcome, dueAt: moment.now, error: error?.userFacing)
        case .delivered, .unknown, .parked: gate.noteAnswer()
        }
        switch (outcome, error) {
        case (.delivered, let error?), (.parked(.itemGone), let error?): return .prove(error)
        // What a lookup before the first send has found was not taken from us.
        case (.delivered, nil): if task.entry.state != .queued { gate.noteAccepted(task.entry.kind) }
        case (.unknown(.notFoundYet(let wait, _, _)), _):
            guard task.entry.reachableAge < WriteBackoff.ageLimit else { return .record(.parked(.undecidable)) }
            return .record(outcome, dueAt: moment.now.advanced(by: wait), error: task.lastError)
        case (.unknown, let error?): return .locate(error)
        case (.unknown, nil): return .record(outcome, dueAt: moment.now)
        case (.parked(.undecidable), _) where moment.resendsUnknown: return resend(task, moment)
        case (.parked(.rejected), _) where !task.others.isEmpty:
            return .record(.queued(.apart()), dueAt: moment.now, error: error?.userFacing)
        // The URL may be on the server by now.
        case (.parked(.rejected), let error?) where task.entry.kind == .capture && error.saysNothingOfTheURL:
            return .locate(error)
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
                gate.noteAnswer()
                return resend(task, moment)
            }
            gate.noteFailure(of: task.entry.kind, failure, moment)
            return retryOrPark(task, failure.error, after: asked, moment)
        case .stopped(let isReplacedLogin):
            if isReplacedLogin { gate.noteReplacedLogin(moment) }
            return .record(.queued(reason), dueAt: moment.now)
        case .unreachable, .needsLogin: if let failure { gate.pause(after: failure, moment) }
        case .refused where gate.isRefusedAgain(task.entry.id):
            return .record(.parked(.refusedAlone), error: error?.userFacing)
        case .refused: if let failure { gate.leaveAlone(task.entry.id, failure, moment) }
        case .slowDown(let wait):
            gate.keepPace(of: task.entry.kind, after: wait, moment)
            gate.noteAnswer()
        case .apart, .settling: gate.noteAnswer()
        case .behindDeletion, .lookupFailed: return retry(task, .queued(reason), nil, moment)
        }
        // Nothing was sent, or nothing was taken: this costs the entry no attempt.
        return .record(.queued(reason), dueAt: moment.now, error: error?.userFacing)
    }

    /// The server has this URL, or something in front of it refuses the URL.
    private mutating func located(
        _ whereabouts: OutboxLookup.Whereabouts, _ error: APIError, _ task: OutboxTask, _ moment: Moment
    ) -> Action {
        let isRefusal = WriteOutcome(error, kind: task.entry.kind) == .parked(.rejected)
        switch whereabouts {
        case .toBeDeleted(let deletion): return retry(task, .queued(.behindDeletion(deletion)), nil, moment)
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
            gate.notes.append(.unproven)
            gate.noteReplacedLogin(moment)
            return nil
        }
        // Something may refuse this one question. The next entry shows whether it is the login.
        if failure.isRefusal {
            gate.leaveAlone(task.entry.id, failure, moment)
            return isUnknown ? nil : .record(.queued(.refused), dueAt: moment.now, error: failure.error)
        }
        // The server's wait holds for all.
        let isLimit = failure.error.code == .rateLimited
        if failure.isOfTheWay || failure.origin == .database || isLimit { gate.pause(after: failure, moment) }
        guard failure.isOfTheEntry else { return nil }
        gate.slowDown(task.entry.kind, moment)
        if task.isTooOld {
            let age = WriteOutcome.parked(isUnknown ? .undecidable : .tooOld)
            return .record(.parked(.lookupFailed), error: age.error)
        }
        if !isUnknown, task.manual != nil, !isLimit, !failure.isOfTheWay {
            return .record(.parked(.lookupFailed), error: failure.error)
        }
        // After "already exists", the error says what is asked for.
        let error = isUnknown && task.isOfExistingURL ? task.lastError ?? failure.error : failure.error
        guard isUnknown else { return retry(task, .queued(.lookupFailed), error, after: failure.retryAfter, moment) }
        let failures = task.failedLookups + 1
        let wait = WriteBackoff.afterFailure(failures: failures, after: failure.retryAfter, draw: moment.draw)
        let outcome = WriteOutcome.unknown(.lookupFailed(failures, undecidedSince: task.undecidedSince))
        return .record(outcome, dueAt: moment.now.advanced(by: wait), error: error)
    }

    // MARK: The next attempt

    /// The server does not have it. It is sent again at once where only its answer was lost, later where the server failed.
    private func resend(_ task: OutboxTask, _ moment: Moment) -> Action {
        guard let error = task.lastError, error.code == .serverError || task.failures > 0 else {
            return .record(.queued(.notApplied()), dueAt: moment.now, error: task.lastError)
        }
        return retryOrPark(task, error, after: nil, isAnswered: error.code == .serverError, moment)
    }

    /// - Parameter isAnswered: The one attempt that a person has asked for is over with an answer. Without one it is sent again like any other.
    private func retryOrPark(
        _ task: OutboxTask, _ error: UserFacingError, after asked: Duration?, isAnswered: Bool = true, _ moment: Moment
    ) -> Action {
        let (entry, steps) = (task.entry, WriteBackoff.serverErrorSteps)
        if task.isTooOld { return .record(.parked(.tooOld)) }
        if task.manual != nil, isAnswered { return .record(.parked(.failing), error: error) }
        guard error.code == .serverError, !entry.kind.isCreation else {
            return retry(task, .queued(.notApplied()), error, after: asked, moment)
        }
        var step = steps[min(task.failures, steps.count - 1)] * (1 + 0.1 * moment.draw)
        // A title that the server replaced is tried now and then, for as long as the server fails at edits.
        if entry.follows == nil, entry.kind != .edit || task.failures >= steps.count {
            // Failures of other kinds count too: it is given up after eight sends over a day, whatever else has failed.
            let isOld = moment.now.duration(since: entry.acceptedAt) >= .seconds(86_400)
            if isOld, entry.attempts > steps.count { return .record(.parked(.failing), error: error) }
            // No release fails at every deletion, and one that is sent again does no harm: at least every ten minutes, for a day.
            if entry.kind == .delete { step = min(step, .seconds(600)) }
        }
        return .record(.queued(.notApplied()), dueAt: moment.now.advanced(by: step), error: error)
    }

    /// After the wait of one failure more.
    private func retry(
        _ task: OutboxTask, _ outcome: WriteOutcome, _ error: UserFacingError?, after asked: Duration? = nil,
        _ moment: Moment
    ) -> Action {
        let wait = WriteBackoff.afterFailure(failures: task.failures + 1, after: asked, draw: moment.draw)
        return .record(outcome, dueAt: moment.now.advanced(by: wait), error: error)
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

    var inWords: Advice { "\(endpoint): \(logText) [\(error.code.rawValue)]" }
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
        // It was not sent, because the login could not be renewed: the entry itself has not failed.
        let isUnrenewed = error.origin == .renewal
        self =
            switch error.kind {
            case .unauthorized where isUnrenewed, .forbidden where isUnrenewed, .loginExpired, .loginFailed:
                .queued(.needsLogin)
            case .unauthorized, .forbidden: .queued(.refused)
            case .rateLimitExceeded(let wait): .queued(.slowDown(wait))
            case .networkError(.cancelled) where isUnrenewed, .sessionEnded where isUnrenewed:
                .queued(.stopped(isReplacedLogin: true))
            case _ where isUnrenewed: .queued(.unreachable)
            case .conflict: .parked(.rejected)
            case .invalidInput: kind == .capture && error.saysURLExists ? .unknown(.alreadyThere()) : .parked(.rejected)
            // Only the item's own 404 says something about the item. A proxy's 404 does not.
            case .notFound where error.isItemNotFound && kind == .delete:
                .delivered(Delivery(reason: .wasGone), remark: "was already gone")
            case .notFound: error.isItemNotFound && kind == .edit ? .parked(.itemGone) : .queued(.notApplied())
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
}
