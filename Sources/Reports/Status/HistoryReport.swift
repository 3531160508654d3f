package import Console
import Control
package import PRSNLCore
package import Store

/// Asks for the last pulls.
package struct HistoryRequest: BareRequest {
    package typealias Answer = HistoryReport
    package static let command = "history"
    package var isChange: Bool { false }

    package init() {}
}

/// The pulls that did something, the newest first: the JSON of `prsnlctl history --json`.
package struct HistoryReport: ControlReply {
    package static let type = "history"

    package struct Pull: Sendable, Equatable, Codable {
        package var id: Int64
        /// `backfill`, `head`, `sweep`, `pass`, `check`.
        package var kind: String
        package var startedAt: Timestamp
        @Nullable package var endedAt: Timestamp? = nil
        /// `running`, `complete`, `incomplete`, `failed`, `interrupted`.
        package var outcome: String
        package var requests: Int
        package var pages: Int
        package var added: Int
        package var changed: Int
        package var deleted: Int
        package var suspects: Int
        package var rejected: Int
        @Nullable package var errorCode: String? = nil
    }

    package var schemaVersion = 1
    package var source: StatusReport.Source
    package var pulls: [Pull]

    package init(_ records: [PullRecord], source: StatusReport.Source) {
        self.source = source
        pulls = records.map { record in
            Pull(
                id: record.id, kind: record.kind.rawValue, startedAt: record.startedAt, endedAt: record.endedAt,
                outcome: record.outcome.rawValue, requests: record.requests, pages: record.pages, added: record.added,
                changed: record.changed, deleted: record.deleted, suspects: record.suspects,
                rejected: record.rejected, errorCode: record.errorCode)
        }
    }
}

extension HistoryReport: Report {
    package func text(_ style: TextStyle) -> String {
        guard !pulls.isEmpty else { return "No pull has done anything yet.\n" }
        let header = Self.row("Started (UTC)", "Kind", "Outcome", "Took", "Added", "Changed", "Deleted")
        var lines = [style.paint(header, .bold)]
        for pull in pulls {
            let started = Figures.time(pull.startedAt).dropLast(4)
            let took = pull.endedAt.map { Figures.duration($0.duration(since: pull.startedAt)) } ?? "-"
            lines.append(
                Self.row(
                    String(started), style.safe(pull.kind), style.safe(pull.outcome), took,
                    Figures.count(pull.added), Figures.count(pull.changed), Figures.count(pull.deleted)))
            var notes: [String] = []
            if let code = pull.errorCode { notes.append(style.safe(code)) }
            if pull.suspects > 0 { notes.append(Figures.count(pull.suspects, "suspect")) }
            if pull.rejected > 0 { notes.append("\(Figures.count(pull.rejected)) rejected") }
            if !notes.isEmpty { lines.append("  " + notes.joined(separator: ", ")) }
        }
        return lines.map { $0 + "\n" }.joined()
    }

    private static func row(
        _ started: String, _ kind: String, _ outcome: String, _ took: String, _ added: String, _ changed: String,
        _ deleted: String
    ) -> String {
        [
            TextLayout.padRight(started, to: 19), TextLayout.padRight(kind, to: 8),
            TextLayout.padRight(outcome, to: 11), TextLayout.padLeft(took, to: 7), TextLayout.padLeft(added, to: 9),
            TextLayout.padLeft(changed, to: 9), TextLayout.padLeft(deleted, to: 9),
        ].joined(separator: " ")
    }
}
