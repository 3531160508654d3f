import CommandSamples
import Console
import PRSNLCore
import Store
import Testing

@testable import Commands
@testable import Control
@testable import Requests

@Suite struct JSONContractTests {
    @Test func everyReportDecodesToItself() throws {
        #expect(try JSONOutput.decode(StatusReport.self, from: try JSONOutput.line(Samples.full)) == Samples.full)
        let file = Samples.report(Samples.fresh, nil)
        #expect(try JSONOutput.decode(StatusReport.self, from: try JSONOutput.line(file)) == file)
        #expect(
            try JSONOutput.decode(HistoryReport.self, from: try JSONOutput.line(Samples.history)) == Samples.history)
        #expect(
            try JSONOutput.decode(SyncResult.self, from: try JSONOutput.line(Samples.failedSync)) == Samples.failedSync)
    }

    @Test func whatIsNotKnownIsNullAndThere() throws {
        let json = try JSONOutput.pretty(Samples.report(Samples.fresh, nil))
        // Without gaps, daemon, pull and error there is nothing below them; all other members are there.
        let below = [
            "daemon.", "no_daemon.", "pull.", "last_error.", "copy.gaps[].", "copy.texts.", "copy.search.",
            "copy.verified.", "copy.gone.",
            "outbox.failing.",
        ]
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
            SyncResult.self, from: Array("{\"schema_version\":1,\"outcome\":\"started\"}".utf8))
        #expect(older == SyncResult(followed: nil))
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
        func expect<Request: ControlRequest>(_ type: Request.Type, _ answers: Request.Answer...) throws {
            for answer in answers {
                let line = try JSONOutput.line(ReplyLine(reply: answer))
                guard case .answer(let read) = try JSONOutput.decode(ReceivedLine<Request>.self, from: line) else {
                    Issue.record("not an answer: \(String(decoding: line, as: UTF8.self))")
                    continue
                }
                #expect(read == answer)
            }
        }
        try expect(StatusRequest.self, Samples.full)
        try expect(HistoryRequest.self, Samples.history)
        try expect(SyncNowRequest.self, Samples.failedSync)
        try expect(WritesRequest.self, Samples.writes)
        try expect(TallyRequest.self, Samples.tally)
        try expect(DeliveryRequest.self, Samples.deliveries)
        try expect(QueueRequest.self, Samples.queue)
        try expect(EntryRequest.self, Samples.shown)
        try expect(RetryRequest.self, Samples.retried)
        try expect(DropRequest.self, Samples.dropped)
        try expect(PingRequest.self, Samples.ping)
        try expect(VerifyRequest.self, Samples.verified)
        try expect(NetRequest.self, Samples.net)
        try expect(NetWatchRequest.self, Samples.netChange)
        try expect(ErrorsRequest.self, Samples.errors, Samples.forgotten)
        try expect(LoginCheckRequest.self, LoginReadiness(server: "https://prsnl.example.org"))
        try expect(LoginRequest.self, Samples.login, Samples.firstLogin)
        try expect(LogoutRequest.self, Samples.logout)
        try expect(WhoamiRequest.self, Samples.whoami)
        try expect(AccountRequest.self, Samples.account, Samples.setAside)
    }

    @Test func updatesAndErrorsAreToldFromAnswers() throws {
        func read<Request: ControlRequest>(
            _ type: Request.Type, _ reply: some ControlReply
        ) throws -> ReceivedLine<Request> {
            try JSONOutput.decode(ReceivedLine<Request>.self, from: try JSONOutput.line(ReplyLine(reply: reply)))
        }
        guard case .update(Samples.pull) = try read(SyncNowRequest.self, Samples.pull) else {
            Issue.record("no progress")
            return
        }
        let waiting = WaitingReport(Samples.queue)
        guard case .update(waiting) = try read(DeliveryRequest.self, waiting) else {
            Issue.record("nothing that is waited for")
            return
        }
        let problem = Samples.problem
        guard case .error(problem) = try read(StatusRequest.self, problem),
            case .other = try read(StatusRequest.self, Samples.history)
        else {
            Issue.record("taken for an answer")
            return
        }
    }

    @Test(arguments: [
        ("schemaVersion", "schema_version"), ("accountID", "account_id"), ("serverURL", "server_url"),
        ("at", "at"), ("newAsOf", "new_as_of"), ("wasQueued", "was_queued"),
    ])
    func aMembersNameIsTheSameWordsInSwiftAndInJSON(swift: String, json: String) {
        #expect(JSONKeys.snake(swift) == json)
        #expect(JSONKeys.camel(json) == swift)
        // As systemd's journal has them.
        #expect(JSONKeys.camel("__REALTIME_TIMESTAMP") == "__REALTIME_TIMESTAMP")
    }
}
