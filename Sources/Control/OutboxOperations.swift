package import PRSNLCore
package import Reports
package import Store

/// What can be asked of the outbox, and changed otherwise in the file, over an open store: in the daemon, and in prsnlctl while the daemon is stopped, so
/// that both answer alike.
package struct OutboxOperations: Sendable {
    private let store: Store
    private let source: StatusReport.Source
    private let now: @Sendable () -> Timestamp
    private let connectivity: @Sendable () -> StatusReport.Connectivity?
    private let wait: @Sendable () -> QueueReport.Wait?
    private let sending: @Sendable () -> Sending

    /// - Parameters:
    ///   - connectivity: whether the server can be used; `nil` where nobody asks it.
    ///   - wait: until when the server has asked not to send.
    ///   - sending: when what is queued now will be sent.
    package init(
        store: Store, source: StatusReport.Source, now: @escaping @Sendable () -> Timestamp,
        connectivity: @escaping @Sendable () -> StatusReport.Connectivity? = { nil },
        wait: @escaping @Sendable () -> QueueReport.Wait? = { nil }, sending: @escaping @Sendable () -> Sending
    ) {
        self.connectivity = connectivity
        self.wait = wait
        self.store = store
        self.source = source
        self.now = now
        self.sending = sending
    }

    /// `nil` for a request that is not the outbox's, or not one that a store can answer (`wait`).
    package func answer(_ request: ControlRequest) async throws(UserFacingError) -> ControlReply? {
        switch request {
        case .write(let writes, let isBrief):
            let acceptances = try await store.accept(writes, now: now())
            return isBrief
                ? .tally(WriteTally(acceptances, source: source, sending: sending()))
                : .write(WriteReport(acceptances, source: source, sending: sending()))
        case .retry(let entries, let parked, let dryRun):
            let outcome = try await store.retry(entries, parked: parked, dryRun: dryRun, now: now())
            return .retry(RetryReport(outcome, dryRun: dryRun, source: source, sending: sending()))
        case .drop(let entries, let withDependents, let dryRun):
            let outcome = try await store.drop(entries, withDependents: withDependents, dryRun: dryRun, now: now())
            return .drop(DropReport(outcome, dryRun: dryRun, source: source))
        case .queue, .entry:
            return try Self.read(
                request, path: store.path, source: source, connectivity: connectivity(), wait: wait(), now: now())
        case .errors(clear: true):
            return .errors(
                ErrorsReport([], cleared: try await store.forgetErrors(), source: source, now: now()))
        case .status, .history, .sync, .wait, .ping, .net, .errors(clear: false), .loginCheck, .login, .logout,
            .whoami, .account:
            return nil
        }
    }

    /// `queue` and `entry`, for which anybody's look at the file is enough; `nil` for anything else.
    package static func read(
        _ request: ControlRequest, path: String, source: StatusReport.Source,
        connectivity: StatusReport.Connectivity? = nil, wait: QueueReport.Wait? = nil, now: Timestamp
    ) throws(UserFacingError) -> ControlReply? {
        switch request {
        case .queue(let filter, let limit):
            let list = try StoreReader(path: path).outbox(filter, limit: limit)
            return .queue(
                QueueReport(list, filter: filter, source: source, connectivity: connectivity, wait: wait, now: now))
        case .entry(let number):
            let (entry, attempts) = try StoreReader(path: path).outboxEntry(number)
            return .entry(
                EntryReport(entry, attempts, source: source, connectivity: connectivity, wait: wait, now: now))
        default: return nil
        }
    }
}
