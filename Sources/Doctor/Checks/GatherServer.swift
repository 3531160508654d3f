import Configuration
import Console
import Control
import PRSNLClient
import PRSNLCore
import Reports

/// Asks the server: through the daemon, on whose way it matters, else from here.
enum GatherServer {
    /// As long as a slow server may take; a daemon has its own limits, which may be longer.
    static let limit: Duration = .seconds(25)

    /// The status, and, by a daemon that can be asked, whom the server takes it for just now.
    static func copy(_ scene: DoctorScene) -> DoctorCopy {
        var facts = DoctorCopy()
        facts.status = scene.status
        facts.reason = scene.statusReason
        guard case .answers = scene.daemon else { return facts }
        do throws(UserFacingError) {
            var client = try ControlClient(path: scene.socket)
            // A daemon of an earlier version does not know the question.
            if case .success(let report) = try client.ask(WhoamiRequest(), timeout: limit) { facts.whoami = report }
        } catch {
            facts.whoamiReason = error.message
        }
        return facts
    }

    static func way(_ scene: DoctorScene) -> DoctorServer {
        var facts = DoctorServer()
        let configuration = scene.loaded.configuration
        facts.hasProxy = !(configuration.network.proxy ?? "").isEmpty
        facts.isTLS = configuration.serverURL?.scheme != .http
        if case .answers = scene.daemon {
            do throws(UserFacingError) {
                var client = try ControlClient(path: scene.socket)
                let report = try client.ask(PingRequest(), timeout: limit).answer()
                facts.isByDaemon = true
                facts.ping = report
                facts.clockOffset = report.clockOffset
                facts.isTLS = scene.status?.server.url?.hasPrefix("https:") ?? facts.isTLS
            } catch {
                facts.reason = error.message
            }
            return facts
        }
        guard let url = configuration.serverURL else { return facts }
        do throws(UserFacingError) {
            try askFromHere(configuration, url.text, &facts)
        } catch {
            facts.reason = error.message
        }
        return facts
    }

    /// Without credentials: who does not know the key can ask, too, and no key is sent to find out about a certificate.
    private static func askFromHere(
        _ configuration: DaemonConfiguration, _ url: String, _ facts: inout DoctorServer
    ) throws(UserFacingError) {
        var settings = ClientConfiguration(
            serverURL: url, credentials: .none, network: configuration.network,
            userAgent: "prsnlctl/\(ProductVersion.current)")
        settings.connectTimeout = min(settings.connectTimeout, .seconds(10))
        settings.stallTimeout = min(settings.stallTimeout, .seconds(10))
        settings.totalTimeout = min(settings.totalTimeout, .seconds(20))
        let client = try PRSNLClient(configuration: settings, time: taskTime())
        defer { client.shutdown() }
        let ping = try blocking { () async throws(UserFacingError) in await client.ping() }
        var report = PingReport(
            state: ping.error == nil ? "online" : "unreachable", probe: "http", total: ping.total,
            now: TimeSource.system.now())
        report.address = ping.address
        report.phases = PingReport.Phases(
            name: ping.phases[.name], connect: ping.phases[.connect], tls: ping.phases[.tls],
            firstByte: ping.phases[.firstByte])
        report.status = ping.status
        report.failedPhase = ping.failedPhase?.rawValue
        report.error = ping.error.map { ErrorReport($0.userFacing) }
        facts.ping = report
        facts.clockOffset = client.serverClockOffset?.seconds
    }
}
