import NetMonitor
import PRSNLClient
import PRSNLCore
import Store

// What becomes of a write that was not answered as it should be.
extension Replayer {
    func settlement(
        _ answer: Answer, _ error: APIError, _ look: OutboxLook, _ memory: inout Memory
    ) async -> Settlement {
        let task = answer.task
        let verdict = WriteVerdict(error, kind: task.entry.kind)
        var attempt = answer.attempt
        attempt.endedAt = time.now()
        attempt.verdict = verdict.name
        attempt.errorCode = error.code.rawValue
        attempt.status = error.status
        attempt.requestID = error.requestID
        let now = time.now()
        let facing = error.userFacing
        func settle(_ outcome: Settlement.Outcome, _ error: UserFacingError? = nil, remark: String? = nil) -> Settlement
        {
            Settlement(
                entry: task.entry.id, from: .sending, outcome: outcome, attempt: attempt, error: error, remark: remark)
        }
        switch verdict {
        case .returned:
            if error.isOfRenewal, !Task.isCancelled { noteOvertaken(&memory) }
            return settle(.queued(at: now, isFailure: false))
        case .waitForNetwork, .waitForLogin:
            pause(after: PullFailure(error), &memory)
            return settle(.queued(at: now, isFailure: false), facing)
        case .refused:
            if memory.refusals.isRefusedAlone(task.entry.id) {
                memory.refusals.forget(task.entry.id)
                attempt.verdict = WriteVerdict.park.name
                return settle(.parked(theirs: nil), facing, remark: "refused, while the server takes other writes")
            }
            leaveAlone(task.entry.id, PullFailure(error), &memory)
            return settle(.queued(at: now, isFailure: false), facing)
        case .slowDown(let wait):
            noteAnswer(&memory)
            // A server that takes nothing at all is asked less and less often, whatever it says.
            memory.slowDowns += 1
            let longer =
                memory.slowDowns > Self.tolerated
                ? WriteBackoff.afterFailure(
                    failures: memory.slowDowns - Self.tolerated, after: wait, draw: random.unit()) : wait
            if task.entry.kind.isCreation {
                memory.pace.noteRefused(at: time.uptime(), retryAfter: wait)
                memory.pace.hold(until: time.uptime() + longer)
            } else {
                memory.closedUntil = time.uptime() + longer
            }
            return settle(.queued(at: now, isFailure: false), facing)
        case .look:
            slowDown(task.entry.kind, after: error, &memory)
            return settle(.unknown(lookAt: now, undecidedSince: nil, failedLooks: 0), facing)
        case .retry(let asked):
            slowDown(task.entry.kind, after: error, &memory)
            guard let wait = wait(task, facing, after: asked) else {
                return settle(.parked(theirs: nil), tooOld(task) ?? facing)
            }
            return settle(.queued(at: now.advanced(by: wait), isFailure: true), facing)
        case .alreadyThere:
            noteAnswer(&memory)
            return await settleExisting(task, attempt, look, &memory)
        case .done, .park:
            noteAnswer(&memory)
            // A gateway's page says nothing of the URL, which may be on the server by now.
            let isForeign = verdict == .park && task.entry.kind == .capture && !error.isPRSNLError
            return isForeign
                ? await settleExisting(task, attempt, look, orPark: facing, &memory)
                : await settleProven(answer, facing, verdict, settle, &memory)
        }
    }

    /// An entry that was refused waits, while others show whether it is the only one.
    func leaveAlone(_ entry: Int64, _ failure: PullFailure, _ memory: inout Memory) {
        let inARow = memory.refusals.note(
            entry, until: time.uptime() + PullFailure.Verdict.needsPerson.wait(failures: 1, draw: random.unit()))
        let wait = WriteBackoff.afterFailure(failures: inARow, after: nil, draw: random.unit())
        memory.pausedUntil = max(memory.pausedUntil, time.uptime() + wait)
        log(
            .info, .http,
            "#\(entry) was refused, and others are tried: \(failure.endpoint): \(failure.logText) "
                + "[\(failure.error.code.rawValue)]")
    }

    /// The server has this URL, or something says so: under which id, it is asked.
    ///
    /// - Parameter refusal: parks the entry where the server does not have the URL.
    func settleExisting(
        _ task: OutboxTask, _ attempt: OutboxAttempt, _ look: OutboxLook, orPark refusal: UserFacingError? = nil,
        _ memory: inout Memory
    ) async -> Settlement {
        var attempt = attempt
        func settle(_ outcome: Settlement.Outcome, _ verdict: String, _ error: UserFacingError?, remark: String? = nil)
            -> Settlement
        {
            attempt.verdict = verdict
            return Settlement(
                entry: task.entry.id, from: .sending, outcome: outcome, attempt: attempt, error: error, remark: remark)
        }
        guard case .create(let item) = task.entry.payload else {
            return settle(.parked(theirs: nil), "park", refusal ?? .thereUnderNoID)
        }
        do throws(PullFailure) {
            let whereabouts = try await look.whereIs(item, task.entry, exists: refusal == nil)
            if case .toBeDeleted(let deletion) = whereabouts {
                let wait = WriteBackoff.afterFailure(failures: task.failures + 1, after: nil, draw: random.unit())
                return settle(
                    .queued(at: time.now().advanced(by: wait), isFailure: true), "retry", .behind(deletion))
            }
            if let refusal {
                guard case .was(let delivery) = whereabouts else {
                    return settle(.parked(theirs: nil), "park", refusal)
                }
                return settle(.delivered(delivery), "delivered", nil, remark: OutboxEntry.wasThere)
            }
            switch whereabouts {
            case .was(let delivery), .ours(let delivery):
                delivered(task.entry.kind, &memory)
                return settle(.delivered(delivery), "delivered", nil, remark: OutboxEntry.wasThere)
            case .nowhere where !item.saysMoreThanItsURL:
                return settle(.delivered(Settlement.Delivery()), "delivered", nil, remark: OutboxEntry.wasThere)
            // It is not sent again: only the question is still open.
            case .nowhere, .ambiguous, .toBeDeleted:
                return settle(
                    .unknown(lookAt: time.now(), undecidedSince: nil, failedLooks: 0), "already_there",
                    .existsSomewhere)
            }
        } catch {
            if error.isOfTheWay { pause(after: error, &memory) }
            var asked: Duration?
            if case .retry(let wait) = error.verdict { asked = wait }
            let wait = WriteBackoff.afterFailure(failures: 1, after: asked, draw: random.unit())
            return settle(
                .unknown(lookAt: time.now().advanced(by: wait), undecidedSince: nil, failedLooks: 1), "already_there",
                .existsSomewhere)
        }
    }

    /// Once is a renewal, and the next proof is of the new login. A server that refuses writes with whatever login it proves
    /// to know would be asked for ever.
    func noteOvertaken(_ memory: inout Memory) {
        memory.overtaken += 1
        guard memory.overtaken > Self.tolerated else { return }
        let error = UserFacingError(.unauthorized, "The server refuses writes, whatever login they are sent with.")
        pause(after: PullFailure(error, verdict: .needsPerson, endpoint: "the outbox"), &memory)
    }

    /// Verdicts that are final: believed once the account that they were given to is proven.
    func settleProven(
        _ answer: Answer, _ error: UserFacingError, _ verdict: WriteVerdict,
        _ settle: (Settlement.Outcome, UserFacingError?, String?) -> Settlement, _ memory: inout Memory
    ) async -> Settlement {
        do throws(PullFailure) {
            if case .done(let remark) = verdict {
                try await identity.prove([answer.witness], counting: RequestCounter())
                return settle(.delivered(Settlement.Delivery()), nil, remark)
            }
            if error.code == .notFound {
                try await identity.prove([answer.witness], counting: RequestCounter())
                return settle(
                    .parked(theirs: nil),
                    UserFacingError(
                        .itemGone, "The item is no longer on the server.", consequence: "The edit is parked."),
                    nil)
            }
            return settle(.parked(theirs: nil), error, nil)
        } catch {
            if error.isOfTheWay { pause(after: error, &memory) }
            // It is certain that nothing was applied, but not yet what to make of it.
            let wait = WriteBackoff.afterFailure(failures: answer.task.failures + 1, after: nil, draw: random.unit())
            return settle(.queued(at: time.now().advanced(by: wait), isFailure: true), error.error, nil)
        }
    }

    /// One failure may be the entry's own; several in a row are the server's, and it is asked ever less often.
    func slowDown(_ kind: OutboxEntry.Kind, after error: APIError, _ memory: inout Memory) {
        let failure = PullFailure(error)
        guard !failure.concernsEverything else { return pause(after: failure, &memory) }
        network.noteFailure(NetMonitor.Failure(failure.error, isGateway: failure.isGateway), at: time.now())
        slowDown(kind, &memory)
    }

    func slowDown(_ kind: OutboxEntry.Kind, _ memory: inout Memory) {
        let failures = memory.failures[kind, default: 0] + 1
        memory.failures[kind] = failures
        guard failures > Self.tolerated else { return }
        let wait = Backoff.probes.wait(failures: failures - Self.tolerated, draw: random.unit())
        memory.slowedUntil[kind] = time.uptime() + wait
    }
}

extension OutboxTask {
    /// Why it was sent in vain; `nil` where it was not, or where nobody lived to see it.
    var lastError: UserFacingError? {
        guard let code = entry.errorCode.flatMap(ErrorCode.init) else { return nil }
        return UserFacingError(code, entry.errorMessage ?? code.rawValue)
    }

    /// The server has answered that it has the URL, and could not be asked under which id.
    var isOfExistingURL: Bool { entry.errorCode == ErrorCode.conflict.rawValue }
}

extension PullFailure {
    /// The way to the server, or what lets us in, has failed: another question would fail in the same way.
    var isOfTheWay: Bool {
        if case .retry(after: .some) = verdict { return false }
        return concernsEverything
    }

    /// The question may be what failed, whatever else: it waits longer each time.
    var isOfTheEntry: Bool {
        guard endpoint != "database", isOfTheWay else { return endpoint != "database" }
        return !isOfAccount && (error.code == .portal || error.code == .timedOut)
    }

    /// One question was refused. A login that was refused shows at the account's endpoint too.
    var isRefusal: Bool {
        (error.code == .unauthorized || error.code == .forbidden) && !isOfAccount
    }
}

extension UserFacingError {
    static let thereUnderNoID = UserFacingError(
        .conflict, "The server has this URL already and does not say under which id.",
        consequence: "Title, tags and remark are kept here; try again when the item was pulled.")
    static let existsSomewhere = UserFacingError(
        .conflict, "The server has this URL already; under which id is not known yet.",
        consequence: "The write is not sent again; title and tags follow when the item is found.")
    static let undecidable = UserFacingError(
        .outcomeUndecidable, "It cannot be found out whether the write was applied.",
        consequence: "It is parked rather than sent twice.")

    static func behind(_ deletion: Int64) -> UserFacingError {
        UserFacingError(
            .conflict, "The server still has the item of this URL, which #\(deletion) is to delete.",
            consequence: "The write is sent after that.")
    }
}
