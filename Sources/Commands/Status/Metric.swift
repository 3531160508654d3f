import PRSNLCore

/// A family of Prometheus. What is not known is `NaN`, so that each series is there from the start.
package struct Metric {
    package let name: String
    package let help: String
    /// Of the label that its series differ by; `nil` for a single one.
    package let label: String?
    package let values: (StatusReport) -> [(label: String, value: Double?)]

    package var kind: String { name.hasSuffix("_total") ? "counter" : "gauge" }

    init(_ name: String, _ help: String, _ value: @escaping (StatusReport) -> Int?) {
        (self.name, self.help, label) = (name, help, nil)
        values = { [("", value($0).map { Double($0) })] }
    }

    /// A timestamp, and no age.
    init(_ name: String, _ help: String, at time: @escaping (StatusReport) -> Timestamp?) {
        (self.name, self.help, label) = (name + "_timestamp_seconds", help, nil)
        values = { [("", time($0).map { Double($0.microseconds) / 1e6 })] }
    }

    init(
        _ name: String, _ help: String, by label: String = "state",
        _ values: @escaping (StatusReport) -> [(String, Int)]
    ) {
        (self.name, self.help, self.label) = (name, help, label)
        self.values = { values($0).map { ($0.0, Double($0.1)) } }
    }

    /// Of requests. Where they are grouped, a label has these values and no others, whatever a daemon asks a server.
    private init(_ name: String, _ help: String, grouped: Bool = false, sum: @escaping (RequestCosts) -> Double) {
        (self.name, self.help, label) = (name, help, grouped ? "endpoint" : nil)
        values = { report in
            let costs = report.daemon?.requests ?? []
            return (grouped ? ["timeline", "items", "other"] : [""]).map { group in
                let own = grouped ? costs.filter { Self.group(of: $0.endpoint) == group } : costs
                return (group, own.reduce(0) { $0 + sum($1) })
            }
        }
    }

    static var ofRequests: [Metric] {
        [
            Metric("requests_total", "Requests since the daemon began.", grouped: true) { Double($0.requests) },
            Metric("request_failures_total", "Calls that ended without the requested answer.", grouped: true) {
                Double($0.failures)
            },
            Metric("request_seconds_total", "How long the requests took together.") {
                $0.meanDuration * Double($0.requests) / 1_000
            },
            Metric("received_bytes_total", "Bytes that came from the server.") { Double($0.bytesReceived) },
            Metric("sent_bytes_total", "Bytes that went to the server.") { Double($0.bytesSent) },
        ]
    }

    private static func group(of endpoint: String) -> String {
        if endpoint.hasSuffix(" /api/timeline") { return "timeline" }
        return endpoint.contains(" /api/items") || endpoint.contains(" /api/capture") ? "items" : "other"
    }

    /// In the text format 0.0.4 (https://prometheus.io/docs/instrumenting/exposition_formats/).
    package func text(_ report: StatusReport) -> String {
        let front = "# HELP prsnld_\(name) \(help)\n# TYPE prsnld_\(name) \(kind)\n"
        return values(report).reduce(into: front) { text, series in
            let label = label.map { #"{\#($0)="\#(series.label)"}"# } ?? ""
            text += "prsnld_\(name)\(label) \(Self.number(series.value ?? .nan))\n"
        }
    }

    private static func number(_ value: Double) -> String {
        value.isNaN ? "NaN" : value == value.rounded() && abs(value) < 1e15 ? "\(Int64(value))" : "\(value)"
    }
}
