import Control
import Glibc
import PRSNLCore
import Reports
import Store

/// The way to the outbox: through the daemon, or, while none runs, into the file itself, under the daemon's lock.
///
/// A request goes one way only: once it was sent to a daemon, it is never carried out here too. Writes are: they have keys,
/// by which a second request finds what the first has left.
struct OutboxDoor: ~Copyable {
    let context: CommandContext
    /// Ours to the daemon; one for all requests.
    private var client: ControlClient?
    private var lastUse = ContinuousClock.now
    private var saidThatItIsStopped = false
    /// Whether a daemon was asked to carry out the request of the last `perform`, and did not answer.
    private var isUnanswered = false

    /// How long a daemon that has the lock and no socket yet is given to make one.
    private static let startTime: Duration = .seconds(10)
    /// How long a write without an answer is asked about. systemd starts a daemon again after five seconds (RestartSec).
    private static let patience: Duration = .seconds(30)
    private static let pause: UInt32 = 100_000  // microseconds
    /// A connection that was idle for longer is made anew: the daemon ends one after a minute, and a request into a
    /// connection that ends could not be told from one whose answer was lost. People think, and type, for longer.
    private static let longestIdle: Duration = .seconds(20)

    init(_ context: CommandContext) {
        self.context = context
    }

    /// What became of some writes.
    enum Outcome {
        case answered(ControlReply)
        /// They were handed over, and it cannot be found out whether they are on disk.
        case unknown(UserFacingError)
    }

    /// Writes each draft once, whatever becomes of the daemon meanwhile. Where one ends before it has answered, the next one
    /// is asked, or the file itself, with the same keys.
    ///
    /// - Throws: where nothing was written.
    mutating func write(_ drafts: [WriteDraft], isBrief: Bool) throws(UserFacingError) -> Outcome {
        let now = TimeSource.system.now()
        let request = ControlRequest.write(
            drafts.map { WriteRequest($0, key: .make(at: now)) }, isBrief: isBrief)
        do throws(UserFacingError) {
            return .answered(try perform(request))
        } catch {
            guard isUnanswered else { throw error }
            let reason = error.code == .daemonBusy ? "did not answer in time" : "ended before it answered"
            context.say("the daemon \(reason); asking again")
            return askAgain(request, after: error)
        }
    }

    private mutating func askAgain(_ request: ControlRequest, after first: UserFacingError) -> Outcome {
        let end = ContinuousClock.now + Self.patience
        repeat {
            do throws(UserFacingError) {
                return .answered(try perform(request, timeout: .seconds(10)))
            } catch {
                // Nobody there yet who could know. Anything else does not change by waiting.
                guard [.daemonNotRunning, .daemonBusy, .databaseLocked, .notOwner].contains(error.code) else {
                    return .unknown(error)
                }
            }
            usleep(Self.pause)
        } while ContinuousClock.now < end
        return .unknown(first)
    }

    /// Carries out a request that changes the outbox.
    ///
    /// - Throws: `database_locked` where somebody else than a daemon that answers works on the file, `not_owner`,
    ///   `no_database`; `daemon_not_running` where the daemon ended in between: then it may have been carried out.
    mutating func perform(
        _ request: ControlRequest, timeout: Duration = .seconds(60)
    ) throws(UserFacingError) -> ControlReply {
        isUnanswered = false
        let end = ContinuousClock.now + Self.startTime
        while true {
            if try connect() {
                isUnanswered = true
                let reply = try ask(request, timeout: timeout)
                isUnanswered = false
                if case .error(let report) = reply { throw report.userFacing }
                return reply
            }
            do throws(UserFacingError) {
                return try performHere(request)
            } catch {
                // The lock without a socket: a daemon that is starting, or another prsnlctl.
                guard error.code == .databaseLocked, ContinuousClock.now < end else { throw error }
            }
            usleep(Self.pause)
        }
    }

    /// Waits for deliveries; `nil` where no daemon runs, so that there is nothing to wait for.
    ///
    /// - Throws: `cancelled` after the interruption.
    mutating func wait(
        for entries: [Int64], atMost: Duration?, interruption: Interruption? = nil
    ) throws(UserFacingError) -> DeliveryReport? {
        guard try connect() else { return nil }
        var reply = try ask(.wait(entries, atMost: atMost), timeout: nil, interruption)
        var said: String?
        while case .waiting(let report) = reply {
            if context.isText, let text = report.waitingText(context.errorStyle), text != said {
                context.say(text)
                said = text
            }
            reply = try next(timeout: nil, interruption)
        }
        guard case .delivery(let report) = reply else { throw reply.unexpected() }
        return report
    }

    /// Answers `queue` and `entry`: from the daemon when it runs, from the file when it does not.
    static func read(_ request: ControlRequest, _ context: CommandContext) throws(UserFacingError) -> ControlReply {
        if !context.isFileGiven, let reply = try context.ask(request) { return reply }
        guard
            let reply = try OutboxOperations.read(
                request, path: context.paths.database, source: .file, now: TimeSource.system.now())
        else { throw UserFacingError(.controlProtocol, "This cannot be read from the file.") }
        return reply
    }

    // MARK: The daemon

    /// Whether a daemon answers that works on our file.
    private mutating func connect() throws(UserFacingError) -> Bool {
        if lastUse.duration(to: .now) > Self.longestIdle { client = nil }
        if client != nil { return true }
        do throws(UserFacingError) {
            client = try context.connect()
            lastUse = .now
        } catch {
            // Any other error means that there is a daemon, which has the lock.
            guard error.code == .daemonNotRunning else { throw error }
            return false
        }
        guard context.isFileGiven else { return true }
        let reply = try ask(.status, timeout: .seconds(10))
        guard case .status(let report) = reply else { throw reply.unexpected() }
        if !RealPath.isSameFile(report.file.path, context.paths.database) { client = nil }
        return client != nil
    }

    private mutating func ask(
        _ request: ControlRequest, timeout: Duration?, _ interruption: Interruption? = nil
    ) throws(UserFacingError) -> ControlReply {
        do throws(UserFacingError) {
            try client?.send(request)
        } catch {
            client = nil
            throw error
        }
        return try next(timeout: timeout, interruption)
    }

    /// The next line of the answer.
    private mutating func next(
        timeout: Duration?, _ interruption: Interruption?
    ) throws(UserFacingError) -> ControlReply {
        do throws(UserFacingError) {
            guard let reply = try client?.receive(timeout: timeout, interruption: interruption) else {
                throw UserFacingError(.daemonNotRunning, "There is no connection to the daemon.")
            }
            lastUse = .now
            // One that is busy closes the connection.
            if case .error(let report) = reply, report.knownCode == .daemonBusy { client = nil }
            return reply
        } catch {
            // The connection is gone, or its answers would no longer be those to our questions.
            client = nil
            throw error
        }
    }

    // MARK: The file

    private mutating func performHere(_ request: ControlRequest) throws(UserFacingError) -> ControlReply {
        let path = context.paths.database
        try FileOwner.become(ownerOf: path)
        let reply = try blocking { () async throws(UserFacingError) -> ControlReply? in
            let store = try Store(path: path)
            let operations = OutboxOperations(
                store: store, source: .file, now: TimeSource.system.now, sending: { .whenDaemonRuns })
            do throws(UserFacingError) {
                let reply = try await operations.answer(request)
                await store.close()
                return reply
            } catch {
                await store.close()
                throw error
            }
        }
        guard let reply else { throw UserFacingError(.daemonNotRunning, "No daemon runs that could do this.") }
        if !saidThatItIsStopped {
            context.say("the daemon is not running: \(Self.done(request, reply, path))")
            saidThatItIsStopped = true
        }
        return reply
    }

    private static func done(_ request: ControlRequest, _ reply: ControlReply, _ path: String) -> String {
        if !reply.hasChanged { return "this is what \(path) says" }
        return switch request {
        case .write: "written to \(path); it will be sent when it runs"
        case .retry(_, _, let dryRun), .drop(_, _, let dryRun): dryRun ? "looked into \(path)" : "changed \(path)"
        case .errors: "changed \(path)"
        default: "this is what \(path) says"
        }
    }
}

extension ControlReply {
    /// Whether something of the outbox was written.
    fileprivate var hasChanged: Bool {
        switch self {
        case .write(let report): report.writes.contains { $0.outcome == .accepted }
        case .tally(let tally): !tally.entries.isEmpty
        case .retry(let report): report.touched > 0
        case .drop(let report): !report.dropped.isEmpty
        case .errors(let report): report.cleared ?? 0 > 0
        default: true
        }
    }
}
