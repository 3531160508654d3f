package import Control
package import PRSNLClient
package import PRSNLCore
package import Store
package import SyncEngine
import Synchronization

/// Who may answer a request.
package enum RequestPlace: Sendable {
    /// The daemon alone.
    case daemon
    /// The daemon, else prsnlctl from the file, as far as this user may read it.
    case file
    /// The daemon, else prsnlctl under the daemon's lock, as the owner of the file.
    case lock
}

/// A request and its one answer. In the daemon it is answered behind the socket. Where no daemon runs, prsnlctl runs the
/// same function in its own process. The text that a person reads of the answer is prsnlctl's own business.
package protocol Request: ControlRequest {
    /// Declared here again, so that it follows from `answer`.
    associatedtype Answer
    /// What did not happen where it was refused, in a sentence for a person.
    static var refused: String { get }
    var place: RequestPlace { get }
    /// How long the daemon may take for a line; `nil`: as long as it lives.
    var patience: Duration? { get }

    /// - Returns: `nil` where all lines were sent with `RequestContext.send`.
    func answer(_ context: RequestContext) async throws(UserFacingError) -> Answer?

    /// The same, as one of the requests that a command of this key makes.
    func part(of command: RequestKey) -> Self

    /// What prsnlctl has done to the file at a path, said to a person because no daemon did it; `nil`: nothing to say.
    func remark(_ answer: Answer, path: String) -> String?
}

extension Request {
    package static var refused: String { "Nothing was changed." }
    package var place: RequestPlace { isChange ? .lock : .file }
    package var patience: Duration? { place == .lock ? .seconds(60) : .seconds(10) }
    package func part(of command: RequestKey) -> Self { self }
    package func remark(_ answer: Answer, path: String) -> String? { nil }
}

extension RequestTable {
    /// Every request that the control socket answers.
    package static let all: [any Request.Type] = [
        StatusRequest.self, WatchRequest.self, HistoryRequest.self, ErrorsRequest.self, ClearErrorsRequest.self,
        SyncNowRequest.self, VerifyRequest.self, RebuildIndexRequest.self, NetRequest.self, NetWatchRequest.self,
        PingRequest.self, WritesRequest.self, TallyRequest.self, DeliveryRequest.self, QueueRequest.self,
        EntryRequest.self, RetryRequest.self, DropRequest.self, UndoRequest.self, LoginRequest.self,
        LoginCheckRequest.self, LogoutRequest.self, WhoamiRequest.self, AccountRequest.self,
    ]
}

/// What prsnlctl says of a file that it has opened in the daemon's place.
enum Remark {
    static func look(path: String) -> String { "looked into \(path)" }
    static func change(_ hasChanged: Bool, path: String) -> String {
        hasChanged ? "changed \(path)" : "this is what \(path) says"
    }
    static func writes(_ hasChanged: Bool, path: String) -> String {
        hasChanged ? "written to \(path); it will be sent when it runs" : "this is what \(path) says"
    }
}

/// prsnlctl's own process, where no daemon answers: it opens the file itself, as its owner.
package protocol CommandHost: Sendable {
    var database: String { get }
    /// - Throws: `database_locked`, `no_database`, `not_owner`; what opening the file throws.
    func withStore<Value: Sendable>(
        refused: String, isChange: Bool, _ body: (Store) async throws(UserFacingError) -> Value
    ) async throws(UserFacingError) -> Value
    /// - Throws: `not_owner`, `database_locked`.
    func withLock<Value>(refused: String, _ body: () throws(UserFacingError) -> Value) throws(UserFacingError) -> Value
    func say(_ text: Advice)

    // What the daemon and a command answer in different ways.
    func status(because noDaemon: UserFacingError) throws(UserFacingError) -> StatusReport
    func account() throws(UserFacingError) -> AccountReport
    func whoami(because noDaemon: UserFacingError) throws(UserFacingError) -> WhoamiReport
    func logout() async throws(UserFacingError) -> LogoutReport
}

/// What a request may use for its answer: the file, and the daemon where one answers.
package struct RequestContext: Sendable {
    package enum Host: Sendable {
        case daemon(RunningDaemon, ControlConversation)
        /// With the reason for which no daemon answers.
        case command(any CommandHost, noDaemon: UserFacingError)
    }

    let host: Host
    let refused: String

    package init(host: Host, refused: String) { (self.host, self.refused) = (host, refused) }

    var daemon: RunningDaemon? { if case .daemon(let daemon, _) = host { daemon } else { nil } }
    var engine: EngineState? { daemon?.parts.engine.state }
    var source: StatusReport.Source { daemon == nil ? .file : .daemon }
    var time: TimeSource { daemon?.parts.time ?? .system }
    var now: Timestamp { time.now() }

    var database: String {
        switch host {
        case .daemon(let daemon, _): daemon.database
        case .command(let command, _): command.database
        }
    }

    func reader() throws(UserFacingError) -> StoreReader { try StoreReader(path: database) }

    /// - Throws: why no daemon answers.
    func requireDaemon() throws(UserFacingError) -> RunningDaemon {
        switch host {
        case .daemon(let daemon, _): return daemon
        case .command(_, let noDaemon): throw noDaemon
        }
    }

    /// A line before the answer.
    func send(_ update: some ControlReply) {
        if case .daemon(_, let conversation) = host { conversation.send(update) }
    }

    /// Works with the daemon's open file. Without a daemon, opens the file under the lock for as long as this takes.
    ///
    /// - Parameter isChange: Items that changed are indexed, as the daemon does it.
    func withStore<Value: Sendable>(
        isChange: Bool = true, _ body: (Store) async throws(UserFacingError) -> Value
    ) async throws(UserFacingError) -> Value {
        switch host {
        case .daemon(let daemon, _): try await body(daemon.parts.store)
        case .command(let command, _): try await command.withStore(refused: refused, isChange: isChange, body)
        }
    }

    /// What the copy says of itself, where it can be read: only to be told along with what was done.
    func copyAtBest() -> CopySummary? {
        do throws(UserFacingError) {
            return try reader().summary()
        } catch {
            switch host {
            case .daemon(let daemon, _): daemon.parts.login.log(.warning, .store, error.inFull)
            case .command(let command, _): if error.code != .noDatabase { command.say("warning: \(error.message)") }
            }
            return nil
        }
    }

    /// When what is queued now will be sent.
    var sending: Sending { engine.map(Sending.init) ?? .whenDaemonRuns }
}

// MARK: In the daemon

/// The parts of a running daemon, which the daemon starts and stops.
package struct RunningParts: Sendable {
    package let store: Store
    package let client: PRSNLClient
    package let engine: SyncEngine
    package let login: LoginKeeper
    package let figures: RequestMetrics
    package let time: TimeSource

    package init(
        store: Store, client: PRSNLClient, engine: SyncEngine, login: LoginKeeper, figures: RequestMetrics,
        time: TimeSource
    ) {
        (self.store, self.client, self.engine, self.login, self.figures) = (store, client, engine, login, figures)
        self.time = time
    }
}

/// What requests know of the daemon that answers them.
package final class RunningDaemon: Sendable {
    let parts: RunningParts
    let database: String
    let startedAt: Timestamp
    /// A comparison with the server is under way.
    let isVerifying = Atomic(false)

    package init(_ parts: RunningParts, database: String, startedAt: Timestamp) {
        (self.parts, self.database, self.startedAt) = (parts, database, startedAt)
    }

    package var requests: RequestTable { RequestTable.all.reduce(into: RequestTable()) { add($1, to: &$0) } }

    private func add<Asked: Request>(_ type: Asked.Type, to table: inout RequestTable) {
        table.on(type) { [self] request, conversation in
            do throws(UserFacingError) {
                let context = RequestContext(host: .daemon(self, conversation), refused: Asked.refused)
                if let answer = try await request.answer(context) { conversation.send(answer) }
            } catch {
                conversation.send(explained(error))
            }
        }
    }

    /// SQLite can make all sorts of a file whose log was removed: what happened says more.
    private func explained(_ error: UserFacingError) -> UserFacingError {
        switch error.code {
        case .diskError, .databaseDamaged, .databaseUnreadable, .notADatabase, .noDatabase:
            parts.store.replacement() ?? error
        default: error
        }
    }
}
