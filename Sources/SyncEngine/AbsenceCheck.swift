import PRSNLClient
import PRSNLCore
import Store

/// Decides about items that a complete sweep did not see: asks for each by its id, and buries those that are gone.
struct AbsenceCheck {
    let store: Store
    let client: PRSNLClient
    let identity: Identity
    let time: TimeSource
    let requests: RequestCounter

    /// Servers cache single items for 30 minutes; a deleted one that is still answered is asked for again after this.
    static let cacheTime: Duration = .seconds(35 * 60)
    /// Tombstones are kept this long.
    static let tombstoneLife: Duration = .seconds(30 * 86_400)
    /// Entries of the outbox that are over are kept this long.
    static let entryLife: Duration = .seconds(30 * 86_400)
    private static let batch = 50

    /// More deletions at once than this are not believed: a server that lost its data must not empty the copy.
    static func believable(live: Int) -> Int { max(5, live / 100) }

    /// - Returns: The record, and how many deletions are held back for a person's word.
    func run(
        record: PullRecord, accepted: Bool
    ) async throws(PullFailure) -> (record: PullRecord, held: Int) {
        var record = record
        do {
            let cutoff = time.now().advanced(by: .zero - Self.cacheTime)
            let count = try await store.suspectCount(foundBefore: cutoff)
            if count > Self.believable(live: try await store.liveCount()), !accepted {
                try await store.setDeletionsHeld(count)
                return (record, count)
            }
            // Those that were found leave the list by that, those that are gone by being buried.
            while case let suspects = try await store.suspects(foundBefore: cutoff, limit: Self.batch),
                !suspects.isEmpty
            {
                record = try await decide(suspects, record: record)
            }
            try await store.setDeletionsHeld(0)
            try await forgetCreationsThatAreGone()
            try await store.purgeTombstones(deletedBefore: time.now().advanced(by: .zero - Self.tombstoneLife))
            try await store.purgeOutbox(endedBefore: time.now().advanced(by: .zero - Self.entryLife))
        } catch {
            throw PullFailure(error)
        }
        return (record, 0)
    }

    /// An item that was made here and delivered, and that pulls do not show: the server works on it for long, or somebody
    /// has deleted it before it was ever pulled.
    private func forgetCreationsThatAreGone() async throws {
        let limit = time.now().advanced(by: .zero - Self.cacheTime)
        for id in try await store.missingCreations(deliveredBefore: limit, most: Self.batch) {
            requests.add()
            let witness = CredentialsWitness()
            guard try await !client.itemExists(id, witness: witness) else { continue }
            try await identity.prove([witness], counting: requests)
            try await store.forgetCreation(id)
        }
    }

    private func decide(_ ids: [String], record: PullRecord) async throws -> PullRecord {
        var gone: [String] = []
        let asOf = await store.deliveries
        let witness = CredentialsWitness()
        for id in ids {
            requests.add()
            if try await client.itemExists(id, witness: witness) {
                try await store.noteFound(id, at: time.now())
            } else {
                gone.append(id)
            }
        }
        guard !gone.isEmpty else { return record }
        // After the answers, like every proof: they may have been given to somebody else's login.
        try await identity.prove([witness], counting: requests)
        return try await store.bury(gone, at: time.now(), record: record, asOf: asOf)
    }
}
