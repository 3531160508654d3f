import Console
import Control
package import PRSNLCore
import Store

/// Builds the full-text index again: the daemon does it in the background, and prsnlctl at once where none runs.
package struct RebuildIndexRequest: OutboxRequest, BareRequest {
    package typealias Answer = RebuildIndexReport
    package static let command = "rebuild_index"
    package var isChange: Bool { true }

    package init() {}

    package func perform(_ outbox: OutboxOperations) async throws(UserFacingError) -> RebuildIndexReport {
        let time = TimeSource.system
        try await outbox.store.rebuildIndex()
        if outbox.source == .file {
            while try await outbox.store.indexSome(now: outbox.now(), uptime: time.uptime) == .more {}
        } else {
            outbox.store.committed.signal()
        }
        return RebuildIndexReport(notIndexed: try await outbox.store.searchState().notIndexed)
    }

    package static func hasChanged(_ answer: RebuildIndexReport) -> Bool { true }
}

/// What is left to index.
package struct RebuildIndexReport: ControlReply {
    package static let type = "rebuild_index"

    package var schemaVersion = 1
    package var notIndexed: Int

    package init(notIndexed: Int) { self.notIndexed = notIndexed }
}
