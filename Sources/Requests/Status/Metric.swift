import PRSNLCore

/// A family of Prometheus. What is not known is `NaN`, so that each series is there from the start.
package struct Metric {
    package let name: String
    package let help: String
    /// Of the label that its series differ by; `nil` for a single one.
    package let label: String?
    package let values: (StatusReport) -> [(label: String, value: Double?)]

    package init(
        _ name: String, _ help: String, by label: String? = nil,
        _ values: @escaping (StatusReport) -> [(label: String, value: Double?)]
    ) {
        (self.name, self.help, self.label, self.values) = (name, help, label, values)
    }

    /// Where they are grouped, the label has these values and no others, whatever a daemon asks a server.
    static func ofRequests(
        _ name: String, _ help: String, grouped: Bool = false, _ value: @escaping (RequestCosts) -> Double
    ) -> Metric {
        func group(_ cost: RequestCosts) -> String {
            let isItem = cost.endpoint.contains(" /api/items") || cost.endpoint.contains(" /api/capture")
            return !grouped ? "" : cost.endpoint.hasSuffix(" /api/timeline") ? "timeline" : isItem ? "items" : "other"
        }
        return Metric(name, help, by: grouped ? "endpoint" : nil) { report in
            let costs = report.daemon?.requests ?? []
            return (grouped ? ["timeline", "items", "other"] : [""]).map { name in
                (name, costs.filter { group($0) == name }.reduce(0) { $0 + value($1) })
            }
        }
    }

    /// In the text format 0.0.4 (https://prometheus.io/docs/instrumenting/exposition_formats/).
    package func text(_ report: StatusReport) -> String {
        let kind = name.hasSuffix("_total") ? "counter" : "gauge"
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
