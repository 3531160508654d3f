import Commands
import Control
import Glibc
import PRSNLCore
import Requests
import Store
import TestSupport
import Testing

/// One acknowledgement, one entry: also when the daemon dies with writes in hand.
@Suite struct RequestKeyTests {
    private func crash(_ point: CrashPoint, _ time: Int) -> [String: String] {
        [CrashPoint.variable: "\(point.rawValue):\(time)"]
    }

    private func entry(_ ended: ChildProcess) throws -> Int64 {
        let number = ended.stdout.split(separator: "#").dropFirst().first?.prefix { $0.isNumber }
        return try #require(number.flatMap { Int64($0) }, "\(ended.stdout)\(ended.stderr)")
    }

    @Test(arguments: [CrashPoint.beforeAccept, .afterAccept], [1, 2])
    func twoWritersOfOneEqualNoteHaveAnEntryEachWhenTheDaemonDies(point: CrashPoint, time: Int) async throws {
        let scene = try await WriteScene()
        let daemon = try await scene.fixture.startReady(environment: crash(point, time))
        let writers = try (0..<2).map { _ in try scene.fixture.startControl(["note", "the same"]) }
        for writer in writers { #expect(try await writer.waitForExit() == .status(0), "\(writer.stderr)") }
        #expect(try await daemon.waitForExit() == .signal(SIGKILL))
        #expect(Set(try writers.map(entry)) == [1, 2], "\(writers.map(\.stdout))")
        #expect(try await scene.live() == false)
        #expect(scene.server.captures.map(\.content) == ["the same", "the same"])
    }

    @Test(arguments: [CrashPoint.beforeAccept, .afterAccept])
    func linesFromStdinAreAcceptedOnceAndRefusedOnesNamedWhenTheDaemonDies(point: CrashPoint) async throws {
        let scene = try await WriteScene()
        let daemon = try await scene.fixture.startReady(environment: crash(point, 2))
        scene.server.refuseConnections()
        let refused = [10, 4_700, 8_100]
        let lines = (1...8_200).map { line in
            refused.contains(line) ? #"{"note": "of no type", "type": "auto"}"# : #"{"note": "the same"}"#
        }
        let ended = try await scene.fixture.control(
            "capture", "--stdin", "--json", input: lines.joined(separator: "\n"))
        #expect(try await daemon.waitForExit() == .signal(SIGKILL))
        let report = try scene.fixture.decode(BatchReport.self, ended)
        #expect(report.lines == 8_200 && report.accepted == 8_197 && report.refused == 3, "\(ended.stderr)")
        #expect(report.refusals.map(\.line) == refused)
        for line in refused { #expect(ended.stderr.contains("line \(line): "), "\(ended.stderr)") }
        #expect(report.firstEntry == 1 && report.lastEntry == 8_197)
        #expect(try StoreReader(path: scene.fixture.database).summary().outbox.waiting == 8_197)
    }

    @Test func whatCannotBeFoundOutIsSaidToBeUnknown() async throws {
        let scene = try await WriteScene()
        // A daemon that takes a write, says nothing and is gone, and its file with it.
        let (asked, continuation) = AsyncStream<Void>.makeStream()
        var requests = RequestTable()
        requests.on(WritesRequest.self) { _, _ in continuation.yield() }
        let server = try ControlServer(path: scene.fixture.socket, requests: requests)
        let writer = try scene.fixture.startControl(["note", "a note"])
        for await _ in asked { break }
        try #require(rename(scene.fixture.database, scene.fixture.database + ".away") == 0)
        server.stop()
        #expect(try await writer.waitForExit() == .status(1), "\(writer.stderr)")
        #expect(writer.stdout.isEmpty)
        #expect(writer.stderr.contains("not known whether it is on disk"), "\(writer.stderr)")
        #expect(!writer.stderr.contains("Nothing was queued"), "\(writer.stderr)")
    }
}
