import Configuration
import Console
import Control
import Glibc
import PRSNLCore
import Reports
import Store

/// The one way to change what the daemon keeps: ask the daemon; where none runs, take its lock and open the file; where the
/// lock is taken, wait for one of the two.
///
/// A request goes one way only: once it was sent to a daemon, it is never carried out here too. Writes are: they have keys,
/// by which a second request finds what the first has left.
struct OutboxClient: ~Copyable {
    private var daemon: DaemonConnection
    private var saidThatItIsStopped = false
    /// Whether the last request reached a daemon that did not answer. It may have been carried out.
    private(set) var isUnanswered = false
    /// Whether the last request was carried out here.
    private var wasDoneHere = false

    var context: CommandContext { daemon.context }

    /// How long to wait for a daemon that has the lock and no socket yet.
    private static let startTime: Duration = .seconds(10)
    /// How long a write without an answer is asked about. systemd starts a daemon again after five seconds (RestartSec).
    private static let patience: Duration = .seconds(30)
    private static let pause: UInt32 = 100_000  // microseconds

    init(_ context: CommandContext) {
        daemon = DaemonConnection(context)
    }

    /// Asks the daemon, else calls `here`, and again while the lock is taken: by a daemon that is starting, or by another
    /// prsnlctl.
    ///
    /// - Parameter consequence: of a refusal.
    /// - Throws: what `here` throws, `database_locked` after the time; `daemon_not_running` and `daemon_busy` without an
    ///   answer; what the daemon answers.
    private mutating func carryOut<Request: ControlRequest>(
        _ request: Request, timeout: Duration, consequence: String,
        here: () throws(UserFacingError) -> Request.Answer
    ) throws(UserFacingError) -> Request.Answer {
        isUnanswered = false
        wasDoneHere = false
        let end = ContinuousClock.now + Self.startTime
        while true {
            do throws(UserFacingError) {
                if let answer = try askDaemon(request, timeout: timeout) { return answer }
            } catch {
                guard error.code == .controlRefused else { throw error }
                throw UserFacingError(
                    error.code, error.message, consequence: error.consequence ?? consequence,
                    recoverySuggestion: error.recoverySuggestion, nextCommand: error.nextCommand)
            }
            do throws(UserFacingError) {
                let answer = try here()
                wasDoneHere = true
                return answer
            } catch {
                guard error.code == .databaseLocked, ContinuousClock.now < end else { throw error }
            }
            usleep(Self.pause)
        }
    }

    /// - Returns: `nil` where no daemon runs that works on our file.
    private mutating func askDaemon<Request: ControlRequest>(
        _ request: Request, timeout: Duration
    ) throws(UserFacingError) -> Request.Answer? {
        guard try findDaemon() else { return nil }
        isUnanswered = true
        let reply = try daemon.ask(request, timeout: timeout)
        isUnanswered = false
        return try reply.get()
    }

    private mutating func findDaemon() throws(UserFacingError) -> Bool {
        do throws(UserFacingError) {
            try daemon.open()
            return true
        } catch {
            guard error.code == .daemonNotRunning else { throw error }
            return false
        }
    }
}

// MARK: The outbox

extension OutboxClient {
    /// What became of some writes.
    enum Outcome<Answer> {
        case answered(Answer)
        /// They were handed over, and it cannot be found out whether they are on disk.
        case unknown(UserFacingError)
    }

    /// Gives each draft a key, by which a second request finds what the first has left.
    static func keyed(_ drafts: [WriteDraft]) -> [WriteRequest] {
        let now = TimeSource.system.now()
        return drafts.map { WriteRequest($0, key: .make(at: now)) }
    }

    /// Writes each draft once, whatever becomes of the daemon meanwhile. Where one ends before it has answered, the next one
    /// is asked, or the file itself, with the same keys.
    ///
    /// - Throws: where nothing was written.
    mutating func write<Request: OutboxRequest>(_ request: Request) throws(UserFacingError) -> Outcome<Request.Answer> {
        do throws(UserFacingError) {
            return .answered(try perform(request))
        } catch {
            guard isUnanswered else { throw error }
            let reason = error.code == .daemonBusy ? "did not answer in time" : "ended before it answered"
            context.say("the daemon \(reason); asking again")
            return askAgain(request, after: error)
        }
    }

    private mutating func askAgain<Request: OutboxRequest>(
        _ request: Request, after first: UserFacingError
    ) -> Outcome<Request.Answer> {
        let end = ContinuousClock.now + Self.patience
        repeat {
            do throws(UserFacingError) {
                return .answered(try perform(request, timeout: .seconds(10)))
            } catch {
                // With these, a daemon that could tell may still come. No other error changes by waiting.
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
    /// - Throws: `not_owner`, `no_database`; what `carryOut` throws.
    mutating func perform<Request: OutboxRequest>(
        _ request: Request, timeout: Duration = .seconds(60)
    ) throws(UserFacingError) -> Request.Answer {
        let context = context
        let path = context.paths.database
        let isWrite = Request.command == WritesRequest.command
        let consequence = isWrite ? "Nothing was queued." : "Nothing was changed."
        let answer = try carryOut(request, timeout: timeout, consequence: consequence) { () throws(UserFacingError) in
            try FileOwner.become(ownerOf: path, consequence: consequence)
            return try Self.performHere(request, context.paths)
        }
        if wasDoneHere, !saidThatItIsStopped {
            context.say("the daemon is not running: \(Self.done(request, answer, path))")
            saidThatItIsStopped = true
        }
        return answer
    }

    /// Waits for deliveries; `nil` where no daemon runs, so that there is nothing to wait for.
    ///
    /// - Throws: `cancelled` after the interruption.
    mutating func wait(
        for entries: [Int64], atMost: Duration?, interruption: Interruption? = nil
    ) throws(UserFacingError) -> DeliveryReport? {
        guard try findDaemon() else { return nil }
        var said: String?
        let context = context
        return try daemon.ask(DeliveryRequest(entries, atMost: atMost), timeout: nil, interruption) { waiting in
            if context.isText, let text = waiting.queue.waitingText(context.errorStyle), text != said {
                context.say("\(text)")
                said = text
            }
        }.get()
    }

    private static func performHere<Request: OutboxRequest>(
        _ request: Request, _ paths: ClientPaths
    ) throws(UserFacingError) -> Request.Answer {
        try blocking { () async throws(UserFacingError) -> Request.Answer in
            let store = try Store(path: paths.database, allowsNetwork: paths.allowsNetworkFileSystem)
            let outbox = OutboxOperations(
                store: store, source: .file, now: TimeSource.system.now, sending: { .whenDaemonRuns })
            do throws(UserFacingError) {
                let answer = try await request.perform(outbox)
                if request.isChange { await index(store) }
                await store.close()
                return answer
            } catch {
                await store.close()
                throw error
            }
        }
    }

    /// What was written can be found at once. A large backlog is left to the daemon.
    private static func index(_ store: Store) async {
        let time = TimeSource.system
        do throws(UserFacingError) {
            guard try await store.searchState().notIndexed <= mostIndexed else { return }
            _ = try await store.indexSome(now: time.now(), uptime: time.uptime)
        } catch {
            // The write is on the disk, and the next daemon indexes it.
        }
    }

    /// Items that are indexed with a write.
    private static let mostIndexed = 32

    private static func done<Request: OutboxRequest>(
        _ request: Request, _ answer: Request.Answer, _ path: String
    ) -> String {
        if !request.isChange { return "looked into \(path)" }
        if !Request.hasChanged(answer) { return "this is what \(path) says" }
        return Request.command == WritesRequest.command
            ? "written to \(path); it will be sent when it runs" : "changed \(path)"
    }
}

// MARK: The login and the copy

extension OutboxClient {
    /// Changes what the daemon logs in with, or whose copy it keeps: through the daemon, or by `here`.
    ///
    /// - Throws: what `carryOut` throws; `daemon_busy` where the daemon ended before it answered.
    mutating func changeAccount<Request: ControlRequest>(
        _ request: Request, consequence: String, here: () throws(UserFacingError) -> Request.Answer
    ) throws(UserFacingError) -> Request.Answer {
        do throws(UserFacingError) {
            return try carryOut(request, timeout: .seconds(60), consequence: consequence, here: here)
        } catch {
            guard isUnanswered, error.code == .daemonNotRunning else { throw error }
            throw UserFacingError(
                .daemonBusy, "The daemon ended before it answered.",
                recoverySuggestion: "Look what it has done: `prsnlctl account`.", nextCommand: "prsnlctl account")
        }
    }

    /// Works beside a database that need not be there yet: under the daemon's lock, as the owner of the folder.
    ///
    /// - Throws: `not_owner`, `database_locked`.
    static func withLock<Result>(
        _ context: CommandContext, consequence: String, _ body: () throws(UserFacingError) -> Result
    ) throws(UserFacingError) -> Result {
        try FileOwner.become(ownerOfFolderOf: context.paths.database, consequence: consequence)
        Secrecy.begin()  // a change of user makes a process dumpable again, by the system's settings (prctl(2))
        let lock = try DatabaseLock(database: context.paths.database)
        defer { withExtendedLifetime(lock) {} }
        return try body()
    }
}
