import Configuration
import Console
import Control
import Glibc
import PRSNLCore
import Requests

/// prsnlctl's one door. It decides who answers a request: the daemon that works on the file that is meant, else this process.
///
/// A request that changes something goes one way only: once it was sent to a daemon, it is never carried out here too. Writes
/// are: they have keys, by which a second request finds what the first has left.
struct RequestClient: ~Copyable {
    let context: CommandContext
    /// By which the writes of a command are taken back together, however many requests they need.
    private let command = RequestKey.make(at: TimeSource.system.now())
    private var connection: ControlClient?
    private var lastUse = ContinuousClock.now
    private var saidThatItIsStopped = false
    /// Whether the last request reached a daemon that did not answer. It may have been carried out.
    private(set) var isUnanswered = false

    /// After a longer pause a new connection is made. The daemon closes an idle one after a minute, and a request into a
    /// connection that closes could not be told from one whose answer was lost. People think, and type, for longer.
    private static let longestIdle: Duration = .seconds(20)
    /// How long to wait for a daemon that has the lock and no socket yet.
    private static let startTime: Duration = .seconds(10)
    /// How long a write without an answer is asked about. systemd starts a daemon again after five seconds (RestartSec).
    private static let writePatience: Duration = .seconds(30)
    private static let pause: UInt32 = 100_000  // microseconds

    init(_ context: CommandContext) { self.context = context }

    /// - Parameters:
    ///   - limit: for an answer, where that is shorter than the request's own patience.
    ///   - update: is called with each line that comes before the answer.
    /// - Throws: what the answer throws; `database_locked` while another program has the lock; `daemon_not_running` and
    ///   `daemon_busy` for an answer that did not come; `cancelled` after an interruption.
    mutating func ask<Asked: Request>(
        _ request: Asked, within limit: Duration? = nil, interruption: Interruption? = nil,
        update: (Asked.Update) throws(UserFacingError) -> Void = { _ in }
    ) throws(UserFacingError) -> Asked.Answer {
        let end = ContinuousClock.now + Self.startTime
        while true {
            let noDaemon: UserFacingError
            do throws(UserFacingError) {
                return try askDaemon(request, within: limit ?? request.patience, interruption, update)
            } catch {
                guard mayAnswerHere(request, after: error) else {
                    let isRefused = error.code == .controlRefused && request.isChange
                    throw isRefused ? error.with(consequence: error.consequence ?? Asked.refused) : error
                }
                noDaemon = error
            }
            do throws(UserFacingError) {
                return try answerHere(request, noDaemon)
            } catch {
                // The lock is held by a daemon that is starting, or by another prsnlctl.
                guard request.place == .lock, error.code == .databaseLocked else { throw error }
                guard ContinuousClock.now < end else {
                    throw error.with(
                        noDaemon.message, consequence: Asked.refused, suggestion: noDaemon.recoverySuggestion,
                        next: noDaemon.nextCommand)
                }
            }
            usleep(Self.pause)
        }
    }

    /// The file can answer a question also where the daemon serves others, or not this user. A change is made here only where
    /// there is no daemon at all.
    private func mayAnswerHere(_ request: some Request, after error: UserFacingError) -> Bool {
        switch request.place {
        case .daemon: false
        case .file: [.daemonNotRunning, .daemonElsewhere, .controlRefused, .daemonBusy].contains(error.code)
        case .lock: error.code == .daemonNotRunning && !isUnanswered
        }
    }

    // MARK: The daemon

    private mutating func askDaemon<Asked: Request>(
        _ request: Asked, within limit: Duration?, _ interruption: Interruption?,
        _ update: (Asked.Update) throws(UserFacingError) -> Void
    ) throws(UserFacingError) -> Asked.Answer {
        isUnanswered = false
        // Put back where it can be used again: after an error it is gone, or its answers would no longer be those to our
        // questions.
        var client = try connect()
        isUnanswered = true
        let reply = try client.ask(request, timeout: limit, interruption: interruption, update: update)
        isUnanswered = false
        lastUse = .now
        // A daemon that is busy closes the connection.
        if case .failure(let error) = reply, error.code == .daemonBusy { throw error }
        connection = consume client
        return try reply.get()
    }

    /// - Throws: `daemon_not_running` where none runs, or only one that works on another file than the given one. Any
    ///   other error means that there is a daemon, which has the lock.
    private mutating func connect() throws(UserFacingError) -> ControlClient {
        let open = connection.take()
        if lastUse.duration(to: .now) <= Self.longestIdle, let open { return open }
        var client = try context.reach()
        client.whenSilent = { [context] asksServer in
            context.say(asksServer ? "waiting for the server's answer" : "the daemon is not responding; waiting")
        }
        if context.isFileGiven {
            let path = try client.ask(StatusRequest()).get().file.path
            guard RealPath.isSameFile(path, context.database) else {
                throw UserFacingError(
                    .daemonNotRunning, "The daemon works on \(path), and none on \(context.database).")
            }
        }
        return client
    }

    // MARK: This process

    private mutating func answerHere<Asked: Request>(
        _ request: Asked, _ noDaemon: UserFacingError
    ) throws(UserFacingError) -> Asked.Answer {
        if noDaemon.code == .daemonBusy { context.say("the daemon is not responding; showing data from the file") }
        let here = RequestContext(host: .command(context, noDaemon: noDaemon), refused: Asked.refused)
        let answer = try blocking { () async throws(UserFacingError) in try await request.answer(here) }
        guard let answer else { throw noDaemon }
        if let remark = request.remark(answer, path: context.database), !saidThatItIsStopped {
            context.say("the daemon is not running: \(remark)")
            saidThatItIsStopped = true
        }
        return answer
    }
}

// MARK: Writes

/// Why not all writes of a command are on the disk.
struct Unwritten: UserFacing {
    let error: UserFacingError
    /// Of the first batch that failed: it was handed over, and it cannot be found out whether it is on the disk.
    var isUnknown = false
    /// The writes of the batches before it, which are on the disk.
    let queued: Int
    let total: Int

    static let unknown = "It is not known whether it is on disk."
    static let lookFirst: Advice = "Look with `prsnlctl queue --all` before you give the command again."

    /// Says what of them is on disk.
    var userFacing: UserFacingError {
        let first = "The first \(Formatting.count(queued)) of \(Formatting.count(total)) writes"
        if isUnknown {
            return error.with(
                consequence: queued == 0
                    ? Self.unknown : "\(first) are on disk. It is not known whether the others are.",
                suggestion: Self.lookFirst, next: "prsnlctl queue --all")
        }
        return error.with(
            consequence: queued == 0
                ? WritesRequest.refused : "\(first) were queued, as far as they were not refused. The others were not.",
            suggestion: error.code == .diskFull ? "Free some space, then give the command again." : nil)
    }
}

extension AcceptRequest {
    /// Each as large as the daemon takes one.
    func batches() -> [Self] {
        let longest = ControlServer.Limits().writeSize - 1_024  // bytes, without what surrounds the writes
        var batches: [Self] = []
        var first = 0
        var size = 0
        var bytes: [UInt8] = []
        for (index, write) in writes.enumerated() {
            bytes.removeAll(keepingCapacity: true)
            write.fields.append(to: &bytes)
            if index - first == Answer.mostWrites || size + bytes.count >= longest, first < index {
                batches.append(Self(Array(writes[first..<index])))
                (first, size) = (index, 0)
            }
            size += bytes.count + 1
        }
        return batches + [Self(Array(writes[first...]))]
    }
}

extension RequestClient {
    /// Gives each draft a key, by which a second request finds what the first has left.
    static func keyed(_ drafts: [WriteDraft]) -> [WriteRequest] {
        let now = TimeSource.system.now()
        return drafts.map { WriteRequest($0, key: .make(at: now)) }
    }

    /// Writes each draft once, in as many requests as it takes, each of which is one transaction. Every write of a command
    /// comes through here.
    ///
    /// - Returns: the answers, in the order of the writes.
    mutating func write<Answer: WriteAnswer>(
        _ request: AcceptRequest<Answer>
    ) throws(Unwritten) -> [Answer] {
        var answers: [Answer] = []
        var queued = 0
        for batch in request.batches() {
            do throws(Unwritten) { answers.append(try writeTogether(batch)) } catch {
                throw Unwritten(
                    error: error.error, isUnknown: error.isUnknown, queued: queued, total: request.writes.count)
            }
            queued += batch.writes.count
        }
        return answers
    }

    /// Whatever becomes of the daemon meanwhile: where one ends before it has answered, the next one is asked, or the file
    /// itself, with the same keys.
    private mutating func writeTogether<Answer: WriteAnswer>(
        _ request: AcceptRequest<Answer>
    ) throws(Unwritten) -> Answer {
        let request = request.part(of: command)
        var end = ContinuousClock.now + Self.writePatience
        /// Why it is not known whether it was written: the first answer that did not come.
        var lost: UserFacingError?
        var isTold = false
        func tell(_ writer: String?) {
            // A program of ours has released it by now.
            guard !isTold, let writer, !writer.contains("(prsnl") else { return }
            isTold = true
            let patience = Formatting.duration(Self.writePatience)
            context.say("\(writer) holds the write lock of \(context.database); trying for \(patience)")
        }
        // Before it is waited for.
        tell(context.otherWriter)
        while true {
            do throws(UserFacingError) {
                return try ask(request, within: lost == nil ? nil : .seconds(10))
            } catch {
                if isUnanswered, lost == nil {
                    let reason = error.code == .daemonBusy ? "did not answer in time" : "ended before it answered"
                    context.say("the daemon \(reason); asking again")
                    (lost, end) = (error, .now + Self.writePatience)
                    continue
                }
                // With these, nothing was written, or a daemon that can tell may still come. No other error changes by waiting.
                let passing: [ErrorCode] =
                    lost == nil ? [.databaseBusy] : [.daemonNotRunning, .daemonBusy, .databaseLocked, .notOwner]
                guard passing.contains(error.code), ContinuousClock.now < end else {
                    let isOver = passing.contains(error.code)
                    throw Unwritten(
                        error: isOver ? lost ?? error : error, isUnknown: lost != nil, queued: 0, total: 0)
                }
                if lost == nil { tell("another program") }
                usleep(Self.pause)
            }
        }
    }
}

// MARK: Refusals

extension UserFacingError {
    /// A refusal at the control socket, or at the file, with what this user can do about it: the very command for root, and,
    /// where a group is the way in, how to come into it. The daemon knows neither the command nor the names.
    func explainedRefusal(_ paths: ClientPaths?) -> UserFacingError {
        guard code == .controlRefused || code == .databaseUnreadable, geteuid() != 0 else { return self }
        var suggestion = recoverySuggestion
        let place = code == .controlRefused ? paths?.controlSocket : paths?.database
        if suggestion == code.recoverySuggestion, let place, let group = Self.group(of: place) {
            suggestion =
                "Root can let this user look: `usermod -aG \(group) \(UserDatabase.user(geteuid()))`, which counts from the next login on. "
                + "Or give the command as root."
        }
        return with(suggestion: suggestion, next: CommandContext.sudo())
    }

    /// The name of the group that may come in; `nil` where it is root's, or not known. A user who may not even look
    /// into the folder finds the same group on that.
    private static func group(of place: String) -> String? {
        var information = stat()
        guard lstat(place, &information) == 0 || stat(Descriptors.folder(of: place), &information) == 0,
            information.st_gid != 0, let group = getgrgid(information.st_gid)
        else { return nil }
        return String(cString: group.pointee.gr_name)
    }
}
