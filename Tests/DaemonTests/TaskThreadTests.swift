import DevServer
import Glibc
import PRSNLCore
import TestSupport
import Testing

/// Where the daemon's tasks run.
@Suite struct TaskThreadTests {
    /// The names of a process's threads.
    private func threads(of process: pid_t) throws -> Set<String> {
        let folder = try #require(opendir("/proc/\(process)/task"))
        defer { closedir(folder) }
        var names: Set<String> = []
        while let entry = readdir(folder) {
            let id = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard pid_t(id) != nil else { continue }
            names.insert(String(try TestFile.text("/proc/\(process)/task/\(id)/comm").dropLast()))
        }
        return names
    }

    /// Swift's own pool has threads, and a monitor that wakes up once a second.
    @Test func theDaemonDoesAllOfItsWorkWithoutSwiftsPool() async throws {
        let fixture = try DaemonFixture(items: DevItem.generate(count: 20))
        try fixture.configure("texts = yes")
        let daemon = try await fixture.startReady()
        try await fixture.waitUntilComplete()
        #expect(try await fixture.control("note", "A note", "--wait").exit == .status(0))
        #expect(try await fixture.control("sync", "--full", "--wait").exit == .status(0))
        #expect(try await fixture.control("ping").exit == .status(0))
        kill(daemon.processID, SIGHUP)
        try await eventually("the configuration") { daemon.stderr.contains("configuration read again") }
        kill(daemon.processID, SIGKILL)
        _ = try await daemon.waitForExit()
        // With the check of the file.
        let second = try await fixture.startReady()
        try await eventually("the check") { second.stderr.contains("it is sound") }
        try await fixture.waitUntilComplete()
        let ours: Set = [
            "prsnld", "tasks", "store", "prsnl-http", "prsnl-control", "prsnl-net", "prsnl-probe", "check",
        ]
        #expect(try threads(of: second.processID).subtracting(ours) == [])
        #expect(try await second.terminate() == .status(0))
    }
}
