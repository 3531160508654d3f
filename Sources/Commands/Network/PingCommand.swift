package import Console
import PRSNLClient
import PRSNLCore
package import Requests

/// `prsnlctl ping`: the daemon asks the server, with its own settings and on its own route.
enum PingCommand {
    static let command = Command(
        "ping", "Ask the server now whether it can be reached, and show how long each step takes.",
        examples: [("", "How long the server takes to answer.")], onlyReads: true
    ) { context, _ throws(UserFacingError) in
        let report = try context.answer(PingRequest())
        return try context.write(report, with: report.error)
    }
}

extension PingReport: Report {
    package var exitCode: ExitCode { state == .online && error == nil ? .fine : .error }

    package func text(_ style: TextStyle) -> String {
        let rows: [(label: String, text: String?)] = [
            ("State", state.words.painted(style)),
            ("Probe", probe.rawValue + (note.map { "; \(style.safe($0))" } ?? "")),
            ("Address", address.map(style.safe)),
            ("Echo", phase(.ahead, ahead, style)),
            ("Name", phase(.name, phases.name, style)),
            ("Connect", phase(.connect, phases.connect, style)),
            ("TLS", phase(.tls, phases.tls, style)),
            ("First byte", phase(.firstByte, phases.firstByte, style)),
            ("Answer", phase(.answer, nil, style) ?? status.map { "HTTP \($0)" }),
            ("Total", Formatting.milliseconds(total)),
        ]
        return fields(rows.map { ($0.label, [$0.text].compactMap(\.self)) }, style)
    }

    /// How long it took, or that it is where the probe failed.
    private func phase(_ phase: Ping.Phase, _ took: Double?, _ style: TextStyle) -> String? {
        if failedPhase == phase {
            return style.paint("failed", .red) + (phase == .answer ? status.map { ", HTTP \($0)" } ?? "" : "")
        }
        return took.map(Formatting.milliseconds)
    }
}
