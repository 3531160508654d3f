import Console
import Control
import NetMonitor
import PRSNLClient
import PRSNLCore
import Reports
import Store

// Requests about the network.
extension RequestHandler {
    func addNetwork(to table: inout RequestTable) {
        on(PingRequest.self, in: &table) { [self] _, _ in await ping() }
        on(NetRequest.self, in: &table) { [self] _, _ throws(UserFacingError) in try net() }
        on(NetWatchRequest.self, in: &table) { [self] _, conversation in
            await watchNet(conversation)
            return nil
        }
    }

    var network: NetMonitor { engine.network }

    /// A probe that a person asked for. Like any other, it tells whether the server can be used.
    private func ping() async -> PingReport {
        let result = await engine.ping()
        var report = PingReport(
            state: network.current.state, probe: result.sent.rawValue, total: result.total, now: time.now())
        report.note = result.note
        report.address = result.address
        report.ahead = result.ahead.map(PingReport.milliseconds)
        if let ping = result.ping {
            report.phases = PingReport.Phases(
                name: ping.phases[.name], connect: ping.phases[.connect], tls: ping.phases[.tls],
                firstByte: ping.phases[.firstByte])
            report.status = ping.status
            report.failedPhase = ping.failedPhase?.rawValue
        } else {
            report.failedPhase = "ahead"
        }
        report.clockOffset = client.serverClockOffset?.seconds
        // The health check needs no login: an answer does not mean that the server can be used.
        let current = network.current
        report.error = (result.error ?? (current.state == .online ? nil : current.reason))
        return report
    }

    private func net() throws(UserFacingError) -> NetReport {
        // They are written with some delay, and a person looks at once.
        let unsaved = network.unsavedTransitions
        let saved = try StoreReader(path: database).connectivityHistory(limit: NetReport.mostTransitions)
        var report = NetReport(
            network.source.snapshot(), how: network.source.how,
            transitions: unsaved.reversed() + saved.filter { !unsaved.contains($0) },
            source: .daemon, now: time.now())
        report.route = network.routeText
        report.connectivity = network.current
        return report
    }

    /// Until the client leaves, or the daemon stops.
    private func watchNet(_ conversation: ControlConversation) async {
        // Before the state is read, so that no change falls in between.
        let changes = network.changes()
        conversation.send(NetChange(current: network.current, route: network.routeText, now: time.now()))
        for await change in changes { conversation.send(NetChange(change, route: network.routeText)) }
    }
}
