import Glibc
import PRSNLCore
import TestSupport
import Testing

/// A process that may open few files.
struct DescriptorTests {
    /// From what the dynamic loader and the configuration need to more than the daemon does.
    private static let limits = [5, 8, 12, 16, 24, 63, 64, 80]

    private func start(_ program: String, _ arguments: [String], files: Int, in folder: String) throws -> ChildProcess {
        try ChildProcess(
            "/bin/sh",
            ["-c", "ulimit -n \(files); exec \"$@\"", "sh", try BuiltProducts.executable(program)] + arguments,
            environment: ["HOME": folder, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"], directory: folder)
    }

    @Test func withFewDescriptorsTheDaemonRunsOrSaysWhatIsMissing() async throws {
        var running = 0
        for files in Self.limits {
            let fixture = try DaemonFixture(items: [])
            let daemon = try start(
                "prsnld", ["--config", fixture.configuration], files: files, in: fixture.folder.path)
            // Asked of the log and not of the socket: there may be no descriptor left for a client.
            try await eventually("prsnld with \(files) descriptors to run or to end") {
                daemon.pollExit() != nil || daemon.stderr.contains("pid \(daemon.processID)")
            }
            if let exit = daemon.pollExit() {
                #expect(exit == .status(1), "\(files) descriptors: \(daemon.stderr)")
                #expect(daemon.stderr.contains("ulimit -n"), "\(files) descriptors: \(daemon.stderr)")
                #expect(daemon.stderr.contains("LimitNOFILE="), "\(files) descriptors: \(daemon.stderr)")
            } else {
                running += 1
                #expect(try await daemon.terminate() == .status(0), "\(files) descriptors: \(daemon.stderr)")
            }
        }
        #expect(running >= 2)
    }

    @Test func withFewDescriptorsPrsnlctlEndsWithWords() async throws {
        let fixture = try DaemonFixture(items: [])
        #expect(try await fixture.run(["--once"]).exit == .status(0))
        for files in 5...16 {
            for command in ["status", "net", "whoami"] + (files % 4 == 0 ? ["doctor"] : []) {
                let child = try start(
                    "prsnlctl", ["--config", fixture.configuration, command], files: files, in: fixture.folder.path)
                let exit = try await child.waitForExit()
                guard case .status(let code) = exit else {
                    Issue.record("\(command) with \(files) descriptors: \(exit), \(child.stderr)")
                    continue
                }
                #expect(code == 0 || !(child.stdout + child.stderr).isEmpty, "\(command) with \(files) descriptors")
            }
        }
    }
}
