package import Console
package import Store

/// What `queue drop` did, or with `dry_run` would do: the JSON of `prsnlctl queue drop --json`.
package struct DropReport: Sendable, Equatable, Codable {
    package var schemaVersion = 1
    package var source: StatusReport.Source
    package var dryRun: Bool
    /// Given up; empty where dependents were found that were not to be dropped.
    package var dropped: [Int64]
    /// What is queued behind a dropped creation, and can only go with it.
    package var dependents: [Int64]

    enum CodingKeys: String, CodingKey {
        case source, dropped, dependents
        case schemaVersion = "schema_version"
        case dryRun = "dry_run"
    }

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
        return lines.flatMap { TextLayout.wrap($0, width: style.width) }.map { $0 + "\n" }.joined()
    }
}
