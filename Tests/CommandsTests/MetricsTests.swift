import CommandSamples
import PRSNLCore
import Store
import Testing

@testable import Commands

/// The text format 0.0.4, as Prometheus reads it.
@Suite struct MetricsTests {
    @Test(arguments: [Samples.full, Samples.report(Samples.fresh, nil)])
    func eachSeriesIsThereFromTheStart(report: StatusReport) throws {
        let text = Metrics(report).text
        let lines = text.split(separator: "\n").map(String.init)
        var names: [String] = []
        for (number, line) in lines.enumerated() where !line.hasPrefix("#") {
            let name = line.prefix { $0 != " " && $0 != "{" }
            #expect(name.hasPrefix("prsnld_"))
            #expect(
                names.last == String(name)
                    || lines[number - 1] == "# TYPE \(name) \(name.hasSuffix("_total") ? "counter" : "gauge")")
            #expect(line.split(separator: " ").count == 2 && Double(line.split(separator: " ")[1]) != nil, "\(line)")
            names.append(String(name))
        }
        #expect(Set(names).count > 20 && names.count <= 40)
        #expect(lines.contains(#"prsnld_writes{state="parked"} \#(report.outbox?.parked ?? 0)"#), "\(text)")
        #expect(lines.contains("prsnld_up \(report.daemon == nil ? 0 : 1)"))
    }
}
