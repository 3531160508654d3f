import CommandSamples
import PRSNLCore
import Store
import TestSupport
import Testing

@testable import Commands
@testable import Requests

/// The text format 0.0.4, as Prometheus reads it.
@Suite struct MetricsTests {
    @Test(arguments: [Samples.full, Samples.report(Samples.fresh, nil)])
    func eachSeriesIsThereFromTheStart(report: StatusReport) throws {
        let text = Metrics.text(report)
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
        // No family grows with what a server says.
        let families = Dictionary(grouping: names, by: \.self)
        #expect(families.count > 20 && families.values.allSatisfy { $0.count <= 5 })
        #expect(lines.contains(#"prsnld_writes{state="parked"} \#(report.outbox?.parked ?? 0)"#), "\(text)")
        #expect(lines.contains("prsnld_up \(report.daemon == nil ? 0 : 1)"))
    }

    @Test func requestsAreCountedByGroupsThatNoServerCanAddTo() {
        var report = Samples.full
        var costs = [
            "GET /api/timeline", "GET /api/items/{id}", "POST /api/capture", "GET /api/health", "GET /anything\"\n",
        ].map { RequestCosts(endpoint: $0) }
        for place in costs.indices { (costs[place].requests, costs[place].meanDuration) = (place + 1, 500) }
        costs[0].failures = 7
        report.daemon?.requests = costs
        let lines = Metrics.text(report).split(separator: "\n")
        for (group, requests, failures) in [("timeline", 1, 7), ("items", 5, 0), ("other", 9, 0)] {
            #expect(lines.contains(#"prsnld_requests_total{endpoint="\#(group)"} \#(requests)"#))
            #expect(lines.contains(#"prsnld_request_failures_total{endpoint="\#(group)"} \#(failures)"#))
        }
        #expect(lines.contains("prsnld_request_seconds_total 7.5"))
    }

    /// Each of its expressions is one of Prometheus, of series that there are.
    @Test func theDashboardAsksForWhatThereIs() async throws {
        let path = RepositoryFile.root() + "/systemd/prometheus/prsnld.grafana.json"
        let expressions = try await ChildProcess.run(
            "/usr/bin/python3",
            [
                "-c",
                """
                import json, sys
                for panel in json.load(open(sys.argv[1]))["panels"]:
                    for target in panel["targets"]: print(target["expr"].replace("$instance", ".*"))
                """, path,
            ])
        let lines = expressions.stdout.split(separator: "\n").map(String.init)
        #expect(lines.count >= 10, "\(expressions)")
        let text = Metrics.text(Samples.full)
        for name in lines.flatMap({ $0.matches(of: /prsnld_\w+/) }) {
            #expect(text.contains("# TYPE \(name.0) "), "\(name.0)")
        }
        let folder = TemporaryDirectory("dashboard")
        let rules = lines.enumerated().map { "  - record: r\($0)\n    expr: '\($1)'\n" }
        try TestFile.write("groups:\n- name: g\n  rules:\n\(rules.joined())", to: folder.file("rules.yml"))
        try await promtool("check", "rules", folder.file("rules.yml"))
    }

    private func promtool(_ arguments: String..., input: String = "") async throws {
        let ran = try await ChildProcess.run("/usr/bin/promtool", arguments, input: input)
        #expect(ran.exit == .status(0) && ran.stderr.isEmpty, "\(ran)")
    }

    @Test(arguments: [Samples.full, Samples.report(Samples.fresh, nil)])
    func prometheusFindsNothingWrongWithThem(report: StatusReport) async throws {
        try await promtool("check", "metrics", input: Metrics.text(report))
    }

    @Test func theAlertsAreRaisedWhenTheyShouldBe() async throws {
        let folder = RepositoryFile.root() + "/systemd/prometheus"
        try await promtool("check", "rules", folder + "/prsnld.rules.yml")
        try await promtool("test", "rules", folder + "/prsnld.rules.test.yml")
        // Each asks for series that there are.
        let text = Metrics.text(Samples.full)
        for name in try TestFile.text(folder + "/prsnld.rules.yml").matches(of: /prsnld_\w+(?:{state="\w+"})?/) {
            #expect(text.contains("\n\(name.0) "), "\(name.0)")
        }
    }
}
