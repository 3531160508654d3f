import CommandSamples
import PRSNLCore
import Store
import Testing

@testable import Commands
@testable import Control
@testable import Requests

/// The lines to the control socket, and the drafts in them.
@Suite struct RequestTests {
    private static let drafts: [WriteRequest] = [
        WriteRequest(
            .create(NewItem(url: "https://example.org/ä?a=\"b\\c\"", title: "\u{0}\n\u{7F}\u{202E}😀", tags: ["a b"]))),
        WriteRequest(.create(NewItem(note: "text", type: "article", summarize: true)), key: .make(at: Samples.now)),
        WriteRequest(.create(NewItem(url: "u", tags: [""]))),
        WriteRequest(.edit(item: "59ec", ItemEdit(title: "", summary: "s", tags: [])), key: .make(at: Samples.now)),
        WriteRequest(.edit(item: "", ItemEdit())),
        WriteRequest(.delete(item: "local-x"), key: RequestKey("0123456789_AZaz-")),
    ]

    private static let requests: [any ControlRequest] = [
        StatusRequest(), HistoryRequest(), SyncNowRequest(full: true, wait: false, acceptDeletions: true),
        SyncNowRequest(full: false, wait: true, acceptDeletions: false), TallyRequest(drafts),
        WritesRequest([drafts[0]]), UndoRequest(), QueueRequest(filter: .open), QueueRequest(filter: .all, limit: 0),
        QueueRequest(filter: .parked, limit: 7), EntryRequest(entry: 12),
        RetryRequest(entries: nil, parked: true, dryRun: false),
        RetryRequest(entries: [1, 2], parked: false, dryRun: true),
        DropRequest(entries: [3], withDependents: true, dryRun: true),
        DeliveryRequest(entries: [4, 5], atMost: .milliseconds(1_500)), DeliveryRequest(entries: [4], atMost: nil),
        PingRequest(), VerifyRequest(texts: "1/7"),
        NetWatchRequest(), WatchRequest(), NetRequest(), ClearErrorsRequest(), ErrorsRequest(), RebuildIndexRequest(),
        LoginCheckRequest(),
        Samples.handover, LogoutRequest(), WhoamiRequest(), AccountRequest(),
    ]

    /// Reads a line as the server does.
    private static func read(_ line: [UInt8]) throws(RequestRefusal) -> any ControlRequest {
        try RequestTable { _, _ in }.read(line).request
    }

    private static func isSame<Request: ControlRequest>(_ request: Request, _ other: any ControlRequest) -> Bool {
        other as? Request == request
    }

    @Test(arguments: requests.indices)
    func requestsSurviveTheWire(index: Int) throws {
        let request = Self.requests[index]
        let read = try Self.read(request.line)
        let isSame = Self.isSame(request, read)
        #expect(isSame, "\(read)")
    }

    @Test func everyKindOfRequestIsTried() {
        let tried = Set(Self.requests.map { ObjectIdentifier(type(of: $0)) })
        #expect(tried == Set(RequestTable.all.map { ObjectIdentifier($0) }))
    }

    @Test func whatIsLeftOutHasItsDefault() throws {
        func expect(_ text: String, _ request: some ControlRequest) throws {
            let read = try Self.read(Array(text.utf8))
            let isSame = Self.isSame(request, read)
            #expect(isSame, "\(text): \(read)")
        }
        try expect(
            #"{"command":"sync"}"#, SyncNowRequest(full: false, wait: false, acceptDeletions: false))
        try expect(#"{"command":"queue","filter":null,"new":[{}]}"#, QueueRequest(filter: .open, limit: 50))
        try expect(#"{"limit":99999999,"command":"queue"}"#, QueueRequest(filter: .open, limit: 1_000))
        try expect(#"{"command":"net"}"#, NetRequest())
        try expect(#"{"command":"net","watch":false}"#, NetRequest())
        try expect(#"{"command":"retry"}"#, RetryRequest(entries: nil, parked: false, dryRun: false))
        try expect(
            #"{"writes":[{"item":"x","action":"delete"}],"command":"write"}"#,
            WritesRequest([WriteRequest(.delete(item: "x"))]))
    }

    @Test(arguments: [
        (#"{"command":"queue","filter":"lost"}"#, "filter must be"), (#"{"command":"entry"}"#, "entry is missing"),
        (#"{"command":"net","watch":1}"#, "watch: "),
        (#"{"command":"retry","entries":["1"]}"#, "entries: "),
        (#"{"command":"entry","entry":1.5}"#, "whole number"), (#"{"command":"entry","entry":-1}"#, "whole number"),
        (#"{"command":"entry","entry":99999999999999999999}"#, "whole number"),
        (#"{"command":"drop","entries":[]}"#, "1 to 1000"), (#"{"command":"wait"}"#, "1 to 1000"),
        (#"{"command":"write","writes":[]}"#, "1 to 1000"), (#"{"command":"write"}"#, "1 to 1000"),
        (#"{"command":"write","writes":[{}]}"#, "writes[0]: action is missing"),
        (#"{"command":"write","writes":[{"action":"undo"}]}"#, "create, edit or delete"),
        (#"{"command":"write","writes":[{"action":"delete"}]}"#, "item is missing"),
        (
            #"{"command":"write","writes":[{"action":"delete","item":"a","title":"b"}]}"#,
            "\"title\" does not belong here"
        ),
        (#"{"command":"write","writes":[{"action":"create","url":"a","url":"b"}]}"#, "\"url\" is given twice"),
        (#"{"command":"write","writes":[{"action":"create","ulr":"a"}]}"#, "\"ulr\" is not a known member"),
        (#"{"command":"write","writes":[{"action":"create","tags":"a"}]}"#, "array of strings"),
        (
            #"{"command":"write","writes":[{"action":"delete","item":"a","key":"0123456789abcde"}]}"#,
            "writes[0]: key must be 16 to 64"
        ),
        (
            #"{"command":"write","writes":[{"action":"delete","item":"a","key":"0123456789abcdeé"}]}"#,
            "key must be 16 to 64 ASCII letters"
        ),
        (#"{"command":"write","writes":[{"action":"delete","item":"a","key":7}]}"#, "key must be a string"),
        (#"{"command":"write","writes":[7]}"#, "not a JSON object"), (#"{"command":"status"} x"#, "text after"),
        (#"{"command":"reboot\u001b"}"#, #""reboot\u{1B}" is not a command"#),
    ])
    func whatIsNoRequestIsRefusedWithItsReason(line: String, part: String) {
        do throws(RequestRefusal) {
            _ = try Self.read(Array(line.utf8))
            Issue.record("accepted")
        } catch {
            #expect(error.reason.contains(part), "\(error.reason)")
        }
    }

    @Test func aRequestHasAtMostAThousandDraftsAndTenThousandWhereTheyAreTallied() throws {
        func expect<Answer>(_ type: AcceptRequest<Answer>.Type, most count: Int) throws {
            let draft = WriteRequest(.delete(item: "x"))
            let most = AcceptRequest<Answer>(Array(repeating: draft, count: count))
            let isSame = Self.isSame(most, try Self.read(most.line))
            #expect(isSame)
            let more = AcceptRequest<Answer>(Array(repeating: draft, count: count + 1))
            #expect(throws: RequestRefusal.self) { try Self.read(more.line) }
        }
        try expect(WritesRequest.self, most: 1_000)
        try expect(TallyRequest.self, most: 10_000)
    }

    @Test func bytesThatAreNotUTF8AreRefusedAndNotRepaired() {
        var line = WritesRequest([WriteRequest(.create(NewItem(url: "https://example.org/?")))]).line
        line[line.firstIndex(of: UInt8(ascii: "?")) ?? 0] = 0xFF
        let bytes = line
        #expect(throws: RequestRefusal(reason: "it is not UTF-8")) { try Self.read(bytes) }
    }
}
