import CLinux
import CommandSamples
import Console
import Glibc
import PRSNLCore
import Store
import Synchronization
import TestSupport
import Testing

@testable import Commands
@testable import Control
@testable import Requests

private typealias AnyHandler = @Sendable (any ControlRequest, ControlConversation) async -> Void

@Suite struct ControlServerTests {
    let folder = TemporaryDirectory()
    var path: String { folder.file("run/control.sock") }

    private func start(
        _ limits: ControlServer.Limits = .init(), _ handler: @escaping AnyHandler = Self.answer
    ) throws -> ControlServer {
        try ControlServer(path: path, limits: limits, requests: RequestTable(handler))
    }

    private static let answer: AnyHandler = { request, conversation in
        switch request {
        case is StatusRequest: conversation.send(Samples.full)
        case is HistoryRequest: conversation.send(Samples.history)
        case let sync as SyncNowRequest:
            if sync.wait { for _ in 0..<3 { conversation.send(Samples.pull) } }
            conversation.send(SyncResult(followed: nil))
        case is TallyRequest: conversation.send(Samples.tally)
        default:
            conversation.send(Samples.problem)
        }
    }

    private func ask<Request: ControlRequest>(_ request: Request) throws -> Request.Answer {
        var client = try ControlClient(path: path)
        return try client.ask(request, timeout: .seconds(60)).get()
    }

    private func code(_ body: () throws -> Void) -> ErrorCode? {
        do {
            try body()
            return nil
        } catch let error as UserFacingError {
            return error.code
        } catch {
            Issue.record(error)
            return nil
        }
    }

    @Test func aServerThatWasStoppedLeavesNoThreadAndNoDescriptor() async throws {
        try await expectNothingLeft(threads: "prsnl-control") {
            try await onThread {
                let server = try start()
                defer { server.stop() }
                _ = try ask(StatusRequest())
            }
        }
    }

    @Test func requestsAreAnsweredInOrderOverOneConnection() async throws {
        try await onThread {
            let server = try start()
            defer { server.stop() }
            var client = try ControlClient(path: path)
            try client.send(SyncNowRequest(full: false, wait: true, acceptDeletions: false))
            try client.send(StatusRequest())
            try client.send(HistoryRequest())
            var progress: [Progress] = []
            let synced = try client.receive(SyncNowRequest.self) { progress.append($0) }
            #expect(progress == Array(repeating: Samples.pull, count: 3))
            #expect(try synced.get() == SyncResult(followed: nil))
            #expect(try client.receive(StatusRequest.self).get() == Samples.full)
            #expect(try client.receive(HistoryRequest.self).get() == Samples.history)
        }
    }

    @Test func theSocketIsForTheUserAndTheGroupAndGoesWithTheServer() async throws {
        try await onThread {
            let server = try start()
            var information = stat()
            #expect(lstat(path, &information) == 0)
            #expect(information.st_mode & 0o7777 == 0o660)
            #expect(information.st_mode & S_IFMT == S_IFSOCK)
            server.stop()
            #expect(!TestFile.exists(path))
            #expect(code { _ = try ask(StatusRequest()) } == .daemonNotRunning)
        }
    }

    @Test(arguments: [
        "garbage", "{}", "[]", "null", "{\"command\":\"reboot\"}", "{\"command\":7}",
        "{\"command\":\"sync\",\"full\":\"yes\"}",
        "\u{0}\u{1}\u{FFFD}", "{\"command\":\"status\"", String(repeating: "[", count: 60_000),
    ])
    func garbageGetsAnErrorAndTheConnectionGoesOn(garbage: String) async throws {
        try await onThread {
            let server = try start()
            defer { server.stop() }
            let client = try RawClient(path)
            client.send(garbage + "\n")
            guard let error = try client.error() else {
                Issue.record("no error")
                return
            }
            #expect(error.codeName == "control_protocol")
            client.send("\r\n  \n{\"command\":\"status\"}\r\n")
            #expect(try client.line() == wire(Samples.full))
            #expect(try ask(StatusRequest()) == Samples.full)
        }
    }

    @Test func aRequestThatIsTooLongEndsItsConnectionOnly() async throws {
        try await onThread {
            var limits = ControlServer.Limits()
            limits.requestSize = 1_000
            let server = try start(limits)
            defer { server.stop() }
            let bystander = try RawClient(path)
            for hasEnd in [true, false] {
                let client = try RawClient(path)
                client.send(Array(repeating: UInt8(ascii: "x"), count: 1_001) + (hasEnd ? [UInt8(ascii: "\n")] : []))
                guard let error = try client.error() else {
                    Issue.record("no error")
                    return
                }
                #expect(error.codeName == "control_protocol")
                #expect(try client.line() == nil)
            }
            bystander.send("{\"command\":\"status\"}\n")
            #expect(try bystander.line() == wire(Samples.full))
            let exact = try RawClient(path)
            exact.send("{\"command\":\"status\"}" + String(repeating: " ", count: 980) + "\n")
            #expect(try exact.line() == wire(Samples.full))
        }
    }

    @Test func aWriteMayBeLongerThanOtherRequestsButNotWithoutEnd() async throws {
        try await onThread {
            var limits = ControlServer.Limits()
            limits.requestSize = 1_000
            limits.writeSize = 300_000
            let (taken, continuation) = AsyncStream<Int>.makeStream()
            defer { _ = taken }
            let server = try start(limits) { request, conversation in
                if let request = request as? TallyRequest { continuation.yield(request.writes.count) }
                conversation.send(Samples.tally)
            }
            defer { server.stop() }
            let drafts = (0..<1_000).map {
                WriteRequest(.create(NewItem(url: "https://example.org/\($0)", title: "\"é\n")))
            }
            #expect(TallyRequest(drafts).line.count > 64 << 10)
            #expect(try ask(TallyRequest(drafts)) == Samples.tally)
            let client = try RawClient(path)
            client.send("{\"command\":\"write\",\"writes\":[\"" + String(repeating: "x", count: 300_000))
            guard let error = try client.error() else {
                Issue.record("no error")
                return
            }
            #expect(error.message.contains("a write 300000"))
            #expect(try client.line() == nil)
        }
    }

    @Test func aClientTooManyIsToldSo() async throws {
        try await onThread {
            var limits = ControlServer.Limits()
            limits.clients = 3
            limits.reserved = 0
            let server = try start(limits)
            defer { server.stop() }
            var clients = try (0..<3).map { _ in try RawClient(path) }
            for client in clients {
                client.send("{\"command\":\"status\"}\n")
                #expect(try client.line() == wire(Samples.full))
            }
            let fourth = try RawClient(path)
            guard let error = try fourth.error() else {
                Issue.record("no error")
                return
            }
            #expect(error.codeName == "daemon_busy")
            #expect(try fourth.line() == nil)
            clients.removeAll()
            // The server notices in its own time that they have left.
            let clock = ContinuousClock()
            let end = clock.now + generousDeadline
            while clock.now < end {
                do { if try ask(StatusRequest()) == Samples.full { return } } catch is UserFacingError { continue }
            }
            Issue.record("no place became free")
        }
    }

    @Test func anIdleClientIsDisconnectedAndABusyOneIsNot() async throws {
        var limits = ControlServer.Limits()
        limits.idleTime = .milliseconds(50)
        let (release, continuation) = AsyncStream<Void>.makeStream()
        let server = try start(limits) { _, conversation in
            for await _ in release {}
            conversation.send(SyncResult(followed: nil))
        }
        defer { server.stop() }
        let busy = try RawClient(path)
        busy.send("{\"command\":\"sync\"}\n")
        let idle = try RawClient(path)
        // Which takes as long as a busy client may have been idle.
        #expect(try await onThread { try idle.line() } == nil)
        continuation.finish()
        #expect(try await onThread { try busy.line() } == wire(SyncResult(followed: nil)))
    }

    @Test func aClientThatClosesItsSendingSideStillGetsItsAnswer() async throws {
        try await onThread {
            let server = try start()
            defer { server.stop() }
            let client = try RawClient(path)
            client.send("{\"command\":\"status\"}\n{\"command\":\"history\"}")
            client.endOfInput()
            #expect(try client.line() == wire(Samples.full))
            #expect(try client.line() == wire(Samples.history))
            #expect(try client.line() == nil)
        }
    }

    @Test func aClientThatLeavesCancelsWhatWasDoneForIt() async throws {
        let (started, startedContinuation) = AsyncStream<Void>.makeStream()
        let (cancelled, cancelledContinuation) = AsyncStream<Void>.makeStream()
        let server = try start { _, _ in
            await withTaskCancellationHandler {
                startedContinuation.finish()
                for await _ in cancelled {}
            } onCancel: {
                cancelledContinuation.finish()
            }
        }
        defer { server.stop() }
        do {
            let client = try RawClient(path)
            client.send("{\"command\":\"status\"}\n")
            for await _ in started {}
        }
        for await _ in cancelled {}
    }

    @Test func aRequestWhoseSenderLeavesAtOnceIsStillTaken() async throws {
        let (taken, continuation) = AsyncStream<SyncNowRequest>.makeStream()
        let server = try start { request, _ in
            if let request = request as? SyncNowRequest { continuation.yield(request) }
        }
        defer { server.stop() }
        do {
            let client = try RawClient(path)
            client.send("{\"command\":\"sync\",\"full\":true}\n")
        }
        var iterator = taken.makeAsyncIterator()
        #expect(await iterator.next() == SyncNowRequest(full: true, wait: false, acceptDeletions: false))
    }

    @Test func aClientThatReadsNothingIsDroppedAndHurtsNoOther() async throws {
        let (ended, continuation) = AsyncStream<Void>.makeStream()
        let server = try start { request, conversation in
            guard request is SyncNowRequest else { return Self.answerStatus(conversation) }
            await withTaskCancellationHandler {
                while !Task.isCancelled {
                    conversation.send(Samples.full)
                    await Task.yield()
                }
            } onCancel: {
                continuation.finish()
            }
        }
        defer { server.stop() }
        let lazy = try RawClient(path)
        lazy.send("{\"command\":\"sync\"}\n")
        for await _ in ended {}
        #expect(try await onThread { try ask(StatusRequest()) } == Samples.full)
    }

    private static func answerStatus(_ conversation: ControlConversation) { conversation.send(Samples.full) }

    @Test func manyClientsAtOnceAllGetTheirAnswers() async throws {
        let server = try start()
        defer { server.stop() }
        let path = path
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<16 {
                group.addTask {
                    try await onThread {
                        for _ in 0..<20 {
                            var client = try ControlClient(path: path)
                            let answer = try client.ask(StatusRequest(), timeout: .seconds(60)).get()
                            guard answer == Samples.full else { return 0 }
                        }
                        return 20
                    }
                }
            }
            var answered = 0
            for try await count in group { answered += count }
            #expect(answered == 320)
        }
    }

    @Test func theSocketOfADeadDaemonIsReplaced() async throws {
        try await onThread {
            #expect(Folder.make(folder.file("run")) == nil)
            // What a killed daemon leaves behind: a bound socket that no process holds open.
            let dead = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
            let address = try #require(SocketAddress(path: path))
            #expect(address.with { bind(dead, $0, $1) } == 0)
            close(dead)
            #expect(TestFile.exists(path))
            let server = try start()
            defer { server.stop() }
            #expect(try ask(StatusRequest()) == Samples.full)
        }
    }

    @Test func theSocketOfALiveDaemonIsLeftAlone() async throws {
        try await onThread {
            let server = try start()
            defer { server.stop() }
            #expect(code { _ = try start() } == .controlSocketTaken)
            #expect(try ask(StatusRequest()) == Samples.full)
        }
    }

    @Test func whatIsNoSocketIsLeftAlone() async throws {
        try await onThread {
            #expect(Folder.make(folder.file("run")) == nil)
            try TestFile.write("precious", to: path)
            #expect(code { _ = try start() } == .controlSocketFailed)
            #expect(try TestFile.text(path) == "precious")
            #expect(code { _ = try ask(StatusRequest()) } == .daemonNotRunning)
        }
    }

    @Test func aPathThatIsTooLongIsRefusedOnBothSides() async throws {
        try await onThread {
            let long = folder.file(String(repeating: "x", count: 120))
            #expect(
                code { _ = try ControlServer(path: long, requests: RequestTable(Self.answer)) } == .controlSocketFailed)
            #expect(code { _ = try ControlClient(path: long) } == .usage)
        }
    }

    @Test func stoppingEndsWaitingClients() async throws {
        try await onThread {
            let server = try start { _, _ in
                do { try await Task.sleep(for: .seconds(3_600)) } catch { return }
            }
            let client = try RawClient(path)
            client.send("{\"command\":\"status\"}\n")
            server.stop()
            #expect(try client.line() == nil)
        }
    }

    @Test func anAnswerThatIsNotOursIsNamedSo() async throws {
        try await onThread {
            #expect(Folder.make(folder.file("run")) == nil)
            let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
            defer { close(listener) }
            let address = try #require(SocketAddress(path: path))
            #expect(address.with { bind(listener, $0, $1) } == 0 && listen(listener, 5) == 0)
            var client = try ControlClient(path: path)
            let accepted = accept(listener, nil, nil)
            #expect(write(accepted, "HTTP/1.1 400 Bad\n", 17) == 17)
            var caught: ErrorCode?
            do throws(UserFacingError) { _ = try client.receive(StatusRequest.self) } catch { caught = error.code }
            #expect(caught == .controlProtocol)
            // Silence is "busy", a closed connection is "not running".
            do throws(UserFacingError) { _ = try client.receive(StatusRequest.self, timeout: .milliseconds(1)) } catch {
                caught = error.code
            }
            #expect(caught == .daemonBusy)
            close(accepted)
            do throws(UserFacingError) { _ = try client.receive(StatusRequest.self) } catch { caught = error.code }
            #expect(caught == .daemonNotRunning)
        }
    }
}
