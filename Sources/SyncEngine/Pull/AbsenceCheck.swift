import PRSNLClient
import PRSNLCore
import Store

/// Decides about items that a complete sweep did not see: asks for each by its id, and deletes those that are gone.
struct AbsenceCheck {
    let store: Store
    let identity: Identity
    let time: TimeSource
    let requests: RequestCounter

    /// Servers cache single items for 30 minutes; a deleted one that is still answered is asked for again after this.
    static let cacheTime: Duration = .seconds(35 * 60)
    private static let batch = 50
    /// So many of too many deletion candidates are asked for before a person is asked about all.
    private static let sample = 5
    /// So many in a row that the server does not answer for: then it is the server's trouble, not the items'.
    private static let fruitless = 3

    /// More deletions at once than this are not believed: a server that lost its data must not empty the copy. Each of them is
    /// answered 404 by its id, and tombstones keep item and text, so people are not asked about what they tidy up.
    static func believable(live: Int) -> Int { max(20, live / 50) }

    /// - Parameters:
    ///   - accepted: A person believes the deletions that were held back: those, and no others.
    ///   - manual: A person wants to know now, and so deletion candidates that wait for a cache, or after a failure, are asked for at once.
    /// - Returns: How many deletions are held back for a person's word.
    func run(_ record: inout PullRecord, accepted: Bool, manual: Bool) async throws(SyncFailure) -> Int {
        do {
            while accepted, case let held = try await store.heldDeletionCandidates(limit: Self.batch), !held.isEmpty {
                try await decide(held, &record)
                try await store.releaseHeld(held)
            }
            if manual { try await store.askUnansweredAgain(at: time.now()) }
            let believable = Self.believable(live: try await store.liveCount())
            try await store.forgetHeld(unlessMoreThan: believable)
            let start = time.now()
            let cutoff = manual ? start.previous : start.advanced(by: .zero - Self.cacheTime)
            if try await store.deletionCandidateCount(foundBefore: cutoff, now: start) > believable {
                try await setAside(foundBefore: cutoff)
            }
            // Those that were found leave the list by that, those that are gone by their tombstones.
            while case let suspects = try await store.deletionCandidates(
                foundBefore: cutoff, now: time.now(), limit: Self.batch), !suspects.isEmpty
            {
                try await decide(suspects, &record)
            }
            try await deleteCreationsThatAreGone()
            try await store.forgetAnswered()
            return try await store.deletionsHeld()
        } catch {
            throw SyncFailure(error)
        }
    }

    /// Too many deletion candidates at once. A person is asked about them where some are gone indeed. A person accepts
    /// what was reported, so while others are held these wait until those are decided.
    private func setAside(foundBefore cutoff: Timestamp) async throws {
        if try await store.deletionsHeld() == 0 {
            let sample = try await store.deletionCandidates(
                foundBefore: cutoff, now: time.now(), limit: Self.sample, sampling: true)
            guard try await ask(sample).isEmpty else {
                return try await store.holdDeletionCandidates(foundBefore: cutoff, now: time.now())
            }
            // The list lacks what the server has: they are not deleted, or it does not know it yet.
        }
        try await store.noteSampled(at: time.now())
    }

    /// An item that was made here and delivered, and that pulls do not show: the server works on it for long, or another client
    /// has deleted it before it was ever pulled.
    private func deleteCreationsThatAreGone() async throws {
        let limit = time.now().advanced(by: .zero - Self.cacheTime)
        let missing = try await store.missingCreations(deliveredBefore: limit, now: time.now(), most: Self.batch)
        for id in try await ask(missing) { try await store.deleteCreation(id, at: time.now()) }
    }

    private func decide(_ ids: [String], _ record: inout PullRecord) async throws {
        let asOf = await store.deliveries
        let gone = try await ask(ids)
        guard !gone.isEmpty else { return }
        record = try await store.deleteMissing(gone, at: time.now(), record: record, asOf: asOf)
    }

    /// Asks for each by its id, and notes those that are found.
    ///
    /// One that cannot be asked for waits by itself and is named; the others are not held up by it.
    ///
    /// - Returns: Those that are gone, by the answers to the copy's account.
    /// - Throws: `SyncFailure` where it is not the items' trouble.
    private func ask(_ ids: [String]) async throws -> [String] {
        var gone: [String] = []
        var failures = 0
        var session = try await identity.session()
        for id in ids {
            let exists: Bool
            do {
                exists = try await itemExists(id, &session, mayEnd: gone.isEmpty)
                failures = 0
            } catch {
                failures += 1
                let failure = SyncFailure(error)
                guard failure.isOfOneItem else { throw failure }
                try await note(failure, of: id)
                guard failures < Self.fruitless else { throw failure }
                continue
            }
            if exists {
                try await store.noteFound(id, at: time.now(), cacheTime: Self.cacheTime)
                try await store.forgetAnswered([id])
            } else {
                gone.append(id)
            }
        }
        // After the answers, like every proof: they may have been given to another account's login.
        if !gone.isEmpty { try await identity.prove(session, counting: requests) }
        try await store.forgetAnswered(gone)
        return gone
    }

    /// - Parameter mayEnd: Nothing that needs a proof was read in the session, so that another one does as well.
    private func itemExists(
        _ id: String, _ session: inout ClientSession, mayEnd: Bool
    ) async throws -> Bool {
        requests.add()
        do throws(APIError) {
            return try await session.itemExists(id)
        } catch {
            guard mayEnd, error.kind == .sessionEnded else { throw error }
            session = try await identity.session()
            return try await session.itemExists(id)
        }
    }

    private func note(_ failure: SyncFailure, of id: String) async throws {
        let message =
            "The server's list lacks the item \(JSONText.string(String(id.prefix(80)))), and asking for it fails: "
            + failure.error.message
        let now = time.now()
        try await store.noteUnanswered(id, message: message) { failures in
            now.advanced(by: Backoff.items.step(failures))
        }
        try await store.recordError(
            code: .deletionUndecided, endpoint: failure.endpoint, message: message, at: now)
    }
}
