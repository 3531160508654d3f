import NetMonitor
import PRSNLCore
import Store

/// How the server takes writes at the moment, and from that which entries may be sent now. A value: it is told what
/// happened, and times are uptimes.
struct SendGate: Sendable {
    var pace = Pace()
    /// Entries that the server, or something in front of it, has refused (401, 403, a redirect) since it last took a write,
    /// and until when each is left alone. One refused write must not hold up the others, and a refused login must not cost a
    /// request for each of them. So another entry is tried; where that one goes, the refused ones are tried once more.
    private(set) var refusedUntil: [Int64: Duration] = [:]
    /// Refused before the server took another write: parked if they are refused again.
    private var refusedAlone: Set<Int64> = []
    /// No entry is sent before this, unless a person asks.
    var pausedUntil: Duration = .zero
    /// No entry is sent before this, even when a person asks: the server has said so.
    private(set) var closedUntil: Duration = .zero
    /// Writes in a row that the server failed at, by kind: a release that fails at every edit still takes new items.
    private var failures: [OutboxEntry.Kind: Int] = [:]
    /// Until when a kind is left alone after such failures.
    var slowedUntil: [OutboxEntry.Kind: Duration] = [:]
    /// 429s in a row, without a write that was taken.
    private var slowDowns = 0
    /// Requests in a row that were not answered.
    private var unanswered = 0
    /// Writes in a row whose login had changed since its proof.
    private var replacedLogins = 0
    /// Why nothing could be sent at the last try, whichever entry's turn it was. `nil` once a send begins.
    var blocker: Blocker?

    /// What concerns no single entry, until the loop has taken it.
    var notes: [Note] = []

    enum Note {
        /// The server has answered, so it can be reached.
        case answered
        /// The server has not answered, or not as it should.
        case failed(SyncFailure)
        /// The account has to be proven again before the next send.
        case unproven
        case log(Advice)
    }

    /// What fails before a send fails for all entries. It is kept here and not in each entry's row: a row for each of them
    /// at every try would be thousands of writes to the disk.
    struct Blocker: Sendable, Equatable {
        var error: UserFacingError
        var isOfDatabase: Bool
        /// Tries in a row that ended with this error.
        var failures = 1
        /// Whether it will hardly be over with the next try, a second from now.
        var isLasting: Bool
    }

    /// Failures that may be the entry's own before the whole queue is slowed down.
    static let tolerated = 2

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

    mutating func noteAnswer() {
        unanswered = 0
        notes.append(.answered)
    }

    mutating func noteAccepted(_ kind: OutboxEntry.Kind) {
        (failures[kind], slowedUntil[kind]) = (nil, nil)
        refusedAlone.formUnion(refusedUntil.keys)
        refusedUntil = [:]
        (slowDowns, replacedLogins) = (0, 0)
    }

    /// For a manual retry. The server's own wait still holds.
    mutating func forgetPauses() {
        noteReturn()
        (refusedUntil, refusedAlone) = ([:], [])
    }

    /// The server can be reached again.
    mutating func noteReturn() { (pausedUntil, slowedUntil) = (.zero, [:]) }

    /// Leaves the server alone for a while, where the failure is a reason to.
    mutating func pause(after failure: SyncFailure, _ moment: OutboxMachine.Moment) {
        // What was read with the previous login is asked for again with the new one, at once.
        guard failure.verdict != .cancelled, failure.origin != .session else { return }
        if failure.error.code == .offline {
            // The network's return starts everything again, and may have come already.
            return pausedUntil = max(pausedUntil, moment.uptime + .milliseconds(50))
        }
        unanswered += 1
        let isAgain = blocker?.error.code == failure.error.code
        blocker = Blocker(
            error: failure.error, isOfDatabase: failure.origin == .database,
            failures: isAgain ? (blocker?.failures ?? 0) + 1 : 1,
            isLasting: blocker != nil || failure.verdict != .retry(after: nil))
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
        let seconds = (wait.wholeMilliseconds + 999) / 1_000
        notes += [.failed(failure), .log("the outbox waits \(seconds) s: \(failure.inWords)")]
    }

    /// A send has failed, at the server or on its way.
    mutating func noteFailure(of kind: OutboxEntry.Kind, _ failure: SyncFailure, _ moment: OutboxMachine.Moment) {
        if failure.concernsEverything { return pause(after: failure, moment) }
        slowDown(kind, moment)
        notes.append(.failed(failure))
    }

    /// The login was replaced between its proof and the write. Once is a renewal. Several in a row: the server
    /// refuses writes, although the login is valid.
    mutating func noteReplacedLogin(_ moment: OutboxMachine.Moment) {
        replacedLogins += 1
        guard replacedLogins > Self.tolerated else { return }
        let error = UserFacingError(.unauthorized, "The server refuses writes, whatever login they are sent with.")
        pause(after: SyncFailure(error, verdict: .tryRarely, origin: .server(endpoint: "the outbox")), moment)
    }

    /// One failure may be the entry's own. Several in a row are the server's, and it is asked less and less often.
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
    mutating func leaveAlone(_ entry: Int64, _ failure: SyncFailure, _ moment: OutboxMachine.Moment) {
        refusedUntil[entry] = moment.uptime + SyncFailure.Verdict.tryRarely.wait(failures: 1, draw: moment.draw)
        let wait = WriteBackoff.afterFailure(failures: refusedUntil.count, after: nil, draw: moment.draw)
        pausedUntil = max(pausedUntil, moment.uptime + wait)
        notes.append(.log("#\(entry) was refused, and others are tried: \(failure.inWords)"))
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

    /// These were counted as sent, and then were not.
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

    /// Exponential with full jitter (`draw`, from 0 to 1), from 4 s to an hour; at least as long as the server asks for.
    ///
    /// - Parameter failures: in a row, this one included.
    static func afterFailure(failures: Int, after wait: Duration?, draw: Double) -> Duration {
        let own = SyncFailure.Verdict.retry(after: nil).wait(failures: failures, draw: draw)
        return wait.map { max(own, SyncFailure.Verdict.retry(after: $0).wait(failures: failures, draw: draw)) } ?? own
    }
}
