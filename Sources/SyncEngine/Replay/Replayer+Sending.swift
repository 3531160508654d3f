import Configuration
import PRSNLClient
import PRSNLCore
import Store

// One entry at a time: ask what has to be known, send, and write down what the machine makes of the answer.
extension Replayer {
    func handle(_ task: OutboxTask, _ lookup: OutboxLookup, _ memory: inout ReplayMemory) async {
        var (task, attempt) = (task, OutboxAttempt(.lookup, startedAt: time.now()))
        let event: OutboxMachine.Event
        do {
            if let outcome = try await lookup.lookOnceMore(task),
                outcome.state == .delivered || !shared.settings.resendUnknown
            {
                // What would go along with it was not sent.
                task.others = []
                event = .lookedUp(outcome)
            } else {
                guard let outcome = try await lookUp(task, lookup, &memory) else { return }
                event = .lookedUp(outcome)
            }
        } catch {
            let failure = SyncFailure(error)
            if failure.origin == .database { await noteRefusal(by: failure.error) }
            attempt.errorCode = failure.error.code.rawValue
            event = .lookupFailed(failure)
        }
        if let record = await decide(Answer(task: task, attempt: attempt, event: event), lookup, &memory) {
            await self.record([record], &memory)
        }
    }

    /// Asks what became of a write, or what must be known before its first byte. Sends it where that does not settle it.
    ///
    /// - Returns: `nil` where it was sent, or waits on.
    private func lookUp(
        _ task: OutboxTask, _ lookup: OutboxLookup, _ memory: inout ReplayMemory
    ) async throws -> WriteOutcome? {
        var task = task
        var evidence: SendEvidence?
        switch task.entry.payload {
        case _ where task.entry.state == .unknown:
            return try await lookup.conclude(task)
        case .delete: break
        case .create(let item):
            // The cursor dialect can be asked for a URL afterwards.
            if task.evidence == nil, item.url == nil || lookup.dialect != .cursor {
                evidence = try await lookup.evidence()
            }
        // What was asked for was asked for again since, and that is delivered.
        case .edit(let edit) where edit.isEmpty: return .delivered(WriteOutcome.Delivery())
        case .edit(let edit):
            if try await store.awaitsOn(task.entry, now: time.now()) { return nil }
            let (outcome, edit, theirs) = try await lookup.compare(edit, task)
            guard case .queued = outcome else { return outcome }
            task.entry.payload = .edit(edit)
            // An answer that shows the same again has not taken the edit.
            task.entry.base = theirs
        }
        guard try await store.beginSending(task, evidence: evidence, now: time.now()) else { return nil }
        task.entry.state = .sending
        task.entry.attempts += 1
        task.evidence = evidence
        await sendInTurn(from: task, lookup, &memory)
        return nil
    }

    // MARK: Deciding

    /// What became of one question or request.
    private struct Answer: Sendable {
        var task: OutboxTask
        var attempt: OutboxAttempt
        var event: OutboxMachine.Event

        var isFailure: Bool { if case .failed = event { true } else { false } }

        mutating func fail(_ error: APIError) {
            event = .failed(error)
            (attempt.errorCode, attempt.status) = (error.code.rawValue, error.status)
            attempt.requestID = error.requestID
        }
    }

    /// Tells the machine what happened to an entry, and carries out what it decides.
    ///
    /// - Returns: What has to be written into the file; `nil` where the entry stays as it is.
    private func decide(_ answer: Answer, _ lookup: OutboxLookup, _ memory: inout ReplayMemory) async -> WriteRecord? {
        let task = answer.task
        var event = answer.event
        while true {
            let action = memory.machine.handle(event, of: task, moment)
            takeNotes(&memory)
            guard let action else { return nil }
            do {
                switch action {
                case .locate(let error):
                    event = .located(try await lookup.whereIs(task.entry), error)
                case .prove(let error):
                    try await lookup.prove()
                    event = .proven(error)
                case .record(var outcome, var dueAt, let error):
                    if outcome.state == .delivered, let end = await lateEnd(task, lookup.interval) {
                        (outcome, dueAt) = (.queued(.settling(until: end)), end)
                    }
                    if task.entry.state != .queued, outcome.state == .delivered, memory.unseenSince == nil {
                        memory.unseenSince = time.uptime()
                    }
                    return WriteRecord(task, outcome: outcome, dueAt: dueAt, attempt: answer.attempt, error: error)
                }
            } catch {
                event = .unanswered(action, SyncFailure(error))
            }
        }
    }

    /// Until when an earlier edit of the item may still be applied over this one.
    private func lateEnd(_ task: OutboxTask, _ interval: Duration) async -> Timestamp? {
        guard task.entry.kind == .edit else { return nil }
        do {
            return try await store.lateEnd(of: task, interval: interval, now: time.now())
        } catch {
            // Then it is compared once more.
            log(.warning, .store, "#\(task.entry.id): its earlier requests could not be read: \(error.message)")
            return time.now().advanced(by: interval)
        }
    }

    // MARK: Sending

    /// Sends an entry that is `sending` in the file, and those after it that need nothing asked before.
    ///
    /// One request is under way at a time. While a few are sent one after another, what the ones before them brought is
    /// written, and the ones after them begun, in one transaction: nothing waits for its fsync.
    private func sendInTurn(from first: OutboxTask, _ lookup: OutboxLookup, _ memory: inout ReplayMemory) async {
        var batch = [first]
        var answered: [WriteRecord] = []
        while !batch.isEmpty {
            let tasks = batch
            memory.machine.gate.blocker = nil
            for task in tasks where task.entry.kind.isCreation { memory.machine.gate.pace.noteSent(at: time.uptime()) }
            async let answers = answers(to: tasks, lookup)
            batch = await record(answered, thenSending: readyKinds(lookup.dialect, memory), &memory)
            answered = []
            let arrived = await checked(await answers, lookup.dialect)
            let unsent = tasks.dropFirst(arrived.count)
            let isStopped = arrived.last?.isFailure ?? true || !unsent.isEmpty
            memory.machine.gate.pace.noteUnsent(unsent.count { $0.entry.kind.isCreation })
            for answer in arrived {
                // What was delivered is written before anything more is asked.
                if answer.isFailure, !answered.isEmpty {
                    await record(answered, &memory)
                    answered = []
                }
                if let record = await decide(answer, lookup, &memory) { answered.append(record) }
            }
            if isStopped || Task.isCancelled {
                await record(answered + (unsent + batch).map(returned), &memory)
                return
            }
            if batch.isEmpty {
                batch = await record(answered, thenSending: readyKinds(lookup.dialect, memory), &memory)
                answered = []
            }
        }
    }

    /// It was begun, and then nothing of it was sent.
    private func returned(_ task: OutboxTask) -> WriteRecord {
        WriteRecord(
            task, outcome: .queued(.stopped()), dueAt: time.now(), attempt: OutboxAttempt(.send, startedAt: time.now()))
    }

    /// Entries that need nothing asked before they are sent, and that may be sent now: taken up with the move of the one
    /// before, so that an entry costs one fsync and not two.
    private func readyKinds(_ dialect: Dialect, _ memory: ReplayMemory) -> Set<OutboxEntry.Kind> {
        let uptime = time.uptime()
        guard !Task.isCancelled, memory.provenSession(at: uptime) != nil else { return [] }
        return memory.machine.gate.sendable(at: uptime).intersection(
            dialect == .cursor ? [.capture, .delete] : [.delete])
    }

    /// Sends one after another, up to the first that fails.
    private func answers(to tasks: [OutboxTask], _ lookup: OutboxLookup) async -> [Answer] {
        var answers: [Answer] = []
        for task in tasks where answers.isEmpty || !Task.isCancelled && answers.last?.isFailure == false {
            let attempt = OutboxAttempt(.send, startedAt: time.now())
            var answer = Answer(task: task, attempt: attempt, event: .accepted(WriteOutcome.Delivery()))
            do throws(APIError) {
                let (delivery, requestID) = try await request(task, lookup)
                (answer.event, answer.attempt.requestID) = (.accepted(delivery), requestID)
            } catch {
                answer.fail(error)
            }
            answer.attempt.endedAt = time.now()
            answers.append(answer)
        }
        return answers
    }

    /// An answer that was given to another request, or names an item that was there before, says nothing of what was sent: the
    /// server is asked what it has. Checked only now, because the store writes down the answers before these while requests are
    /// under way.
    private func checked(_ answers: [Answer], _ dialect: Dialect) async -> [Answer] {
        var checked = answers
        for (index, answer) in answers.enumerated() {
            let entry = answer.task.entry
            guard case .accepted(let delivery) = answer.event, let id = delivery.serverID,
                case .create(let item) = entry.payload
            else { continue }
            let search = CreationSearch(item: item, evidence: answer.task.evidence, dialect: dialect)
            var flaw = "it names an item that was there before"
            do {
                let isKnown = try await !store.knownIDs(among: [id], before: entry.id).isEmpty || search.knows(id)
                if let shown = delivery.item, !search.isShown(by: shown) {
                    flaw = "it shows another item"
                } else if !isKnown, made.withLock({ $0.insert(id) }) {
                    continue
                }
            } catch {
                // It is looked up, as if it were known.
                log(.warning, .store, "#\(entry.id): its answer could not be checked: \(error.message)")
            }
            checked[index].fail(
                APIError(
                    kind: .decodingError(.unexpectedShape(flaw)), endpoint: "the write of a \(entry.kind.rawValue)",
                    status: 200, requestID: answer.attempt.requestID ?? "none", mayHaveReachedServer: true))
        }
        return checked
    }

    private func request(
        _ task: OutboxTask, _ lookup: OutboxLookup
    ) async throws(APIError) -> (WriteOutcome.Delivery, requestID: String) {
        let (dialect, session, entry, key) = (lookup.dialect, lookup.session, task.entry, task.entry.idempotencyKey)
        switch entry.payload {
        case .create(let item):
            let created = try await session.create(item, dialect: dialect, key: key)
            return (WriteOutcome.Delivery(serverID: created.id, item: created.item), created.requestID)
        case .edit(let edit):
            let (item, requestID) = try await session.update(entry.itemID, edit, dialect: dialect, key: key)
            let theirs = ItemEdit(item, expecting: [edit.summary, entry.base?.summary])
            if EditComparison.isIgnored(edit, base: entry.base, theirs: theirs) {
                // As a failure of the server's, which every edit meets perhaps: tried now and then, and parked after a day.
                throw APIError(
                    kind: .serverError(message: "it answers that the edit was done, and shows the item as it was"),
                    endpoint: "the edit of an item", status: 200, requestID: requestID, mayHaveReachedServer: true)
            }
            return (WriteOutcome.Delivery(fields: edit.sameFields(of: theirs), updatedAt: item.updatedAt), requestID)
        case .delete:
            return (WriteOutcome.Delivery(), try await session.delete(entry.itemID, dialect: dialect, key: key))
        }
    }
}
