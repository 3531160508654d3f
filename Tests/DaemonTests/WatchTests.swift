import DevServer
import Glibc
import PRSNLCore
import TestSupport
import Testing

/// `prsnlctl status --watch` and `queue --watch`, with the real binaries.
@Suite struct WatchTests {
    /// Over a stop and a start of the daemon, and until it is interrupted.
    @Test func whatChangesIsShown() async throws {
        let fixture = try DaemonFixture(items: DevItem.generate(count: 2))
        let daemon = try await fixture.startReady()
        try await fixture.waitUntilComplete()
        let status = try fixture.startControl(["status", "--watch"])
        let queue = try fixture.startControl(["queue", "--watch"])
        let json = try fixture.startControl(["status", "--watch", "--json"])
        _ = try await status.waitForLine(containing: "Up to date; nothing waits.")
        _ = try await queue.waitForLine(containing: "The queue is empty.")
        fixture.server.refuseConnections()
        let note = try await fixture.control(["note", "-"], input: "a note for the watcher")
        #expect(note.exit == .status(0), "\(note)")
        _ = try await queue.waitForLine(containing: "a note for the watcher")
        _ = try await status.waitForLine(containing: "The server has been unreachable")
        try fixture.server.acceptConnections()
        #expect(try await fixture.control("ping").exit == .status(0))
        try await eventually("the queue to be empty again") {
            queue.stdout.components(of: "The queue is empty.") == 2
        }
        daemon.signal(SIGTERM)
        #expect(try await daemon.waitForExit() == .status(0))
        _ = try await status.waitForLine(containing: "The daemon is stopped")
        let again = try await fixture.startReady()
        try await eventually("the status to be well again") { status.stdout.components(of: "Up to date") >= 2 }
        for watcher in [status, queue, json] {
            watcher.signal(SIGINT)
            #expect(try await watcher.waitForExit() == .status(0))
        }
        // No sentence twice in a row, and whole lines of JSON.
        let sentences = status.stdout.split(separator: "\n").map { $0.drop { $0 != "C" }.dropFirst() }
        #expect(zip(sentences, sentences.dropFirst()).allSatisfy { $0 != $1 }, "\(status.stdout)")
        let lines = json.stdout.split(separator: "\n")
        #expect(lines.count > 2 && lines.allSatisfy { $0.hasPrefix("{") && $0.hasSuffix("}") })
        #expect(again.pollExit() == nil)
    }
}

extension String {
    fileprivate func components(of part: String) -> Int {
        var count = 0
        var rest = self[...]
        while let place = rest.firstRange(of: part) {
            count += 1
            rest = rest[place.upperBound...]
        }
        return count
    }
}
