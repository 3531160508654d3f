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
            return try await perform(request, byHand: false)
        }
        on(TallyRequest.self, in: &table) { [self] request, _ throws(UserFacingError) in
            await engine.countReachable()
            return try await perform(request, byHand: false)
        }
        on(RetryRequest.self, in: &table) { [self] request, _ throws(UserFacingError) in
            try await perform(request, byHand: true)
        }
        on(DropRequest.self, in: &table) { [self] request, _ throws(UserFacingError) in
            try await perform(request, byHand: false)
        }
        on(ClearErrorsRequest.self, in: &table) { [self] request, _ throws(UserFacingError) in
            try await request.perform(outbox)
        }
        on(RebuildIndexRequest.self, in: &table) { [self] request, _ throws(UserFacingError) in
            guard engine.state.indexesWords else {
                throw UserFacingError(
                    .usage, "The daemon keeps no index: its configuration has search_index = no.",
                    consequence: "Nothing was changed.",
                    recoverySuggestion: "Set search_index = yes and run `systemctl reload prsnld`.")
            }
            return try await request.perform(outbox)
        }
        on(QueueRequest.self, in: &table) { [self] request, _ throws(UserFacingError) in
            var report = QueueReport(
                try StoreReader(path: database).outbox(request.filter, limit: request.limit), filter: request.filter,
                source: .daemon, connectivity: connectivity, wait: serverWait, now: time.now())
            for index in report.entries.indices { postpone(&report.entries[index]) }
            return report
        }
        on(EntryRequest.self, in: &table) { [self] request, _ throws(UserFacingError) in
            let (entry, attempts) = try StoreReader(path: database).outboxEntry(request.entry)
            var report = EntryReport(
                entry, attempts, source: .daemon, connectivity: connectivity, wait: serverWait, now: time.now())
            postpone(&report.entry)
            return report
        }
        on(DeliveryRequest.self, in: &table) { [self] request, conversation throws(UserFacingError) in
            try await waitForDelivery(request, conversation)
        }
    }

    private var outbox: OutboxOperations {
        OutboxOperations(
            store: store, source: .daemon, now: time.now,
            sending: { [engine] in Sending(engine.state.connectivity.state) })
    }

    private var connectivity: StatusReport.Connectivity { StatusReport.Connectivity(engine.state.connectivity) }
    private var serverWait: QueueReport.Wait? { engine.state.serverWait.map(QueueReport.Wait.init) }

    /// - Parameter byHand: A person wants what waits to be tried now.
    private func perform<Request: OutboxRequest>(
        _ request: Request, byHand: Bool
    ) async throws(UserFacingError) -> Request.Answer {
        let answer = try await request.perform(outbox)
        if request.isChange { engine.writesAccepted(byHand: byHand) }
        return answer
    }

    /// An entry that was refused is due, by the file. The replayer leaves it alone for a while.
    private func postpone(_ entry: inout QueueReport.Entry) {
        if entry.nextAttemptAt != nil, let until = engine.state.refusedUntil[entry.entry] {
            entry.nextAttemptAt = until
        }
    }

    private func waitForDelivery(
        _ request: DeliveryRequest, _ conversation: ControlConversation
    ) async throws(UserFacingError) -> DeliveryReport {
        var last: QueueReport?
        try await engine.waitForDelivery(request.entries, atMost: request.atMost) { first in
            var report = QueueReport(
                OutboxList(entries: [first], total: 1), filter: .open, source: .daemon,
                connectivity: connectivity, wait: serverWait, now: time.now())
            if let until = engine.state.refusedUntil[first.id] { report.entries[0].nextAttemptAt = until }
            if let last, report.waitsAs(last) { return }
            last = report
            conversation.send(WaitingReport(report))
        }
        return DeliveryReport(try await store.outboxEntries(request.entries))
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

extension QueueReport.Wait {
    init(_ wait: EngineState.ServerWait) {
        self.init(creationsUntil: wait.creationsUntil, othersUntil: wait.othersUntil)
    }
}

extension Sending {
    init(_ state: Connectivity.State) {
        self =
            switch state {
            case .online: .inTurn
            case .unauthorized: .whenAuthorized
            case .unknown, .offline, .unreachable, .portal: .whenReachable
            }
    }
}
