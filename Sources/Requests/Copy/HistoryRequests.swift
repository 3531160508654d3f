package import Control
package import PRSNLCore
package import Store

/// Asks for the last pulls.
package struct HistoryRequest: Request, BareRequest {
    package static let command = "history"
    package var isChange: Bool { false }
    package init() {}

    package func answer(_ context: RequestContext) throws(UserFacingError) -> HistoryReport? {
        HistoryReport(source: context.source, pulls: try context.reader().history())
    }
}

/// The pulls that did something, the newest first: the JSON of `prsnlctl history --json`.
package struct HistoryReport: ControlReply {
    package static let type = "history"

    package var schemaVersion = 1
    package var source: StatusReport.Source
    package var pulls: [PullRecord]
}

/// Asks for the errors that recur.
package struct ErrorsRequest: Request, BareRequest {
    package static let command = "errors"
    package var isChange: Bool { false }
    package init() {}

    package func answer(_ context: RequestContext) async throws(UserFacingError) -> ErrorsReport? {
        // The daemon also knows those that the disk has not taken.
        let errors =
            if let daemon = context.daemon { try await daemon.parts.store.recurringErrors() } else {
                try context.reader().recurringErrors()
            }
        return ErrorsReport(source: context.source, generatedAt: context.now, errors: errors)
    }
}

/// Forgets the errors that recur.
package struct ClearErrorsRequest: Request, BareRequest {
    package static let command = "errors"
    package static let variant: String? = "clear"
    package var isChange: Bool { true }
    package init() {}

    package func answer(_ context: RequestContext) async throws(UserFacingError) -> ErrorsReport? {
        let cleared = try await context.withStore { store throws(UserFacingError) in try await store.forgetErrors() }
        return ErrorsReport(source: context.source, generatedAt: context.now, cleared: cleared)
    }

    package func remark(_ answer: ErrorsReport, path: String) -> String? {
        Remark.change(answer.cleared ?? 0 > 0, path: path)
    }
}

/// The errors that the daemon has met, grouped by code and endpoint: the JSON of `prsnlctl errors --json`.
package struct ErrorsReport: ControlReply {
    package static let type = "errors"

    package var schemaVersion = 1
    package var source: StatusReport.Source
    package var generatedAt: Timestamp
    /// How many were forgotten; `null` without `--clear`.
    @Nullable package var cleared: Int? = nil
    /// Those that go on first, each half with the newest first.
    package var errors: [RecurringError] = []
}

/// Asks to be told of each change of what `status` and `queue` show, until one side leaves; or of each row of `change`.
package struct WatchRequest: Request {
    package static let command = "watch"

    package let changes: Bool
    package var isChange: Bool { false }
    package var place: RequestPlace { .daemon }

    /// Twice a second at the most, and only while a person watches.
    private static let interval: Duration = .milliseconds(500)
    /// Rows are told at once. Without any, so often.
    private static let longest: Duration = .seconds(3_600)

    package init(changes: Bool = false) { self.changes = changes }
    package init(_ members: RequestMembers) throws(RequestRefusal) { changes = try members.bool("changes") }
    package func write(to line: inout RequestLine) { line.add("changes", changes) }

    package func answer(_ context: RequestContext) async throws(UserFacingError) -> ChangeSign? {
        let parts = try context.requireDaemon().parts
        if changes {
            let (id, wakeup) = parts.store.changesMade.join()
            defer { parts.store.changesMade.leave(id) }
            // The first: a client that reads after it misses nothing.
            context.send(ChangeSign())
            while !Task.isCancelled {
                await wakeup.wait(atMost: Self.longest, time: context.time)
                context.send(ChangeSign())
            }
            return nil
        }
        var last: (EngineState, Int64)?
        while true {
            let now = (parts.engine.state, await parts.store.changes)
            if let last, last != now { context.send(ChangeSign()) }
            last = now
            do { try await context.time.sleep(Self.interval) } catch { return nil }
        }
    }
}

package struct ChangeSign: ControlReply { package static let type = "changed" }
