import Commands
import Console
import DevServer
import Glibc
import PRSNLCore
import TestSupport
import Testing

/// The two ways of the metrics to Prometheus, under a real systemd.
@Suite(.enabled(if: Machine.isToBeUsed, "machines of a test's own need root")) struct MetricsServiceTests {
    private static let socket = "prsnld-metrics.socket"
    private static let request = #"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"#

    /// What comes back for some bytes, as printf(1) writes them, until the other end closes.
    private func answer(_ machine: Machine, _ request: String, port: Int = 10_757) async throws -> String {
        try await machine.must(
            "bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/$1 && printf \"$2\" >&3 && cat <&3", "ask", "\(port)", request)
    }

    /// The processes that scrapes have started, and are not gone.
    private func scrapes(_ machine: Machine) async throws -> String {
        try await machine.must("systemctl", "list-units", "--all", "--plain", "--no-legend", "prsnld-metrics@*")
    }

    private func waitUntilIdle(_ machine: Machine) async throws {
        try await eventually("the last scrape's process to end") { try await scrapes(machine).isEmpty }
    }

    /// The weekly comparison: it fails where copy and server are not equal, and says what differs.
    @Test func theWeeklyComparisonFailsWhereTheyAreNotEqual() async throws {
        try await ServiceScene.run { scene in
            let machine = scene.machine
            #expect(try await machine.run("systemctl", "is-enabled", "prsnld-verify.timer").stdout == "disabled\n")
            try await scene.startComplete()
            try await machine.must("systemctl", "start", "prsnld-verify.service")
            #expect(try await machine.run("prsnlctl", "status").stdout.contains("equal to the server's list"))
            let id = try #require(scene.server.items(owner: DevAccount.owner.id).last?.id)
            #expect(scene.server.delete(id))
            #expect(try await machine.run("systemctl", "start", "prsnld-verify.service").exit != .status(0))
            _ = try await machine.waitForJournal(of: "prsnld-verify.service", containing: "+ \(id.prefix(8))")
            #expect(try await machine.run("prsnlctl", "status").stdout.contains("1 difference"))
        }
    }

    @Test func eachScrapeIsOneProcessAndBetweenThemNothingRuns() async throws {
        try await ServiceScene.run { scene in
            let machine = scene.machine
            #expect(try await machine.run("systemctl", "is-enabled", Self.socket).stdout == "disabled\n")
            #expect(try await machine.run("systemctl", "is-enabled", "prsnld-metrics.timer").stdout == "disabled\n")
            try await scene.startComplete()
            try await machine.must("systemctl", "enable", "--now", Self.socket)
            #expect(try await scrapes(machine) == "")

            let got = try await answer(machine, Self.request)
            #expect(got.hasPrefix("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"))
            #expect(got.contains("\nprsnld_up 1\n") && got.contains("\nprsnld_items{state=\"live\"} 40\n"), "\(got)")
            try await waitUntilIdle(machine)
            #expect(try await machine.property("NAccepted", of: Self.socket) == "1")

            // From the file, which the group may read.
            try await machine.must("systemctl", "stop", ServiceScene.unit)
            let file = try await answer(machine, Self.request)
            #expect(file.contains("\nprsnld_up 0\n") && file.contains("\nprsnld_items{state=\"live\"} 40\n"), "\(file)")
            try await waitUntilIdle(machine)
            // As another user than the daemon, and without a line in the journal.
            #expect(try await machine.journal(of: "prsnld-metrics@*").isEmpty)
            #expect(try await machine.run("systemctl", "is-failed", Self.socket).stdout == "active\n")
        }
    }

    @Test func aClientThatSaysNothingOrLeavesOrTalksNonsenseKeepsNoOtherFromScraping() async throws {
        try await ServiceScene.run { scene in
            let machine = scene.machine
            try await scene.startComplete()
            try await machine.must("systemctl", "start", Self.socket)
            // More at once than are taken, and some that are gone at once.
            let silent = try (0..<12).map { _ in
                try machine.start(["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/10757; cat <&3"])
            }
            for _ in 0..<250 {
                try machine.network.perform { Self.connectAndLeave() }
            }
            for child in silent {
                _ = try await child.waitForExit()
                #expect(child.stdout.isEmpty)
            }
            try await waitUntilIdle(machine)
            #expect(try await answer(machine, #"\0\1\2 no\r\n\r\n"#).hasPrefix("HTTP/1.1 400 "))
            // All of it is read, and the answer says why it is refused.
            let long = try await answer(machine, #"GET /metrics HTTP/1.1\r\nA: %0300000d"#)
            #expect(long.hasPrefix("HTTP/1.1 431 "), "\(long)")
            let endless = try machine.start([
                "bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/10757; yes >&3 2>/dev/null; cat <&3",
            ])
            _ = try await endless.waitForExit()
            #expect(try await answer(machine, Self.request).contains("\nprsnld_up 1\n"))
            try await waitUntilIdle(machine)
            #expect(try await machine.must("systemctl", "list-units", "--failed", "--plain", "--no-legend") == "")
        }
    }

    private static func connectAndLeave() {
        let descriptor = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(10_757).bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                _ = connect(descriptor, address, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    /// The distribution's own, on the machine's loopback.
    @Test func prometheusAndNodeExporterReadBothWays() async throws {
        try await ServiceScene.run { scene in
            let machine = scene.machine
            try await scene.startComplete()
            try await machine.write(
                "[Timer]\nOnActiveSec=1s\nAccuracySec=1s\n", to: "/etc/systemd/system/prsnld-metrics.timer.d/test.conf")
            try await machine.must("systemctl", "daemon-reload")
            try await machine.must("systemctl", "enable", "--now", "prsnld-metrics.timer", Self.socket)
            let file = "/var/lib/prometheus/node-exporter/prsnld.prom"
            try await eventually("the collector's file") { TestFile.exists(machine.path(file)) }
            #expect(try await machine.must("stat", "--format=%a %U", file) == "644 root")
            try await eventually("the timer's process to end") {
                try await machine.property("ActiveState", of: "prsnld-metrics.service") == "inactive"
            }
            #expect(try await machine.property("Result", of: "prsnld-metrics.service") == "success")

            let rules = try RepositoryFile.text("systemd/prometheus/prsnld.rules.yml")
            let installed = try TestFile.text(machine.path("/usr/share/doc/prsnld/examples/prsnld.rules.yml"))
            #expect(installed == rules)
            try await machine.write(
                """
                global: {scrape_interval: 1s, evaluation_interval: 1s}
                rule_files: [/usr/share/doc/prsnld/examples/prsnld.rules.yml]
                scrape_configs:
                  - {job_name: prsnld, static_configs: [{targets: ["127.0.0.1:10757"]}]}
                  - {job_name: node, static_configs: [{targets: ["127.0.0.1:9100"]}]}
                """, to: "/srv/prometheus.yml")
            let exporter = try machine.start([
                "prometheus-node-exporter", "--collector.disable-defaults", "--collector.textfile",
                "--collector.textfile.directory=/var/lib/prometheus/node-exporter",
                "--web.listen-address=127.0.0.1:9100",
            ])
            let prometheus = try machine.start([
                "prometheus", "--config.file=/srv/prometheus.yml", "--storage.tsdb.path=/srv/prometheus",
                "--web.listen-address=127.0.0.1:9090",
            ])
            func query(_ path: String) async throws -> String {
                let ran = try await machine.run(
                    "bash", "-c",
                    "exec 3<>/dev/tcp/127.0.0.1/9090 && printf 'GET %s HTTP/1.0\\r\\n\\r\\n' \"$1\" >&3 && cat <&3",
                    "ask", path)
                return ran.stdout
            }
            for job in ["prsnld", "node"] {
                do {
                    try await eventually("what \(job) has told") {
                        try await query("/api/v1/query?query=prsnld_items%7Bjob=%22\(job)%22,state=%22live%22%7D")
                            .contains(#","40"]"#)
                    }
                } catch {
                    let targets = try await query("/api/v1/targets")
                    throw WaitedInVain("\(error): \(targets)\n\(prometheus.stderr)\n\(exporter.stderr)")
                }
            }
            let count = try await query("/api/v1/query?query=count(%7B__name__=~%22prsnld_.%2B%22%7D)by(job)")
            #expect(count.matches(of: #/,"40"\]/#).count == 2, "\(count)")
            try await eventually("the rules to be evaluated") {
                try await query("/api/v1/rules").matches(of: #/"health":"ok"/#).count == 5
            }
            // From the file, with its owner's rights.
            try await machine.must("systemctl", "stop", "prsnld-metrics.timer", ServiceScene.unit)
            try await machine.must("systemctl", "start", "prsnld-metrics.service")
            let stopped = try TestFile.text(machine.path(file))
            #expect(stopped.contains("\nprsnld_up 0\n") && stopped.contains("\nprsnld_items{state=\"live\"} 40\n"))
            #expect(try await query("/api/v1/alerts").contains(#""alerts":[]"#))
            #expect(!exporter.stderr.contains("level=error") && !prometheus.stderr.contains("level=error"))
        }
    }
}
