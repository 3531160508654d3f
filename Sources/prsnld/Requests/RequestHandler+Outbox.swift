import Control
import PRSNLCore
import Reports
import Store
import SyncEngine

// Requests about writes.
extension RequestHandler {
    func answerOutbox(_ request: ControlRequest, _ conversation: ControlConversation) async throws(UserFacingError) {
        if case .wait(let entries, let atMost) = request {
            var last: QueueReport?
            try await engine.waitForDelivery(entries, atMost: atMost) { first in
                var report = QueueReport(
                    OutboxList(entries: [first], total: 1), filter: .open, source: .daemon,
                    connectivity: StatusReport.Connectivity(engine.state.connectivity),
                    wait: engine.state.serverWait.map(QueueReport.Wait.init), now: time.now())
                if let until = engine.state.refusedUntil[first.id] { report.entries[0].nextAttemptAt = until }
                if let last, report.waitsAs(last) { return }
                last = report
                conversation.send(.waiting(report))
            }
            return conversation.send(.delivery(DeliveryReport(try await store.outboxEntries(entries))))
        }
        let operations = OutboxOperations(
            store: store, source: .daemon, now: time.now,
            connectivity: { [engine] in StatusReport.Connectivity(engine.state.connectivity) },
            wait: { [engine] in engine.state.serverWait.map(QueueReport.Wait.init) },
            sending: { [engine] in Sending(engine.state.connectivity.state) })
        if case .write = request { await engine.countReachable() }
        guard let reply = try await operations.answer(request) else {
            throw UserFacingError(.controlProtocol, "This request cannot be answered here.")
        }
        let refused = engine.state.refusedUntil
        if let byHand = request.bringsWork { engine.writesAccepted(byHand: byHand) }
        conversation.send(reply.postponing(refused))
    }
}

extension ControlRequest {
    /// Whether a person wants what waits to be tried now; `nil` where there is nothing new to send.
    fileprivate var bringsWork: Bool? {
        switch self {
        case .write: false
        case .retry(_, _, let dryRun): dryRun ? nil : true
        case .drop(_, _, let dryRun): dryRun ? nil : false
        case .status, .history, .sync, .queue, .entry, .wait, .ping, .net, .errors: nil
        case .loginCheck, .login, .logout, .whoami, .account: nil
        }
    }
}

extension ControlReply {
    /// Entries that were refused are due, by the file; the replayer leaves them alone for a while.
    fileprivate func postponing(_ refused: [Int64: Timestamp]) -> ControlReply {
        func postpone(_ entry: inout QueueReport.Entry) {
            if entry.nextAttemptAt != nil, let until = refused[entry.entry] { entry.nextAttemptAt = until }
        }
        switch self {
        case .queue(var report):
            for index in report.entries.indices { postpone(&report.entries[index]) }
            return .queue(report)
        case .entry(var report):
            postpone(&report.entry)
            return .entry(report)
        default: return self
        }
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
