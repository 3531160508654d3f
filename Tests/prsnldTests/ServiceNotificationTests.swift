import PRSNLCore
import TestSupport
import Testing

@testable import prsnld

@Suite struct ServiceNotificationTests {
    @Test(arguments: NotifySocket.Kind.allCases)
    func eachCallIsOneDatagramOfAssignments(kind: NotifySocket.Kind) throws {
        let socket = try NotifySocket(kind)
        let notification = ServiceNotification(environment: ["NOTIFY_SOCKET": socket.address])
        #expect(notification.isWanted)
        try notification.send([.ready, .status("started")])
        try notification.send([.reloading(since: .milliseconds(1_234))])
        try notification.send([.watchdog, .status("online")], waits: false)
        try notification.send([.stopping])
        #expect(
            socket.datagrams == [
                "READY=1\nSTATUS=started", "RELOADING=1\nMONOTONIC_USEC=1234000", "WATCHDOG=1\nSTATUS=online",
                "STOPPING=1",
            ])
    }

    @Test func aStatusNeverMakesAnotherAssignment() throws {
        let socket = try NotifySocket()
        let notification = ServiceNotification(environment: ["NOTIFY_SOCKET": socket.address])
        try notification.send([.status("one\nMAINPID=1\r\ntwo")])
        #expect(socket.datagrams == ["STATUS=one MAINPID=1 two"])
    }

    @Test(arguments: [[:], ["NOTIFY_SOCKET": ""]])
    func withoutASocketNothingIsSentAndNothingFails(environment: [String: String]) throws {
        let notification = ServiceNotification(environment: environment)
        #expect(!notification.isWanted)
        try notification.send([.ready])
    }

    @Test(arguments: [
        "socket", "vsock:2:1234", "/" + String(repeating: "x", count: 107), "/nowhere/at/all", "@without-a-listener",
    ])
    func anAddressThatCannotBeUsedIsAnError(address: String) throws {
        let notification = ServiceNotification(environment: ["NOTIFY_SOCKET": address])
        #expect(try errorCode { try notification.send([.ready]) } == .controlSocketFailed)
    }

    @Test func whatIsSentAgainAnywayDoesNotWaitForASystemdThatDoesNotRead() throws {
        let socket = try NotifySocket()
        let notification = ServiceNotification(environment: ["NOTIFY_SOCKET": socket.address])
        var code: ErrorCode?
        // The kernel queues net.unix.max_dgram_qlen datagrams, some hundreds at most by default.
        for _ in 0..<100_000 where code == nil {
            code = try errorCode { try notification.send([.watchdog], waits: false) }
        }
        #expect(code == .controlSocketFailed)
    }
}
