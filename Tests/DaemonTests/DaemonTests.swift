import Console
import Control
import DevServer
import Glibc
import PRSNLCore
import TestSupport
import Testing

@testable import Commands
@testable import Requests

/// The running daemon, from outside.
@Suite struct DaemonTests {
    @Test func statusComesFromTheDaemonWhileItRuns() async throws {
        let fixture = try DaemonFixture()
        let daemon = try await fixture.startReady()
        let report = try await fixture.waitUntilComplete()
        #expect(report.daemon?.pid == daemon.processID)
        #expect(report.daemon?.version == ProductVersion.current)
        #expect(report.copy.live == 250)
        #expect(report.server.accountID == DevAccount.owner.id)
        let text = try await fixture.control("status")
        #expect(text.exit == .status(0))
        #expect(
            text.stdout.hasPrefix(
                "Up to date; nothing waits.\n\nDaemon       \(ProductVersion.current), pid \(daemon.processID), running since "
            ))
        let history = try fixture.decode(HistoryReport.self, try await fixture.control("history", "--json"))
        #expect(history.source == .daemon)
        #expect(history.pulls.first?.outcome == .complete)
    }

    @Test(arguments: [SIGTERM, SIGINT])
    func aSignalInTheMiddleOfAPullEndsItCleanly(signal: Int32) async throws {
        let fixture = try DaemonFixture()
        let hold = fixture.server.script(.hold, on: .timeline, skip: 2)
        let daemon = try await fixture.startReady()
        try await fixture.server.waitForRequest(.timeline, count: 3)
        daemon.signal(signal)
        #expect(try await daemon.waitForExit() == .status(0))
        #expect(daemon.stderr.hasSuffix("stopped\n"), "\(daemon.stderr)")
        #expect(!TestFile.exists(fixture.socket))
        hold.remove()
        let report = try await fixture.status()
        #expect(report.source == .file)
        #expect(!report.copy.complete)
        let again = try await fixture.startReady()
        #expect(try await fixture.waitUntilComplete().copy.live == 250)
        #expect(try await again.terminate() == .status(0))
    }

    @Test func aSecondInstanceIsRefusedAndNamesTheFirst() async throws {
        let fixture = try DaemonFixture()
        let daemon = try await fixture.startReady()
        for arguments in [[], ["--once"]] {
            let second = try await fixture.run(arguments)
            #expect(second.exit == .status(1))
            #expect(second.stderr.contains("\(daemon.processID)"), "\(second.stderr)")
        }
        #expect(try await fixture.status().daemon?.pid == daemon.processID)
    }

    @Test func anotherDaemonDoesNotTakeTheSocketOfALiveOne() async throws {
        let fixture = try DaemonFixture()
        let daemon = try await fixture.startReady()
        let other = try await fixture.run(environment: ["PRSNL_DATABASE": fixture.folder.file("other.sqlite")])
        #expect(other.exit == .status(1))
        #expect(other.stderr.contains("Another program listens at \(fixture.socket)"))
        #expect(try await fixture.status().daemon?.pid == daemon.processID)
    }

    @Test func theSocketOfAKilledDaemonIsReplaced() async throws {
        let fixture = try DaemonFixture()
        let first = try await fixture.startReady()
        first.signal(SIGKILL)
        #expect(try await first.waitForExit() == .signal(SIGKILL))
        #expect(TestFile.exists(fixture.socket))
        #expect(try await fixture.control("sync").exit == .status(3))
        let second = try fixture.start()
        #expect(try await fixture.waitUntilComplete().daemon?.pid == second.processID)
    }

    @Test func reloadTakesLogLevelAndPageSizeAndNamesWhatMustWait() async throws {
        let fixture = try DaemonFixture()
        try fixture.configure("log_level = error")
        let daemon = try await fixture.startReady()
        try await fixture.waitUntilComplete()
        #expect(daemon.stderr.isEmpty, "\(daemon.stderr)")
        try fixture.configure("log_level = info\npage_size = 7\nstall_timeout = 5s")
        daemon.signal(SIGHUP)
        let line = try await daemon.waitForErrorLine(containing: "configuration read again")
        #expect(line.hasSuffix("page_size = 7, log_level = info, stall_timeout = 5s (after a restart)"), "\(line)")
        fixture.server.clearLog()
        #expect(try await fixture.control("sync", "--full", "--wait").exit == .status(0))
        #expect(fixture.server.requests(.timeline).contains { $0.parameter("limit") == "7" })
    }

    @Test func aWrongConfigurationChangesNothing() async throws {
        let fixture = try DaemonFixture()
        let daemon = try await fixture.startReady()
        try fixture.configure("page_size = many")
        daemon.signal(SIGHUP)
        _ = try await daemon.waitForErrorLine(containing: "everything stays as it was")
        #expect(daemon.stderr.contains("prsnld.conf:5: page_size is not a whole number"))
        try fixture.configure()
        try await fixture.waitUntilComplete()
        #expect(try await daemon.terminate() == .status(0))
    }

    @Test func aChangedKeyIsNamedAtReload() async throws {
        let fixture = try DaemonFixture()
        let daemon = try await fixture.startReady()
        try TestFile.write("another-fake-key", to: fixture.folder.file("key"))
        daemon.signal(SIGHUP)
        _ = try await daemon.waitForErrorLine(containing: "the key in api_key_file has changed")
        #expect(!daemon.stderr.contains("another-fake-key"))
    }

    @Test func underTheJournalLinesHaveAPriorityAndNoTime() async throws {
        let fixture = try DaemonFixture()
        let binary = try BuiltProducts.executable("prsnld")
        // The shell learns what stderr is, as systemd knows it.
        let child = try ChildProcess(
            "/bin/sh",
            [
                "-c", "JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2) exec \"$0\" --config \"$1\" --once", binary,
                fixture.configuration,
            ])
        #expect(try await child.waitForExit() == .status(0))
        let lines = child.stderr.split(separator: "\n")
        #expect(!lines.isEmpty)
        for line in lines { #expect(line.first == "<" && line.dropFirst(2).hasPrefix(">"), "\(line)") }
        #expect(child.stderr.contains("<5>daemon: complete"))
        let failing = try ChildProcess(
            "/bin/sh",
            ["-c", "JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2) exec \"$0\" --config /nowhere/p.conf", binary])
        #expect(try await failing.waitForExit() == .status(78))
        #expect(failing.stderr.hasPrefix("<3>prsnld: /nowhere/p.conf: cannot be read"), "\(failing.stderr)")
    }

    @Test func logLinesHaveTimeLevelAndCategory() async throws {
        let fixture = try DaemonFixture()
        let ended = try await fixture.run(["--once"])
        for line in ended.stderr.split(separator: "\n") {
            let words = line.split(separator: " ").map(String.init)
            #expect(words.count > 3 && Timestamp(words[0]) != nil, "\(line)")
            #expect(["error", "warning", "notice", "info", "debug"].contains(words[1]))
            #expect(LogCategory(rawValue: words[2]) != nil)
        }
    }
}
