import Console
import Control
import Glibc
package import NetMonitor
package import PRSNLCore
package import Store

/// Asks for the state of the copy and of the daemon.
package struct StatusRequest: Request, BareRequest {
    package static let command = "status"
    package var isChange: Bool { false }
    package init() {}

    package func answer(_ context: RequestContext) throws(UserFacingError) -> StatusReport? {
        switch context.host {
        case .daemon(let daemon, _): try daemon.status()
        case .command(let command, let noDaemon): try command.status(because: noDaemon)
        }
    }
}

extension RunningDaemon {
    fileprivate func status() throws(UserFacingError) -> StatusReport {
        let state = parts.engine.state
        let network = parts.engine.network
        var daemon = StatusReport.Daemon(pid: getpid(), since: startedAt, engine: state.shown)
        let source = network.source
        daemon.network = .init(listening: source.how, listeningReason: source.reason, route: network.routeText)
        daemon.requests = parts.figures.current
        // Before the file is read, which makes a log that was removed once more.
        if let replaced = parts.store.replacement() ?? parts.store.fullDisk() { daemon.problem = replaced }
        return StatusReport(
            try StoreReader(path: database).summary(), daemon: daemon, engine: state, now: parts.time.now())
    }
}

/// The state of the copy and of the daemon: the JSON of `prsnlctl status --json` and of the control socket.
///
/// A public contract, member by member in docs/cli.md. Within one `schema_version` members are only added. What is not
/// known is `null`.
package struct StatusReport: ControlReply {
    package static let type = "status"

    package static let schemaVersion = 1

    /// Who answered.
    package enum Source: String, Sendable, Codable { case daemon, file }

    /// Why a person should look.
    package enum Attention: String, Sendable, Codable {
        case copyIncomplete = "copy_incomplete"
        case deletionsHeld = "deletions_held"
        /// Writes wait for a decision by a person.
        case writesParked = "writes_parked"
        /// Writes fail again and again: see `outbox.failing`.
        case writesFailing = "writes_failing"
        /// Nothing can be sent, though the server can be reached: see `outbox.problem`.
        case writesHeld = "writes_held"
        /// The daemon waits for something that only a person can do: see `daemon.problem`.
        case problem
    }

    /// What the running daemon says of itself. In JSON, what the engine shows stands among the other members.
    @dynamicMemberLookup
    package struct Daemon: Sendable, Equatable, Codable {
        package struct Members: Sendable, Equatable, Codable {
            package var pid: Int32
            package var version = ProductVersion.current
            package var since: Timestamp
            @Nullable package var network: Network? = nil
            /// By endpoint, in the order of their names.
            @Nullable package var requests: [RequestCosts]? = nil
        }

        package var members: Members
        package var engine: EngineState.Shown

        package init(pid: Int32, since: Timestamp, engine: EngineState.Shown) {
            (members, self.engine) = (Members(pid: pid, since: since), engine)
        }

        package init(from decoder: any Decoder) throws {
            (members, engine) = (try Members(from: decoder), try EngineState.Shown(from: decoder))
        }

        package func encode(to encoder: any Encoder) throws {
            try members.encode(to: encoder)
            try engine.encode(to: encoder)
        }

        package subscript<Value>(dynamicMember path: WritableKeyPath<Members, Value>) -> Value {
            get { members[keyPath: path] }
            set { members[keyPath: path] = newValue }
        }

        package subscript<Value>(dynamicMember path: WritableKeyPath<EngineState.Shown, Value>) -> Value {
            get { engine[keyPath: path] }
            set { engine[keyPath: path] = newValue }
        }
    }

    /// Why no daemon has answered, so that the file did.
    package struct Absence: Sendable, Equatable, Codable {
        package enum State: String, Sendable, Codable {
            /// It does not run, and closed the copy when it ended.
            case stopped
            /// systemd has given up, or it was killed or has crashed.
            case failed
            /// It runs and does not answer in time.
            case notResponding = "not_responding"
            /// It does not answer this user.
            case refused
            /// A process holds the copy, and its socket was not found.
            case unreachable

            var isFailure: Bool { self == .failed || self == .notResponding || self == .unreachable }

            var word: String {
                switch self {
                case .stopped, .failed: rawValue
                case .notResponding: "not responding"
                case .refused: "does not answer this user"
                case .unreachable: "cannot be asked"
                }
            }

            package var sentence: String {
                switch self {
                case .stopped: "The daemon is stopped"
                case .failed: "The daemon has failed"
                case .notResponding: "The daemon does not respond"
                case .refused, .unreachable: "The daemon \(word)"
                }
            }
        }

        package var state: State
        /// Why, as far as systemd or the file knows.
        @Nullable package var reason: String? = nil
        /// Where there is more about it.
        @Nullable package var nextCommand: NextCommand? = nil

        package init(state: State, reason: String? = nil, nextCommand: NextCommand? = nil) {
            (self.state, self.reason, self.nextCommand) = (state, reason, nextCommand)
        }
    }

    /// How the daemon learns what happens to the network.
    package struct Network: Sendable, Equatable, Codable {
        package var listening: NetworkSource.How
        /// Why it is not netlink.
        @Nullable package var listeningReason: String? = nil
        /// The route to the server in words.
        package var route: String
    }

    package var schemaVersion = StatusReport.schemaVersion
    package var source: Source
    package var generatedAt: Timestamp
    package var attention: [Attention]
    @Nullable package var daemon: Daemon? = nil
    /// `null` where the daemon answered.
    @Nullable package var noDaemon: Absence? = nil
    package var server: CopySummary.Server
    package var copy: CopySummary.Copy
    @Nullable package var outbox: CopySummary.Outbox? = nil
    @Nullable package var pull: Progress? = nil
    @Nullable package var lastError: RecurringError? = nil
    package var file: CopySummary.File

    /// Whether parked writes wait for a decision because the database was restored or copied.
    package var isRestored: Bool {
        lastError.map { $0.code == ErrorCode.databaseRestored.rawValue && !$0.isOver } ?? false
    }
}

extension StatusReport {
    /// Puts together what the file says and, where a daemon runs, what it knows beyond that.
    package init(_ summary: CopySummary, daemon: Daemon? = nil, engine: EngineState? = nil, now: Timestamp) {
        var (copy, outbox) = (summary.copy, summary.outbox)
        if let engine {
            // The file's time is only written when something else is; the engine's counts from the last look.
            copy.newAsOf = engine.newAsOf ?? copy.newAsOf
            copy.search?.enabled = engine.keepsSearchIndex
            copy.search?.problem = engine.searchProblem
            copy.search?.progress = engine.indexing
            copy.texts?.enabled = engine.copiesTexts
            if let problem = engine.textsProblem { copy.texts?.problem = problem }
            if outbox.waiting > 0 { outbox.problem = engine.blocker?.error }
        }
        // A time that lies in the future says that the clock was set back, and nothing about the copy.
        func past(_ time: Timestamp?) -> Timestamp? { time.flatMap { $0 <= now ? $0 : nil } }
        copy.newAsOf = past(copy.newAsOf)
        copy.editsAsOf = past(copy.editsAsOf)
        if let asOf = copy.texts?.asOf { copy.texts?.asOf = past(asOf) }
        if let asOf = copy.search?.asOf { copy.search?.asOf = past(asOf) }
        source = daemon == nil ? .file : .daemon
        generatedAt = now
        attention = Self.attention(summary, engine, daemon?.problem)
        server = summary.server
        self.copy = copy
        file = summary.file
        (self.outbox, self.daemon) = (outbox, daemon)
        pull = engine?.pull
        lastError = summary.lastError
    }

    private static func attention(
        _ summary: CopySummary, _ engine: EngineState?, _ problem: UserFacingError?
    ) -> [Attention] {
        var reasons: [Attention] = []
        if !summary.copy.complete { reasons.append(.copyIncomplete) }
        if summary.copy.deletionsHeld > 0 { reasons.append(.deletionsHeld) }
        if summary.outbox.parked > 0 { reasons.append(.writesParked) }
        if let failing = summary.outbox.failing, failing.ownCount > 0 { reasons.append(.writesFailing) }
        if summary.outbox.waiting > 0, engine?.blocker?.isLasting == true { reasons.append(.writesHeld) }
        if let problem, problem.code.needsPerson { reasons.append(.problem) }
        return reasons
    }
}

/// The daemon in one line, as `systemctl status` shows it: `online, 12,431 items, complete as of 10:42, 3 queued`.
package enum ServiceStatus {
    /// - Parameters:
    ///   - unit: The daemon whose commands the line names.
    package static func text(
        _ engine: EngineState, _ summary: CopySummary, unit: ServiceUnit, now: Timestamp,
        zone: @escaping LocalZone = LocalTime.system
    ) -> String {
        var summary = summary
        summary.copy.newAsOf = nil  // that of the engine, once it has one
        let daemon = StatusReport.Daemon(pid: getpid(), since: now, engine: engine.shown)
        let report = StatusReport(summary, daemon: daemon, engine: engine, now: now)
        let today = LocalTime(now, zone).day
        let parts = StatusFact.all.flatMap { $0.say(report) }.compactMap(\.brief).map { text, since, time in
            let fitted = unit.fit(text)
            let words = zip(fitted.texts, fitted.commands.map(\.line) + [""]).map { $0 + $1 }.joined()
            guard let shown = time.map({ LocalTime($0, zone) }) else { return words }
            return "\(words) \(since) " + (shown.day == today ? "" : "\(shown.day) ") + shown.time.prefix(5)
        }
        return parts.joined(separator: ", ")
    }
}
