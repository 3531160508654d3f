import PRSNLClient
import PRSNLCore
import Reports
import SyncEngine

extension DaemonFacts {
    init(pid: Int32, since: Timestamp, state: EngineState) {
        self.init(pid: pid, since: since)
        activity = state.activity.rawValue
        nextPullAt = state.nextPullAt
        problem = state.problem
        hindrance = state.hindrance.map { ($0.error, $0.isLasting) }
        newAsOf = state.newAsOf
        copiesTexts = state.copiesTexts
        indexesWords = state.indexesWords
        textsProblem = state.textsProblem
        pull = state.progress.map(PullProgress.init)
        connectivity = StatusReport.Connectivity(state.connectivity)
    }
}

extension StatusReport.Requests {
    init(_ endpoint: String, _ figures: RequestFigures.Endpoint) {
        self.init(
            endpoint: endpoint, requests: figures.requests, failures: figures.failures, bytesSent: figures.bytesSent,
            bytesReceived: figures.bytesReceived, duration: figures.duration, longest: figures.longest)
    }
}

extension PullProgress {
    init(_ progress: EngineState.Progress) {
        self.init(kind: progress.kind, startedAt: progress.startedAt)
        pages = progress.pages
        items = progress.items
        expectedItems = progress.expectedItems
        position = progress.position
        rate = progress.rate
    }
}

extension SyncReport {
    init(_ result: SyncResult) {
        self.init(
            isComplete: result.isComplete, added: result.added, changed: result.changed, deleted: result.deleted,
            texts: result.texts,
            problem: result.problem)
    }
}
