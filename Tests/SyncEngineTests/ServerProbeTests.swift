import Configuration
import DevServer
import NetMonitor
import PRSNLClient
import PRSNLCore
import TestSupport
import Testing

@testable import SyncEngine

/// What goes ahead of the question whether the server is there, and when the question is asked nevertheless.
@Suite struct ServerProbeTests {
    private let time = VirtualTime()
    private let server: DevServer
    private let client: PRSNLClient

    init() throws {
        server = try DevServer.start()
        client = try PRSNLClient(
            configuration: ClientConfiguration(serverURL: server.url, credentials: .none), time: time.source, seed: 7)
    }

    private func shared(_ kind: ProbeKind) -> EngineSharedState {
        var settings = SyncSettings()
        settings.probe = kind
        return EngineSharedState(settings)
    }

    private func probe(_ kind: ProbeKind, echo: EchoProbe.Outcome = .noAnswer(because: "no answer in time"))
        -> ServerProbe
    {
        ServerProbe(
            client: client, shared: shared(kind), time: time.source, echo: { _, _ in echo }, log: { _, _, _ in })
    }

    private var questions: Int { server.requests(.health).count }

    @Test func httpIsAskedAtOnce() async {
        let result = await probe(.http).run()
        #expect(result.sent == .http && result.ahead == nil && result.error == nil)
        #expect(questions == 1)
    }

    @Test func anEchoGoesAheadAndTheQuestionFollows() async {
        let result = await probe(.icmp, echo: .answered(after: .milliseconds(3))).run()
        #expect(result.sent == .icmp && result.ahead == .milliseconds(3) && result.error == nil && result.note == nil)
        #expect(result.address == "127.0.0.1")
        #expect(questions == 1)
    }

    @Test func whereNoEchoComesBackTheQuestionIsAskedNowAndThenOnly() async throws {
        server.refuseConnections()
        let probe = probe(.icmp)
        #expect(await probe.run().ping != nil)
        let spared = await probe.run()
        #expect(spared.ping == nil && spared.error?.code == .timedOut)
        #expect(spared.error?.message == "Network error: no ICMP echo from 127.0.0.1: no answer in time.")
        // A person who asks gets everything.
        #expect(await probe.run(manual: true).ping != nil)
        time.advance(by: ServerProbe.betweenQuestions)
        #expect(await probe.run().ping != nil)
        try server.acceptConnections()
        #expect(await probe.run(manual: true).error == nil)
    }

    /// The address of the last connection may be the server's no longer, and a machine need not echo.
    @Test func aServerThatAnswersIsThereWhateverCameBackAhead() async {
        let result = await probe(.icmp).run()
        #expect(result.error == nil)
        #expect(result.note == "nothing came back ahead, and the server answers")
    }

    @Test func anEchoThatIsStoppedAsksNothing() async {
        let probe = ServerProbe(
            client: client, shared: shared(.icmp), time: time.source,
            echo: { _, _ throws(CancellationError) in throw CancellationError() }, log: { _, _, _ in })
        let result = await probe.run(manual: true)
        #expect(result.error?.code == .cancelled && result.ping == nil && questions == 0)
    }

    @Test func whereEchoesAreNotPermittedOnlyTheQuestionIsAskedAndItIsSaid() async {
        let result = await probe(.icmp, echo: .notPermitted(errno: 13)).run()
        #expect(result.sent == .http && result.error == nil && result.ahead == nil && questions == 1)
        #expect(result.note?.contains("ping_group_range") == true)
    }
}
