import DevServer
import PRSNLCore
import TestSupport
import Testing

@Suite struct ConnectionTests {
    @Test func aServerThatIsLetGoOfLeavesNoThreadAndNoDescriptor() async throws {
        try await expectNothingLeft(threads: "devserver") {
            let server = try DevServer.start()
            let client = try RawClient(server)
            #expect(try client.get("/api/health").status == 200)
        }
    }

    @Test func anIdleConnectionIsClosed() throws {
        var configuration = DevServer.Configuration()
        configuration.idleTimeout = .milliseconds(50)
        let server = try DevServer.start(configuration)
        let client = try RawClient(server)
        #expect(try client.get("/api/health").status == 200)
        #expect(try client.isClosedByServer())
    }

    @Test func aClientMayAskForTheEnd() throws {
        let server = try DevServer.start()
        let client = try RawClient(server)
        #expect(try client.get("/api/health", headers: ["Connection": "close"]).headers["connection"] == "close")
        #expect(try client.isClosedByServer())
    }

    @Test func requestsThatArriveTogetherAreAnsweredInOrder() throws {
        let server = try DevServer.start(items: DevItem.generate(count: 5))
        let client = try RawClient(server)
        for limit in 1...3 { try client.send("GET", "/api/timeline?limit=\(limit)") }
        for limit in 1...3 { #expect(try Page(client.receive().body).ids.count == limit) }
    }

    @Test func aRequestMayArriveByteByByte() throws {
        let server = try DevServer.start()
        let client = try RawClient(server)
        for byte in Array("GET /api/health HTTP/1.1\r\nHost: x\r\n\r\n".utf8) { try client.send([byte]) }
        #expect(try client.receive().status == 200)
    }

    @Test func aClientThatWaitsToSendItsBodyIsToldTo() throws {
        let server = try DevServer.start()
        let client = try RawClient(server)
        let body = Array(#"{"email":"a","password":"b"}"#.utf8)
        let head =
            "POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            + "Expect: 100-continue\r\nContent-Length: \(body.count)\r\n\r\n"
        try client.send(Array(head.utf8))
        #expect(try client.receive().status == 100)
        try client.send(body)
        #expect(try client.receive().status == 401)
    }

    @Test func nonsenseIsRefused() throws {
        let server = try DevServer.start()
        let client = try RawClient(server)
        try client.send(Array("\u{16}\u{03}\u{01} this is no HTTP\r\n\r\n".utf8))
        #expect(try client.receive().status == 400)
        #expect(try client.isClosedByServer())
    }

    @Test func aPathPrefixIsPartOfTheURL() throws {
        var configuration = DevServer.Configuration()
        configuration.pathPrefix = "/prsnl"
        let server = try DevServer.start(configuration)
        #expect(server.url == "http://127.0.0.1:\(server.port)/prsnl")
        #expect(try server.get("/prsnl/api/health").status == 200)
        #expect(try server.get("/api/health").status == 404)
    }

    @Test func aPageCanTakeItsTime() throws {
        var configuration = DevServer.Configuration()
        configuration.pageCost = .perItem(.milliseconds(10))
        let server = try DevServer.start(configuration, items: DevItem.generate(count: 5))
        let slow = try RawClient(server)
        try slow.send("GET", "/api/timeline")
        // Others are served meanwhile: the answer to the second comes first.
        #expect(try server.get("/api/health").status == 200)
        #expect(server.requests(.timeline).first?.status == nil)
        #expect(try slow.receive().status == 200)
    }

    @Test func aStalledAnswerNeverEnds() async throws {
        let server = try DevServer.start(items: DevItem.generate(count: 5))
        server.script(.stall, on: .timeline)
        let client = try RawClient(server)
        try client.send("GET", "/api/timeline")
        try await eventually("the answer to begin") { server.requests(.timeline).first?.status == 200 }
        server.closeConnections()
        #expect(try client.receive().isCutOff)
    }

    @Test func manyConnectionsAreServedAtOnce() async throws {
        let server = try DevServer.start(items: DevItem.generate(count: 1_000))
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    let client = try RawClient(server)
                    return try (0..<10).reduce(0) { sum, _ in try sum + client.page("?limit=100").ids.count }
                }
            }
            for try await count in group { #expect(count == 1_000) }
        }
        #expect(server.requestCount == 200)
    }
}
