import Control
import PRSNLCore
import Reports
import Store
import SyncEngine

// Requests about writes.
extension RequestHandler {
    func addOutbox(to table: inout RequestTable) {
        on(WritesRequest.self, in: &table) { [self] request, _ throws(UserFacingError) in
            await engine.countReachable()
            return try await perform(request, manual: false)
        }
        on(TallyRequest.self, in: &table) { [self] request, _ throws(UserFacingError) in
            await engine.countReachable()
            return try await perform(request, manual: false)
        }
        on(RetryRequest.self, in: &table) { [self] request, _ throws(UserFacingError) in
            try await perform(request, manual: true)
        }
        on(DropRequest.self, in: &table) { [self] request, _ throws(UserFacingError) in
            try await perform(request, manual: false)
        }
        on(ClearErrorsRequest.self, in: &table) { [self] request, _ throws(UserFacingError) in
            try await request.perform(outbox)
        }
        on(RebuildIndexRequest.self, in: &table) { [self] request, _ throws(UserFacingError) in
            guard engine.state.keepsSearchIndex else {
                throw UserFacingError(
                    .usage, "The daemon keeps no index: its configuration has search_index = no.",
                    consequence: "Nothing was changed.",
                    recoverySuggestion: "Set search_index = yes and run `systemctl reload prsnld`.")
            }
            return try await request.perform(outbox)
        }
        on(QueueRequest.self, in: &table) { [self] request, _ throws(UserFacingError) in
            var list = try StoreReader(path: database).outbox(request.filter, limit: request.limit)
            list.entries = list.entries.map(asOfNow)
            return queueReport(list, request.filter)
        }
        on(EntryRequest.self, in: &table) { [self] request, _ throws(UserFacingError) in
            let (entry, attempts) = try StoreReader(path: database).outboxEntry(request.entry)
            let state = engine.state
            return EntryReport(
                asOfNow(entry), attempts, source: .daemon, connectivity: state.connectivity, wait: state.serverWait,
                now: time.now())
        }
        on(DeliveryRequest.self, in: &table) { [self] request, conversation throws(UserFacingError) in
            try await waitForDelivery(request, conversation)
        }
    }

    private var outbox: OutboxOperations {
        OutboxOperations(
            store: store, source: .daemon, now: time.now,
            sending: { [engine] in Sending(engine.state) })
    }

    /// - Parameter manual: A person wants what waits to be tried now.
    private func perform<Request: OutboxRequest>(
        _ request: Request, manual: Bool
    ) async throws(UserFacingError) -> Request.Answer {
        let answer = try await request.perform(outbox)
        if request.isChange { engine.writesAccepted(manual: manual) }
        return answer
    }

    private func queueReport(_ list: OutboxList, _ filter: OutboxFilter) -> QueueReport {
        let state = engine.state
        return QueueReport(
            list, filter: filter, source: .daemon, connectivity: state.connectivity, wait: state.serverWait,
            problem: state.hindrance?.error, now: time.now())
    }

    /// An entry with what only the replayer knows: until when it is left alone, and what keeps all that is due from being
    /// sent.
    private func asOfNow(_ entry: OutboxEntry) -> OutboxEntry {
        guard let dueAt = entry.nextAttemptAt else { return entry }
        let state = engine.state
        let now = time.now()
        var entry = entry
        if let until = state.refusedUntil[entry.id] { entry.nextAttemptAt = until }
        let nextTry = state.hindrance?.until ?? now
        if let hindrance = state.hindrance, dueAt <= max(now, nextTry) {
            entry.nextAttemptAt = max(dueAt, nextTry)
            entry.errorCode = hindrance.error.code.rawValue
            entry.errorMessage = hindrance.error.message
        }
        return entry
    }

    private func waitForDelivery(
        _ request: DeliveryRequest, _ conversation: ControlConversation
    ) async throws(UserFacingError) -> DeliveryReport {
        var last: QueueReport?
        try await engine.waitForDelivery(request.entries, atMost: request.atMost) { first in
            let report = queueReport(OutboxList(entries: [asOfNow(first)], total: 1), .open)
            if let last, report.waitsAs(last) { return }
            last = report
            conversation.send(WaitingReport(report))
        }
        return DeliveryReport(try await store.outboxEntries(request.entries).map(asOfNow))
    }
}

extension QueueReport {
    /// Whether nothing has happened to its entry since, but that time has passed.
    fileprivate func waitsAs(_ earlier: QueueReport) -> Bool {
        guard let entry = entries.first, let other = earlier.entries.first else { return false }
        return entry.entry == other.entry && entry.state == other.state && entry.attempts == other.attempts
            && entry.error == other.error && entry.awaitsItem == other.awaitsItem && entry.behind == other.behind
            && connectivity?.state == earlier.connectivity?.state && wait == earlier.wait
    }
}

extension Sending {
    init(_ state: EngineState) {
        self =
            switch state.connectivity.state {
            case .online: state.hindrance == nil ? .inTurn : .whenPossible
            case .unauthorized: .whenAuthorized
            case .unknown, .offline, .unreachable, .portal: .whenReachable
            }
    }
}
