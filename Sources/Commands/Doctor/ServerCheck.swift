import Configuration
import Console
import PRSNLClient
import PRSNLCore
import Requests

/// The route to the server, step by step, and its clock.
struct ServerCheck: Check {
    static let group = DoctorReport.Group.server
    static let name = "way"
    static let limit = patience + .seconds(10)

    /// `nil` where the server could not be asked.
    var ping: PingReport?
    /// Why not.
    var reason = "there is no server to ask"
    /// Whether the daemon asked; else prsnlctl did.
    var isByDaemon = false
    var isTLS = true
    /// The proxy that stands in for the server in all but the answer.
    var hasProxy = false
    /// The answer has whole seconds and was under way.
    static let clockNotice = 5.0
    static let clockLimit = 300.0

    @Findings var findings: [Finding] {
        if let ping {
            route(ping)
            clock(ping)
        } else {
            notChecked(Self.name, reason)
        }
    }

    @Findings private func route(_ ping: PingReport) -> [Finding] {
        let steps: [(phase: Ping.Phase, check: String, took: Double?)] = [
            (.ahead, "echo", ping.ahead), (.name, "name", ping.phases.name),
            (.connect, "connect", ping.phases.connect), (.tls, "tls", ping.phases.tls),
        ]
        let failure = steps.firstIndex { $0.phase == ping.failedPhase && ping.error != nil }
        for step in steps[..<(failure ?? steps.count)] {
            if let took = step.took {
                let whose = step.check == "connect" ? (ping.address ?? "") + (hasProxy ? " (the proxy's) " : " ") : ""
                ok(step.check, "\(whose)in \(Formatting.milliseconds(took))")
            }
        }
        if let failure, let error = ping.error {
            failed(steps[failure].check, error)
        } else {
            if !isTLS, ping.phases.connect != nil { notChecked("tls", "not used (http://)") }
            // Without a phase that failed, it is the login that the server or the daemon refuses: "account" says so.
            if let error = ping.error, ping.failedPhase != nil {
                failed("health", error)
            } else {
                let took = ping.phases.firstByte.map { " in \(Formatting.milliseconds($0))" } ?? ""
                ok("health", "PRSNL answers\(took)\(isByDaemon ? "" : ", asked by prsnlctl")")
            }
        }
    }

    /// The server's clock minus ours is good to one or two seconds.
    @Findings private func clock(_ ping: PingReport) -> [Finding] {
        let offset = ping.clockOffset.flatMap { $0.isFinite ? $0 : nil }
        let size = offset?.magnitude ?? 0
        if offset == nil {
            notChecked("clock", "no answer had the server's time")
        } else if size > Self.clockNotice {
            let span = Formatting.duration(.seconds(Int64(min(size, 1e12))))
            let level = size > Self.clockLimit ? DoctorReport.Level.failed : .warning
            finding(
                "clock", level, "\(span) \(offset ?? 0 > 0 ? "behind" : "ahead of") the server's",
                "Have one of the two set by NTP: logins seem expired, and what lies in the future is not believed.",
                "timedatectl")
        } else if let error = ping.error {
            // What the daemon knows from an earlier answer.
            notChecked("clock", error.message)
        } else {
            ok("clock", "as the server's")
        }
    }

    /// As long as a slow server may take; a daemon has its own limits, which may be longer.
    static let patience: Duration = .seconds(25)

    /// Asks through the daemon, on whose route it matters, else from here.
    static func gather(_ scene: DoctorScene) -> Self {
        let configuration = scene.context.loaded.configuration
        let hasProxy = !(configuration.network.proxy ?? "").isEmpty
        var facts = Self(isTLS: configuration.serverURL?.scheme != .http, hasProxy: hasProxy)
        do throws(UserFacingError) {
            if scene.silence == nil {
                var client = try scene.context.reach()
                facts.ping = try client.ask(PingRequest(), timeout: patience).get()
                facts.isByDaemon = true
                if let url = scene.status?.server.url { facts.isTLS = url.hasPrefix("https:") }
            } else if let url = configuration.serverURL {
                facts.ping = try askFromHere(url.text, configuration.network)
            }
        } catch {
            facts.reason = error.message
        }
        return facts
    }

    /// Without credentials: who does not know the key can ask, too, and no key is sent to find out about a certificate.
    private static func askFromHere(
        _ url: String, _ configured: NetworkSettings
    ) throws(UserFacingError) -> PingReport {
        var network = configured
        // The answer has ten seconds more than the connection.
        network.connectTimeout = min(network.connectTimeout, .seconds(10))
        network.stallTimeout = min(network.stallTimeout, .seconds(10))
        let client = try LoginPlan.client(url, network, .none)
        defer { client.shutdown() }
        let ping = try blocking { () async throws(UserFacingError) in await client.ping() }
        var report = PingReport(
            state: ping.error == nil ? .online : .unreachable, probe: .http, total: ping.total,
            now: TimeSource.system.now())
        report.address = ping.address
        report.add(ping)
        report.error = ping.error.map(\.userFacing)
        report.clockOffset = client.serverClockOffset?.seconds
        return report
    }
}
