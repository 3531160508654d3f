import NetMonitor
import PRSNLClient
import PRSNLCore
import Store

// One entry: look, send, and say what became of it.
extension Replayer {
    func handle(_ task: OutboxTask, _ dialect: Dialect, _ memory: inout Memory) async {
        let look = OutboxLook(
            store: store, client: client, identity: identity, time: time, dialect: dialect,
            proven: memory.proof?.credentials)
        do {
            if task.entry.state == .unknown {
                try await settleUnknown(task, look, &memory)
            } else if let evidence = try await prepare(task, look, &memory) {
                try await send(task, evidence.value, look, &memory)
            }
        } catch {
            await note(PullFailure(error), of: task, &memory)
        }
    }

    // MARK: Before the first byte

    /// What must be known before it is sent; `nil` where that has settled it.
    private func prepare(
        _ task: OutboxTask, _ look: OutboxLook, _ memory: inout Memory
    ) async throws -> (value: SendEvidence?, Void)? {
        let start = time.now()
        switch task.entry.payload {
        case .delete: return (nil, ())
        case .create(let item):
            // The cursor dialect can be asked for a URL afterwards.
            if item.url != nil, look.dialect == .cursor { return (nil, ()) }
            return (try await look.evidence(), ())
        case .edit(let edit):
            let conclusion = try await look.compare(edit, task)
            if case .notApplied = conclusion { return (nil, ()) }
            _ = await record([settlement(task, conclusion, startedAt: start)], &memory)
            return nil
        }
    }

    /// A look that failed, before a send or after one. It counts against the entry, so that each time it waits longer, and
    /// others have their turn.
    private func note(_ failure: PullFailure, of task: OutboxTask, _ memory: inout Memory) async {
        guard failure.verdict != .cancelled else { return }
        if failure.isOfRenewal {
            memory.proof = nil
            return noteOvertaken(&memory)
        }
        if failure.isRefusal {
            // Something may refuse this one question; the next entry shows whether it is the login.
            return leaveAlone(task.entry.id, failure, &memory)
        }
        if failure.isOfTheWay || failure.endpoint == "database" { pause(after: failure, &memory) }
        if !failure.isOfTheEntry { return }
        slowDown(task.entry.kind, &memory)
        let isUnknown = task.entry.state == .unknown
        var asked: Duration?
        if case .retry(let wait) = failure.verdict { asked = wait }
        let wait = WriteBackoff.afterFailure(
            failures: 1 + (isUnknown ? task.failedLooks : task.failures), after: asked, draw: random.unit())
        let at = time.now().advanced(by: wait)
        var attempt = OutboxAttempt(.look, startedAt: time.now())
        attempt.verdict = "look"
        attempt.errorCode = failure.error.code.rawValue
        var outcome: Settlement.Outcome =
            isUnknown
            ? .unknown(lookAt: at, undecidedSince: task.undecidedSince, failedLooks: task.failedLooks + 1)
            : .queued(at: at, isFailure: true)
        // After "already exists", the error says what is asked for.
        var error = isUnknown && task.isOfExistingURL ? task.lastError ?? failure.error : failure.error
        if let age = tooOld(task) {
            outcome = .parked(theirs: nil)
            error = isUnknown ? .undecidable : age
        } else if task.byHand != nil, !isUnknown {
            outcome = .parked(theirs: nil)
        }
        _ = await record(
            [
                Settlement(
                    entry: task.entry.id, from: task.entry.state, outcome: outcome, attempt: attempt, error: error)
            ],
            &memory)
    }

    // MARK: Unknown outcomes

    private func settleUnknown(_ task: OutboxTask, _ look: OutboxLook, _ memory: inout Memory) async throws {
        let start = time.now()
        let conclusion = try await look.conclude(task, interval: settings().lookupInterval)
        noteAnswer(&memory)
        _ = await record([settlement(task, conclusion, startedAt: start)], &memory)
        if case .applied = conclusion { delivered(task.entry.kind, &memory) }
    }

    private func settlement(
        _ task: OutboxTask, _ conclusion: OutboxLook.Conclusion, startedAt start: Timestamp
    ) -> Settlement {
        let now = time.now()
        var attempt = OutboxAttempt(.look, startedAt: start)
        attempt.endedAt = now
        func settle(
            _ outcome: Settlement.Outcome, _ verdict: String, _ error: UserFacingError? = nil, remark: String? = nil
        ) -> Settlement {
            attempt.verdict = verdict
            attempt.errorCode = error?.code.rawValue
            return Settlement(
                entry: task.entry.id, from: task.entry.state, outcome: outcome, attempt: attempt, error: error,
                remark: remark)
        }
        switch conclusion {
        case .applied(let delivery, let remark): return settle(.delivered(delivery), "delivered", remark: remark)
        case .notApplied: return notApplied(task, settle)
        case .lookAgain(let after, let undecidedSince):
            return task.entry.reachableAge < WriteBackoff.ageLimit
                ? settle(
                    .unknown(lookAt: now.advanced(by: after), undecidedSince: undecidedSince, failedLooks: 0), "look",
                    task.lastError, remark: "not found on the server yet; it may still be working on it")
                : settle(.parked(theirs: nil), "park", .undecidable)
        case .thereUnderNoID: return settle(.parked(theirs: nil), "park", .thereUnderNoID)
        case .undecidable:
            return settings().resendUnknown
                ? notApplied(task, settle) : settle(.parked(theirs: nil), "park", .undecidable)
        case .gone:
            return settle(
                .parked(theirs: nil), "park",
                UserFacingError(.itemGone, "The item is no longer on the server.", consequence: "The edit is parked."))
        case .conflict(let theirs):
            return settle(
                .parked(theirs: theirs), "park",
                UserFacingError(
                    .editConflict, "The item was changed elsewhere after the edit was made here.",
                    consequence: "The server's values were not overwritten."))
        }
    }

    /// It is known not to be there: sent again at once where only its answer was lost, later where the server failed.
    private func notApplied(
        _ task: OutboxTask,
        _ settle: (Settlement.Outcome, String, UserFacingError?, String?) -> Settlement
    ) -> Settlement {
        let now = time.now()
        guard let error = task.lastError else {
            return settle(.queued(at: now, isFailure: true), "retry", nil, nil)
        }
        if error.code != .serverError, task.failures == 0, task.byHand == nil {
            return settle(.queued(at: now, isFailure: true), "retry", error, nil)
        }
        guard let wait = wait(task, error, after: nil) else {
            return settle(.parked(theirs: nil), "park", tooOld(task) ?? error, nil)
        }
        return settle(.queued(at: now.advanced(by: wait), isFailure: true), "retry", error, nil)
    }

    /// How long the entry waits after a failure that is its own; `nil` where it is parked instead.
    private func wait(_ task: OutboxTask, _ error: UserFacingError, after asked: Duration?) -> Duration? {
        guard task.byHand == nil, tooOld(task) == nil else { return nil }
        if error.code == .serverError, !task.entry.kind.isCreation {
            // A title that the server replaced is tried now and then, for as long as the server fails at edits.
            if task.entry.follows != nil {
                let failures = min(task.failures + 1, WriteBackoff.serverErrorSteps.count)
                return WriteBackoff.afterServerError(failures: failures, draw: random.unit())
            }
            if let wait = WriteBackoff.afterServerError(failures: task.failures + 1, draw: random.unit()) {
                return wait
            }
            // Failures of other kinds count too: it is given up after eight sends over a day, whatever else has failed.
            let age = time.now().duration(since: task.entry.acceptedAt)
            if task.entry.attempts >= WriteBackoff.serverErrorAttempts, age >= .seconds(86_400) { return nil }
            return WriteBackoff.serverErrorSteps.last
        }
        return WriteBackoff.afterFailure(failures: task.failures + 1, after: asked, draw: random.unit())
    }

    private func tooOld(_ task: OutboxTask) -> UserFacingError? {
        if task.entry.follows != nil { return nil }
        guard task.entry.reachableAge >= WriteBackoff.ageLimit else { return nil }
        return UserFacingError(
            .writeTooOld, "The write could not be delivered in 30 days during which the server could be reached.",
            consequence: "It is parked.")
    }

    private func delivered(_ kind: OutboxEntry.Kind, _ memory: inout Memory) {
        memory.failures[kind] = nil
        memory.slowedUntil[kind] = nil
        memory.refusals.noteTaken()
        memory.slowDowns = 0
        if memory.unseenSince == nil { memory.unseenSince = time.uptime() }
    }

    // MARK: Sending

    private func send(
        _ task: OutboxTask, _ evidence: SendEvidence?, _ look: OutboxLook, _ memory: inout Memory
    ) async throws {
        do {
            guard try await store.beginSending(task.entry.id, evidence: evidence, now: time.now()) else { return }
        } catch {
            throw PullFailure(store: error)
        }
        var begun = task
        begun.entry.attempts += 1
        begun.evidence = evidence
        await sendInTurn(from: begun, look, &memory)
    }

    /// Sends an entry that is `sending` in the file, and those after it that need nothing asked before.
    ///
    /// One request is under way at a time. While a few are sent one after another, what the ones before them brought is
    /// written, and the ones after them begun, in one transaction: nobody waits for its fsync.
    private func sendInTurn(from first: OutboxTask, _ look: OutboxLook, _ memory: inout Memory) async {
        var batch = [first]
        var answered: [Settlement] = []
        while !batch.isEmpty {
            let tasks = batch
            for task in tasks where task.entry.kind.isCreation { memory.pace.noteSent(at: time.uptime()) }
            async let answers = answers(to: tasks, look)
            batch = await takeUp(after: answered, look.dialect, &memory)
            answered = []
            let arrived = await answers
            for answer in arrived {
                switch answer.result {
                case .success(let delivery):
                    noteAnswer(&memory)
                    memory.overtaken = 0
                    delivered(answer.task.entry.kind, &memory)
                    answered.append(
                        Settlement(
                            entry: answer.task.entry.id, from: .sending, outcome: .delivered(delivery),
                            attempt: answer.attempt))
                case .failure(let error):
                    let unsent = tasks.dropFirst(arrived.count) + batch
                    memory.pace.noteUnsent(tasks.dropFirst(arrived.count).count { $0.entry.kind.isCreation })
                    if !answered.isEmpty { _ = await record(answered, &memory) }
                    let failed = await settlement(answer, error, look, &memory)
                    _ = await record([failed] + unsent.map(returned), &memory)
                    return
                }
            }
            let unsent = Array(tasks.dropFirst(arrived.count))
            if Task.isCancelled || !unsent.isEmpty {
                _ = await record(answered + (unsent + batch).map(returned), &memory)
                return
            }
            if batch.isEmpty {
                batch = await record(answered, thenSending: takenUp(look.dialect, memory), &memory)
                answered = []
            }
        }
    }

    /// So many are `sending` in the file at most, besides those under way: what a kill leaves to be looked up.
    private static let batchSize = 4

    /// Writes what the last entries brought, and begins the next ones.
    private func takeUp(
        after answered: [Settlement], _ dialect: Dialect, _ memory: inout Memory
    ) async -> [OutboxTask] {
        let unprepared = takenUp(dialect, memory)
        if !answered.isEmpty { return await record(answered, thenSending: unprepared, &memory) }
        do {
            return try await store.beginNext(
                now: time.now(), of: sendable(memory), unprepared: unprepared,
                excluding: memory.refusals.leftAlone(at: time.uptime()), most: batch(memory))
        } catch {
            // Its turn comes again; what must not be lost is not in it.
            log(.warning, .store, "the next entry could not be begun: \(error.message)")
            return []
        }
    }

    func batch(_ memory: Memory) -> Int {
        min(Self.batchSize, max(1, memory.pace.room(at: time.uptime())))
    }

    private func returned(_ task: OutboxTask) -> Settlement {
        var attempt = OutboxAttempt(.send, startedAt: time.now())
        attempt.verdict = WriteVerdict.returned.name
        return Settlement(
            entry: task.entry.id, from: .sending, outcome: .queued(at: time.now(), isFailure: false), attempt: attempt)
    }

    /// Entries that need nothing asked before they are sent, and that may be sent now: taken up with the move of the one
    /// before, so that an entry costs one fsync and not two.
    private func takenUp(_ dialect: Dialect, _ memory: Memory) -> Set<OutboxEntry.Kind> {
        guard !Task.isCancelled, let proof = memory.proof, proof.credentials == client.credentials,
            time.uptime() - proof.at < Self.proofLife
        else { return [] }
        return sendable(memory).intersection(dialect == .cursor ? [.capture, .delete] : [.delete])
    }

    /// What became of one request.
    private struct Answer: Sendable {
        var task: OutboxTask
        var attempt: OutboxAttempt
        var result: Result<Settlement.Delivery, APIError>
        var witness: CredentialsWitness
    }

    /// Sends one after another, up to the first that fails.
    private func answers(to tasks: [OutboxTask], _ look: OutboxLook) async -> [Answer] {
        var answers: [Answer] = []
        for task in tasks where answers.isEmpty || !Task.isCancelled {
            var attempt = OutboxAttempt(.send, startedAt: time.now())
            let witness = CredentialsWitness()
            do throws(APIError) {
                let (delivery, requestID) = try await request(task, look, witness)
                attempt.endedAt = time.now()
                attempt.requestID = requestID
                attempt.verdict = "delivered"
                answers.append(
                    Answer(task: task, attempt: attempt, result: .success(delivery), witness: witness))
            } catch {
                answers.append(
                    Answer(task: task, attempt: attempt, result: .failure(error), witness: witness))
                break
            }
        }
        return answers
    }

    private func request(
        _ task: OutboxTask, _ look: OutboxLook, _ witness: CredentialsWitness
    ) async throws(APIError) -> (Settlement.Delivery, requestID: String?) {
        let (dialect, proven) = (look.dialect, look.proven)
        let entry = task.entry
        var delivery = Settlement.Delivery()
        switch entry.payload {
        case .create(let item):
            let created = try await client.create(
                item, dialect: dialect, key: entry.idempotencyKey, onlyWith: proven, witness: witness)
            // An answer that was given to another request says nothing of this one.
            if made.withLock({ $0.contains(created.id) }) || task.evidence?.knownIDs.contains(created.id) ?? false {
                throw untrue("it names an item that was there before", entry, created.requestID)
            }
            made.withLock { $0.insert(created.id) }
            delivery.serverID = created.id
            delivery.item = created.item
            return (delivery, created.requestID)
        case .edit(let edit):
            let item = try await client.update(
                entry.itemID, edit, dialect: dialect, key: entry.idempotencyKey, onlyWith: proven, witness: witness)
            if EditComparison.isIgnored(edit, base: entry.base, theirs: ItemEdit(item)) {
                throw untrue("it shows the item as it was before the edit", entry, nil)
            }
            delivery.fields = ItemEdit(item).fields(of: edit)
            delivery.updatedAt = item.updatedAt
        case .delete:
            try await client.delete(
                entry.itemID, dialect: dialect, key: entry.idempotencyKey, onlyWith: proven, witness: witness)
        }
        return (delivery, nil)
    }

    /// A 2xx that cannot be the answer to this write: the server is asked what it has.
    private func untrue(_ what: String, _ entry: OutboxEntry, _ requestID: String?) -> APIError {
        APIError(
            kind: .decodingError(.unexpectedShape(what)), endpoint: "the write of a \(entry.kind.rawValue)",
            status: 200,
            requestID: requestID ?? "none", mayHaveReachedServer: true)
    }

    // MARK: After a failure

    private func settlement(
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
    private func leaveAlone(_ entry: Int64, _ failure: PullFailure, _ memory: inout Memory) {
        let inARow = memory.refusals.note(
            entry, until: time.uptime() + RetryPolicy().delay(failures: 1, verdict: .needsPerson, draw: random.unit()))
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
    private func settleExisting(
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
    private func noteOvertaken(_ memory: inout Memory) {
        memory.overtaken += 1
        guard memory.overtaken > Self.tolerated else { return }
        let error = UserFacingError(.unauthorized, "The server refuses writes, whatever login they are sent with.")
        pause(after: PullFailure(error, verdict: .needsPerson, endpoint: "the outbox"), &memory)
    }

    /// Verdicts that are final: believed once the account that they were given to is proven.
    private func settleProven(
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
    private func slowDown(_ kind: OutboxEntry.Kind, after error: APIError, _ memory: inout Memory) {
        let failure = PullFailure(error)
        guard !failure.concernsEverything else { return pause(after: failure, &memory) }
        network.noteFailure(NetMonitor.Failure(failure.error, isGateway: failure.isGateway), at: time.now())
        slowDown(kind, &memory)
    }

    private func slowDown(_ kind: OutboxEntry.Kind, _ memory: inout Memory) {
        let failures = memory.failures[kind, default: 0] + 1
        memory.failures[kind] = failures
        guard failures > Self.tolerated else { return }
        let wait = ProbeBackoff.wait(failures: failures - Self.tolerated, draw: random.unit())
        memory.slowedUntil[kind] = time.uptime() + wait
    }
}

extension OutboxTask {
    /// Why it was sent in vain; `nil` where it was not, or where nobody lived to see it.
    fileprivate var lastError: UserFacingError? {
        guard let code = entry.errorCode.flatMap(ErrorCode.init) else { return nil }
        return UserFacingError(code, entry.errorMessage ?? code.rawValue)
    }

    /// The server has answered that it has the URL, and could not be asked under which id.
    fileprivate var isOfExistingURL: Bool { entry.errorCode == ErrorCode.conflict.rawValue }
}

extension PullFailure {
    /// The way to the server, or what lets us in, has failed: another question would fail in the same way.
    fileprivate var isOfTheWay: Bool {
        if case .retry(after: .some) = verdict { return false }
        return concernsEverything
    }

    /// The question may be what failed, whatever else: it waits longer each time.
    fileprivate var isOfTheEntry: Bool {
        guard endpoint != "database", isOfTheWay else { return endpoint != "database" }
        return !isOfAccount && (error.code == .portal || error.code == .timedOut)
    }

    /// One question was refused. A login that was refused shows at the account's endpoint too.
    fileprivate var isRefusal: Bool {
        (error.code == .unauthorized || error.code == .forbidden) && !isOfAccount
    }
}

extension UserFacingError {
    fileprivate static let thereUnderNoID = UserFacingError(
        .conflict, "The server has this URL already and does not say under which id.",
        consequence: "Title, tags and remark are kept here; try again when the item was pulled.")
    fileprivate static let existsSomewhere = UserFacingError(
        .conflict, "The server has this URL already; under which id is not known yet.",
        consequence: "The write is not sent again; title and tags follow when the item is found.")
    fileprivate static let undecidable = UserFacingError(
        .outcomeUndecidable, "Nobody can say whether the write was applied.",
        consequence: "It is parked rather than sent twice.")

    fileprivate static func behind(_ deletion: Int64) -> UserFacingError {
        UserFacingError(
            .conflict, "The server still has the item of this URL, which #\(deletion) is to delete.",
            consequence: "The write is sent after that.")
    }
}
