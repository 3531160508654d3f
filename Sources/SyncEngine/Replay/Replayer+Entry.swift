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
    func prepare(
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
    func note(_ failure: PullFailure, of task: OutboxTask, _ memory: inout Memory) async {
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

    func settleUnknown(_ task: OutboxTask, _ look: OutboxLook, _ memory: inout Memory) async throws {
        let start = time.now()
        let conclusion = try await look.conclude(task, interval: settings().lookupInterval)
        noteAnswer(&memory)
        _ = await record([settlement(task, conclusion, startedAt: start)], &memory)
        if case .applied = conclusion { delivered(task.entry.kind, &memory) }
    }

    func settlement(
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
    func notApplied(
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
    func wait(_ task: OutboxTask, _ error: UserFacingError, after asked: Duration?) -> Duration? {
        guard task.byHand == nil, tooOld(task) == nil else { return nil }
        if error.code == .serverError, !task.entry.kind.isCreation {
            // A title that the server replaced is tried now and then, for as long as the server fails at edits.
            if task.entry.follows != nil {
                let failures = min(task.failures + 1, WriteBackoff.serverErrorSteps.count)
                return WriteBackoff.afterServerError(failures: failures, draw: random.unit())
            }
            let step = WriteBackoff.afterServerError(failures: task.failures + 1, draw: random.unit())
            // No release fails at every deletion, and one that is sent again does no harm.
            if let step, task.entry.kind == .edit { return step }
            // Failures of other kinds count too: it is given up after eight sends over a day, whatever else has failed.
            let age = time.now().duration(since: task.entry.acceptedAt)
            if task.entry.attempts >= WriteBackoff.serverErrorAttempts, age >= .seconds(86_400) { return nil }
            let longest =
                task.entry.kind == .edit ? WriteBackoff.serverErrorSteps.last : WriteBackoff.longestForDeletions
            return min(step ?? .seconds(86_400), longest ?? .seconds(86_400))
        }
        return WriteBackoff.afterFailure(failures: task.failures + 1, after: asked, draw: random.unit())
    }

    func tooOld(_ task: OutboxTask) -> UserFacingError? {
        if task.entry.follows != nil { return nil }
        guard task.entry.reachableAge >= WriteBackoff.ageLimit else { return nil }
        return UserFacingError(
            .writeTooOld, "The write could not be delivered in 30 days during which the server could be reached.",
            consequence: "It is parked.")
    }

    func delivered(_ kind: OutboxEntry.Kind, _ memory: inout Memory) {
        memory.failures[kind] = nil
        memory.slowedUntil[kind] = nil
        memory.refusals.noteTaken()
        memory.slowDowns = 0
        if memory.unseenSince == nil { memory.unseenSince = time.uptime() }
    }

    // MARK: Sending

    func send(
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
    func sendInTurn(from first: OutboxTask, _ look: OutboxLook, _ memory: inout Memory) async {
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
    func takeUp(
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

    func returned(_ task: OutboxTask) -> Settlement {
        var attempt = OutboxAttempt(.send, startedAt: time.now())
        attempt.verdict = WriteVerdict.returned.name
        return Settlement(
            entry: task.entry.id, from: .sending, outcome: .queued(at: time.now(), isFailure: false), attempt: attempt)
    }

    /// Entries that need nothing asked before they are sent, and that may be sent now: taken up with the move of the one
    /// before, so that an entry costs one fsync and not two.
    func takenUp(_ dialect: Dialect, _ memory: Memory) -> Set<OutboxEntry.Kind> {
        guard !Task.isCancelled, let proof = memory.proof, proof.credentials == client.credentials,
            time.uptime() - proof.at < Self.proofLife
        else { return [] }
        return sendable(memory).intersection(dialect == .cursor ? [.capture, .delete] : [.delete])
    }

    /// What became of one request.
    struct Answer: Sendable {
        var task: OutboxTask
        var attempt: OutboxAttempt
        var result: Result<Settlement.Delivery, APIError>
        var witness: CredentialsWitness
    }

    /// Sends one after another, up to the first that fails.
    func answers(to tasks: [OutboxTask], _ look: OutboxLook) async -> [Answer] {
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

    func request(
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
            let wasThere = task.evidence?.knownIDs.contains { ByteText($0) == ByteText(created.id) } ?? false
            if wasThere || made.withLock({ $0.contains(created.id) }) {
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
                // As a failure of the server's, which every edit meets perhaps: tried now and then, and parked after a day.
                throw APIError(
                    kind: .serverError(message: "it answers that the edit was done, and shows the item as it was"),
                    endpoint: "the edit of an item", status: 200, requestID: "none", mayHaveReachedServer: true)
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
    func untrue(_ what: String, _ entry: OutboxEntry, _ requestID: String?) -> APIError {
        APIError(
            kind: .decodingError(.unexpectedShape(what)), endpoint: "the write of a \(entry.kind.rawValue)",
            status: 200,
            requestID: requestID ?? "none", mayHaveReachedServer: true)
    }
}
