import DevServer
import Glibc
import PRSNLCore
import TestSupport
import Testing

@testable import PRSNLClient

/// libcurl's thread lives from the first request to the end of the client, and what it needs with it.
@Suite struct ThreadTests {
    /// The ids of the threads that run libcurl (proc(5)).
    private func threads() throws -> Set<String> {
        try Set(
            entries("/proc/self/task").filter { id in
                // One that has ended in between has no name any more.
                do { return try TestFile.text("/proc/self/task/\(id)/comm") == "prsnl-http\n" } catch { return false }
            })
    }

    /// The open eventfds.
    private func wakers() throws -> Set<String> {
        Set(
            try entries("/proc/self/fd").filter { name in
                // Not of UInt8: Swift 6.0 gives such an array to a `char *` wrongly, and what is written there lands elsewhere.
                var target = [CChar](repeating: 0, count: 64)
                guard readlink("/proc/self/fd/\(name)", &target, target.count - 1) > 0 else { return false }
                let bytes = target.prefix { $0 != 0 }.map { UInt8(truncatingIfNeeded: $0) }
                return String(decoding: bytes, as: UTF8.self) == "anon_inode:[eventfd]"
            })
    }

    private func entries(_ path: String) throws -> [String] {
        let folder = try #require(opendir(path))
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }

    @Test func aClientThatIsNeverAskedStartsNoThread() throws {
        let before = (try threads(), try wakers())
        let client = try TestClient("http://127.0.0.1:9").client
        client.setOffline(true, ending: true)
        client.setOffline(false, ending: true)
        #expect(!client.heartbeat.isLate(tolerance: .zero), "nothing hangs that is not there")
        #expect(try threads().subtracting(before.0).isEmpty)
        #expect(try wakers().subtracting(before.1).isEmpty)
        client.shutdown()
    }

    @Test(arguments: [true, false])
    func aClientThatEndsLeavesNoThreadAndNoDescriptor(isToldTo: Bool) async throws {
        let server = try DevServer.start(DevServer.Configuration(), items: DevItem.generate(count: 3))
        defer { server.stop() }
        let before = (try threads(), try wakers())
        var client: PRSNLClient? = try TestClient(server.url).client
        _ = try await client?.session().timeline(TimelineRequest(.before(nil), limit: 2))
        #expect(try threads().subtracting(before.0).count == 1)
        if isToldTo { client?.shutdown() } else { client = nil }
        #expect(try threads().subtracting(before.0).isEmpty)
        #expect(try wakers().subtracting(before.1).isEmpty)
        let late = await apiError { () async throws(APIError) in try await client?.health() }
        #expect(late?.code == (isToldTo ? .cancelled : nil))
        #expect(try threads().subtracting(before.0).isEmpty)
    }

    @Test func aRenewalUnderWayEndsWithTheClient() async throws {
        let fixture = try LoginFixture()
        let before = try threads()
        fixture.age()
        let held = fixture.server.script(.holdAnswer, on: .refresh)
        defer { held.release() }
        let read = Task { await apiError { () async throws(APIError) in try await fixture.read() } }
        try await fixture.server.waitForRequest(.refresh)
        fixture.client.shutdown()
        #expect(try threads().subtracting(before).isEmpty)
        #expect(await read.value?.code == .cancelled)
        #expect(try threads().subtracting(before).isEmpty)
    }
}
