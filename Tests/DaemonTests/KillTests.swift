import CLinux
import DevServer
import Glibc
import PRSNLCore
import Store
import TestSupport
import Testing

/// The daemon is killed with SIGKILL, again and again, and ends with an exact copy.
@Suite struct KillTests {
    private static let kills = LongSearch.cases(40, of: 200)
    private static let pageSize = 20
    /// Pages that are read and not committed: what a kill may cost, besides the one in flight.
    private static let mostUncommitted = 80

    private let directory = TemporaryDirectory("kill")

    private func start(_ server: DevServer, token: String, once: Bool = false) throws -> ChildProcess {
        let key = directory.file("key")
        try TestFile.write(token + "\n", to: key)
        try TestFile.write(
            """
            server_url = \(server.url)
            api_key_file = \(key)
            database = \(directory.file("prsnl.sqlite"))
            control_socket = \(directory.file("control.sock"))
            page_size = \(Self.pageSize)
            """, to: directory.file("prsnld.conf"))
        return try ChildProcess(
            BuiltProducts.executable("prsnld"),
            ["--config", directory.file("prsnld.conf")] + (once ? ["--once"] : []))
    }

    @Test func aDaemonThatIsKilledManyTimesEndsWithAnExactCopy() async throws {
        var random = SeededRandom()
        let items = DevItem.generate(count: Self.kills * 400, seed: random.next())
        let server = try DevServer.start(items: items)
        defer { server.stop() }
        let token = server.issueToken()
        let victim = Victim()
        var killed = 0
        var pages = 0
        for number in 0..<Self.kills {
            // At a request, before or a moment after it is answered: the commits of the pages before it go on meanwhile.
            let isLate = Bool.random(using: &random)
            let turns = Int.random(in: 0..<200_000, using: &random)
            let fault = server.script(
                .perform { victim.kill(after: isLate ? turns : 0) }, on: .any,
                // Some are late enough for large groups.
                skip: Int.random(in: number % 5 == 4 ? 60...100 : 1...10, using: &random))
            victim.forget()
            pages += server.requestCounts()["GET /api/timeline"] ?? 0
            server.clearLog()
            let child = try start(server, token: token)
            victim.name(child.processID)
            if try await child.waitForExit() == .signal(SIGKILL) { killed += 1 }
            fault.remove()
            try await expectLittleWasLost(server)
        }
        print("killed \(killed) times, with \(pages) pages so far")
        #expect(killed >= Self.kills * 9 / 10)
        let last = try start(server, token: token, once: true)
        #expect(try await last.waitForExit() == .status(0), "\(last.stderr)")

        pages += server.requestCounts()["GET /api/timeline"] ?? 0
        // Each start reads the head (15 minutes, 45 items, 4 pages) and repeats at most what was uncommitted and a page in flight.
        let needed = items.count / (Self.pageSize - 1) + 2
        #expect(pages <= needed + (Self.kills + 1) * (4 + Self.mostUncommitted + 1), "\(pages) pages, \(needed) needed")
        try await expectExact(server)
    }

    /// What the server had answered and the file does not have.
    private func expectLittleWasLost(_ server: DevServer) async throws {
        let asked = server.requests(.timeline).filter { $0.status != nil }
            .compactMap { $0.parameter("cursor").flatMap { Timestamp($0) } }
        guard let lowest = asked.min() else { return }
        let shell = try ChildProcess(
            "/usr/bin/sqlite3", ["-readonly", directory.file("prsnl.sqlite"), "SELECT min(created_at) FROM item"])
        #expect(try await shell.waitForExit() == .status(0), "\(shell.stderr)")
        let reached = Timestamp(shell.stdout.filter { $0 != "\n" }) ?? .latest
        let lost = server.items().count { lowest <= $0.createdAt && $0.createdAt < reached }
        #expect(lost <= (Self.mostUncommitted + 1) * Self.pageSize)
    }

    /// With the tool that people use.
    private func expectExact(_ server: DevServer) async throws {
        let path = directory.file("prsnl.sqlite")
        func query(_ sql: String) async throws -> String {
            let shell = try ChildProcess("/usr/bin/sqlite3", ["-readonly", path, sql])
            #expect(try await shell.waitForExit() == .status(0))
            return shell.stdout
        }
        #expect(try await query("PRAGMA integrity_check") == "ok\n")
        #expect(try await query("SELECT complete FROM sync_state") == "1\n")
        let copy = try await query("SELECT id || ' ' || created_at || ' ' || updated_at || ' ' || title FROM timeline")
        let truth = server.items().map { "\($0.id) \($0.createdAt) \($0.updatedAt) \($0.title)" }
        let lines = copy.split(separator: "\n").map(String.init)
        #expect(lines.count == truth.count)
        #expect(Set(lines) == Set(truth))
    }
}
