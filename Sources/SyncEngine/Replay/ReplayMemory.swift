import PRSNLClient
import PRSNLCore

/// What the loop of the `Replayer` knows besides the file.
struct ReplayMemory {
    var machine = OutboxMachine()
    /// Uptime.
    var lastManualRetry: Duration?
    /// When a retry that was asked for soon after that begins.
    var nextManualRetry: Duration?
    var retriedWith = Credentials.none
    /// An entry is `sending` in the file and nothing is under way.
    var hasStray = false
    /// The session that was last proven to be the pinned account's, and when. Writes are sent in it.
    var proof: (session: ClientSession, at: Duration)?
    /// When something was delivered that no pull has shown yet.
    var unseenSince: Duration?
    /// What the wall clock said when the machine was started: changes where it is set.
    var bootTime: Timestamp
    /// So many sends are still spread a little, after the server came back.
    var spread = 0
    /// Pulls wait until what could be sent after a return was sent.
    var isAwaited = false

    /// A proof of the account is believed for five minutes: a login that expires in between is refused by writes, not taken for
    /// another's.
    func provenSession(at uptime: Duration) -> ClientSession? {
        proof.flatMap { $0.session.isCurrent && uptime - $0.at < .seconds(300) ? $0.session : nil }
    }
}

/// The time during which the server could be reached, as far as it was counted (uptime).
struct ReachableTime: Sendable {
    private var countedUntil: Duration
    /// When the loop meant to wake up: what passes long after that was spent asleep, with the whole machine.
    var wakesAt: Duration
    /// Counted and not yet in the file.
    private var passed: Duration = .zero

    init(from uptime: Duration) {
        countedUntil = uptime
        wakesAt = uptime
    }

    /// Adds what has passed in that state, which ends now or goes on.
    mutating func advance(to uptime: Duration, asOf state: Connectivity.State) {
        if state == .online { passed += min(uptime - countedUntil, max(wakesAt - countedUntil, .zero) + .seconds(60)) }
        countedUntil = uptime
    }

    /// What has to be added to the file, in steps of a second at least.
    mutating func take() -> Duration? {
        guard passed >= .seconds(1) else { return nil }
        return exchange(&passed, with: .zero)
    }
}

/// The newest of many ids, some thousands.
struct RecentIDs: Sendable {
    private var newer: Set<ByteText> = []
    private var older: Set<ByteText> = []

    /// - Returns: False for one that is there already.
    mutating func insert(_ id: String) -> Bool {
        if newer.count == 2_048 { (older, newer) = (newer, []) }
        return !older.contains(ByteText(id)) && newer.insert(ByteText(id)).inserted
    }
}
