import Configuration
import PRSNLClient
import PRSNLCore
import Store

// One entry at a time: ask what has to be known, send, and write down what the machine makes of the answer.
extension Replayer {
    func handle(
        _ task: OutboxTask, _ dialect: Dialect, _ session: ClientSession, _ memory: inout ReplayMemory
    ) async {
        let lookup = OutboxLookup(
            store: store, client: client, session: session, identity: identity, time: time, dialect: dialect)
        let attempt = OutboxAttempt(.lookup, startedAt: time.now())
        do {
            if task.entry.state == .unknown {
                let outcome = try await lookup.conclude(task, interval: shared.settings.lookupInterval)
                await record(.lookedUp(outcome), task, attempt, lookup, &memory)
            } else {
                try await prepare(task, attempt, lookup, &memory)
            }
        } catch {
            let failure = SyncFailure(error)
            if failure.origin == .database { await noteRefusal(by: failure.error) }
            var attempt = attempt
            attempt.errorCode = failure.error.code.rawValue
            await record(.lookupFailed(failure), task, attempt, lookup, &memory)
        }
    }

    /// Asks what must be known before the first byte, and sends it where that does not settle it.
    private func prepare(
        _ task: OutboxTask, _ attempt: OutboxAttempt, _ lookup: OutboxLookup, _ memory: inout ReplayMemory
    ) async throws {
        switch task.entry.payload {
        case .delete: try await send(task, nil, lookup, &memory)
        case .create(let item):
            // The cursor dialect can be asked for a URL afterwards.
            let needsNone = item.url != nil && lookup.dialect == .cursor
            try await send(task, needsNone ? nil : try await lookup.evidence(), lookup, &memory)
        case .edit(let edit) where edit.isEmpty:
            // What was asked for was asked for anew since, and that is delivered.
            await record(.lookedUp(.delivered(WriteOutcome.Delivery())), task, attempt, lookup, &memory)
        case .edit(let edit):
            if try await store.awaitsOn(task.entry, now: time.now()) { return }
            let (outcome, edit, theirs) = try await lookup.compare(edit, task)
            if case .queued = outcome {
                var task = task
                task.entry.payload = .edit(edit)
                // An answer that shows the same again has not taken the edit.
                task.entry.base = theirs
                return try await send(task, nil, lookup, &memory)
            }
            await record(.lookedUp(outcome), task, attempt, lookup, &memory)
        }
    }

    // MARK: Deciding

    private func record(
        _ event: OutboxMachine.Event, _ task: OutboxTask, _ attempt: OutboxAttempt, _ lookup: OutboxLookup,
        _ memory: inout ReplayMemory
    ) async {
        guard let record = await decide(event, task, attempt, lookup, &memory) else { return }
        _ = await self.record([record], &memory)
    }

    /// Tells the machine what happened to an entry, and carries out what it decides.
    ///
    /// - Returns: What has to be written into the file; `nil` where the entry stays as it is.
    private func decide(
        _ event: OutboxMachine.Event, _ task: OutboxTask, _ attempt: OutboxAttempt, _ lookup: OutboxLookup,
        _ memory: inout ReplayMemory
    ) async -> WriteRecord? {
        var event = event
        while true {
            let step = memory.machine.handle(event, of: task, moment)
            for note in step.notes { take(note, &memory) }
            switch step.action {
            case .locate(let error, let mayBeForeign)?:
                event = await locate(task.entry, error, exists: !mayBeForeign, lookup)
            case .prove(let error)?: event = await prove(error, lookup)
            case .record(var outcome, var dueAt, let error)?:
                if outcome.state == .delivered, let end = await lateEnd(task) {
                    (outcome, dueAt) = (.queued(.settling(until: end)), end)
                }
                if task.entry.state != .queued, outcome.state == .delivered, memory.unseenSince == nil {
                    memory.unseenSince = time.uptime()
                }
                var attempt = attempt
                attempt.endedAt = attempt.endedAt ?? time.now()
                return WriteRecord(task, outcome: outcome, dueAt: dueAt, attempt: attempt, error: error)
            case nil: return nil
            }
        }
    }

    /// Until when an earlier edit of the item may still be applied over this one.
    private func lateEnd(_ task: OutboxTask) async -> Timestamp? {
        guard task.entry.kind == .edit else { return nil }
        do {
            return try await store.lateEnd(of: task, interval: shared.settings.lookupInterval, now: time.now())
        } catch {
            // Then it is compared once more.
            log(.warning, .store, "#\(task.entry.id): its earlier requests could not be read: \(error.message)")
            return time.now().advanced(by: shared.settings.lookupInterval)
        }
    }

    private func locate(
        _ entry: OutboxEntry, _ error: APIError, exists: Bool, _ lookup: OutboxLookup
    ) async -> OutboxMachine.Event {
        do throws(SyncFailure) {
            return .located(try await lookup.whereIs(entry, exists: exists), error)
        } catch {
            return .locationFailed(error)
        }
    }

    private func prove(_ error: APIError, _ lookup: OutboxLookup) async -> OutboxMachine.Event {
        do throws(SyncFailure) {
            try await lookup.prove()
            return .proven(error)
        } catch {
            return .proofFailed(error)
        }
    }

    // MARK: Sending

    private func send(
        _ task: OutboxTask, _ evidence: SendEvidence?, _ lookup: OutboxLookup, _ memory: inout ReplayMemory
    ) async throws {
        guard try await store.beginSending(task, evidence: evidence, now: time.now()) else { return }
        var begun = task
        begun.entry.state = .sending
        begun.entry.attempts += 1
        begun.evidence = evidence
        await sendInTurn(from: begun, lookup, &memory)
    }

    /// Sends an entry that is `sending` in the file, and those after it that need nothing asked before.
    ///
    /// One request is under way at a time. While a few are sent one after another, what the ones before them brought is
    /// written, and the ones after them begun, in one transaction: nothing waits for its fsync.
    private func sendInTurn(from first: OutboxTask, _ lookup: OutboxLookup, _ memory: inout ReplayMemory) async {
        var batch = [first]
        var answered: [WriteRecord] = []
        while !batch.isEmpty {
            let tasks = batch
            memory.machine.gate.noteSending(tasks.map(\.entry.kind), at: time.uptime())
            async let answers = answers(to: tasks, lookup)
            batch = await takeUp(after: answered, lookup.dialect, &memory)
            answered = []
            let arrived = await checked(await answers)
            let unsent = tasks.dropFirst(arrived.count)
            for (number, answer) in arrived.enumerated() {
                if case .failed = answer.event, number == arrived.count - 1 {
                    memory.machine.gate.noteUnsent(unsent.map(\.entry.kind))
                    // What was delivered is written before anything more is asked.
                    if !answered.isEmpty { _ = await record(answered, &memory) }
                    let failed = await decide(answer.event, answer.task, answer.attempt, lookup, &memory)
                    _ = await record((failed.map { [$0] } ?? []) + (unsent + batch).map(returned), &memory)
                    return
                }
                let record = await decide(answer.event, answer.task, answer.attempt, lookup, &memory)
                if let record { answered.append(record) }
            }
            if Task.isCancelled || !unsent.isEmpty {
                _ = await record(answered + (unsent + batch).map(returned), &memory)
                return
            }
            if batch.isEmpty {
                batch = await record(answered, thenSending: readyKinds(lookup.dialect, memory), &memory)
                answered = []
            }
        }
    }

    /// So many are `sending` in the file at most, besides those under way: what a kill leaves to be looked up.
    private static let batchSize = 4

    /// Writes what the last entries brought, and begins the next ones.
    private func takeUp(
        after answered: [WriteRecord], _ dialect: Dialect, _ memory: inout ReplayMemory
    ) async -> [OutboxTask] {
        let unprepared = readyKinds(dialect, memory)
        if !answered.isEmpty { return await record(answered, thenSending: unprepared, &memory) }
        do {
            return try await store.beginNext(
                now: time.now(), of: memory.machine.gate.sendable(at: time.uptime()), unprepared: unprepared,
                excluding: memory.machine.gate.refusals.leftAlone(at: time.uptime()), most: batch(memory))
        } catch {
            // Its turn comes again; what must not be lost is not in it.
            log(.warning, .store, "the next entry could not be begun: \(error.message)")
            return []
        }
    }

    func batch(_ memory: ReplayMemory) -> Int {
        min(Self.batchSize, max(1, memory.machine.gate.pace.room(at: time.uptime())))
    }

    /// It was begun, and then nothing of it was sent.
    private func returned(_ task: OutboxTask) -> WriteRecord {
        WriteRecord(
            task, outcome: .queued(.stopped()), dueAt: time.now(), attempt: OutboxAttempt(.send, startedAt: time.now()))
    }

    /// Entries that need nothing asked before they are sent, and that may be sent now: taken up with the move of the one
    /// before, so that an entry costs one fsync and not two.
    private func readyKinds(_ dialect: Dialect, _ memory: ReplayMemory) -> Set<OutboxEntry.Kind> {
        guard !Task.isCancelled, let proof = memory.proof, proof.session.isCurrent,
            time.uptime() - proof.at < Self.proofLife
        else { return [] }
        let sendable = memory.machine.gate.sendable(at: time.uptime())
        return sendable.intersection(dialect == .cursor ? [.capture, .delete] : [.delete])
    }

    /// What became of one request.
    private struct Answer: Sendable {
        var task: OutboxTask
        var attempt: OutboxAttempt
        var event: OutboxMachine.Event
    }

    /// Sends one after another, up to the first that fails.
    private func answers(to tasks: [OutboxTask], _ lookup: OutboxLookup) async -> [Answer] {
        var answers: [Answer] = []
        for task in tasks where answers.isEmpty || !Task.isCancelled {
            var attempt = OutboxAttempt(.send, startedAt: time.now())
            do throws(APIError) {
                let (delivery, requestID) = try await request(task, lookup)
                attempt.endedAt = time.now()
                attempt.requestID = requestID
                answers.append(Answer(task: task, attempt: attempt, event: .accepted(delivery)))
            } catch {
                attempt.endedAt = time.now()
                attempt.errorCode = error.code.rawValue
                attempt.status = error.status
                attempt.requestID = error.requestID
                answers.append(Answer(task: task, attempt: attempt, event: .failed(error)))
                break
            }
        }
        return answers
    }

    /// An answer that names an item which the copy had before the send says nothing of what was sent. Asked only now, because
    /// the store writes down the answers before these while requests are under way.
    private func checked(_ answers: [Answer]) async -> [Answer] {
        var checked = answers
        for (index, answer) in answers.enumerated() where answer.task.entry.kind.isCreation {
            guard case .accepted(let delivery) = answer.event, let id = delivery.serverID else { continue }
            do {
                guard try await !store.knownIDs(among: [id], before: answer.task.entry.id).isEmpty else { continue }
            } catch {
                // It is looked up, as if it were known.
                log(.warning, .store, "#\(answer.task.entry.id): its answer could not be checked: \(error.message)")
            }
            checked[index].event = .failed(untrue(Self.namesAnother, answer.task.entry, answer.attempt.requestID))
        }
        return checked
    }

    private static let namesAnother = "it names an item that was there before"

    private func request(
        _ task: OutboxTask, _ lookup: OutboxLookup
    ) async throws(APIError) -> (WriteOutcome.Delivery, requestID: String?) {
        let (dialect, session) = (lookup.dialect, lookup.session)
        let entry = task.entry
        var delivery = WriteOutcome.Delivery()
        switch entry.payload {
        case .create(let item):
            let created = try await session.create(item, dialect: dialect, key: entry.idempotencyKey)
            // An answer that was given to another request says nothing of this one.
            let wasThere = task.evidence?.knownIDs.contains { ByteText($0) == ByteText(created.id) } ?? false
            if wasThere || made.withLock({ $0.contains(created.id) }) {
                throw untrue(Self.namesAnother, entry, created.requestID)
            }
            if let shown = created.item,
                !CreationSearch(item: item, evidence: task.evidence, dialect: dialect).isShown(by: shown)
            {
                throw untrue("it shows another item", entry, created.requestID)
            }
            made.withLock { $0.insert(created.id) }
            delivery.serverID = created.id
            delivery.item = created.item
            return (delivery, created.requestID)
        case .edit(let edit):
            let item = try await session.update(entry.itemID, edit, dialect: dialect, key: entry.idempotencyKey)
            let theirs = ItemEdit(item, expecting: [edit.summary, entry.base?.summary])
            if EditComparison.isIgnored(edit, base: entry.base, theirs: theirs) {
                // As a failure of the server's, which every edit meets perhaps: tried now and then, and parked after a day.
                throw APIError(
                    kind: .serverError(message: "it answers that the edit was done, and shows the item as it was"),
                    endpoint: "the edit of an item", status: 200, requestID: "none", mayHaveReachedServer: true)
            }
            delivery.fields = theirs.fields(of: edit)
            delivery.updatedAt = item.updatedAt
        case .delete:
            try await session.delete(entry.itemID, dialect: dialect, key: entry.idempotencyKey)
        }
        return (delivery, nil)
    }

    /// A 2xx that cannot be the answer to this write: the server is asked what it has.
    private func untrue(_ what: String, _ entry: OutboxEntry, _ requestID: String?) -> APIError {
        APIError(
            kind: .decodingError(.unexpectedShape(what)), endpoint: "the write of a \(entry.kind.rawValue)",
            status: 200, requestID: requestID ?? "none", mayHaveReachedServer: true)
    }
}
