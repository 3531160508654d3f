import Console
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
    enum Outcome<Answer> {
        case answered(Answer)
        /// They were handed over, and it cannot be found out whether they are on disk.
        case unknown(UserFacingError)
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

    /// Gives each draft a key, by which a second request finds what the first has left.
    static func keyed(_ drafts: [WriteDraft]) -> [WriteRequest] {
        let now = TimeSource.system.now()
        return drafts.map { WriteRequest($0, key: .make(at: now)) }
    }

    private mutating func askAgain<Request: OutboxRequest>(
        _ request: Request, after first: UserFacingError
    ) -> Outcome<Request.Answer> {
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
    mutating func perform<Request: OutboxRequest>(
        _ request: Request, timeout: Duration = .seconds(60)
    ) throws(UserFacingError) -> Request.Answer {
        isUnanswered = false
        let end = ContinuousClock.now + Self.startTime
        while true {
            if try connect() {
                isUnanswered = true
                let reply = try ask(request, timeout: timeout)
                isUnanswered = false
                return try reply.answer()
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
        var said: String?
        let context = context
        return try ask(DeliveryRequest(entries, atMost: atMost), timeout: nil, interruption) { waiting in
            if context.isText, let text = waiting.queue.waitingText(context.errorStyle), text != said {
                context.say(text)
                said = text
            }
        }.answer()
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
        guard var found = client.take() else { return false }
        if try context.otherFile(of: &found) == nil { client = consume found }
        return client != nil
    }

    private mutating func ask<Request: ControlRequest>(
        _ request: Request, timeout: Duration?, _ interruption: Interruption? = nil,
        update: (Request.Update) throws(UserFacingError) -> Void = { _ in }
    ) throws(UserFacingError) -> Result<Request.Answer, ErrorReport> {
        // Put back where it can be used again: after an error it is gone, or its answers would no longer be those to our
        // questions.
        guard var connection = client.take() else {
            throw UserFacingError(.daemonNotRunning, "There is no connection to the daemon.")
        }
        let reply = try connection.ask(request, timeout: timeout, interruption: interruption, update: update)
        lastUse = .now
        // One that is busy closes the connection.
        if case .failure(let report) = reply, report.knownCode == .daemonBusy { return reply }
        client = consume connection
        return reply
    }

    // MARK: The file

    private mutating func performHere<Request: OutboxRequest>(
        _ request: Request
    ) throws(UserFacingError) -> Request.Answer {
        let path = context.paths.database
        try FileOwner.become(ownerOf: path)
        let answer = try blocking { () async throws(UserFacingError) -> Request.Answer in
            let store = try Store(path: path)
            let outbox = OutboxOperations(
                store: store, source: .file, now: TimeSource.system.now, sending: { .whenDaemonRuns })
            do throws(UserFacingError) {
                let answer = try await request.perform(outbox)
                await store.close()
                return answer
            } catch {
                await store.close()
                throw error
            }
        }
        if !saidThatItIsStopped {
            context.say("the daemon is not running: \(Self.done(request, answer, path))")
            saidThatItIsStopped = true
        }
        return answer
    }

    private static func done<Request: OutboxRequest>(
        _ request: Request, _ answer: Request.Answer, _ path: String
    ) -> String {
        if !request.isChange { return "looked into \(path)" }
        if !Request.hasChanged(answer) { return "this is what \(path) says" }
        return Request.command == WritesRequest.command
            ? "written to \(path); it will be sent when it runs" : "changed \(path)"
    }
}
