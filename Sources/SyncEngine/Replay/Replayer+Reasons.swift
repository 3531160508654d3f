import PRSNLCore
import Store

// What people are told of the outbox: why nothing is sent, and until when.
extension Replayer {
    /// Tells those who look, those who wait and the list of errors how writes are taken: why nothing is sent, and when that
    /// is over.
    func publish(_ new: SendGate) async {
        let old = gate.withLock { gate in
            defer { gate = new }
            return gate.blocker
        }
        guard new.blocker != old else { return }
        changes.announce()
        guard let blocker = new.blocker else { return await endBlocker() }
        // The first, the second, the fourth and so on: hours of it are a few writes to the disk.
        let failures = blocker.failures
        guard !blocker.isOfDatabase, failures & (failures - 1) == 0 else { return }
        await SyncFailure.logged(
            log, "the error is remembered until it can be written", at: .debug,
            try await store.recordError(
                code: blocker.error.code, endpoint: Store.outboxEndpoint, message: blocker.error.message,
                times: max(1, failures / 2), at: time.now()))
    }

    func endBlocker() async {
        await SyncFailure.logged(
            log, "an error that is over stands in the list", at: .debug,
            try await store.endErrors(at: Store.outboxEndpoint))
    }

    /// Why nothing is sent, where something other than the network is the reason.
    var blocker: EngineState.Blocker? {
        let gate = gate.withLock { $0 }
        guard let blocker = gate.blocker, !network.current.state.isClosed else { return nil }
        return EngineState.Blocker(
            error: blocker.error, isLasting: blocker.isLasting, until: timestamp(gate.opensAt))
    }

    /// The disk does not take what has to be written before and after each request.
    func noteRefusal(by error: UserFacingError) async {
        refusedByDisk.withLock { $0 = error }
        await SyncFailure.logged(
            log, "the error is remembered until it can be written", at: .debug,
            try await store.recordError(code: error.code, endpoint: "database", message: error.message, at: time.now()))
    }

    /// What `status` and `queue` say of the server's wait.
    var serverWait: ServerWait? {
        let gate = gate.withLock { $0 }
        guard let creations = timestamp(max(gate.pace.nextAt(), gate.closedUntil)) else { return nil }
        return ServerWait(creationsUntil: creations, othersUntil: timestamp(gate.closedUntil))
    }

    /// When refused entries have their turn again.
    var refusedUntil: [Int64: Timestamp] { gate.withLock { $0.refusedUntil }.compactMapValues(timestamp) }

    /// `nil` where that is over.
    private func timestamp(_ uptime: Duration) -> Timestamp? {
        let left = uptime - time.uptime()
        return left > .zero ? time.now().advanced(by: left) : nil
    }
}
