import Console
import Control
import Glibc
import PRSNLClient
import PRSNLCore
import Reports
import Store
import SyncEngine
import Synchronization

/// Answers the control socket.
final class RequestHandler: Sendable {
    let engine: SyncEngine
    let store: Store
    /// For probes that people ask for.
    let client: PRSNLClient
    let database: String
    let login: LoginKeeper
    let figures: RequestMetrics
    /// Hands a new copy over to the daemon, which has to stop everything first.
    let begin: @Sendable (NewCopy) -> Void
    let startedAt: Timestamp
    let time: TimeSource

    /// A new copy is on its way: what would be written now would be set aside with the old one.
    let isEnding = Atomic(false)
    /// Pulls that were asked for and have not ended.
    private let asked = Mutex(0)

    /// More requested pulls than this are refused, not remembered.
    private static let mostAsked = 100

    /// Between two looks at the progress of a pull that a client waits for.
    private static let progressInterval: Duration = .milliseconds(200)

    init(
        parts: RunningParts, database: String, startedAt: Timestamp, begin: @escaping @Sendable (NewCopy) -> Void
    ) {
        client = parts.client
        engine = parts.engine
        store = parts.store
        login = parts.login
        figures = parts.figures
        time = parts.time
        self.database = database
        self.startedAt = startedAt
        self.begin = begin
    }

    /// Every request that the daemon knows.
    var requests: RequestTable {
        var table = RequestTable()
        on(StatusRequest.self, in: &table) { [self] _, _ throws(UserFacingError) in try status() }
        on(HistoryRequest.self, in: &table) { [self] _, _ throws(UserFacingError) in
            HistoryReport(try StoreReader(path: database).history(), source: .daemon)
        }
        on(SyncNowRequest.self, in: &table) { [self] request, conversation throws(UserFacingError) in
            try await sync(request, conversation)
        }
        on(ErrorsRequest.self, in: &table) { [self] _, _ throws(UserFacingError) in
            ErrorsReport(try await store.recurringErrors(), source: .daemon, now: time.now())
        }
        addNetwork(to: &table)
        addOutbox(to: &table)
        addAccount(to: &table)
        return table
    }

    /// - Parameter answer: returns the last line for the request; `nil` where it has sent all lines itself.
    func on<Request: ControlRequest>(
        _ type: Request.Type, in table: inout RequestTable,
        _ answer: @escaping @Sendable (Request, ControlConversation) async throws(UserFacingError) -> Request.Answer?
    ) {
        table.on(type) { [self] request, conversation in
            do throws(UserFacingError) {
                if request.isChange { try refuseWhileEnding() }
                if let reply = try await answer(request, conversation) { conversation.send(reply) }
            } catch {
                conversation.send(explained(error))
            }
        }
    }

    /// - Throws: `daemon_busy` while the copy is being set aside: a change would be lost with it.
    func refuseWhileEnding() throws(UserFacingError) {
        guard isEnding.load(ordering: .relaxed) else { return }
        throw UserFacingError(
            .daemonBusy, "The daemon is starting a new copy.", consequence: "Nothing was changed.")
    }

    /// SQLite can make all sorts of a file whose log was removed: what happened says more.
    private func explained(_ error: UserFacingError) -> UserFacingError {
        switch error.code {
        case .diskError, .databaseDamaged, .databaseUnreadable, .notADatabase, .noDatabase:
            store.replacement() ?? error
        default: error
        }
    }

    private func status() throws(UserFacingError) -> StatusReport {
        let state = engine.state
        var daemon = StatusReport.Daemon(pid: getpid(), since: startedAt, engine: state.shown)
        daemon.network = StatusReport.Network(how: network.source.how, route: network.routeText)
        daemon.requests = figures.current
        // Before the file is read, which makes a log that was removed once more.
        if let replaced = store.replacement() ?? store.fullDisk() { daemon.problem = replaced }
        return StatusReport(
            try StoreReader(path: database).summary(), daemon: daemon, engine: state, now: time.now())
    }

    /// The pull belongs to the daemon: it goes on when the client that asked for it leaves.
    private func sync(
        _ request: SyncNowRequest, _ conversation: ControlConversation
    ) async throws(UserFacingError) -> SyncResult {
        if request.texts, !engine.state.copiesTexts {
            throw UserFacingError(
                .usage, "The daemon copies no texts: its configuration has texts = no.",
                recoverySuggestion: "Set texts = yes and run `systemctl reload prsnld`.")
        }
        var textOf: String?
        if let text = request.text { textOf = try StoreReader(path: database).itemID(text) }
        let isTaken = asked.withLock { asked in
            guard asked < Self.mostAsked else { return false }
            asked += 1
            return true
        }
        guard isTaken else {
            throw UserFacingError(.daemonBusy, "\(Self.mostAsked) pulls have been asked for and not yet ended.")
        }
        let pull = Task(executorPreference: TaskLoop.current) { [self, textOf] in
            let result = await engine.sync(
                SyncRequest(
                    full: request.full, acceptDeletions: request.acceptDeletions, texts: request.texts, textOf: textOf))
            asked.withLock { $0 -= 1 }
            return result
        }
        guard request.wait else { return .started }
        return await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.showProgress(conversation) }
            let result = await pull.value
            group.cancelAll()
            return result
        }
    }

    private func showProgress(_ conversation: ControlConversation) async {
        var last: PullProgress?
        while !Task.isCancelled {
            let progress = engine.state.pull
            if let progress, progress != last { conversation.send(progress) }
            last = progress
            // Cancelled: the pull is over, or the client has left.
            do { try await time.sleep(Self.progressInterval) } catch { return }
        }
    }
}
