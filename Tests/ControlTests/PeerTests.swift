import CLinux
import CommandSamples
import Console
import Glibc
import PRSNLCore
import Store
import TestSupport
import Testing

@testable import Commands
@testable import Control
@testable import Requests

private typealias AnyHandler = @Sendable (any ControlRequest, ControlConversation) async -> Void

/// Real sockets, and real other users at their far end: threads that have become them.
@Suite(.enabled(if: OtherUser.canBeMade, "needs root, to be other users"))
struct PeerTests {
    private static let group: UInt32 = 61_100
    private static let member = OtherUser(61_001, groups: [group])
    private static let secondMember = OtherUser(61_002, group: group)
    private static let stranger = OtherUser(61_003, groups: [61_103])

    private let folder = TemporaryDirectory()
    private var path: String { folder.file("run/control.sock") }
    private let right = GroupRight()

    /// The socket's group is the folder's, as with the set-group-ID bit.
    private func start(
        _ limits: ControlServer.Limits = .init(), _ handler: @escaping AnyHandler = Self.answer
    ) throws -> ControlServer {
        #expect(chmod(folder.path, 0o711) == 0)
        #expect(mkdir(folder.file("run"), 0o700) == 0)
        try OtherUser(0, group: Self.group).own(folder.file("run"), mode: 0o2755)
        return try ControlServer(path: path, limits: limits, groupRight: right, requests: RequestTable(handler))
    }

    private static let answer: AnyHandler = { request, conversation in
        if request is TallyRequest { return conversation.send(Samples.tally) }
        if request.isChange { conversation.send(SyncResult(followed: nil)) } else { conversation.send(Samples.full) }
    }

    private static let sync = "{\"command\":\"sync\"}\n"
    private static let status = "{\"command\":\"status\"}\n"

    private func code(_ line: String?) throws -> String? { try RawClient.error(line)?.codeName }

    @Test(arguments: [
        member, secondMember, OtherUser(61_004, groups: Array(62_001...62_200) + [group]),
        OtherUser(61_005, groups: [65_534, group]),
    ])
    func aMemberMayLookAndNotChange(member: OtherUser) async throws {
        let server = try start()
        defer { server.stop() }
        let path = path
        let replies = try await onThread {
            try member.becomeInThisThread()
            let client = try RawClient(path)
            return try [Self.status, Self.sync, Self.status].map { line in
                client.send(line)
                return try client.line()
            }
        }
        #expect(try replies[0] == wire(Samples.full))
        #expect(try code(replies[1]) == "control_refused")
        // The connection goes on.
        #expect(try replies[2] == wire(Samples.full))
        guard let error = try RawClient.error(replies[1]) else { return }
        #expect(error.recoverySuggestion.description.contains("group_may_write = yes"))
        #expect(error.consequence == "Nothing was changed.")
    }

    @Test func theRightToChangeCountsFromTheNextRequestOn() async throws {
        let server = try start()
        defer { server.stop() }
        let path = path
        let right = right
        let codes = try await onThread {
            try Self.member.becomeInThisThread()
            let client = try RawClient(path)
            return try [false, true, false].map { mayWrite in
                right.set(mayWrite: mayWrite)
                client.send(Self.sync)
                return try client.line() == wire(SyncResult(followed: nil))
            }
        }
        #expect(codes == [false, true, false])
    }

    @Test func aStrangerDoesNotGetIn() async throws {
        let server = try start()
        defer { server.stop() }
        let path = path
        let code = try await onThread {
            try Self.stranger.becomeInThisThread()
            return try errorCode { _ = try ControlClient(path: path) }
        }
        #expect(code == .controlRefused)
    }

    @Test func aStrangerWhoStillGetsInIsToldAndDisconnected() async throws {
        let server = try start()
        defer { server.stop() }
        // As by a mistake of the owner.
        #expect(chmod(path, 0o666) == 0)
        let path = path
        let (reply, end) = try await onThread {
            try Self.stranger.becomeInThisThread()
            let client = try RawClient(path)
            client.send(Self.status)
            return (try client.line(), try client.line())
        }
        #expect(try code(reply) == "control_refused")
        #expect(end == nil)
        let own = try await onThread {
            var client = try ControlClient(path: path)
            return try client.ask(StatusRequest(), timeout: .seconds(60)).get()
        }
        #expect(own == Samples.full)
    }

    @Test func aLongWriteOfAMemberIsRefusedForItsReasonAndNotItsLength() async throws {
        let server = try start()
        defer { server.stop() }
        let path = path
        let right = right
        let replies = try await onThread {
            try Self.member.becomeInThisThread()
            let drafts = (0..<1_000).map {
                WriteRequest(.create(NewItem(url: "https://example.org/\($0)", title: "title")))
            }
            #expect(TallyRequest(drafts).line.count > 64 << 10)
            return try [false, true].map { mayWrite in
                right.set(mayWrite: mayWrite)
                var client = try ControlClient(path: path)
                return try client.ask(TallyRequest(drafts), timeout: .seconds(60))
            }
        }
        #expect(throws: UserFacingError.self) { try replies[0].get() }
        #expect(try replies[1].get() == Samples.tally)
    }

    @Test func twoHundredConnectionsOfOneMemberLeavePlacesForOthers() async throws {
        let server = try start()
        defer { server.stop() }
        let path = path
        let (clients, refused) = try await onThread {
            try Self.member.becomeInThisThread()
            let clients = try (0..<200).map { _ in try RawClient(path) }
            var refused = 0
            for client in clients {
                client.send(Self.status)
                if try client.error()?.codeName == "daemon_busy" { refused += 1 }
            }
            return (clients, refused)
        }
        #expect(refused == 200 - ControlServer.Limits().clientsPerUser)
        let other = try await onThread {
            try Self.secondMember.becomeInThisThread()
            var client = try ControlClient(path: path)
            return try client.ask(StatusRequest(), timeout: .seconds(60)).get()
        }
        #expect(other == Samples.full)
        let root = try await onThread {
            var client = try ControlClient(path: path)
            return try client.ask(
                SyncNowRequest(full: false, wait: false, acceptDeletions: false), timeout: .seconds(60)
            ).get()
        }
        #expect(root == SyncResult(followed: nil))
        withExtendedLifetime(clients) {}
    }

    @Test func manyMembersTogetherLeavePlacesForRoot() async throws {
        var limits = ControlServer.Limits()
        limits.clients = 8
        limits.reserved = 2
        limits.clientsPerUser = 4
        let server = try start(limits)
        defer { server.stop() }
        let path = path
        var clients: [RawClient] = []
        for user in UInt32(61_010)..<61_014 {
            clients += try await onThread {
                try OtherUser(user, groups: [Self.group]).becomeInThisThread()
                return try (0..<4).map { _ in
                    let client = try RawClient(path)
                    client.send(Self.status)
                    _ = try client.line()
                    return client
                }
            }
        }
        let root = try await onThread {
            var client = try ControlClient(path: path)
            return try client.ask(StatusRequest(), timeout: .seconds(60)).get()
        }
        #expect(root == Samples.full)
        withExtendedLifetime(clients) {}
    }

    @Test func aMemberWhoAsksWithoutEndIsAnsweredInOrder() async throws {
        let server = try start()
        defer { server.stop() }
        let path = path
        let replies = try await onThread {
            try Self.member.becomeInThisThread()
            let client = try RawClient(path)
            // In one piece: what waits for its turn is already read.
            client.send(String(repeating: Self.status, count: 12))
            return try (0..<12).map { _ in try client.line() }
        }
        let status = try wire(Samples.full)
        #expect(replies.allSatisfy { $0 == status })
    }

    @Test func thePeerIsTheOneThatConnected() async throws {
        let (near, far) = (TemporaryDirectory(), Self.member)
        #expect(chmod(near.path, 0o711) == 0)
        let listener = SocketAddress.stream(nonblocking: false)
        defer { close(listener) }
        let address = try #require(SocketAddress(path: near.file("socket")))
        #expect(address.with { bind(listener, $0, $1) } == 0 && listen(listener, 1) == 0)
        #expect(chmod(near.file("socket"), 0o666) == 0)
        let path = near.file("socket")
        let client = try await onThread {
            try far.becomeInThisThread()
            return try RawClient(path)
        }
        let accepted = prsnl_accept(listener)
        defer { close(accepted) }
        let peer = try #require(Peer(descriptor: accepted))
        #expect(peer.process == getpid())
        #expect(peer.user == far.user)
        #expect(peer.groups == Set(far.groups + [far.group]))
        #expect(Peer(descriptor: -1) == nil)
        withExtendedLifetime(client) {}
    }
}
