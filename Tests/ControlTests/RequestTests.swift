import PRSNLCore
import Store
import Testing

@testable import Control

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

    @Test(arguments: [
        ControlRequest.status, .history, .sync(full: true, wait: false, acceptDeletions: true),
        .sync(full: false, wait: true, acceptDeletions: false), .write(drafts, isBrief: true),
        .write([drafts[0]], isBrief: false), .queue(.open, limit: 50), .queue(.all, limit: 0),
        .queue(.state(.parked), limit: 7), .entry(12), .retry(nil, parked: true, dryRun: false),
        .retry([1, 2], parked: false, dryRun: true), .drop([3], withDependents: true, dryRun: true),
        .wait([4, 5], atMost: .milliseconds(1_500)), .wait([4], atMost: nil), .ping, .net(watch: true),
        .net(watch: false), .errors(clear: true), .errors(clear: false),
        .loginCheck, .login(Samples.handover), .logout, .whoami,
        .account(acceptNew: false, dryRun: false), .account(acceptNew: true, dryRun: true),
    ])
    func requestsSurviveTheWire(request: ControlRequest) throws {
        #expect(try ControlRequest(line: request.line) == request)
    }

    @Test func whatIsLeftOutHasItsDefault() throws {
        func read(_ text: String) throws -> ControlRequest { try ControlRequest(line: Array(text.utf8)) }
        #expect(try read(#"{"command":"sync"}"#) == .sync(full: false, wait: false, acceptDeletions: false))
        #expect(try read(#"{"command":"queue","filter":null,"new":[{}]}"#) == .queue(.open, limit: 50))
        #expect(try read(#"{"limit":99999999,"command":"queue"}"#) == .queue(.open, limit: 1_000))
        #expect(try read(#"{"command":"net"}"#) == .net(watch: false))
        #expect(try read(#"{"command":"retry"}"#) == .retry(nil, parked: false, dryRun: false))
        #expect(
            try read(#"{"writes":[{"item":"x","action":"delete"}],"command":"write"}"#)
                == .write([WriteRequest(.delete(item: "x"))], isBrief: false))
    }

    @Test(arguments: [
        (#"{"command":"queue","filter":"lost"}"#, "filter must be"), (#"{"command":"entry"}"#, "entry is missing"),
        (#"{"command":"net","watch":1}"#, ""),
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
        do throws(ControlRequest.Refusal) {
            _ = try ControlRequest(line: Array(line.utf8))
            Issue.record("accepted")
        } catch {
            #expect(error.reason.contains(part), "\(error.reason)")
        }
    }

    @Test func aRequestHasAtMostAThousandDrafts() throws {
        let draft = WriteRequest(.delete(item: "x"))
        let most = ControlRequest.write(Array(repeating: draft, count: 1_000), isBrief: true)
        #expect(try ControlRequest(line: most.line) == most)
        let more = ControlRequest.write(Array(repeating: draft, count: 1_001), isBrief: true)
        #expect(throws: ControlRequest.Refusal.self) { try ControlRequest(line: more.line) }
    }

    @Test func bytesThatAreNotUTF8AreRefusedAndNotRepaired() {
        var line = ControlRequest.write([WriteRequest(.create(NewItem(url: "https://example.org/?")))], isBrief: false)
            .line
        line[line.firstIndex(of: UInt8(ascii: "?")) ?? 0] = 0xFF
        #expect(throws: ControlRequest.Refusal(reason: "it is not UTF-8")) { try ControlRequest(line: line) }
    }

    @Test(arguments: [
        (#""\ud800""#, true), (#""\udc00""#, true), (#""\ud83d\ude00""#, false), (#""\ud83dx\ude00""#, true),
        (#""\ud83d\ud83d\ude00""#, true), (#""\ufffd""#, false), (#""\\ud800""#, false), (#""a\n\ud800\n""#, true),
        (#""\ud83d\n\ude00""#, true), (#""""#, false),
    ])
    func aHalfSurrogatePairIsNoticed(string: String, isLone: Bool) {
        #expect(DraftMembers.hasLoneSurrogate(Array(string.utf8)) == isLone)
    }
}
