import NetMonitor
import PRSNLClient
import PRSNLCore
import Store

/// Decides what becomes of each write, and when the next one may go: state and event in, actions out.
///
/// It has no I/O. The file holds the state of each entry (docs/outbox.md), the machine only how the server behaves at the
/// moment. `Replayer` carries the actions out.
struct OutboxMachine: Sendable {
    var gate = SendGate()

    /// What happened to one entry.
    enum Event {
        /// The server took the write, and its answer shows it.
        case accepted(Settlement.Delivery)
        /// The request failed.
        case failed(APIError)
        /// A lookup before a send, or after one, has found this. The account that it was shown to is proven.
        case lookedUp(WriteFinding)
        /// Such a lookup failed.
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

    enum Action {
        /// Write this into the file before anything else is done.
        case settle(Resolution)
        /// Ask which item of the server has the URL. The server did not say so itself where `mayBeForeign`.
        case locate(APIError, mayBeForeign: Bool)
        /// Prove that the answer was given to the pinned account.
        case prove(APIError)
        case note(Note)
    }

    /// What concerns no single entry.
    enum Note {
        /// The server has answered, so it can be reached.
        case answered
        /// The server has not answered, or not as it should.
        case failed(SyncFailure)
        /// The account has to be proven again before the next send.
        case unproven
        /// A line for the log.
        case log(Advice)
    }

    /// The state that an entry goes to, and why.
    struct Resolution: Sendable {
        var outcome: Settlement.Outcome
        /// The name in `outbox_attempt`.
        var verdict: String
        var error: UserFacingError?
        var remark: String?
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

    mutating func handle(_ event: Event, of task: OutboxTask, _ moment: Moment) -> [Action] {
        switch event {
        case .accepted(let delivery): return conclude(.applied(delivery), task, moment)
        case .failed(let error):
            return conclude(WriteFinding(error, kind: task.entry.kind), because: error, task, moment)
        case .lookedUp(let finding):
            gate.noteFree()
            return conclude(finding, task, moment)
        case .lookupFailed(let failure): return lookupFailed(failure, task, moment)
        case .located(let whereabouts, let error): return [located(whereabouts, error, task, moment)]
        case .locationFailed(let failure):
            let wait = WriteBackoff.afterFailure(failures: 1, after: failure.retryAfter, draw: moment.draw)
            return pauseIfOfTheWay(failure, moment) + [
                settle(
                    .unknown(lookupAt: moment.now.advanced(by: wait), undecidedSince: nil, failedLookups: 1),
                    WriteFinding.alreadyThere.name, .existsSomewhere)
            ]
        case .proven(let error): return [proven(error, task)]
        case .proofFailed(let failure):
            // It is certain that nothing was applied, but not yet what follows from that.
            let wait = WriteBackoff.afterFailure(failures: task.failures + 1, after: nil, draw: moment.draw)
            return pauseIfOfTheWay(failure, moment) + [retry(after: wait, failure.error, moment)]
        }
    }

    // MARK: Findings

    /// The table of docs/outbox.md.
    ///
    /// - Parameter error: The answer to the send; `nil` for a send that succeeded, and after a lookup.
    private mutating func conclude(
        _ finding: WriteFinding, because error: APIError? = nil, _ task: OutboxTask, _ moment: Moment
    ) -> [Action] {
        let facing = error?.userFacing
        let failure = error.map(SyncFailure.init)
        switch finding {
        case .applied(let delivery, let remark):
            if let error { return answered(.prove(error)) }
            // What a lookup before the first send has found was not taken from us.
            if task.entry.state != .queued { gate.noteAccepted(task.entry.kind) }
            return answered(settle(.delivered(delivery), finding.name, remark: remark))
        case .notApplied(let asked):
            guard let failure else { return answered(resend(task, moment)) }
            let slower = slowDown(task.entry.kind, after: failure, moment)
            return slower + [retryOrPark(task, failure.error, after: asked, moment)]
        case .maybeApplied:
            let slower = failure.map { slowDown(task.entry.kind, after: $0, moment) } ?? []
            return slower + [
                settle(.unknown(lookupAt: moment.now, undecidedSince: nil, failedLookups: 0), finding.name, facing)
            ]
        case .stopped(let isReplacedLogin):
            return (isReplacedLogin ? replacedLogin(moment) : []) + [unsent(finding, nil, moment)]
        case .unreachable, .needsLogin:
            return (failure.map { pause($0, moment) } ?? []) + [unsent(finding, facing, moment)]
        case .refused:
            if gate.isRefusedAgain(task.entry.id) { return [park(facing, remark: Self.refusedAlone)] }
            return (failure.map { leaveAlone(task.entry.id, $0, moment) } ?? []) + [unsent(finding, facing, moment)]
        case .slowDown(let wait):
            gate.keepPace(of: task.entry.kind, after: wait, moment)
            return answered(unsent(finding, facing, moment))
        case .alreadyThere: return answered(error.map { .locate($0, mayBeForeign: false) } ?? park(.thereUnderNoID))
        case .notFoundYet(let wait, let since):
            guard task.entry.reachableAge < WriteBackoff.ageLimit else { return answered(park(.undecidable)) }
            let lookupAt = moment.now.advanced(by: wait)
            return answered(
                settle(
                    .unknown(lookupAt: lookupAt, undecidedSince: since, failedLookups: 0), finding.name, task.lastError,
                    remark: "not found on the server yet; it may still be working on it"))
        case .undecidable: return answered(moment.resendsUnknown ? resend(task, moment) : park(.undecidable))
        case .thereUnderNoID: return answered(park(.thereUnderNoID))
        case .itemGone: return answered(error.map { .prove($0) } ?? park(.itemGone))
        case .conflict(let theirs): return answered(park(.editConflict, theirs: theirs))
        case .rejected:
            // The URL may be on the server by now.
            if let error, task.entry.kind == .capture, error.saysNothingOfTheURL {
                return answered(.locate(error, mayBeForeign: true))
            }
            return answered(park(facing))
        }
    }

    private mutating func answered(_ action: Action) -> [Action] {
        [.note(gate.noteAnswer()), action]
    }

    /// The server has this URL, or something in front of it refuses the URL.
    private mutating func located(
        _ whereabouts: OutboxLookup.Whereabouts, _ error: APIError, _ task: OutboxTask, _ moment: Moment
    ) -> Action {
        let isRefusal = if case .rejected = WriteFinding(error, kind: task.entry.kind) { true } else { false }
        switch whereabouts {
        case .toBeDeleted(let deletion):
            let wait = WriteBackoff.afterFailure(failures: task.failures + 1, after: nil, draw: moment.draw)
            return retry(after: wait, .behind(deletion), moment)
        case .was(let delivery):
            if !isRefusal { gate.noteAccepted(task.entry.kind) }
            return settle(.delivered(delivery), "delivered", remark: OutboxEntry.wasThere)
        case .ours(let delivery):
            gate.noteAccepted(task.entry.kind)
            return settle(.delivered(delivery), "delivered", remark: OutboxEntry.wasThere)
        case _ where isRefusal: return park(error.userFacing)
        case .nowhere where !task.entry.saysMoreThanItsURL:
            return settle(.delivered(Settlement.Delivery(there: ItemEdit())), "delivered", remark: OutboxEntry.wasThere)
        // It is not sent again: only the question is still open.
        case .nowhere, .ambiguous:
            return settle(
                .unknown(lookupAt: moment.now, undecidedSince: nil, failedLookups: 0), WriteFinding.alreadyThere.name,
                .existsSomewhere)
        }
    }

    private func proven(_ error: APIError, _ task: OutboxTask) -> Action {
        if case .applied(let delivery, let remark) = WriteFinding(error, kind: task.entry.kind) {
            return settle(.delivered(delivery), "delivered", remark: remark)
        }
        return park(.itemGone)
    }

    /// A lookup that failed counts against the entry, so that each lookup waits longer and others have their turn.
    private mutating func lookupFailed(_ failure: SyncFailure, _ task: OutboxTask, _ moment: Moment) -> [Action] {
        guard failure.verdict != .cancelled else { return [] }
        if failure.origin == .session { return [.note(.unproven)] + replacedLogin(moment) }
        // Something may refuse this one question. The next entry shows whether it is the login.
        if failure.isRefusal {
            let unsent = task.entry.state == .queued ? [unsent(.refused, failure.error, moment)] : []
            return leaveAlone(task.entry.id, failure, moment) + unsent
        }
        let pausing = failure.isOfTheWay || failure.origin == .database ? pause(failure, moment) : []
        guard failure.isOfTheEntry else { return pausing }
        gate.slowDown(task.entry.kind, moment)
        let isUnknown = task.entry.state == .unknown
        if let age = task.tooOld { return pausing + [park(isUnknown ? .undecidable : age, verdict: "look")] }
        let failures = 1 + (isUnknown ? task.failedLookups : task.failures)
        let wait = WriteBackoff.afterFailure(failures: failures, after: failure.retryAfter, draw: moment.draw)
        let at = moment.now.advanced(by: wait)
        if isUnknown {
            // After "already exists", the error says what is asked for.
            let error = task.isOfExistingURL ? task.lastError ?? failure.error : failure.error
            return pausing + [
                settle(
                    .unknown(lookupAt: at, undecidedSince: task.undecidedSince, failedLookups: failures), "look", error)
            ]
        }
        if task.manual != nil { return pausing + [park(failure.error, verdict: "look")] }
        return pausing + [settle(.queued(at: at, isFailure: true), "look", failure.error)]
    }

    // MARK: The next attempt

    /// The server does not have it. It is sent again at once where only its answer was lost, later where the server failed.
    private func resend(_ task: OutboxTask, _ moment: Moment) -> Action {
        guard let error = task.lastError else { return retry(after: .zero, nil, moment) }
        if error.code != .serverError, task.failures == 0, task.manual == nil {
            return retry(after: .zero, error, moment)
        }
        return retryOrPark(task, error, after: nil, moment)
    }

    private func retryOrPark(
        _ task: OutboxTask, _ error: UserFacingError, after asked: Duration?, _ moment: Moment
    ) -> Action {
        guard let wait = WriteBackoff.wait(of: task, after: error, asked: asked, moment) else {
            return park(task.tooOld ?? error)
        }
        return retry(after: wait, error, moment)
    }

    private func retry(after wait: Duration, _ error: UserFacingError?, _ moment: Moment) -> Action {
        settle(.queued(at: moment.now.advanced(by: wait), isFailure: true), "retry", error)
    }

    /// Nothing was sent, or nothing was taken: this costs the entry no attempt.
    private func unsent(_ finding: WriteFinding, _ error: UserFacingError?, _ moment: Moment) -> Action {
        settle(.queued(at: moment.now, isFailure: false), finding.name, error)
    }

    private func park(
        _ error: UserFacingError?, theirs: ItemEdit? = nil, verdict: String = WriteFinding.rejected.name,
        remark: String? = nil
    ) -> Action {
        settle(.parked(theirs: theirs), verdict, error, remark: remark)
    }

    private func settle(
        _ outcome: Settlement.Outcome, _ verdict: String, _ error: UserFacingError? = nil, remark: String? = nil
    ) -> Action {
        .settle(Resolution(outcome: outcome, verdict: verdict, error: error, remark: remark))
    }

    // MARK: The server

    /// Leaves the server alone for a while.
    mutating func pause(after failure: SyncFailure, _ moment: Moment) -> [Note] {
        guard let wait = gate.pause(after: failure, moment) else { return [] }
        return [
            .failed(failure), .log("the outbox waits \((wait.wholeMilliseconds + 999) / 1_000) s: \(failure.inWords)"),
        ]
    }

    private mutating func pause(_ failure: SyncFailure, _ moment: Moment) -> [Action] {
        pause(after: failure, moment).map(Action.note)
    }

    private mutating func pauseIfOfTheWay(_ failure: SyncFailure, _ moment: Moment) -> [Action] {
        failure.isOfTheWay ? pause(failure, moment) : []
    }

    private mutating func slowDown(
        _ kind: OutboxEntry.Kind, after failure: SyncFailure, _ moment: Moment
    ) -> [Action] {
        if failure.concernsEverything { return pause(failure, moment) }
        gate.slowDown(kind, moment)
        return [.note(.failed(failure))]
    }

    private mutating func leaveAlone(_ entry: Int64, _ failure: SyncFailure, _ moment: Moment) -> [Action] {
        gate.leaveAlone(entry, moment)
        return [.note(.log("#\(entry) was refused, and others are tried: \(failure.inWords)"))]
    }

    /// The login was replaced between its proof and the write.
    private mutating func replacedLogin(_ moment: Moment) -> [Action] {
        guard gate.noteReplacedLogin() else { return [] }
        let error = UserFacingError(.unauthorized, "The server refuses writes, whatever login they are sent with.")
        return pause(SyncFailure(error, verdict: .tryRarely, origin: .server(endpoint: "the outbox")), moment)
    }

    private static let refusedAlone = "refused, while the server takes other writes"
}

extension OutboxTask {
    /// Why it was sent in vain; `nil` where it was not, or where the daemon ended before it knew.
    var lastError: UserFacingError? {
        guard let code = entry.errorCode.flatMap(ErrorCode.init) else { return nil }
        return UserFacingError(code, entry.errorMessage ?? code.rawValue)
    }

    /// The server has answered that it has the URL, and could not be asked under which id.
    var isOfExistingURL: Bool { entry.errorCode == ErrorCode.conflict.rawValue }

    /// Why it is given up, where the server could be reached for long enough.
    var tooOld: UserFacingError? {
        guard entry.follows == nil, entry.reachableAge >= WriteBackoff.ageLimit else { return nil }
        return UserFacingError(
            .writeTooOld, "The write could not be delivered in 30 days during which the server could be reached.",
            consequence: "It is parked.")
    }
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

/// When a write that failed is sent again, and when it is given up: values only.
enum WriteBackoff {
    /// How long the server must have been reachable before a write that never succeeded is parked.
    static let ageLimit: Duration = .seconds(30 * 86_400)

    /// A server that answers an edit or a deletion with 500 every time is asked eight times over at least a day: the steps
    /// add up to 25 h 36 min, and jitter only lengthens them.
    static let serverErrorSteps: [Duration] = [
        .seconds(60), .seconds(5 * 60), .seconds(30 * 60), .seconds(2 * 3_600), .seconds(5 * 3_600),
        .seconds(8 * 3_600), .seconds(10 * 3_600),
    ]
    static var serverErrorAttempts: Int { serverErrorSteps.count + 1 }

    /// A deletion that the server failed at is tried at least this often, for a day.
    private static let longestForDeletions: Duration = .seconds(600)

    /// - Parameter asked: The wait that the server asks for.
    /// - Returns: How long the entry waits after a failure that is its own; `nil` where it is parked instead.
    static func wait(
        of task: OutboxTask, after error: UserFacingError, asked: Duration?, _ moment: OutboxMachine.Moment
    ) -> Duration? {
        guard task.manual == nil, task.tooOld == nil else { return nil }
        let failures = task.failures + 1
        guard error.code == .serverError, !task.entry.kind.isCreation else {
            return afterFailure(failures: failures, after: asked, draw: moment.draw)
        }
        // A title that the server replaced is tried now and then, for as long as the server fails at edits.
        if task.entry.follows != nil {
            return afterServerError(failures: min(failures, serverErrorSteps.count), draw: moment.draw)
        }
        let step = afterServerError(failures: failures, draw: moment.draw)
        if let step, task.entry.kind == .edit { return step }
        // Failures of other kinds count too: it is given up after eight sends over a day, whatever else has failed.
        let age = moment.now.duration(since: task.entry.acceptedAt)
        if task.entry.attempts >= serverErrorAttempts, age >= .seconds(86_400) { return nil }
        // No release fails at every deletion, and one that is sent again does no harm.
        guard task.entry.kind == .edit else { return min(step ?? longestForDeletions, longestForDeletions) }
        return serverErrorSteps.last
    }

    /// - Parameters:
    ///   - failures: in a row, this one included.
    ///   - draw: from 0 to 1, at random.
    /// - Returns: `nil` where that was the last attempt.
    static func afterServerError(failures: Int, draw: Double) -> Duration? {
        guard failures <= serverErrorSteps.count else { return nil }
        return serverErrorSteps[max(failures, 1) - 1] * (1 + 0.1 * draw)
    }

    /// Exponential with full jitter, from 4 s to an hour; at least as long as the server asks for.
    static func afterFailure(failures: Int, after wait: Duration?, draw: Double) -> Duration {
        let own = SyncFailure.Verdict.retry(after: nil).wait(failures: failures, draw: draw)
        guard let wait else { return own }
        return max(own, SyncFailure.Verdict.retry(after: wait).wait(failures: failures, draw: draw))
    }
}
