package import Console
import PRSNLCore
package import Requests

/// `prsnlctl ping`: the daemon asks the server, with its own settings and on its own route.
enum PingCommand {
    static let command = Command(
        "ping", "Ask the server now whether it can be reached, and show how long each step takes.", onlyReads: true
    ) { context, _ throws(UserFacingError) in
        let report = try context.answer(PingRequest())
        try context.write(report, with: report.error)
        return report.exitCode
    }
}

extension PingReport: Report {
    package var exitCode: ExitCode { state == .online && error == nil ? .fine : .error }

    package func text(_ style: TextStyle) -> String {
        let rows: [(label: String, text: String?)] = [
            ("State", state.words.painted(style)),
            ("Probe", style.safe(probe) + (note.map { "; \(style.safe($0))" } ?? "")),
            ("Address", address.map(style.safe)),
            ("Echo", phase("ahead", ahead, style)),
            ("Name", phase("name", phases.name, style)),
            ("Connect", phase("connect", phases.connect, style)),
            ("TLS", phase("tls", phases.tls, style)),
            ("First byte", phase("first_byte", phases.firstByte, style)),
            ("Answer", phase("answer", nil, style) ?? status.map { "HTTP \($0)" }),
            ("Total", Formatting.milliseconds(total)),
        ]
        return fields(rows.map { ($0.label, [$0.text].compactMap(\.self)) }, style)
    }

    /// How long it took, or that it is where the probe failed.
    private func phase(_ name: String, _ took: Double?, _ style: TextStyle) -> String? {
        if failedPhase == name {
            return style.paint("failed", .red) + (name == "answer" ? status.map { ", HTTP \($0)" } ?? "" : "")
        }
        return took.map(Formatting.milliseconds)
    }
}
