import Control
import Glibc
import PRSNLCore
import Store

/// The way to the outbox: through the daemon, or, while none runs, into the file itself, under the daemon's lock.
///
/// A request goes one way only: once it was sent to a daemon, it is never carried out here too.
struct OutboxDoor: ~Copyable {
    let context: CommandContext
    /// Ours to the daemon; one for all requests.
    private var client: ControlClient?
    private var lastUse = ContinuousClock.now
    private var saidThatItIsStopped = false
    /// Whether the last request went to a daemon that did not answer it: see `fate`.
    private(set) var isUnanswered = false
    /// Whether that daemon may still be at it.
    private(set) var hasTimedOut = false

    /// How long a daemon that has the lock and no socket yet is given to make one.
    private static let startTime: Duration = .seconds(10)
    private static let pause: UInt32 = 100_000  // microseconds
    /// A connection that was idle for longer is made anew: the daemon ends one after a minute, and a request into a
    /// connection that ends could not be told from one whose answer was lost. People think, and type, for longer.
    private static let longestIdle: Duration = .seconds(20)

    init(_ context: CommandContext) {
        self.context = context
    }

    /// Carries out a request that changes the outbox.
    ///
    /// - Throws: `database_locked` where somebody else than a daemon that answers works on the file, `not_owner`,
    ///   `no_database`; `daemon_not_running` where the daemon ended in between: then it may have been carried out.
    mutating func perform(_ request: ControlRequest) throws(UserFacingError) -> ControlReply {
        isUnanswered = false
        let end = ContinuousClock.now + Self.startTime
        while true {
            if try connect() { return try ask(request, timeout: .seconds(60)) }
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
        let reply = try ask(.wait(entries, atMost: atMost), timeout: nil, interruption)
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
            client = try ControlClient(path: context.paths.controlSocket)
            lastUse = .now
        } catch {
            // Any other error means that there is a daemon, which has the lock.
            guard error.code == .daemonNotRunning else { throw error }
            return false
        }
        guard context.isFileGiven else { return true }
        let reply = try ask(.status, timeout: .seconds(10))
        guard case .status(let report) = reply else { throw reply.unexpected() }
        if !CommandContext.isSameFile(report.file.path, context.paths.database) { client = nil }
        return client != nil
    }

    private mutating func ask(
        _ request: ControlRequest, timeout: Duration?, _ interruption: Interruption? = nil
    ) throws(UserFacingError) -> ControlReply {
        do throws(UserFacingError) {
            isUnanswered = true
            hasTimedOut = false
            try client?.send(request)
            guard let reply = try client?.receive(timeout: timeout, interruption: interruption) else {
                throw UserFacingError(.daemonNotRunning, "There is no connection to the daemon.")
            }
            isUnanswered = false
            lastUse = .now
            if case .error(let report) = reply { throw report.userFacing }
            return reply
        } catch {
            hasTimedOut = isUnanswered && error.code == .daemonBusy
            // The connection is gone, or its answers would no longer be those to our questions.
            if isUnanswered || error.code == .daemonBusy { client = nil }
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
            context.say("the daemon is not running: \(Self.done(request, path))")
            saidThatItIsStopped = true
        }
        return reply
    }

    private static func done(_ request: ControlRequest, _ path: String) -> String {
        switch request {
        case .write: "written to \(path); it will be sent when it runs"
        case .retry(_, _, let dryRun), .drop(_, _, let dryRun): dryRun ? "looked into \(path)" : "changed \(path)"
        case .errors: "changed \(path)"
        default: "this is what \(path) says"
        }
    }
}
