import Configuration
import DevServer
import NetMonitor
import PRSNLClient
import PRSNLCore
import TestSupport
import Testing

@testable import SyncEngine

/// What goes ahead of the question whether the server is there, and when the question is asked all the same.
@Suite struct ServerProbeTests {
    private let time = VirtualTime()
    private let server: DevServer
    private let client: PRSNLClient

    init() throws {
        server = try DevServer.start()
        client = try PRSNLClient(
            configuration: ClientConfiguration(serverURL: server.url, credentials: .none), time: time.source, seed: 7)
    }

    private func board(_ kind: ProbeKind) -> EngineBoard {
        var settings = SyncSettings()
        settings.probe = kind
        return EngineBoard(settings)
    }

    private func probe(_ kind: ProbeKind) -> ServerProbe {
        ServerProbe(client: client, board: board(kind), time: time.source, log: { _, _, _ in })
    }

    private var questions: Int { server.requests(.health).count }

    @Test func httpIsAskedAtOnce() async {
        let result = await probe(.http).run()
        #expect(result.sent == .http && result.ahead == nil && result.error == nil)
        #expect(questions == 1)
    }

    @Test func aHandshakeGoesAheadAndTheQuestionFollows() async {
        let result = await probe(.tcp).run()
        #expect(result.sent == .tcp && result.ahead != nil && result.error == nil && result.note == nil)
        #expect(result.address == "127.0.0.1")
        #expect(questions == 1)
    }

    @Test func whereNobodyListensTheQuestionIsAskedNowAndThenOnly() async throws {
        server.refuseConnections()
        let probe = probe(.tcp)
        #expect(await probe.run().ping != nil)
        let spared = await probe.run()
        #expect(spared.ping == nil && spared.error?.code == .connectFailed)
        // A person who asks gets everything.
        #expect(await probe.run(byHand: true).ping != nil)
        time.advance(by: ServerProbe.betweenQuestions)
        #expect(await probe.run().ping != nil)
        try server.acceptConnections()
        #expect(await probe.run().error == nil)
    }

    /// The address of the last connection is not the server's for ever, and a machine need not echo.
    @Test func aServerThatAnswersIsThereWhateverCameBackAhead() async throws {
        // Nothing listens at the address that is asked ahead: the name leads to both families, the server has one.
        let name = server.url.replacing("127.0.0.1", with: "localhost")
        let client = try PRSNLClient(
            configuration: ClientConfiguration(serverURL: name, credentials: .none), time: time.source, seed: 7)
        let probe = ServerProbe(
            client: client, board: board(.tcp), time: time.source, aheadTo: { _ in "127.255.255.254" },
            log: { _, _, _ in })
        let result = await probe.run()
        #expect(result.error == nil)
        #expect(result.note == "nothing came back ahead, and the server answers")
        client.shutdown()
    }

    @Test func whereEchoesAreNotPermittedAHandshakeTakesTheirPlaceAndItIsSaid() async throws {
        let result = await probe(.icmp).run()
        #expect(result.error == nil)
        if case .notPermitted = try await EchoProbe.ping("127.0.0.1", within: .seconds(5)) {
            #expect(result.sent == .tcp)
            #expect(result.note?.contains("ping_group_range") == true)
        } else {
            #expect(result.sent == .icmp && result.note == nil)
        }
        #expect(result.ahead != nil)
    }
}
