import CLinux
import CTestSupport
import CommandSamples
import Glibc
import PRSNLCore
import Synchronization
import TestSupport
import Testing

@testable import Control

/// Clients that mean no good: whatever they do concerns only them.
@Suite struct ControlAbuseTests {
    private let folder = TemporaryDirectory()
    private var path: String { folder.file("run/control.sock") }

    private func start(_ limits: ControlServer.Limits = .init()) throws -> ControlServer {
        try ControlServer(
            path: path, limits: limits, requests: RequestTable { _, conversation in conversation.send(Samples.full) })
    }

    private static let status = "{\"command\":\"status\"}\n"

    private func othersAreServed() throws {
        let other = try RawClient(path)
        other.send(Self.status)
        #expect(try other.line() == wire(Samples.full))
    }

    @Test func aLineThatTricklesInHasTheSameTimeAsAnyOther() async throws {
        var limits = ControlServer.Limits()
        limits.idleTime = .milliseconds(50)
        let server = try start(limits)
        defer { server.stop() }
        try await onThread {
            let client = try RawClient(path)
            let clock = ContinuousClock()
            let end = clock.now + generousDeadline
            // Never silent, never done.
            while client.send([UInt8(ascii: "{")]) {
                try #require(clock.now < end, "it is still connected")
                usleep(1_000)
            }
            try othersAreServed()
        }
    }

    @Test func aMebibyteOfBlankLinesCostsNoMoreThanItsBytes() async throws {
        let server = try start()
        defer { server.stop() }
        try await onThread {
            let client = try RawClient(path)
            let blanks = Array(repeating: UInt8(ascii: "\n"), count: 1 << 20)
            #expect(client.send(blanks + Array(Self.status.utf8)))
            try othersAreServed()
            #expect(try client.line() == wire(Samples.full))
        }
    }

    @Test func randomBytesHurtNoOther() async throws {
        var random = SeededRandom()
        let server = try start()
        defer { server.stop() }
        let blobs = (0..<40).map { _ in
            (0..<Int.random(in: 1...70_000, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
        }
        try await onThread {
            for (index, blob) in blobs.enumerated() {
                let client = try RawClient(path)
                client.send(blob)
                if index.isMultiple(of: 2) { client.endOfInput() }
                if index.isMultiple(of: 10) { try othersAreServed() }
            }
            try othersAreServed()
        }
    }

    @Test func clientsThatNeverReadAreDroppedAndOthersServed() async throws {
        let server = try start()
        defer { server.stop() }
        try await onThread {
            let lazy = try (0..<20).map { _ in try RawClient(path) }
            // More answers than any buffer holds. They are not waited for: a full socket ends the sending.
            for client in lazy {
                #expect(prsnl_fcntl_int(client.descriptor, F_SETFL, O_NONBLOCK) == 0)
                client.send(String(repeating: Self.status, count: 2_000))
            }
            try othersAreServed()
            withExtendedLifetime(lazy) {}
            try othersAreServed()
        }
    }

    @Test func descriptorsThatComeAlongAreClosed() async throws {
        let server = try start()
        defer { server.stop() }
        try await onThread {
            var ends: [Int32] = [-1, -1]
            #expect(pipe(&ends) == 0)
            defer { close(ends[0]) }
            let client = try RawClient(path)
            #expect(prsnl_send_descriptor(client.descriptor, ends[1]) == 0)
            client.send(Self.status)
            #expect(try client.line() == wire(Samples.full))
            close(ends[1])
            // The end of the pipe: its other end is closed everywhere.
            var ready = pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0)
            #expect(poll(&ready, 1, 60_000) == 1)
            var byte: UInt8 = 0
            #expect(read(ends[0], &byte, 1) == 0)
        }
    }

    @Test func aClientThatConnectsInALoopKeepsNoOtherOut() async throws {
        let server = try start()
        defer { server.stop() }
        let path = path
        let stop = Flag()
        async let flood: Void = onThread {
            while !stop.isSet {
                // A full backlog is an error here, and no reason to stop.
                do { _ = try RawClient(path) } catch { continue }
            }
        }
        try await onThread {
            let client = try RawClient(path)
            for _ in 0..<50 {
                client.send(Self.status)
                #expect(try client.line() == wire(Samples.full))
            }
            stop.set()
        }
        try await flood
    }

    @Test(arguments: ["a live socket", "a file", "nothing"])
    func aSymbolicLinkIsLeftAlone(target: String) async throws {
        try await onThread {
            #expect(mkdir(folder.file("run"), 0o700) == 0)
            let aim = folder.file("aim")
            if target == "a file" { try TestFile.write("precious", to: aim) }
            let live = target == "a live socket" ? try ControlServer(path: aim, requests: RequestTable()) : nil
            defer { live?.stop() }
            #expect(symlink(aim, path) == 0)
            #expect(try errorCode { _ = try start() } == .controlSocketFailed)
            var information = stat()
            #expect(lstat(path, &information) == 0)
            #expect(information.st_mode & S_IFMT == S_IFLNK)
            if target == "a file" { #expect(try TestFile.text(aim) == "precious") }
        }
    }
}

private final class Flag: Sendable {
    private let value = Atomic(false)
    func set() { value.store(true, ordering: .relaxed) }
    var isSet: Bool { value.load(ordering: .relaxed) }
}
