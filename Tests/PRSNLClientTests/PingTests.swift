import DevServer
import Glibc
import PRSNLCore
import TestSupport
import Testing

@testable import PRSNLClient

/// One question to the health endpoint, phase by phase.
struct PingTests {
    @Test(arguments: Dialect.allCases)
    func aPingNamesThePhasesAndTheAddress(_ dialect: Dialect) async throws {
        let server = try DevServer.start(.init(dialect: dialect), items: [])
        let test = try TestClient(server.url, .apiKey("fake-key"))
        let ping = await test.client.ping()
        #expect(ping.error == nil)
        #expect(ping.failedPhase == nil)
        #expect(ping.status == 200)
        #expect(ping.address == "127.0.0.1")
        // A connection without TLS has no such phase.
        #expect(Set(ping.phases.keys) == [.name, .connect, .firstByte])
        #expect(ping.phases.values.reduce(.zero, +) <= ping.total)
        #expect(test.client.lastAddress == "127.0.0.1")
    }

    @Test func aPingShowsNoCredentialsAndMakesAConnectionOfItsOwn() async throws {
        let server = try ScriptedServer(always: .json(#"{"status":"ok"}"#))
        let test = try TestClient(server.url, .apiKey("fake-key"))
        for _ in 0..<3 { #expect(await test.client.ping().error == nil) }
        #expect(server.requests.map(\.connection) == [1, 2, 3])
        #expect(server.requests.allSatisfy { $0.method == "GET" && $0.target == "/api/health" })
        #expect(server.requests.allSatisfy { $0.headers["x-api-key"] == nil && $0.headers["authorization"] == nil })
        // What follows a ping may use its connection.
        #expect(await apiError { () async throws(APIError) in try await test.client.session().account() } != nil)
        #expect((1...3).contains(server.requests[3].connection))
    }

    @Test func aPingIsNotRepeated() async throws {
        let server = try ScriptedServer(always: .answer(503, [:], "busy"))
        let test = try TestClient(server.url)
        let ping = await test.client.ping()
        #expect(ping.error?.code == .serviceUnavailable)
        #expect(ping.failedPhase == .answer)
        #expect(ping.status == 503)
        #expect(ping.phases[.firstByte] != nil)
        #expect(server.requests.count == 1)
        #expect(test.time.waits.isEmpty)
    }

    @Test(arguments: [
        (#"<!DOCTYPE html><title>Log in</title>"#, ErrorCode.portal), ("{}", .unexpectedShape), ("", .unexpectedShape),
        ("hello", .unexpectedShape),
    ])
    func whatIsNotPRSNLsAnswerIsNamed(_ body: String, _ code: ErrorCode) async throws {
        let server = try ScriptedServer(always: .answer(200, [:], body))
        let ping = await (try TestClient(server.url)).client.ping()
        #expect(ping.error?.code == code)
        #expect(ping.failedPhase == .answer)
        #expect(ping.status == 200)
    }

    @Test func aClosedPortFailsInTheConnection() async throws {
        let server = try ScriptedServer(always: .closed)
        let url = server.url
        server.stop()
        let test = try TestClient(url)
        let ping = await test.client.ping()
        #expect(ping.error?.code == .connectFailed)
        #expect(ping.failedPhase == .connect)
        #expect(ping.phases[.connect] == nil && ping.phases[.firstByte] == nil)
        #expect(test.client.lastAddress == nil)
    }

    @Test func aNameThatDoesNotExistFailsInTheResolution() async throws {
        // RFC 6761: no server may answer for it.
        let test = try TestClient("https://prsnl.invalid")
        let ping = await test.client.ping()
        #expect(ping.error?.code == .nameNotResolved)
        #expect(ping.failedPhase == .name)
        #expect(ping.phases.isEmpty)
        #expect(ping.address == nil)
        #expect(ping.error?.userFacing.message == "Network error: the name prsnl.invalid cannot be resolved.")
    }

    @Test func aServerThatTalksNoTLSFailsInTLS() async throws {
        let server = try ScriptedServer(always: .raw("HTTP/1.1 400 Bad Request\r\n\r\n"))
        let ping = await (try TestClient(server.url.replacing("http:", with: "https:"))).client.ping()
        #expect(ping.failedPhase == .tls, "\(ping)")
        // libcurl 8.14 tells none where TLS fails.
        #expect(ping.address == "127.0.0.1" || ping.address == nil)
        #expect(ping.phases[.tls] == nil)
    }

    @Test func aServerThatSaysNothingFailsAtItsFirstByte() async throws {
        let server = try ScriptedServer(always: .silent)
        let test = try TestClient(server.url) { $0.stallTimeout = .milliseconds(100) }
        let ping = await test.client.ping()
        #expect(ping.error?.code == .timedOut)
        #expect(ping.failedPhase == .firstByte)
        #expect(ping.phases[.connect] != nil)
        #expect(ping.phases[.firstByte] == nil)
    }

    @Test func aServerThatHangsUpFailsAtItsFirstByte() async throws {
        let server = try ScriptedServer(always: .closed)
        let ping = await (try TestClient(server.url)).client.ping()
        #expect(ping.error?.code == .cutOff)
        #expect(ping.failedPhase == .firstByte)
    }

    @Test func throughAProxyTheAddressIsTheProxys() async throws {
        let proxy = try ScriptedServer(always: .json(#"{"status":"ok"}"#))
        let test = try TestClient("http://prsnl.invalid") {
            $0.proxy = proxy.url
            $0.allowInsecureHTTP = true
        }
        let ping = await test.client.ping()
        #expect(ping.error == nil, "\(ping)")
        #expect(ping.address == "127.0.0.1")
        #expect(test.client.lastAddress == "127.0.0.1")
        #expect(proxy.requests.map(\.target) == ["http://prsnl.invalid/api/health"])
    }

    @Test func theLastAddressIsThatOfTheNewestConnection() async throws {
        let memory = CurlLoop.LastAddress()
        #expect(memory.current == nil)
        memory.note("192.0.2.7")
        memory.note("")
        #expect(memory.current == "192.0.2.7")
        memory.note("2001:db8::1")
        #expect(memory.current == "2001:db8::1")
    }

    @Test func timesBecomeDurationsOfThePhases() {
        var timings = RequestTimings()
        #expect(timings.phases.isEmpty)
        #expect(timings.openPhase == .name)
        timings.name = .milliseconds(5)
        timings.connect = .milliseconds(12)
        timings.isTLS = true
        #expect(timings.phases == [.name: .milliseconds(5), .connect: .milliseconds(7)])
        #expect(timings.openPhase == .tls)
        timings.tls = .milliseconds(30)
        timings.firstByte = .milliseconds(31)
        #expect(timings.phases[.tls] == .milliseconds(18))
        #expect(timings.phases[.firstByte] == .milliseconds(1))
        #expect(timings.openPhase == .answer)
        timings.connect = nil
        timings.tls = nil
        #expect(timings.openPhase == .connect)
        timings.address = "192.0.2.7"
        #expect(timings.openPhase == .tls)
        timings.connect = .milliseconds(12)
        timings.isTLS = false
        #expect(timings.phases[.firstByte] == .milliseconds(19))
    }
}
