import Glibc
import PRSNLCore
import TestSupport
import Testing

/// The thread that all tasks run on, which stands on a hook of the runtime that is no part of the language.
@Suite struct TaskLoopTests {
    private static let warning = "does not let the daemon run its tasks itself"

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

    @Test func theToolchainHasTheHookThatTheDaemonRunsItsTasksWith() async throws {
        let fixture = try DaemonFixture()
        let daemon = try await fixture.startReady()
        try await fixture.waitUntilComplete()
        let ours: Set = ["prsnld", "tasks", "store", "prsnl-http", "prsnl-control", "prsnl-net", "prsnl-probe"]
        let others = try threads(of: daemon.processID).subtracting(ours)
        #expect(
            others.isEmpty && !daemon.stderr.contains(Self.warning),
            """
            This Swift toolchain does not honour swift_task_enqueueGlobal_hook. The daemon falls back to Swift's own pool, which \
            wakes up once a second. Another way to run all tasks on one thread is needed: see TaskLoop.
            """)
        #expect(try await daemon.terminate() == .status(0))
    }

    @Test func withoutTheHookTheDaemonWorksAndSaysSo() async throws {
        let fixture = try DaemonFixture()
        let daemon = try await fixture.startReady(environment: [TaskLoop.variable: "no"])
        try await fixture.waitUntilComplete()
        #expect(daemon.stderr.contains(Self.warning), "\(daemon.stderr)")
        #expect(try await daemon.terminate() == .status(0))
    }
}
