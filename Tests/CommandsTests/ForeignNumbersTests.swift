import CommandSamples
import Console
import PRSNLCore
import Store
import Testing

@testable import Commands
@testable import Control
@testable import Requests

/// A daemon that was taken over says any number. Whatever it says, it is an answer or none, and no crash.
@Suite struct ForeignNumbersTests {
    private static let extremes = [
        "9223372036854775807", "-9223372036854775808", "9223372036854775808", "1e308", "-1e308", "1e-308", "-1", "0",
        "4294967296",
        "-0.5", "99999999999999999999999999999999",
    ]

    /// Where the numbers of a line stand.
    private static func numbers(_ line: [UInt8]) -> [Range<Int>] {
        var found: [Range<Int>] = []
        var isText = false
        var at = 0
        while at < line.count {
            if isText, line[at] == UInt8(ascii: "\\") {
                at += 2
                continue
            }
            if line[at] == UInt8(ascii: "\"") { isText.toggle() }
            if !isText, line[at] == UInt8(ascii: "-") || (48...57).contains(line[at]) {
                let end = line[at...].firstIndex { !"+-.eE0123456789".utf8.contains($0) } ?? line.count
                found.append(at..<end)
                at = end
                continue
            }
            at += 1
        }
        return found
    }

    /// - Returns: how many lines could be read.
    private static func check<Reply: ControlReply>(_ reply: Reply, _ read: ([UInt8]) throws -> Reply?) throws -> Int {
        let line = try JSONOutput.line(ReplyLine(reply: reply))
        let places = numbers(line)
        var count = 0
        for extreme in extremes {
            // All of them at once, and each by itself.
            for chosen in [places] + places.map({ [$0] }) {
                var changed = line
                for place in chosen.reversed() { changed.replaceSubrange(place, with: extreme.utf8) }
                do {
                    guard let report = try read(changed) else { continue }
                    count += 1
                    _ = try JSONOutput.line(report)
                    if let report = report as? any Report { _ = report.text(TextStyle()) }
                    if let pull = report as? Progress { _ = (pull.bar(TextStyle()), pull.text) }
                    if let waiting = report as? WaitingReport { _ = waiting.queue.text(TextStyle()) }
                } catch {
                    // It is no answer: prsnlctl says so.
                }
            }
        }
        return count
    }

    private static func answers<Request: ControlRequest>(_ type: Request.Type, _ samples: Request.Answer...) throws {
        for sample in samples {
            let count = try check(sample) { line in
                guard case .answer(let read) = try JSONOutput.decode(ReceivedLine<Request>.self, from: line) else {
                    return nil
                }
                return read
            }
            #expect(count > 0)
        }
    }

    private static func updates<Request: ControlRequest>(_ type: Request.Type, _ sample: Request.Update) throws {
        _ = try check(sample) { line in
            guard case .update(let read) = try JSONOutput.decode(ReceivedLine<Request>.self, from: line) else {
                return nil
            }
            return read
        }
    }

    @Test func noNumberOfADaemonEndsTheProgram() throws {
        try Self.answers(StatusRequest.self, Samples.full)
        try Self.answers(HistoryRequest.self, Samples.history)
        try Self.answers(SyncNowRequest.self, Samples.failedSync)
        try Self.updates(SyncNowRequest.self, Samples.pull)
        try Self.answers(WritesRequest.self, Samples.writes)
        try Self.answers(TallyRequest.self, Samples.tally)
        try Self.answers(DeliveryRequest.self, Samples.deliveries)
        try Self.updates(DeliveryRequest.self, WaitingReport(Samples.queue))
        try Self.answers(QueueRequest.self, Samples.queue)
        try Self.answers(EntryRequest.self, Samples.shown)
        try Self.answers(RetryRequest.self, Samples.retried)
        try Self.answers(DropRequest.self, Samples.dropped)
        try Self.answers(PingRequest.self, Samples.ping)
        try Self.answers(VerifyRequest.self, Samples.verified)
        try Self.updates(VerifyRequest.self, Samples.pull)
        try Self.answers(NetRequest.self, Samples.net)
        try Self.answers(NetWatchRequest.self, Samples.netChange)
        try Self.answers(ErrorsRequest.self, Samples.errors, Samples.forgotten)
        try Self.answers(LoginRequest.self, Samples.login, Samples.firstLogin)
        try Self.answers(LogoutRequest.self, Samples.logout)
        try Self.answers(WhoamiRequest.self, Samples.whoami)
        try Self.answers(AccountRequest.self, Samples.account, Samples.setAside)
    }

    /// A report of more than a few numbers is read, with these clamped, and not refused.
    @Test func aNumberThatIsTooLargeIsTheLargestThatIsBelieved() throws {
        let line =
            #"{"schema_version":1,"outcome":"complete","added":9223372036854775807,"changed":1e308,"deleted":-1e308}"#
        let report = try JSONOutput.decode(SyncResult.self, from: Array(line.utf8))
        #expect(
            report.added == 1_000_000_000_000_000 && report.changed == 1_000_000_000_000_000
                && report.deleted == -1_000_000_000_000_000)
        let text =
            #"{"schema_version":1,"outcome":"complete","added":12,"changed":3,"deleted":4,"x":"\"99999999999999999999"}"#
        #expect(try JSONOutput.decode(SyncResult.self, from: Array(text.utf8)).added == 12)
    }
}
