import Console
import Control
import PRSNLCore
import Reports
import Testing

@Suite struct JSONContractTests {
    @Test func everyReportDecodesToItself() throws {
        #expect(try JSONOutput.decode(StatusReport.self, from: try JSONOutput.line(Samples.full)) == Samples.full)
        let file = Samples.report(Samples.fresh, nil)
        #expect(try JSONOutput.decode(StatusReport.self, from: try JSONOutput.line(file)) == file)
        #expect(
            try JSONOutput.decode(HistoryReport.self, from: try JSONOutput.line(Samples.history)) == Samples.history)
        #expect(
            try JSONOutput.decode(SyncReport.self, from: try JSONOutput.line(Samples.failedSync)) == Samples.failedSync)
    }

    @Test func whatIsNotKnownIsNullAndThere() throws {
        let json = try JSONOutput.pretty(Samples.report(Samples.fresh, nil))
        // Without gaps, daemon, pull and error there is nothing below them; all other members are there.
        let below = ["daemon.", "pull.", "last_error.", "copy.gaps[].", "outbox.failing."]
        let expected = try JSONPaths.of(try JSONOutput.pretty(Samples.full)).filter { path in
            !below.contains { path.hasPrefix($0) }
        }
        #expect(try JSONPaths.of(json) == expected)
        #expect(json.contains("\"new_as_of\" : null"))
        #expect(json.contains("\"daemon\" : null"))
        #expect(json.contains("\"schema_version\" : 1"))
    }

    @Test func timesAreRFC3339WithMicroseconds() throws {
        let json = try JSONOutput.pretty(Samples.report(Samples.withGaps))
        #expect(json.contains("\"generated_at\" : \"2026-11-21T04:06:14.500000Z\""))
        #expect(json.contains("\"possibly_more_at\" : [\n      \"2025-08-01T00:00:00.000001Z\"\n    ]"))
        // The open end of a gap.
        #expect(json.contains("\"from\" : null,\n        \"to\" : \"2025-06-01T00:00:24.000025Z\""))
    }

    @Test func membersOfANewerDaemonAreIgnoredAndThoseOfAnOlderOneAreNull() throws {
        var json = String(decoding: try JSONOutput.line(Samples.full), as: UTF8.self)
        json.insert(contentsOf: "\"new_member\":{\"x\":1},", at: json.index(after: json.startIndex))
        #expect(try JSONOutput.decode(StatusReport.self, from: Array(json.utf8)) == Samples.full)
        let older = try JSONOutput.decode(
            SyncReport.self, from: Array("{\"schema_version\":1,\"outcome\":\"started\"}".utf8))
        #expect(older == .started)
    }

    @Test func jsonHoldsNoCharacterThatATerminalObeys() throws {
        var report = Samples.full
        report.server.accountName = "\u{1B}\u{9B}\u{202E}\u{E0041}\u{7F}é"
        let json = try JSONOutput.pretty(report)
        #expect(
            json.unicodeScalars.allSatisfy { $0.value == 0x0A || $0.value == 0xE9 || (0x20..<0x7F).contains($0.value) })
        #expect(try JSONOutput.decode(StatusReport.self, from: Array(json.utf8)) == report)
    }

    @Test func aRateThatIsNoNumberDoesNotLoseTheStatus() throws {
        var report = Samples.full
        report.pull?.rate = .infinity
        _ = try JSONOutput.pretty(report)
        #expect(report.text(TextStyle()).contains("0 items/s"))
    }

    @Test func repliesSurviveTheWire() throws {
        let replies: [ControlReply] = [
            .status(Samples.full), .history(Samples.history), .progress(Samples.pull), .progress(nil),
            .sync(Samples.failedSync), .write(Samples.writes), .tally(Samples.tally), .delivery(Samples.deliveries),
            .queue(Samples.queue), .entry(Samples.shown), .retry(Samples.retried), .drop(Samples.dropped),
            .ping(Samples.ping), .net(Samples.net), .netChange(Samples.netChange),
            .errors(Samples.errors), .errors(Samples.forgotten),
            .loginReady(LoginReadiness(server: "https://prsnl.example.org")), .login(Samples.login),
            .login(Samples.firstLogin), .logout(Samples.logout), .whoami(Samples.whoami), .account(Samples.account),
            .account(Samples.setAside), .error(ErrorReport(Samples.problem)),
        ]
        for reply in replies {
            #expect(try JSONOutput.decode(ControlReply.self, from: try JSONOutput.line(reply)) == reply)
        }
    }
}
