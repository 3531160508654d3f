import Commands
import Console
import DevServer
import PRSNLCore
import Requests
import Store
import TestSupport
import Testing

/// What fails before a send is a reason too: a person who looks is told why nothing goes out.
@Suite struct HindranceTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var dialect = Dialect.cursor
        var on: RequestMatcher
        var fault: Fault
        var code: String
    }

    static let cases = [
        Case(
            testDescription: "429 to everything", on: .any, fault: .rateLimit(.seconds(4)), code: "rate_limited"),
        Case(
            testDescription: "the account is not found", on: .account,
            fault: .answer(status: 404, body: #"{"detail":"Not Found"}"#), code: "not_found"),
        Case(
            testDescription: "the account fails", on: .account, fault: .answer(status: 500, body: #"{"detail":"no"}"#),
            code: "server_error"),
        Case(
            testDescription: "a refused key on E", dialect: .express, on: .any,
            fault: .answer(status: 403, body: #"{"error":"Invalid API key"}"#), code: "unauthorized"),
        Case(
            testDescription: "the newest ids are refused", dialect: .express,
            on: RequestMatcher { $0.path == "/api/timeline" && $0.headers["if-none-match"] == nil },
            fault: .answer(status: 403, body: #"{"error":"Invalid API key"}"#), code: "unauthorized"),
    ]

    @Test(arguments: cases)
    func whatFailsBeforeASendIsSaidEverywhereUntilItIsOver(_ it: Case) async throws {
        let fixture = try DaemonFixture(
            items: DevItem.generate(count: 4), dialect: it.dialect, WriteScene.makeQuick)
        let first = try await fixture.run(["--once"])
        try #require(first.exit == .status(0), "\(first.stderr)")
        let fault = fixture.server.script(it.fault, on: it.on, times: .max)
        let daemon = try await fixture.startReady()
        #expect(try await fixture.control("note", "-", input: "Bread and milk").exit == .status(0))

        let waiting = try await fixture.control("note", "-", "--wait=3s", input: "Butter")
        #expect(waiting.exit == .status(5), "\(waiting)")
        let queue = try await eventually("the reason in the queue") { () -> QueueReport? in
            let report = try fixture.decode(QueueReport.self, try await fixture.control("queue", "--json"))
            return report.entries.first?.error?.codeName == it.code ? report : nil
        }
        let message = try #require(queue.entries.first?.error?.message)
        let shown = try await fixture.control("queue", "show", "1")
        #expect(shown.stdout.contains(it.code) && shown.stdout.contains(message.prefix(20)), "\(shown.stdout)")
        let text = try await fixture.control("queue")
        #expect(text.stdout.contains(message.prefix(20)), "\(text.stdout)")
        #expect(!text.stdout.contains("due now"), "\(text.stdout)")
        #expect(!(waiting.stdout + waiting.stderr).contains("by the daemon"), "\(waiting)")
        let ended = try await fixture.control("status", "--json")
        #expect(ended.exit == .status(4), "\(ended.stdout)")
        let errors = try await fixture.control("errors")
        #expect(errors.stdout.contains(it.code), "\(errors.stdout)")

        fault.remove()
        try await eventually("the delivery") {
            _ = try await fixture.control("retry-queue")
            return try StoreReader(path: fixture.database).summary().outbox.waiting == 0
        }
        // Pulls that were refused are not asked again for half an hour.
        _ = try await fixture.control("sync", "--wait")
        try await eventually("an end of the alarm") { try await fixture.control("status").exit == .status(0) }
        #expect(fixture.server.captures.count == 2)
        #expect(try await daemon.terminate() == .status(0))
    }

    /// The question before a send is not repeated in silence for as long as the server asks.
    @Test func aRateLimitOfTheQuestionBeforeASendIsSaidAtOnce() async throws {
        let fixture = try DaemonFixture(items: DevItem.generate(count: 4), WriteScene.makeQuick)
        _ = try await fixture.run(["--once"])
        let item = fixture.server.items()[0].id
        let daemon = try await fixture.startReady()
        try await fixture.waitUntilComplete()
        let fault = fixture.server.script(.rateLimit(.seconds(50)), on: .item, times: .max)
        #expect(try await fixture.control("edit", item, "--title", "One").exit == .status(0))
        try await eventually("the reason in the queue", within: .seconds(30)) { () throws -> Bool in
            let report = try fixture.decode(QueueReport.self, try await fixture.control("queue", "--json"))
            return report.entries.first?.error?.codeName == "rate_limited"
        }
        #expect(try await fixture.control("status").exit == .status(4))
        // It is the server's wait: nothing more is asked meanwhile.
        #expect(fixture.server.requests(.item).count == 1)
        fault.remove()
        #expect(try await daemon.terminate() == .status(0))
    }

    @Test func aWriteBehindAParkedOneWaitsForADecision() async throws {
        let fixture = try DaemonFixture(items: DevItem.generate(count: 4), WriteScene.makeQuick)
        _ = try await fixture.run(["--once"])
        fixture.server.script(.answer(status: 422, body: #"{"detail":[]}"#), on: .capture)
        let daemon = try await fixture.startReady()
        let note = try await fixture.control("note", "One", "--wait=20s", "--json")
        #expect(note.exit == .status(4))
        let item = try #require(try fixture.decode(WriteReport.self, note).writes[0].itemID)
        // A new item takes no summary.
        let second = try await fixture.control("edit", item, "--summary", "Two", "--wait=1s")
        #expect(second.stdout.contains("waits for your decision about #1"), "\(second)")
        for arguments in [["queue"], ["queue", "show", "2"]] {
            let ended = try fixture.startControl(arguments)
            _ = try await ended.waitForExit()
            #expect(ended.stdout.contains("waits for your decision about #1"), "\(ended.stdout)")
        }
        #expect(try await daemon.terminate() == .status(0))
    }
}
