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
    let figures: RequestFigures
    /// Hands a new copy over to the daemon, which has to stop everything first.
    let begin: @Sendable (NewCopy) -> Void
    let startedAt: Timestamp
    let time: TimeSource

    /// A new copy is on its way: what would be written now would be set aside with the old one.
    let isEnding = Atomic(false)
    /// Pulls that were asked for and have not ended.
    private let asked = Mutex(0)

    /// Whoever asks faster than the daemon pulls is told so, rather than remembered.
    private static let mostAsked = 100

    /// Between two looks at the progress of a pull that somebody waits for.
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

    func handle(_ request: ControlRequest, _ conversation: ControlConversation) async {
        do throws(UserFacingError) {
            try refuseWhileEnding(request)
            switch request {
            case .status: conversation.send(.status(try status()))
            case .history:
                let records = try StoreReader(path: database).history()
                conversation.send(.history(HistoryReport(records, source: .daemon)))
            case .sync(let full, let wait, let acceptDeletions):
                try await sync(
                    SyncRequest(full: full, acceptDeletions: acceptDeletions), waiting: wait, conversation)
            case .ping: conversation.send(.ping(await ping()))
            case .net(watch: false): conversation.send(.net(try net()))
            case .net(watch: true): await watchNet(conversation)
            case .errors(clear: false):
                let errors = try await store.recurringErrors()
                conversation.send(.errors(ErrorsReport(errors, source: .daemon, now: time.now())))
            case .write, .queue, .entry, .retry, .drop, .wait, .errors(clear: true):
                try await answerOutbox(request, conversation)
            case .loginCheck, .login, .logout, .whoami, .account: try await answerAccount(request, conversation)
            }
        } catch {
            conversation.send(.error(ErrorReport(explained(error))))
        }
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
        var facts = DaemonFacts(pid: getpid(), since: startedAt, state: engine.state)
        facts.network = networkFacts
        facts.requests = figures.current.map(StatusReport.Requests.init).sorted { $0.endpoint < $1.endpoint }
        // Before the file is read, which makes a log that was removed anew.
        if let replaced = store.replacement() { facts.problem = replaced }
        return StatusReport(
            summary: try StoreReader(path: database).summary(), path: database, daemon: facts, now: time.now())
    }

    /// The pull belongs to the daemon: it goes on when the client that asked for it leaves.
    private func sync(
        _ request: SyncRequest, waiting: Bool, _ conversation: ControlConversation
    ) async throws(UserFacingError) {
        let isTaken = asked.withLock { asked in
            guard asked < Self.mostAsked else { return false }
            asked += 1
            return true
        }
        guard isTaken else {
            throw UserFacingError(.daemonBusy, "\(Self.mostAsked) pulls have been asked for and not yet ended.")
        }
        let pull = Task {
            let result = await engine.sync(request)
            asked.withLock { $0 -= 1 }
            return result
        }
        guard waiting else { return conversation.send(.sync(.started)) }
        let result = await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.showProgress(conversation) }
            let result = await pull.value
            group.cancelAll()
            return result
        }
        conversation.send(.sync(SyncReport(result)))
    }

    private func showProgress(_ conversation: ControlConversation) async {
        var last: PullProgress?
        while !Task.isCancelled {
            let progress = engine.state.progress.map(PullProgress.init)
            if let progress, progress != last { conversation.send(.progress(progress)) }
            last = progress
            // Cancelled: the pull is over, or nobody listens any more.
            do { try await time.sleep(Self.progressInterval) } catch { return }
        }
    }
}
