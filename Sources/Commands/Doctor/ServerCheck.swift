import Configuration
import Console
import Control
import PRSNLClient
import PRSNLCore

/// The route to the server, step by step, and its clock.
struct ServerCheck: Check, Equatable {
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

    var findings: [DoctorReport.Finding] {
        guard let ping else { return [.notChecked(.server, "way", reason)] }
        return route(ping) + [clock(ping)]
    }

    private func route(_ ping: PingReport) -> [DoctorReport.Finding] {
        var findings: [DoctorReport.Finding] = []
        let whose = hasProxy ? " (the proxy's)" : ""
        let steps: [(phase: String, check: String, took: Double?)] = [
            ("ahead", "echo", ping.ahead), ("name", "name", ping.phases.name),
            ("connect", "connect", ping.phases.connect), ("tls", "tls", ping.phases.tls),
        ]
        for step in steps {
            if ping.failedPhase == step.phase, let error = ping.error {
                return findings + [.failed(.server, step.check, error)]
            }
            guard let took = step.took else { continue }
            var text = "in \(Formatting.milliseconds(took))"
            if step.check == "connect" { text = (ping.address ?? "") + whose + " " + text }
            findings.append(.ok(.server, step.check, text))
        }
        if !isTLS, ping.phases.connect != nil {
            findings.append(.notChecked(.server, "tls", "the address is http://: there is none"))
        }
        // Without a phase that failed, it is the login that the server or the daemon refuses: "account" says so.
        if let error = ping.error, ping.failedPhase != nil {
            findings.append(.failed(.server, "health", error))
        } else {
            let took = ping.phases.firstByte.map { " in \(Formatting.milliseconds($0))" } ?? ""
            findings.append(.ok(.server, "health", "PRSNL answers\(took)" + (isByDaemon ? "" : ", asked by prsnlctl")))
        }
        return findings
    }

    /// The server's clock minus ours is good to one or two seconds.
    private func clock(_ ping: PingReport) -> DoctorReport.Finding {
        guard let clockOffset = ping.clockOffset, clockOffset.isFinite else {
            return .notChecked(.server, "clock", "no answer told the server's time")
        }
        let size = clockOffset.magnitude
        guard size > Self.clockNotice || ping.error != nil else { return .ok(.server, "clock", "as the server's") }
        // What the daemon knows from an earlier answer.
        guard size > Self.clockNotice else { return .notChecked(.server, "clock", ping.error?.message ?? "no answer") }
        let span = Formatting.duration(.seconds(Int64(min(size, 1e12))))
        let text = "\(span) \(clockOffset > 0 ? "behind" : "ahead of") the server's"
        let advice: Advice =
            "Have one of the two set by NTP: logins seem expired, and what lies in the future is not believed."
        return size > Self.clockLimit
            ? .failed(.server, "clock", text, advice, next: "timedatectl")
            : .warning(.server, "clock", text, advice, next: "timedatectl")
    }
}

// MARK: Reading

extension ServerCheck {
    /// As long as a slow server may take; a daemon has its own limits, which may be longer.
    static let limit: Duration = .seconds(25)

    /// Asks through the daemon, on whose route it matters, else from here.
    init(_ scene: DoctorScene) {
        let configuration = scene.loaded.configuration
        hasProxy = !(configuration.network.proxy ?? "").isEmpty
        isTLS = configuration.serverURL?.scheme != .http
        if case .answers = scene.daemon {
            do throws(UserFacingError) {
                var client = try scene.context.reach()
                ping = try client.ask(PingRequest(), timeout: Self.limit).get()
                isByDaemon = true
                isTLS = scene.status?.server.url?.hasPrefix("https:") ?? isTLS
            } catch {
                reason = error.message
            }
            return
        }
        guard let url = configuration.serverURL else { return }
        do throws(UserFacingError) {
            ping = try Self.askFromHere(configuration, url.text)
        } catch {
            reason = error.message
        }
    }

    /// Without credentials: who does not know the key can ask, too, and no key is sent to find out about a certificate.
    private static func askFromHere(
        _ configuration: DaemonConfiguration, _ url: String
    ) throws(UserFacingError) -> PingReport {
        var settings = ClientConfiguration(
            serverURL: url, credentials: .none, network: configuration.network,
            userAgent: "prsnlctl/\(ProductVersion.current)")
        settings.connectTimeout = min(settings.connectTimeout, .seconds(10))
        settings.stallTimeout = min(settings.stallTimeout, .seconds(10))
        settings.totalTimeout = min(settings.totalTimeout, .seconds(20))
        let client = try PRSNLClient(configuration: settings, time: TaskLoop.start().time)
        defer { client.shutdown() }
        let ping = try blocking { () async throws(UserFacingError) in await client.ping() }
        var report = PingReport(
            state: ping.error == nil ? .online : .unreachable, probe: "http", total: ping.total,
            now: TimeSource.system.now())
        report.address = ping.address
        report.add(ping)
        report.error = ping.error.map(\.userFacing)
        report.clockOffset = client.serverClockOffset?.seconds
        return report
    }
}
