import PRSNLCore

@testable import Store

extension Store {
    func beginSending(_ id: Int64, evidence: SendEvidence?, now: Timestamp) throws -> Bool {
        guard let task = try task(id) else { return false }
        return try beginSending(task, evidence: evidence, now: now)
    }

    func task(_ id: Int64) throws(UserFacingError) -> OutboxTask? {
        try read { connection in try OutboxTask.load(id, connection) }
    }

    func record(
        _ id: Int64, _ outcome: WriteOutcome, dueAt: Timestamp? = nil, purpose: OutboxAttempt.Purpose = .send,
        error: UserFacingError? = nil, now: Timestamp
    ) throws(UserFacingError) {
        guard let task = try task(id) else { throw Store.unknown(id) }
        let attempt = OutboxAttempt(purpose, startedAt: now)
        _ = try record(
            [WriteRecord(task, outcome: outcome, dueAt: dueAt, attempt: attempt, error: error)], now: now)
    }
}
