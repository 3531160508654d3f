package import Console
package import Control
package import PRSNLCore
package import Store

/// Gives writes up that are not sent.
package struct DropRequest: OutboxRequest {
    package typealias Answer = DropReport
    package static let command = "drop"

    package let entries: [Int64]
    /// Also what is queued behind them.
    package let withDependents: Bool
    package let dryRun: Bool
    package var isChange: Bool { !dryRun }

    package init(_ entries: [Int64], withDependents: Bool, dryRun: Bool) {
        self.entries = entries
        self.withDependents = withDependents
        self.dryRun = dryRun
    }

    package init(_ members: RequestMembers) throws(RequestRefusal) {
        entries = try members.entries()
        withDependents = try members.bool("with_dependents")
        dryRun = try members.bool("dry_run")
    }

    package func write(to line: inout RequestLine) {
        line.add("entries", entries)
        line.add("with_dependents", withDependents)
        line.add("dry_run", dryRun)
    }

    package func perform(_ outbox: OutboxOperations) async throws(UserFacingError) -> DropReport {
        let outcome = try await outbox.store.drop(
            entries, withDependents: withDependents, dryRun: dryRun, now: outbox.now())
        return DropReport(outcome, dryRun: dryRun, source: outbox.source)
    }

    package static func hasChanged(_ answer: DropReport) -> Bool { !answer.dropped.isEmpty && !answer.dryRun }
}

/// What `queue drop` did, or with `dry_run` would do: the JSON of `prsnlctl queue drop --json`.
package struct DropReport: ControlReply {
    package static let type = "drop"

    package var schemaVersion = 1
    package var source: StatusReport.Source
    package var dryRun: Bool
    /// Given up; empty where dependents were found that were not to be dropped.
    package var dropped: [Int64]
    /// What is queued behind a dropped creation, and can only go with it.
    package var dependents: [Int64]

    package init(_ outcome: DropOutcome, dryRun: Bool, source: StatusReport.Source) {
        self.source = source
        self.dryRun = dryRun
        dropped = outcome.dropped
        dependents = outcome.dependents
    }

    /// 1 where nothing was dropped because of dependents.
    package var exitCode: ExitCode { dropped.isEmpty && !dependents.isEmpty ? .error : .fine }
}

extension DropReport: Report {
    package func text(_ style: TextStyle) -> String {
        let all = dropped + dependents.filter { !dropped.contains($0) }
        var lines: [String]
        if dropped.isEmpty, !dependents.isEmpty {
            lines = ["Nothing was dropped: \(OutboxWords.numbers(dependents)) would have to go, too (--yes)."]
        } else {
            lines = [(dryRun ? "would drop " : "dropped ") + OutboxWords.numbers(all, most: 50)]
        }
        return paragraphs(lines, style)
    }
}
