package import Console
import PRSNLCore

extension PingReport: Report {
    package mutating func fit(_ unit: ServiceUnit) { error?.fit(unit) }

    package func text(_ style: TextStyle) -> String {
        func field(_ label: String, _ text: String?) -> [String] {
            text.map { TextLayout.field(label, [$0], style: style) } ?? []
        }
        let fields: [[String]] = [
            field("State", ConnectivityWords.painted(state, style)),
            field("Probe", style.safe(probe) + (note.map { "; \(style.safe($0))" } ?? "")),
            field("Address", address.map(style.safe)),
            field(probe == "icmp" ? "Echo" : "Handshake", phase("ahead", ahead, style)),
            field("Name", phase("name", phases.name, style)),
            field("Connect", phase("connect", phases.connect, style)),
            field("TLS", phase("tls", phases.tls, style)),
            field("First byte", phase("first_byte", phases.firstByte, style)),
            field("Answer", phase("answer", nil, style) ?? status.map { "HTTP \($0)" }),
            field("Total", Figures.milliseconds(total)),
        ]
        return fields.joined().map { $0 + "\n" }.joined()
    }

    /// How long it took, or that it is where the probe failed.
    private func phase(_ name: String, _ took: Double?, _ style: TextStyle) -> String? {
        if failedPhase == name {
            return style.paint("failed", .red) + (name == "answer" ? status.map { ", HTTP \($0)" } ?? "" : "")
        }
        return took.map(Figures.milliseconds)
    }
}
