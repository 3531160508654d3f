import PRSNLClient
import PRSNLCore

/// What the loop of the `Replayer` knows besides the file.
struct ReplayMemory {
    var machine = OutboxMachine()
    /// When a person was last listened to (uptime).
    var urgedAt: Duration?
    /// The credentials that the client had then.
    var urgedWith = Credentials.none
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
}
