import NetMonitor
import PRSNLCore
import Store

/// How the server takes writes at the moment, and from that which entries may be sent now. A value: it is told what
/// happened, and times are uptimes.
struct SendGate: Sendable {
    private(set) var pace = Pace()
    /// Entries that the server, or something in front of it, has refused (401, 403, a redirect) since it last took a write,
    /// and until when each is left alone. One refused write must not hold up the others, and a refused login must not cost a
    /// request for each of them. So another entry is tried; where that one goes, the refused ones are tried once more.
    private(set) var refusedUntil: [Int64: Duration] = [:]
    /// Refused before the server took another write: parked if they are refused again.
    private var refusedAlone: Set<Int64> = []
    /// No entry is sent before this, unless a person asks.
    private(set) var pausedUntil: Duration = .zero
    /// No entry is sent before this, even when a person asks: the server has said so.
    private(set) var closedUntil: Duration = .zero
    /// Writes in a row that the server failed at, by kind: a release that fails at every edit still takes new items.
    private var failures: [OutboxEntry.Kind: Int] = [:]
    /// Until when a kind is left alone after such failures.
    var slowedUntil: [OutboxEntry.Kind: Duration] = [:]
    /// 429s in a row, without a write that was taken.
    private var slowDowns = 0
    /// Requests in a row that were not answered.
    var unanswered = 0
    /// Writes in a row that were not sent because the login had changed since its proof.
    var replacedLogins = 0
    /// Why nothing could be sent at the last try, whichever entry's turn it was. `nil` once a send begins.
    var hindrance: Hindrance?

    /// What fails before a send fails for all entries. It is kept here and not in each entry's row: a row for each of them
    /// at every try would be thousands of writes to the disk.
    struct Hindrance: Sendable, Equatable {
        var error: UserFacingError
        var isOfDatabase: Bool
        /// Tries in a row that ended with this error.
        var failures = 1
        /// Whether it will hardly be over with the next try, a second from now.
        var isLasting: Bool
    }

    /// Failures that may be the entry's own before the whole queue is slowed down.
    static let tolerated = 2
    private static let afterOffline: Duration = .milliseconds(50)

    // MARK: What may be sent

    /// The kinds of entries that may be sent now. Creations go at the server's pace.
    func sendable(at uptime: Duration) -> Set<OutboxEntry.Kind> {
        Set(
            OutboxEntry.Kind.allCases.filter { kind in
                max(slowedUntil[kind] ?? .zero, kind.isCreation ? pace.nextAt() : .zero) <= uptime
            })
    }

    /// The entries that are not sent now, whatever their kind.
    func leftAlone(at uptime: Duration) -> Set<Int64> { Set(refusedUntil.filter { $0.value > uptime }.keys) }

    /// Until then no entry of any kind is sent.
    var opensAt: Duration { max(pausedUntil, closedUntil) }

    /// The next time that more entries may be sent than now; `nil` where no entry is held back.
    func nextOpening(after uptime: Duration) -> Duration? {
        (Array(slowedUntil.values) + Array(refusedUntil.values) + [pace.nextAt()]).filter { $0 > uptime }.min()
    }

    // MARK: What happened

    mutating func noteSending(_ kinds: some Sequence<OutboxEntry.Kind>, at uptime: Duration) {
        hindrance = nil
        for kind in kinds where kind.isCreation { pace.noteSent(at: uptime) }
    }

    /// These were counted as sent, and then were not.
    mutating func noteUnsent(_ kinds: some Sequence<OutboxEntry.Kind>) {
        pace.noteUnsent(kinds.count { $0.isCreation })
    }

    mutating func noteAccepted(_ kind: OutboxEntry.Kind) {
        (failures[kind], slowedUntil[kind]) = (nil, nil)
        refusedAlone.formUnion(refusedUntil.keys)
        refusedUntil = [:]
        (slowDowns, replacedLogins) = (0, 0)
    }

    /// A person wants it tried now. The server's own wait still holds.
    mutating func forgetPauses() {
        noteReturn()
        (refusedUntil, refusedAlone) = ([:], [])
    }

    /// The server can be reached again.
    mutating func noteReturn() { (pausedUntil, slowedUntil) = (.zero, [:]) }

    /// Leaves the server alone for a while.
    ///
    /// - Returns: How long, and `nil` where the failure is no reason to wait.
    mutating func pause(after failure: SyncFailure, _ moment: OutboxMachine.Moment) -> Duration? {
        // What was read with the previous login is asked for again with the new one, at once.
        guard failure.verdict != .cancelled, failure.origin != .session else { return nil }
        if failure.error.code == .offline {
            // The network's return starts everything again, and may have come already.
            pausedUntil = max(pausedUntil, moment.uptime + Self.afterOffline)
            return nil
        }
        unanswered += 1
        let isAgain = hindrance?.error.code == failure.error.code
        hindrance = Hindrance(
            error: failure.error, isOfDatabase: failure.origin == .database,
            failures: isAgain ? (hindrance?.failures ?? 0) + 1 : 1,
            isLasting: hindrance != nil || failure.verdict != .retry(after: nil))
        let wait: Duration
        switch failure.verdict {
        case .retry(after: let asked?):
            closedUntil = max(closedUntil, moment.uptime + asked)
            wait = asked
        case .tryRarely where failure.concernsEverything || failure.origin == .database:
            wait = SyncFailure.Verdict.tryRarely.wait(failures: 1, draw: moment.draw)
        // Another refusal may be a proxy's 404 while the server is being updated.
        case .retry(after: nil), .tryRarely, .cancelled:
            wait = Backoff.probes.wait(failures: unanswered, draw: moment.draw)
        }
        pausedUntil = max(pausedUntil, moment.uptime + wait)
        return wait
    }

    mutating func pause(for wait: Duration, at uptime: Duration) { pausedUntil = uptime + wait }

    /// The server failed at a write. One failure may be the entry's own. Several in a row are the server's, and it is asked
    /// less and less often.
    mutating func slowDown(_ kind: OutboxEntry.Kind, _ moment: OutboxMachine.Moment) {
        let count = failures[kind, default: 0] + 1
        failures[kind] = count
        guard count > Self.tolerated else { return }
        slowedUntil[kind] = moment.uptime + Backoff.probes.wait(failures: count - Self.tolerated, draw: moment.draw)
    }

    /// The server has answered 429. A server that takes nothing at all is asked less and less often, whatever it says.
    mutating func keepPace(of kind: OutboxEntry.Kind, after wait: Duration, _ moment: OutboxMachine.Moment) {
        slowDowns += 1
        let longer =
            slowDowns > Self.tolerated
            ? WriteBackoff.afterFailure(failures: slowDowns - Self.tolerated, after: wait, draw: moment.draw) : wait
        if kind.isCreation {
            pace.noteRefused(at: moment.uptime, retryAfter: wait)
            pace.closedUntil = max(pace.closedUntil, moment.uptime + longer)
        } else {
            closedUntil = moment.uptime + longer
        }
    }

    /// One entry was refused. It waits, while others show whether it is the only one.
    mutating func leaveAlone(_ entry: Int64, _ moment: OutboxMachine.Moment) {
        refusedUntil[entry] = moment.uptime + SyncFailure.Verdict.tryRarely.wait(failures: 1, draw: moment.draw)
        let wait = WriteBackoff.afterFailure(failures: refusedUntil.count, after: nil, draw: moment.draw)
        pausedUntil = max(pausedUntil, moment.uptime + wait)
    }

    /// Whether the entry was refused before while the server takes others. This time it is given up.
    mutating func isRefusedAgain(_ entry: Int64) -> Bool {
        guard refusedAlone.remove(entry) != nil else { return false }
        refusedUntil[entry] = nil
        return true
    }
}

/// How fast creations may be sent, learnt from the server's 429s.
///
/// The server counts in windows that begin with their first request, which cannot be seen from here, and other clients of the
/// same address use a part of them. So a refusal after a few sends says little: the server's wait is kept, and then the pace is as
/// before. The limit is what the server took of ours in the best of the last windows that ended with a refusal. No interval of a
/// window's length has more sends than that, so no window of the server has, wherever it begins.
struct Pace: Sendable, Equatable {
    /// How many of ours the server took in the windows that ended with a refusal, the newest last.
    private var accepted: [Int] = []
    private(set) var window: Duration = .seconds(60)
    /// When the last ones were sent (uptime), oldest first.
    private var sent: [Duration] = []
    /// Nothing is sent before then.
    var closedUntil: Duration = .zero
    private var lastChange: Duration = .zero
    /// So many times `trialWait` without a refusal, and the limit is tried: other clients may have gone.
    private var patience = 1
    /// More than was seen to be taken, as a trial.
    private var trial: Int?

    /// Requests travel for different times.
    private static let margin: Duration = .seconds(1)
    private static let longestMemory = 2_000
    /// A refusal after fewer than this may be another client's doing: it takes a second one to make a limit.
    private static let plausibleLimit = 20
    private static let remembered = 3
    private static let longestPatience = 12

    /// An hour, so that a server refuses one an hour of those that wait, and not less than ten windows.
    private var trialWait: Duration { max(.seconds(3_600), window * 10) }

    /// Requests per window; `nil` while nothing is known.
    var limit: Int? {
        guard let most = accepted.max(), most >= Self.plausibleLimit || accepted.count > 1 else { return nil }
        return trial ?? max(1, most)
    }

    mutating func noteSent(at uptime: Duration) {
        sent.append(uptime)
        if sent.count > Self.longestMemory { sent.removeFirst(sent.count - Self.longestMemory / 2) }
        if let limit, uptime - lastChange >= trialWait * patience {
            trial = limit * 2
            lastChange = uptime
        }
    }

    /// - Parameter retryAfter: What the server asked for: the rest of its window or, as most servers say, all of it.
    mutating func noteRefused(at uptime: Duration, retryAfter: Duration) {
        // The last one is the one that was refused.
        _ = sent.popLast()
        let asked = max(.seconds(1), min(retryAfter, .seconds(3_600)))
        // A limit belongs to its window.
        if asked != window { accepted = [] }
        window = asked
        let count = sent.count { uptime - $0 < window }
        // A trial that brought nothing is repeated less and less often.
        if trial != nil { patience = count > accepted.max() ?? 0 ? 1 : min(patience * 2, Self.longestPatience) }
        trial = nil
        accepted.append(count)
        if accepted.count > Self.remembered { accepted.removeFirst() }
        lastChange = uptime
        closedUntil = uptime + retryAfter + Self.margin
    }

    /// The last ones were not sent after all.
    mutating func noteUnsent(_ count: Int) { sent.removeLast(min(count, sent.count)) }

    /// How many may be sent at once.
    func room(at uptime: Duration) -> Int {
        if uptime < closedUntil { return 0 }
        guard let limit else { return .max }
        return max(0, limit - sent.count { uptime - $0 <= window + Self.margin })
    }

    /// When the next one may be sent; in the past means now.
    func nextAt() -> Duration {
        guard let limit, sent.count >= limit else { return closedUntil }
        return max(closedUntil, sent[sent.count - limit] + window + Self.margin)
    }
}

/// When a write that failed is sent again, and when it is given up: values only.
enum WriteBackoff {
    /// How long the server must have been reachable before a write that never succeeded is parked.
    static let ageLimit: Duration = .seconds(30 * 86_400)
    /// A server that answers an edit or a deletion with 500 every time is asked eight times over at least a day: the steps
    /// add up to 25 h 36 min, and jitter only lengthens them.
    static let serverErrorSteps: [Duration] = [
        .seconds(60), .seconds(5 * 60), .seconds(30 * 60), .seconds(2 * 3_600), .seconds(5 * 3_600),
        .seconds(8 * 3_600), .seconds(10 * 3_600),
    ]
    /// A deletion that the server failed at is tried at least this often, for a day.
    private static let longestForDeletions: Duration = .seconds(600)

    /// - Parameter asked: The wait that the server asks for.
    /// - Returns: How long the entry waits after a failure that is its own; `nil` where it is parked instead.
    static func wait(
        of task: OutboxTask, after error: UserFacingError, asked: Duration?, _ moment: OutboxMachine.Moment
    ) -> Duration? {
        guard task.manual == nil, !task.isTooOld else { return nil }
        let (entry, last) = (task.entry, serverErrorSteps.count - 1)
        guard error.code == .serverError, !entry.kind.isCreation else {
            return afterFailure(failures: task.failures + 1, after: asked, draw: moment.draw)
        }
        let step = serverErrorSteps[min(task.failures, last)] * (1 + 0.1 * moment.draw)
        // A title that the server replaced is tried now and then, for as long as the server fails at edits.
        if entry.follows != nil || entry.kind == .edit && task.failures <= last { return step }
        // Failures of other kinds count too: it is given up after eight sends over a day, whatever else has failed.
        let isOld = moment.now.duration(since: entry.acceptedAt) >= .seconds(86_400)
        if isOld, entry.attempts > serverErrorSteps.count { return nil }
        // No release fails at every deletion, and one that is sent again does no harm.
        return entry.kind == .edit ? step : min(step, longestForDeletions)
    }

    /// Exponential with full jitter, from 4 s to an hour; at least as long as the server asks for.
    ///
    /// - Parameters:
    ///   - failures: in a row, this one included.
    ///   - draw: from 0 to 1, at random.
    static func afterFailure(failures: Int, after wait: Duration?, draw: Double) -> Duration {
        let own = SyncFailure.Verdict.retry(after: nil).wait(failures: failures, draw: draw)
        return wait.map { max(own, SyncFailure.Verdict.retry(after: $0).wait(failures: failures, draw: draw)) } ?? own
    }
}
