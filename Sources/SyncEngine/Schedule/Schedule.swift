import Configuration
import PRSNLCore

/// What to do next, and when: a value that is told what happened and asked for the next step.
struct Schedule: Sendable, Equatable {
    enum Work: Sendable, Equatable {
        /// The newest items.
        case pull
        /// The gaps below them.
        case fill
        /// The whole line again, what is left of it, or a slice.
        case sweep
        /// The newest thousand again: what is new is edited more often.
        case recent
        /// Deletion candidates that were found once and have to be asked for again.
        case check
        case texts
    }

    var settings: SyncSettings
    /// Something was delivered that a pull would show.
    var wantsHead = false
    /// When the last pull began.
    var lastPull: Timestamp?
    /// When a pull last brought something new.
    var lastNews: Timestamp?
    /// How many pulls in a row saw items that the server is still working on.
    var pendingPolls = 0
    var hasPending = false
    /// T2: the last sweep that counts began then; `nil` while the copy has gaps.
    var editsAsOf: Timestamp?
    /// Whether a sweep was begun and not finished.
    var isSweeping = false
    var hasGaps = false
    var live = 0
    /// Whether work may be put off to later polls: there are some, and the server gives the timeline from any time on.
    var ridesOnPolls = false
    /// The poll that the last slice of a sweep came after.
    private var slicedPull: Timestamp?
    /// The first poll after an outage is followed by another one after this part of the interval, because all poll within minutes.
    private var partAfterReturn: Double?
    /// The part of the interval that the next poll comes after.
    private var partOfInterval = 1.0
    /// When the newest thousand were last read.
    private var lastRecent: Timestamp?
    var isComplete = false
    /// When the next deletion candidate is due to be asked for; `earliest` for one that never was.
    var deletionCandidatesDue: Timestamp?
    var lastCheck: Timestamp?
    /// When the next text is due to be asked for; `earliest` for one that never was.
    var textsDue: Timestamp?
    /// A person waits for the texts: only polls go first.
    var hurriesTexts = false
    /// The server, or the way to it, gives nothing to anybody before this.
    var closedUntil = Timestamp.earliest
    /// After an outage of the server, everything waits for this but who is waited for.
    private(set) var spreadUntil = Timestamp.earliest
    /// The same for a sweep that came due meanwhile.
    private(set) var sweepSpreadUntil = Timestamp.earliest
    /// Failures of pulls of the newest items.
    var head = Setback()
    /// Failures of everything else: one bad row far down on the server must not keep new items away.
    var deep = Setback()
    var texts = Setback()

    init(settings: SyncSettings) {
        self.settings = settings
    }

    /// A quiet account is looked at this much less often.
    private static let quietFactor = 3
    private static let quietAfter: Duration = .seconds(3_600)
    /// And so is one without news for a day.
    private static let idleFactor = 8
    private static let idleAfter: Duration = .seconds(86_400)
    /// Items that the server works on settle within seconds; the first poll comes after this, then ever later.
    private static let firstPendingPoll: Duration = .seconds(15)
    private static let smallCopy = 2_000
    /// One quiet daemon in three has noticed it: they may all come back within a minute.
    private static let shortOutage: Duration = .seconds(300)
    private static let longestSpread: Duration = .seconds(240)

    /// How often in a row something failed, and when it may be tried again.
    struct Setback: Sendable, Equatable {
        var failures = 0
        var notBefore = Timestamp.earliest
        /// A person has to do something about it, as it seemed.
        private(set) var isRefused = false
        /// When the first of them was.
        fileprivate var since = Timestamp.earliest
    }

    /// The most urgent work and when it is due; in the past means now.
    func next(now: Timestamp) -> (work: Work, at: Timestamp) {
        var best: (work: Work, at: Timestamp) = (.pull, pullAt(now: now))
        func consider(_ work: Work, _ at: Timestamp, _ setback: Setback) {
            let at = max(at, setback.notBefore, hurriesTexts && work == .texts ? .earliest : spreadUntil)
            if at < best.at, best.at > now { best = (work, at) }
        }
        let textsAt = textsDue.map { $0 == .earliest ? now : $0 }
        if hurriesTexts, let textsAt { consider(.texts, textsAt, texts) }
        if hasGaps { consider(.fill, now, deep) }
        if let due = deletionCandidatesDue {
            let due = due == .earliest ? now : due
            consider(.check, max(due, lastCheck?.advanced(by: Self.betweenChecks) ?? due), deep)
        }
        if isRecentDue { consider(.recent, now, deep) }
        if let sweepAt = sweepAt(now: now) { consider(.sweep, sweepAt, deep) }
        // Last: all else goes first.
        if let textsAt { consider(.texts, textsAt, texts) }
        best.at = max(best.at, closedUntil)
        return best
    }

    /// When the newest items are looked at next. A poll that failed is made up for when its backoff is over.
    func pullAt(now: Timestamp) -> Timestamp {
        if head.failures > 0 { return max(closedUntil, head.notBefore) }
        if wantsHead { return max(closedUntil, now) }
        return max(
            closedUntil, spreadUntil,
            lastPull.map { $0.advanced(by: Self.varied(pollInterval(now: now) * partOfInterval, since: $0)) } ?? now)
    }

    /// ± 10 %, so that daemons that were stopped, or kept out, together do not stay together. The microseconds of the time that an
    /// interval begins at are as good as a draw, and are the same when it is asked for again, also after a restart.
    static func varied(_ interval: Duration, since start: Timestamp, by share: Double = 0.1) -> Duration {
        let draw = Double(start.microseconds % 1_000) / 1_000
        return interval * (1 + 2 * share * (draw < 0.5 ? draw : draw - 1))
    }

    /// The server answers again. Where it was away itself for long, everybody has waited for it: who has nothing to send comes
    /// some minutes later, at random.
    ///
    /// - Parameter draws: from 0 to 1, at random.
    mutating func serverReturned(
        at now: Timestamp, after silence: Duration, draws: (pull: Double, next: Double, sweep: Double)
    ) {
        guard silence > Self.shortOutage else { return wantsHead = true }
        partAfterReturn = draws.next
        spreadUntil = now.advanced(by: min(silence - Self.shortOutage, Self.longestSpread) * draws.pull)
        if let editsAsOf, sweepDue(since: editsAsOf) <= now {
            sweepSpreadUntil = now.advanced(by: sweepInterval / 4 * draws.sweep)
        }
    }

    /// Lets everything be tried again at once.
    mutating func forgetFailures() {
        head = Setback()
        deep = Setback()
        texts = Setback()
        closedUntil = .earliest
        spreadUntil = .earliest
    }

    /// Forgets times that lie further in the future than they can have been set to: the clock was set back.
    mutating func distrustClock(now: Timestamp) {
        let limit = now.advanced(by: Self.clockTolerance)
        for time in [\Self.lastPull, \.lastNews, \.lastCheck] {
            if let last = self[keyPath: time], last > limit { self[keyPath: time] = nil }
        }
        if let last = lastRecent, last > limit { lastRecent = now }
        let longest = now.advanced(by: Backoff.pulls.cap + Self.clockTolerance)
        for time in [\Self.head.notBefore, \.deep.notBefore, \.closedUntil, \.spreadUntil]
        where self[keyPath: time] > longest {
            self[keyPath: time] = now
        }
        if texts.notBefore > now.advanced(by: Self.betweenAsking + Self.clockTolerance) { texts.notBefore = now }
        if sweepSpreadUntil > now.advanced(by: sweepInterval / 4 + Self.clockTolerance) { sweepSpreadUntil = now }
    }

    /// Small steps of the clock, as time servers make them, are no reason to doubt anything.
    static let clockTolerance: Duration = .seconds(60)
    private static let betweenChecks: Duration = .seconds(60)
    /// A server that has no texts is asked again after this.
    static let betweenAsking: Duration = .seconds(86_400)

    /// Whether something failed and is yet to be tried again.
    func isWaiting(now: Timestamp) -> Bool { head.failures > 0 || deep.notBefore > now }

    func pollInterval(now: Timestamp) -> Duration {
        if hasPending, pendingPolls < 16 {
            let soon = Self.firstPendingPoll * (1 << pendingPolls)
            if soon < settings.pollInterval { return soon }
        }
        guard let lastNews else { return settings.pollInterval * Self.quietFactor }
        return switch now.duration(since: lastNews) {
        case ..<Self.quietAfter: settings.pollInterval
        case ..<Self.idleAfter: settings.pollInterval * Self.quietFactor
        default: settings.pollInterval * Self.idleFactor
        }
    }

    mutating func headSucceeded(startedAt start: Timestamp, foundNews: Bool) {
        if lastPull == nil { lastRecent = start }
        // After a trouble of the server all poll within minutes, and are to do no more than that.
        if partAfterReturn != nil || head.failures > 0 { slicedPull = start }
        partOfInterval = partAfterReturn ?? 1
        partAfterReturn = nil
        // The first pull counts as news: an account that was just set up is one that its owner looks at.
        if foundNews || lastPull == nil { lastNews = start }
        pendingPolls = hasPending && !foundNews ? pendingPolls + 1 : 0
        lastPull = start
        wantsHead = false
        head = Setback()
    }
}

// Reading again what is here, because the timeline shows neither edits nor deletions.
extension Schedule {
    /// A sweep that rides on polls takes this part of its interval.
    private static let partOfSweep = 6
    /// And it begins before the interval is over, so that each item is read once in it, whichever polls the slices ride on.
    private static let beginOfSweep = 0.9
    /// Fewer slices would be as large as the sweep.
    private static let fewestSlices = 3
    /// From one reading of the newest thousand to the next poll that it may ride on, so that it is done once in an hour.
    private static let betweenRecent: Duration = .seconds(54 * 60)
    private static let pagesOfRecent = 11

    var sweepInterval: Duration {
        settings.sweepInterval ?? (live > Self.smallCopy ? .seconds(86_400) : .seconds(6 * 3_600))
    }

    /// Whether a sweep is carried out in slices, one after each poll. A small copy takes some requests in any case. Where the copy
    /// may be wrong about all of its edits, and where polls are too rare, it is done in one go.
    private var isSliced: Bool {
        ridesOnPolls && live > Self.smallCopy && editsAsOf != nil
            && sweepInterval / Self.partOfSweep >= settings.pollInterval * Self.idleFactor * Self.fewestSlices
    }

    private func sweepDue(since start: Timestamp) -> Timestamp {
        let wait =
            isSliced
            ? Self.varied(sweepInterval * Self.beginOfSweep, since: start, by: 0.02)
            : Self.varied(sweepInterval, since: start)
        return start.advanced(by: wait)
    }

    var nextSweep: Timestamp? { editsAsOf.map { max(sweepDue(since: $0), sweepSpreadUntil) } }

    /// When the sweep begins or goes on. `nil`: not before the next poll, or not at all.
    private func sweepAt(now: Timestamp) -> Timestamp? {
        guard let editsAsOf else { return isSweeping || isComplete ? now : nil }
        if isSliced {
            return lastPull != slicedPull && (isSweeping || sweepDue(since: editsAsOf) <= now) ? now : nil
        }
        return isSweeping ? now : max(sweepDue(since: editsAsOf), sweepSpreadUntil)
    }

    /// While items arrive, once an hour.
    private var isRecentDue: Bool {
        guard ridesOnPolls, isComplete, live > settings.pageSize, let lastPull, let lastNews, let lastRecent else {
            return false
        }
        return lastNews > lastRecent && lastPull.duration(since: lastRecent) >= Self.betweenRecent
    }

    /// How many pages a piece of work may read before it is left until after the next poll.
    ///
    /// A slice of a sweep is the share of the time until that poll. What was put off, by a machine that was asleep or a server that
    /// was away, is made up for at twice that pace, because others may have to make up for it too.
    func mostPages(for work: Work, now: Timestamp) -> Int {
        if work == .recent { return Self.pagesOfRecent }
        guard work == .sweep, isSliced, let editsAsOf else { return .max }
        let length = sweepInterval / Self.partOfSweep
        let isLate = now > sweepDue(since: editsAsOf).advanced(by: length)
        // Each page begins with the last item of the one before.
        let pages = Double(live) / Double(max(settings.pageSize - 1, 1))
        return max(1, Int((pages * (pollInterval(now: now) / length) * (isLate ? 2 : 1)).rounded(.up)))
    }

    /// It is begun once after a poll, however it ends.
    mutating func begin(_ work: Work, at now: Timestamp) {
        if work == .sweep { slicedPull = lastPull }
        if work == .recent { lastRecent = now }
    }
}

extension Schedule.Setback {
    private static let longestOfFile: Duration = .seconds(120)

    /// - Parameter isOfFile: No server has to be spared, and nothing tells when the disk has room again.
    mutating func fail(at now: Timestamp, _ verdict: SyncFailure.Verdict, draw: Double, isOfFile: Bool = false) {
        // Later than now: the clock was set back.
        if failures == 0 || since > now { since = now }
        failures += 1
        isRefused = verdict == .tryRarely
        var wait = verdict.wait(failures: failures, draw: draw)
        // After a short trouble of the server all are back soon: a wait is no longer than the trouble so far.
        if verdict == .retry(after: nil) { wait = min(wait, max(now.duration(since: since), Backoff.pulls.base)) }
        if verdict == .retry(after: nil), isOfFile { wait = min(wait, Self.longestOfFile) }
        notBefore = now.advanced(by: wait)
    }
}

/// How work in the background treats the server and other work: it leaves the server most of its time, and lets polls and
/// people go first.
struct Pacing: Sendable {
    let events: EngineInbox.Queue
    let time: TimeSource
    let pollAt: Timestamp
    let manner: Manner
    /// After so many pages, the rest is left for later.
    let mostPages: Int
    private let begin: Duration

    enum Manner: Sendable {
        /// A sweep: the server is left four fifths of its time.
        case sweep
        /// Texts: nine tenths.
        case texts
        /// A person waits.
        case hurry
    }

    private static let shortest: Duration = .milliseconds(20)
    private static let longestOfSweep: Duration = .seconds(10)
    /// Of each stretch of work that a person waits for. What others write meanwhile is looked for after it.
    private static let leastOfHurry: Duration = .seconds(10)

    init(
        events: EngineInbox.Queue, time: TimeSource, pollAt: Timestamp, manner: Manner, mostPages: Int = .max
    ) {
        self.events = events
        self.time = time
        self.pollAt = pollAt
        self.manner = manner
        self.mostPages = mostPages
        begin = time.uptime()
    }

    /// - Parameter took: the duration of the last request.
    private func wait(after took: Duration) -> Duration {
        switch manner {
        case .sweep: min(max(took * 4, Self.shortest), Self.longestOfSweep)
        case .texts: max(took * 9, Self.shortest)
        case .hurry: .zero
        }
    }

    /// Waits between two requests, or until a pull is wanted. The long pauses of texts end for a poll too: a pass
    /// cannot be left for one.
    ///
    /// - Returns: What is left of the wait then.
    @discardableResult
    func pause(after took: Duration) async throws(CancellationError) -> Duration {
        let end = time.uptime() + wait(after: took)
        while !Task.isCancelled, !wantsPull, case let left = end - time.uptime(), left > .zero {
            let untilPoll = manner == .texts ? pollAt.duration(since: time.now()) : left
            guard untilPoll > .zero else { break }
            Heartbeat.current?.expect(within: min(left, untilPoll))
            await events.wait(atMost: min(left, untilPoll), time: time)
        }
        if Task.isCancelled { throw CancellationError() }
        return max(end - time.uptime(), .zero)
    }

    /// Whether something more urgent waits.
    var givesWay: Bool { time.now() >= pollAt || wantsPull }

    private var wantsPull: Bool {
        events.wantsPull(afterDelivery: manner != .hurry || time.uptime() - begin >= Self.leastOfHurry)
    }
}
