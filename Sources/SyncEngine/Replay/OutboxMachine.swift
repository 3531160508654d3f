import PRSNLClient
import PRSNLCore
import Store

/// Decides what becomes of each write, and when the next one may go: state and event in, one step out.
///
/// It has no I/O. The file holds the state of each entry (docs/outbox.md), the machine only how the server behaves at the
/// moment. `Replayer` carries the steps out.
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
        /// That could not be asked.
        case locationFailed(SyncFailure)
        /// The account that this final answer was given to is proven.
        case proven(APIError)
        /// That could not be proven.
        case proofFailed(SyncFailure)
    }

    /// What follows from an event.
    struct Step {
        /// `nil` where the entry stays as it is.
        var action: Action?
        var notes: [Note] = []

        init(_ action: Action?, _ notes: [Note] = []) {
            self.action = action
            self.notes = notes
        }
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

    /// What concerns no single entry.
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

    mutating func handle(_ event: Event, of task: OutboxTask, _ moment: Moment) -> Step {
        switch event {
        case .accepted(let delivery): return conclude(.delivered(delivery), task, moment)
        case .failed(let error):
            return conclude(WriteOutcome(error, kind: task.entry.kind), because: error, task, moment)
        case .lookedUp(let outcome):
            gate.noteFree()
            return conclude(outcome, task, moment)
        case .lookupFailed(let failure): return lookupFailed(failure, task, moment)
        case .located(let whereabouts, let error): return Step(located(whereabouts, error, task, moment))
        case .locationFailed(let failure):
            let wait = WriteBackoff.afterFailure(failures: 1, after: failure.retryAfter, draw: moment.draw)
            let action = Action.record(.unknown(.alreadyThere(failedLookups: 1)), dueAt: moment.now.advanced(by: wait))
            return Step(action, pauseIfOfTheWay(failure, moment))
        case .proven(let error):
            let outcome = WriteOutcome(error, kind: task.entry.kind)
            return Step(.record(outcome.state == .delivered ? outcome : .parked(.itemGone)))
        case .proofFailed(let failure):
            // It is certain that nothing was applied, but not yet what follows from that.
            return Step(retry(task, error: failure.error, moment), pauseIfOfTheWay(failure, moment))
        }
    }

    // MARK: Outcomes

    /// The table of docs/outbox.md.
    ///
    /// - Parameter error: The answer to the send; `nil` for a send that succeeded, and after a lookup.
    private mutating func conclude(
        _ outcome: WriteOutcome, because error: APIError? = nil, _ task: OutboxTask, _ moment: Moment
    ) -> Step {
        switch outcome {
        case .delivered:
            if let error { return answered(.prove(error)) }
            // What a lookup before the first send has found was not taken from us.
            if task.entry.state != .queued { gate.noteAccepted(task.entry.kind) }
            return answered(.record(outcome))
        case .queued(let reason): return again(reason, error, task, moment)
        case .unknown(.notFoundYet(let wait, _)):
            guard task.entry.reachableAge < WriteBackoff.ageLimit else {
                return answered(.record(.parked(.undecidable)))
            }
            return answered(.record(outcome, dueAt: moment.now.advanced(by: wait), error: task.lastError))
        case .unknown(.alreadyThere):
            return answered(error.map { .locate($0, mayBeForeign: false) } ?? .record(outcome, dueAt: moment.now))
        case .unknown:
            let slower = error.map { slowDown(task.entry.kind, after: SyncFailure($0), moment) } ?? []
            return Step(.record(outcome, dueAt: moment.now, error: error?.userFacing), slower)
        case .parked(.undecidable) where moment.resendsUnknown: return answered(resend(task, moment))
        case .parked(.itemGone): return answered(error.map { .prove($0) } ?? .record(outcome))
        case .parked(.rejected) where !task.others.isEmpty:
            return answered(.record(.queued(.apart()), dueAt: moment.now, error: error?.userFacing))
        case .parked(.rejected):
            // The URL may be on the server by now.
            if let error, task.entry.kind == .capture, error.saysNothingOfTheURL {
                return answered(.locate(error, mayBeForeign: true))
            }
            return answered(.record(outcome, error: error?.userFacing))
        case .parked: return answered(.record(outcome))
        }
    }

    /// The server does not have it.
    private mutating func again(
        _ reason: WriteOutcome.Queued, _ error: APIError?, _ task: OutboxTask, _ moment: Moment
    ) -> Step {
        // Nothing was sent, or nothing was taken: this costs the entry no attempt.
        let unsent = Action.record(.queued(reason), dueAt: moment.now, error: error?.userFacing)
        let failure = error.map(SyncFailure.init)
        switch reason {
        case .notApplied(let asked):
            guard let failure else { return answered(resend(task, moment)) }
            let slower = slowDown(task.entry.kind, after: failure, moment)
            return Step(retryOrPark(task, failure.error, after: asked, moment), slower)
        case .stopped(let isReplacedLogin):
            return Step(.record(.queued(reason), dueAt: moment.now), isReplacedLogin ? replacedLogin(moment) : [])
        case .unreachable, .needsLogin: return Step(unsent, failure.map { pause(after: $0, moment) } ?? [])
        case .refused:
            if gate.isRefusedAgain(task.entry.id) {
                return Step(.record(.parked(.refusedAlone), error: error?.userFacing))
            }
            return Step(unsent, failure.map { leaveAlone(task.entry.id, $0, moment) } ?? [])
        case .slowDown(let wait):
            gate.keepPace(of: task.entry.kind, after: wait, moment)
            return answered(unsent)
        case .apart: return answered(unsent)
        case .settling(let end): return answered(.record(.queued(reason), dueAt: end))
        case .behindDeletion, .lookupFailed: return Step(retry(task, .queued(reason), moment))
        }
    }

    private mutating func answered(_ action: Action) -> Step {
        gate.noteAnswer()
        return Step(action, [.answered])
    }

    /// The server has this URL, or something in front of it refuses the URL.
    private mutating func located(
        _ whereabouts: OutboxLookup.Whereabouts, _ error: APIError, _ task: OutboxTask, _ moment: Moment
    ) -> Action {
        let isRefusal = WriteOutcome(error, kind: task.entry.kind) == .parked(.rejected)
        switch whereabouts {
        case .toBeDeleted(let deletion): return retry(task, .queued(.behindDeletion(deletion)), moment)
        case .was(let delivery):
            if !isRefusal { gate.noteAccepted(task.entry.kind) }
            return .record(.delivered(delivery, remark: OutboxEntry.wasThere))
        case .ours(let delivery):
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
    private mutating func lookupFailed(_ failure: SyncFailure, _ task: OutboxTask, _ moment: Moment) -> Step {
        guard failure.verdict != .cancelled else { return Step(nil) }
        if failure.origin == .session { return Step(nil, [.unproven] + replacedLogin(moment)) }
        // Something may refuse this one question. The next entry shows whether it is the login.
        if failure.isRefusal {
            let unsent = Action.record(.queued(.refused), dueAt: moment.now, error: failure.error)
            return Step(task.entry.state == .queued ? unsent : nil, leaveAlone(task.entry.id, failure, moment))
        }
        // The server's wait holds for all.
        let isLimit = failure.error.code == .rateLimited
        let holdsAll = failure.isOfTheWay || failure.origin == .database || isLimit
        let pausing = holdsAll ? pause(after: failure, moment) : []
        guard failure.isOfTheEntry else { return Step(nil, pausing) }
        gate.slowDown(task.entry.kind, moment)
        let isUnknown = task.entry.state == .unknown
        if task.isTooOld {
            let age = WriteOutcome.parked(isUnknown ? .undecidable : .tooOld)
            return Step(.record(.parked(.lookupFailed), error: age.error), pausing)
        }
        if !isUnknown, task.manual != nil, !isLimit {
            return Step(.record(.parked(.lookupFailed), error: failure.error), pausing)
        }
        let failures = 1 + (isUnknown ? task.failedLookups : task.failures)
        let wait = WriteBackoff.afterFailure(failures: failures, after: failure.retryAfter, draw: moment.draw)
        // After "already exists", the error says what is asked for.
        let error = isUnknown && task.isOfExistingURL ? task.lastError ?? failure.error : failure.error
        let outcome: WriteOutcome =
            isUnknown
            ? .unknown(.lookupFailed(failures, undecidedSince: task.undecidedSince)) : .queued(.lookupFailed)
        return Step(.record(outcome, dueAt: moment.now.advanced(by: wait), error: error), pausing)
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
    mutating func pause(after failure: SyncFailure, _ moment: Moment) -> [Note] {
        guard let wait = gate.pause(after: failure, moment) else { return [] }
        return [
            .failed(failure), .log("the outbox waits \((wait.wholeMilliseconds + 999) / 1_000) s: \(failure.inWords)"),
        ]
    }

    private mutating func pauseIfOfTheWay(_ failure: SyncFailure, _ moment: Moment) -> [Note] {
        failure.isOfTheWay ? pause(after: failure, moment) : []
    }

    private mutating func slowDown(
        _ kind: OutboxEntry.Kind, after failure: SyncFailure, _ moment: Moment
    ) -> [Note] {
        if failure.concernsEverything { return pause(after: failure, moment) }
        gate.slowDown(kind, moment)
        return [.failed(failure)]
    }

    private mutating func leaveAlone(_ entry: Int64, _ failure: SyncFailure, _ moment: Moment) -> [Note] {
        gate.leaveAlone(entry, moment)
        return [.log("#\(entry) was refused, and others are tried: \(failure.inWords)")]
    }

    /// The login was replaced between its proof and the write.
    private mutating func replacedLogin(_ moment: Moment) -> [Note] {
        guard gate.noteReplacedLogin() else { return [] }
        let error = UserFacingError(.unauthorized, "The server refuses writes, whatever login they are sent with.")
        return pause(after: SyncFailure(error, verdict: .tryRarely, origin: .server(endpoint: "the outbox")), moment)
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
