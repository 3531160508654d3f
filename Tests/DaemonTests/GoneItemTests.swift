import DevServer
import PRSNLCore
import TestSupport
import Testing

/// What was delivered from here and is gone from the server, though it was not deleted from here, is named until it was dealt with.
@Suite struct GoneItemTests {
    private func fixture() async throws -> (DaemonFixture, ChildProcess) {
        let fixture = try DaemonFixture(items: DevItem.generate(count: 4), WriteScene.makeQuick)
        return (fixture, try await fixture.startReady())
    }

    /// Captures pages, and takes them from the server when the copy has them.
    private func lose(_ count: Int, of fixture: DaemonFixture) async throws -> [String] {
        let before = fixture.server.captures.count
        for number in 1...count {
            let page = "https://example.org/lost/\(before + number)"
            #expect(try await fixture.control("capture", page, "--wait").exit == .status(0))
        }
        #expect(try await fixture.control("sync", "--wait").exit == .status(0))
        let ids = fixture.server.captures.dropFirst(before).map(\.id)
        for id in ids { fixture.server.delete(id) }
        #expect(try await fixture.control("sync", "--full", "--wait").exit == .status(0))
        return ids
    }

    private func said(_ fixture: DaemonFixture) async throws -> (status: String, errors: String) {
        let status = try await fixture.control("status")
        #expect(status.exit == .status(0), "\(status)")
        // What is too long for a line goes on in the next.
        let words = status.stdout.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        return (words, try await fixture.control("errors").stdout)
    }

    @Test func anItemThatTheServerLostIsNamedUntilItIsCapturedAgain() async throws {
        let (fixture, daemon) = try await fixture()
        let id = try await lose(1, of: fixture)[0]
        let named = try await said(fixture)
        #expect(named.status.contains("#1 was delivered") && named.status.contains(" restore \(id)`"), "\(named)")
        #expect(named.errors.contains("capture_gone") && named.errors.contains(" restore \(id)"), "\(named)")
        #expect(try await fixture.control("restore", id, "--wait").exit == .status(0))
        let after = try await said(fixture)
        #expect(!after.status.contains("restore") && !after.errors.contains("restore"), "\(after)")
        #expect(after.errors.contains("it is over"), "\(after)")
        // The one that took its place is another.
        fixture.server.delete(try #require(fixture.server.captures.last).id)
        #expect(try await fixture.control("sync", "--full", "--wait").exit == .status(0))
        #expect(try await said(fixture).status.contains("#2 was delivered"))
        #expect(try await daemon.terminate() == .status(0))
    }

    @Test func aRestorationThatIsTakenBackLeavesItNamed() async throws {
        let (fixture, daemon) = try await fixture()
        let id = try await lose(1, of: fixture)[0]
        #expect(try await daemon.terminate() == .status(0))
        for _ in 0..<2 {
            #expect(try await fixture.control("restore", id).exit == .status(0))
            #expect(try await !said(fixture).status.contains("restore"))
            #expect(try await fixture.control("undo").exit == .status(0))
            #expect(try await said(fixture).status.contains(" restore \(id)`"))
        }
    }

    @Test func manyAreOneLineWithOneCommand() async throws {
        let (fixture, daemon) = try await fixture()
        _ = try await lose(3, of: fixture)
        let named = try await said(fixture)
        #expect(named.status.contains("3 items") && named.status.contains(" restore --gone`"), "\(named)")
        #expect(named.errors.contains("3 items") && named.errors.contains(" restore --gone"), "\(named)")
        let restore = try await fixture.control("restore", "--gone", "--wait")
        #expect(restore.exit == .status(0) && fixture.server.captures.count == 6, "\(restore)")
        #expect(try await !said(fixture).status.contains("restore"))
        let again = try await fixture.control("restore", "--gone")
        #expect(again.exit == .status(0) && again.stderr.contains("nothing is gone"), "\(again)")
        #expect(try await daemon.terminate() == .status(0))
    }

    /// A person first says that the deletions are true.
    @Test func aServerThatWasRestoredFromABackupGetsBackWhatItLost() async throws {
        let (fixture, daemon) = try await fixture()
        let backup = fixture.server.items()
        let pages = (1...25).map { "https://example.org/page/\($0)\n" }.joined()
        #expect(try await fixture.control("capture", "--stdin", "--wait", input: pages).exit == .status(0))
        #expect(try await fixture.control("sync", "--wait").exit == .status(0))
        fixture.server.restore(backup)
        #expect(try await fixture.control("sync", "--full", "--wait").exit != .status(0))
        let held = try await fixture.status()
        #expect(held.copy.deletionsHeld == 25 && held.copy.gone == nil)
        #expect(try await fixture.control("sync", "--accept-deletions", "--wait").exit == .status(0))
        #expect(try await said(fixture).status.contains("25 items"))
        #expect(try await fixture.control("restore", "--gone", "--wait").exit == .status(0))
        #expect(fixture.server.items().count == backup.count + 25)
        #expect(try await fixture.status().copy.gone == nil)
        #expect(try await daemon.terminate() == .status(0))
    }

    @Test func whatWasTakenNoteOfStaysSo() async throws {
        let (fixture, daemon) = try await fixture()
        let first = try await lose(2, of: fixture)
        #expect(try await fixture.control("errors", "--clear").exit == .status(0))
        #expect(try await !said(fixture).status.contains("restore"))
        let next = try await lose(1, of: fixture)
        let named = try await said(fixture)
        #expect(named.status.contains("restore \(next[0])"), "\(named)")
        #expect(!first.contains { named.status.contains($0) }, "\(named)")
        #expect(try await daemon.terminate() == .status(0))
    }

    /// Also where it was sent, came to nothing as far as anyone knows, and was given up.
    @Test(arguments: [true, false])
    func whatWasDeletedFromHereIsNotNamed(isLost: Bool) async throws {
        let (fixture, daemon) = try await fixture()
        #expect(try await fixture.control("capture", "https://example.org/page", "--wait").exit == .status(0))
        #expect(try await fixture.control("sync", "--wait").exit == .status(0))
        let id = try #require(fixture.server.captures.first).id
        fixture.server.script(
            isLost ? .closeAfterApplying : .answer(status: 500, body: "{}"),
            on: RequestMatcher { $0.method == "DELETE" })
        _ = try await fixture.control("delete", id, isLost ? "--wait" : "--wait=1s")
        if !isLost {
            try await eventually("the deletion that is given up") {
                try await fixture.control("queue", "drop", "--yes", "2").exit == .status(0)
            }
            fixture.server.delete(id)
        }
        #expect(try await fixture.control("sync", "--full", "--wait").exit == .status(0))
        let named = try await said(fixture)
        #expect(named.status.contains("1 deleted") && !named.status.contains("delivered"), "\(named)")
        #expect(!named.errors.contains("capture_gone"), "\(named)")
        #expect(try await daemon.terminate() == .status(0))
    }
}
