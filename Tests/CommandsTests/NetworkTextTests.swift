import CommandSamples
import PRSNLCore
import Testing

@testable import Commands
@testable import Console
@testable import NetMonitor
@testable import Requests
@testable import Store

/// What people read about the network and the route to the server.
@Suite struct NetworkTextTests {
    @Test func theNetworkIsATableWithTheStateAboveIt() throws {
        var report = Samples.net
        report.listening = .netlink
        report.listeningReason = nil
        try expectScreen("theNetworkIsATableWithTheStateAboveIt", report.text(TextStyle()))
    }

    @Test func withoutTheDaemonItSaysWhoseViewItIs() {
        let report = NetReport(
            Samples.snapshot, how: .netlink, transitions: [], source: .file, now: Samples.now)
        let text = report.text(TextStyle())
        #expect(text.hasPrefix("Daemon       does not answer; links and routes are as this command sees them\n\nLink"))
        #expect(text.hasSuffix("Last changes of the connection (UTC)\nnone yet\n"))
        #expect(report.connectivity == nil && report.route == nil)
    }

    @Test func whereNetlinkIsNotPermittedNoEmptyTableIsShown() throws {
        var report = NetReport(
            NetworkSnapshot(), how: .polling, reason: "netlink is not permitted: Operation not permitted",
            transitions: [], source: .daemon, now: Samples.now)
        report.route = "192.0.2.7 over eth0"
        let text = report.text(TextStyle())
        try expectScreen("whereNetlinkIsNotPermittedNoEmptyTableIsShown", text)
        #expect(report.listening == .polling)
    }

    @Test func aChangeIsOneLine() {
        #expect(
            Samples.netChange.line(TextStyle())
                == "2026-11-21 04:06:14 UTC  offline      eth0: carrier lost; default route via 192.0.2.1 gone")
        var current = NetworkChange(
            at: Samples.now, kind: .current, reasons: [], state: .online, route: "192.0.2.7 over eth0")
        #expect(
            current.line(TextStyle()) == "2026-11-21 04:06:14 UTC  online       route: 192.0.2.7 over eth0")
        current.state = .offline
        current.reasons = [Samples.offline.message]
        #expect(current.line(TextStyle()).hasSuffix("offline      No route to prsnl.example.org: eth0: carrier lost."))
    }

    @Test func aLinksNameCannotSteerTheTerminal() {
        var snapshot = Samples.snapshot
        snapshot.links[2]?.name = "e\u{1B}[2J"
        let report = NetReport(snapshot, how: .netlink, transitions: [], source: .file, now: Samples.now)
        var change = Samples.netChange
        change.reasons = ["\u{1B}]0;x\u{7}: down\nup"]
        let text = report.text(TextStyle()) + change.line(TextStyle())
        #expect(!text.unicodeScalars.contains { $0.value == 0x1B || $0.value == 0x07 })
        #expect(!change.line(TextStyle()).contains("\n"))
        #expect(text.contains("e\\u{1B}[2J"))
    }

    @Test func aPingShowsHowLongEachStepTook() throws {
        var ping = Samples.ping
        ping.failedPhase = nil
        ping.error = nil
        ping.probe = .http
        ping.note = nil
        try expectScreen("aPingShowsHowLongEachStepTook", ping.text(TextStyle()))
        #expect(ping.exitCode == .fine)
        ping.state = .unauthorized
        #expect(ping.exitCode == .error)
        #expect(Samples.ping.exitCode == .error)
    }

    @Test func aPingThatFailsSaysWhere() throws {
        var ping = PingReport(state: .unreachable, probe: .http, total: .seconds(10), now: Samples.now)
        ping.note = "ICMP is not permitted here"
        ping.phases.name = 0.25
        ping.failedPhase = .connect
        ping.error = UserFacingError(.connectFailed, "Network error: refused.")
        try expectScreen("aPingThatFailsSaysWhere", ping.text(TextStyle()))
        ping.failedPhase = .answer
        ping.status = 302
        #expect(ping.text(TextStyle()).contains("Answer       failed, HTTP 302\n"))
    }

    @Test func theStatusSaysWhatBeingOfflineMeans() {
        var facts = Samples.facts
        facts.connectivity = Samples.away
        let text = Samples.report(Samples.complete, facts).text(TextStyle())
        #expect(
            text.contains(
                """
                Connection   offline since 2026-11-21 01:06:14 (3 h ago)
                             No route to prsnl.example.org: eth0: carrier lost.
                             Nothing is sent or pulled until this machine has a route to the
                             server again; then at once.

                """), "\(text)")
        #expect(Samples.report(Samples.complete, facts).exitCode == .fine)
        facts.connectivity = .init(state: .online, since: Samples.now, reason: nil)
        var report = Samples.report(Samples.complete, facts)
        report.daemon?.network = .init(
            listening: .polling, listeningReason: "netlink is not permitted: Permission denied",
            route: "192.0.2.7 over eth0")
        #expect(
            report.text(TextStyle()).contains(
                """
                Connection   online since 2026-11-21 04:06:14 (0 s ago)
                             netlink is not permitted: Permission denied; network changes are
                             noticed within a minute

                """))
    }

    // MARK: The queue

    private func queue(_ source: StatusReport.Source, _ connectivity: Connectivity?) -> String {
        var due = Samples.entry(7)
        due.nextAttemptAt = Samples.time("2026-11-21T04:00:00Z")
        var later = Samples.entry(8)
        later.nextAttemptAt = Samples.time("2026-11-21T04:08:14.5Z")
        let list = OutboxList(entries: [due, later], total: 2)
        return QueueReport(list, filter: .open, source: source, connectivity: connectivity, now: Samples.now)
            .text(TextStyle())
    }

    @Test func aQueueThatWaitsForTheNetworkSaysSoInsteadOfDueNow() throws {
        try expectScreen("aQueueThatWaitsForTheNetworkSaysSoInsteadOfDueNow", queue(.daemon, Samples.away))
        let online = queue(.daemon, .init(state: .online, since: nil, reason: nil))
        #expect(online.contains("due now\n") && online.contains("next attempt in 2 min\n"))
        #expect(!online.contains("Nothing is sent"))
        #expect(queue(.daemon, Samples.connectivity).contains("due when the server is reachable\n"))
        let refused = Connectivity(state: .unauthorized, since: nil, reason: nil)
        #expect(queue(.daemon, refused).contains("due when the server accepts the credentials\n"))
        #expect(queue(.file, nil).contains("due when the daemon runs\n"))
    }

    @Test func whatIsOverNeedsNoReasonWhyNothingIsSent() {
        var entry = Samples.entry(7, .delivered)
        entry.endedAt = Samples.time("2026-11-21T04:00:00Z")
        let list = OutboxList(entries: [entry], total: 1)
        let text = QueueReport(
            list, filter: .all, source: .daemon, connectivity: Samples.away, now: Samples.now
        ).text(TextStyle())
        #expect(!text.contains("Nothing is sent"))
        #expect(text.contains("ended 6 min ago"))
    }

    @Test func anEntrySaysWhatItWaitsForToo() {
        var due = Samples.entry(7)
        due.nextAttemptAt = Samples.time("2026-11-21T04:00:00Z")
        let report = EntryReport(due, [], source: .daemon, connectivity: Samples.away, now: Samples.now)
        #expect(report.text(TextStyle()).contains("State        queued; due when there is a network\n"))
    }

    // MARK: Waiting for many

    @Test func whatWasGivenUpIsNotSaidToWait() {
        var report = BatchReport()
        report.accepted = 6
        report.sending = .inTurn
        let entries = [
            Samples.entry(1, .delivered), Samples.entry(2, .dropped), Samples.entry(3, .superseded),
            Samples.entry(4, .queued),
        ]
        report.add(DeliveryReport(entries), asked: 5)
        #expect(report.delivered == 1 && report.dropped == 2 && report.superseded == 1 && report.parked == 0)
        #expect(
            report.text(TextStyle())
                == "queued 6, delivered 1, dropped 2, replaced 1; 2 on disk and not delivered yet;\n"
                + "will be sent by the daemon\n")
        #expect(report.exitCode == .notDelivered)
        var done = BatchReport()
        done.accepted = 2
        done.add(DeliveryReport([Samples.entry(1, .delivered), Samples.entry(3, .superseded)]), asked: 2)
        #expect(done.exitCode == .fine)
        #expect(done.text(TextStyle()) == "queued 2, delivered 1, replaced 1\n")
    }
}
