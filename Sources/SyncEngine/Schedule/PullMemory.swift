import Configuration
import PRSNLCore
import Store

/// What the loop knows besides the file.
struct PullMemory {
    var schedule: Schedule
    var newAsOf: Timestamp?
    /// How far the server's clock was ahead of ours at the last poll of the newest items.
    var serverAhead: Duration?
    var savedNewAsOf: Timestamp?
    var etag: String?
    /// Dialects P and E: how many items the server said it has, when the copy was last found to agree with it.
    var listTotal: Int?
    /// Those less the ones in the copy: items that are hidden, or could not be read.
    var surplus = 0
    var held = 0
    /// Whether there is no next time.
    var isOnce = false
    /// What is being done now. Each has a backoff of its own.
    var stage = Stage.head
    /// What failed below the newest items and has not succeeded since.
    var deepProblem: UserFacingError?
    /// What failed of the texts, likewise.
    var textsProblem: UserFacingError?

    /// The longest answer that the client takes, in bytes.
    let answerLimit: Int
    /// The limit of a text's size that the file's list of too large ones was compared with.
    var textLimit: Int?

    init(schedule: Schedule, answerLimit: Int) {
        self.schedule = schedule
        self.answerLimit = answerLimit
    }

    enum Stage: Sendable {
        /// Looking at the newest items.
        case head
        /// Everything else of the timeline.
        case deep
        case texts

        var setback: WritableKeyPath<Schedule, Schedule.Setback> {
            switch self {
            case .head: \.head
            case .deep: \.deep
            case .texts: \.texts
            }
        }
    }
}

extension PullMemory {
    /// Brings what the schedule knows up to date with the file.
    mutating func remember(_ store: Store, now: Timestamp, log: LogHandler) async {
        let coverage = await store.coverage
        schedule.editsAsOf = coverage.oldestRead
        schedule.isSweeping = coverage.sweepStart != nil
        schedule.hasGaps = !coverage.intervals.isEmpty && !coverage.isComplete
        schedule.isComplete = coverage.isComplete
        do {
            schedule.live = try await store.liveCount()
            if textLimit != schedule.settings.textMaxSize {
                try await store.forgetTooLarge(text: schedule.settings.textMaxSize, answer: answerLimit)
                textLimit = schedule.settings.textMaxSize
            }
            schedule.textsDue = schedule.settings.texts ? try await store.nextText(now: now) : nil
            schedule.deletionCandidatesDue = try await store.deletionCandidatesDue(after: AbsenceCheck.cacheTime)
            let limit = (store.serverNow ?? .earliest).advanced(by: .zero - Puller.pendingLimit)
            schedule.hasPending = try await store.oldestPending(notBefore: limit) != nil
            held = try await store.deletionsHeld()
            if newAsOf == nil {
                newAsOf = try await store.newAsOf()
                savedNewAsOf = newAsOf
            }
            if serverAhead == nil { serverAhead = try await store.serverAhead() }
        } catch {
            log(.warning, .store, "the schedule could not be read from the file: \(error.message)")
        }
    }

    /// A clock that was set back makes times of the past look like times to come. What was read then is not as new as its time
    /// says, however little that lies ahead: the step may have been a larger one, and another in between.
    mutating func distrustClock(_ store: Store, now: Timestamp, log: LogHandler) async {
        schedule.distrustClock(now: now)
        if let known = newAsOf, known > now {
            newAsOf = nil
            savedNewAsOf = nil
        }
        do {
            if try await store.distrust(timesAfter: now) { await remember(store, now: now, log: log) }
        } catch {
            log(.warning, .store, "times in the future could not be taken out of the file: \(error.message)")
        }
        schedule.editsAsOf = await store.coverage.oldestRead
    }

    /// Saves T1, where the file does not have it yet.
    mutating func saveNewAsOf(_ store: Store) async throws(UserFacingError) {
        guard let newAsOf, newAsOf != savedNewAsOf else { return }
        try await store.saveNewAsOf(newAsOf, serverAhead: serverAhead)
        savedNewAsOf = newAsOf
    }

    /// Why the copy is not complete although the pull succeeded.
    func shortcoming(_ store: Store) async -> UserFacingError? {
        if let problem = deepProblem { return problem }
        if held > 0 {
            return UserFacingError(
                .deletionsHeld,
                "\(Count.text(held, "item")) \(held == 1 ? "is" : "are") missing on the server, more than is believed at once.",
                consequence: "The copy still has them.")
        }
        do {
            let collision = try await store.timestampCollisions()
            guard let first = collision.first else { return try await Self.rejectedItems(store) }
            return UserFacingError(
                .crowdedInstant,
                "The server has possibly more items at \(first)"
                    + (collision.count > 1 ? " and \(Count.text(collision.count - 1, "other time"))" : "")
                    + " than it shows.", consequence: "Everything that can be reached is in the copy.")
        } catch {
            return error
        }
    }

    private static func rejectedItems(_ store: Store) async throws(UserFacingError) -> UserFacingError? {
        let count = try await store.rejectedCount()
        guard count > 0 else { return try await unanswered(store) }
        return UserFacingError(
            .itemsRejected, "\(Count.text(count, "item")) of the server could not be read.",
            consequence:
                "What could not be read is kept as it came, in the table rejected_item; everything else is in the copy."
        )
    }

    private static func unanswered(_ store: Store) async throws(UserFacingError) -> UserFacingError? {
        guard let (count, message) = try await store.unanswered() else { return nil }
        let others = count > 1 ? " So it is with \(count - 1) more." : ""
        return UserFacingError(
            .deletionUndecided, message + others, consequence: "The copy still has it; other deletions are not held up."
        )
    }
}
