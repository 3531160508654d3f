import CLinux
import Commands
import Console
import Control
import DevServer
import Glibc
import PRSNLCore
import Requests
import TestSupport
import Testing

/// `prsnlctl doctor` with the real binaries, in the states in which people call for it. What it says of the machine that the
/// tests run on (its disk, its systemd) is not theirs to expect.
@Suite struct DoctorTests {
    private func ready(_ fixture: DaemonFixture) async throws -> ChildProcess {
        try fixture.giveLastingToken()
        let daemon = try await fixture.startReady()
        try await fixture.waitUntilComplete()
        return daemon
    }

    private func stopped(_ fixture: DaemonFixture) async throws {
        let daemon = try await ready(fixture)
        #expect(try await daemon.terminate() == .status(0))
    }

    @Test func ofAHealthyDaemonThereIsNothingToSay() async throws {
        let fixture = try DaemonFixture()
        let daemon = try await ready(fixture)
        let report = try await fixture.doctor()
        #expect(report.complaints.isEmpty, "\(report.complaints)")
        for check in [
            "configuration", "server_url", "key_file", "name", "connect", "health", "clock", "account", "dialect",
        ] {
            #expect(report.levels(check) == [.ok], "\(check)")
        }
        for check in [
            "items", "writes", "database", "readers", "schema", "size", "integrity", "daemon", "socket",
        ] {
            #expect(report.levels(check) == [.ok], "\(check)")
        }
        let text = try await fixture.control("doctor")
        #expect(text.stdout.hasPrefix("Configuration\n  ok       configuration \(fixture.configuration)\n"), "\(text)")
        #expect(daemon.pollExit() == nil)
    }

    @Test func noSecretIsPrinted() async throws {
        let fixture = try DaemonFixture()
        let daemon = try await ready(fixture)
        let token = try TestFile.text(fixture.folder.file("key")).filter { !$0.isNewline }
        for arguments in [["doctor"], ["doctor", "--json"], ["doctor", "--repair"]] {
            let child = try fixture.startControl(arguments)
            _ = try await child.waitForExit()
            #expect(!child.stdout.contains(token) && !child.stderr.contains(token))
        }
        #expect(daemon.pollExit() == nil)
    }

    @Test func aStoppedDaemonIsAWarningAndTheFileIsStillChecked() async throws {
        let fixture = try DaemonFixture()
        try await stopped(fixture)
        let ended = try await fixture.control("doctor", "--json")
        let report = try fixture.decode(DoctorReport.self, ended)
        #expect(report.levels("daemon") == [.warning] && report.levels("account") == [.notChecked])
        #expect(report.complaints.map(\.check) == ["daemon"], "\(report.complaints)")
        #expect(report.levels("integrity") == [.ok] && report.levels("items") == [.ok])
        // Asked by prsnlctl itself.
        #expect(report.levels("health") == [.ok] && report.levels("clock") == [.ok])
        #expect([.status(4), .status(1)].contains(ended.exit), "\(ended)")
    }

    @Test func beforeTheFirstStartThereIsNoCopyYet() async throws {
        let fixture = try DaemonFixture()
        let report = try await fixture.doctor()
        #expect(report.levels("database") == [.warning] && report.levels("copy") == [.notChecked])
        #expect(report.levels("disk") == [.notChecked] && report.levels("health") == [.ok])
        #expect(!TestFile.exists(Descriptors.folder(of: fixture.database)))
    }

    @Test func withoutAServerTheRestIsChecked() async throws {
        let fixture = try DaemonFixture()
        try await stopped(fixture)
        try TestFile.write(
            "database = \(fixture.database)\ncontrol_socket = \(fixture.socket)\n", to: fixture.configuration)
        let ended = try await fixture.control("doctor", "--json")
        let report = try fixture.decode(DoctorReport.self, ended)
        #expect(ended.exit == .status(1) && report.levels("server_url") == [.failed])
        #expect(report.levels("way") == [.notChecked] && report.levels("integrity") == [.ok])
        #expect(report.findings.contains { $0.group == .credentials && $0.level == .warning })
    }

    @Test func aBrokenConfigurationIsAFindingAmongOthers() async throws {
        let fixture = try DaemonFixture()
        try await stopped(fixture)
        try fixture.configure("pol_interval = 5m\npage_size = 0")
        let ended = try await fixture.control("doctor", "--json")
        let report = try fixture.decode(DoctorReport.self, ended)
        #expect(ended.exit == .status(1) && report.levels("configuration") == [.failed, .failed])
        #expect(report.levels("key_file") == [.ok] && report.levels("health") == [.ok])
        #expect(report.levels("integrity") == [.ok] && report.levels("daemon") == [.warning])
    }

    @Test func aTokenThatIsNotRenewedIsToldBeforeItEnds() async throws {
        let fixture = try DaemonFixture()
        #expect(try await fixture.doctor().levels("key_file") == [.warning])
        let ended = fixture.server.issueToken(lifetime: .seconds(-60))
        try TestFile.write(ended, to: fixture.folder.file("key"))
        #expect(try await fixture.doctor().levels("key_file") == [.failed])
    }

    @Test func aStoredLoginIsLookedAtAndNotPrinted() async throws {
        let fixture = try DaemonFixture()
        try await stopped(fixture)
        let secret = "obviously-fake-token"
        let login = fixture.database + ".login"
        try TestFile.write(
            "{\"version\":1,\"server\":\"\(fixture.server.url)\",\"access_token\":\"\(secret)\",\"refresh_token\":\"x\"}",
            to: login)
        // Beside a key, which the daemon uses.
        let both = try await fixture.control("doctor", "--json")
        #expect(try fixture.decode(DoctorReport.self, both).levels("login") == [.ok, .warning])
        #expect(!both.stdout.contains(secret) && !both.stderr.contains(secret))
        #expect(chmod(login, 0o644) == 0)
        #expect(try await fixture.doctor().levels("login").first == .failed)
    }

    @Test func aKeyThatOthersCanReadFailsWithItsCure() async throws {
        let fixture = try DaemonFixture()
        try TestFile.write("not-a-real-key", to: fixture.folder.file("key"), mode: 0o644)
        let ended = try await fixture.control("doctor", "--json")
        let finding = try fixture.decode(DoctorReport.self, ended).findings.first { $0.check == "key_file" }
        #expect(finding?.level == .failed)
        #expect(finding?.nextCommand == "chmod 600 \(fixture.folder.file("key"))")
        #expect(!ended.stdout.contains("not-a-real-key"))
    }

    @Test(arguments: [true, false])
    func aDeadServerFailsAtTheConnection(daemonRuns: Bool) async throws {
        let fixture = try DaemonFixture()
        let daemon = try await ready(fixture)
        if !daemonRuns { #expect(try await daemon.terminate() == .status(0)) }
        fixture.server.refuseConnections()
        let report = try await fixture.doctor()
        #expect(report.levels("connect") == [.failed] && report.levels("health") == [])
        #expect(report.levels("integrity") == [.ok])
        #expect(report.result == .failed)
    }

    @Test(arguments: [true, false])
    func aPortalIsNotTakenForTheServer(daemonRuns: Bool) async throws {
        let fixture = try DaemonFixture()
        let daemon = try await ready(fixture)
        if !daemonRuns { #expect(try await daemon.terminate() == .status(0)) }
        fixture.server.script(.portal, on: .health, times: .max)
        let report = try await fixture.doctor()
        #expect(report.levels("connect") == [.ok] && report.levels("health") == [.failed])
    }

    @Test func aRefusedKeyIsToldByTheDaemon() async throws {
        let fixture = try DaemonFixture()
        let daemon = try await ready(fixture)
        fixture.server.expireTokens()
        _ = try await fixture.control("sync", "--wait")
        let report = try await fixture.doctor()
        #expect(report.levels("account") == [.failed], "\(report.findings)")
        #expect(daemon.pollExit() == nil)
    }

    @Test(arguments: [(20, DoctorReport.Level.warning), (-3_600, .failed)])
    func aClockThatIsOffIsFound(seconds: Int, level: DoctorReport.Level) async throws {
        let fixture = try DaemonFixture { configuration in
            configuration.now = { TimeSource.system.now().advanced(by: .seconds(seconds)) }
        }
        #expect(try await fixture.doctor().levels("clock") == [level])
        // The daemon knows it from whatever was answered last.
        let daemon = try await fixture.startReady()
        #expect(try await fixture.doctor().levels("clock") == [level])
        #expect(daemon.pollExit() == nil)
    }

    @Test func aDamagedFileFails() async throws {
        let fixture = try DaemonFixture(items: DevItem.generate(count: 2_000))
        try await stopped(fixture)
        var bytes = try TestFile.read(fixture.database)
        // The middle of it: header and schema stay as they are.
        let middle = bytes.count / 2 / 4_096 * 4_096
        for at in middle..<min(bytes.count, middle + 64 * 4_096) { bytes[at] = 0xA5 }
        try TestFile.write(bytes, to: fixture.database, mode: 0o640)
        let report = try await fixture.doctor()
        #expect(report.levels("integrity") == [.failed], "\(report.findings)")
        #expect(report.levels("health") == [.ok])
    }

    @Test func aFileOfAnotherApplicationIsNotOpened() async throws {
        let fixture = try DaemonFixture()
        _ = try await ChildProcess.run("/bin/mkdir", [Descriptors.folder(of: fixture.database)])
        _ = try await ChildProcess.run("/usr/bin/sqlite3", [fixture.database, "CREATE TABLE theirs (x)"])
        let before = try TestFile.read(fixture.database)
        let report = try await fixture.doctor("--repair")
        #expect(report.levels("schema") == [.failed] && report.levels("repair") == [.failed])
        #expect(try TestFile.read(fixture.database) == before)
    }

    @Test(.enabled(if: TinyDisk.canBeMade, "needs root, for a disk of its own"))
    func aFullDiskFails() async throws {
        let disk = try TinyDisk()
        let fixture = try DaemonFixture(database: disk.file("prsnl.sqlite"))
        try await stopped(fixture)
        try disk.fill()
        let report = try await fixture.doctor()
        #expect(report.levels("disk") == [.failed] && report.levels("integrity") == [.ok])
    }

    @Test(arguments: [["-wal"], ["-wal", "-shm"]])
    func aLogThatWasRemovedUnderTheDaemonFailsThoughAskingRecreatesIt(suffixes: [String]) async throws {
        let fixture = try DaemonFixture()
        let daemon = try await ready(fixture)
        for suffix in suffixes { try TestFile.remove(fixture.database + suffix) }
        let first = try await fixture.doctor()
        #expect(first.levels("readers") == [.failed], "\(first.findings)")
        // By now there is one again, which is not the daemon's.
        let second = try await fixture.doctor()
        let isTold = second.findings.contains {
            $0.level == .failed && ($0.check == "database" || $0.check == "daemon") && $0.found.contains("-wal")
        }
        #expect(isTold, "\(second.findings)")
        let status = try await fixture.control("status", "--json")
        #expect(status.exit != .status(0) && status.stdout.contains("database_replaced"), "\(status)")
        #expect(daemon.pollExit() == nil)
    }

    @Test func aDaemonThatHangsDoesNotHangTheDoctor() async throws {
        let fixture = try DaemonFixture()
        try await stopped(fixture)
        let deaf = try DeafSocket(fixture.socket)
        let report = try await fixture.doctor()
        #expect(report.levels("daemon") == [.failed] && report.levels("integrity") == [.ok])
        withExtendedLifetime(deaf) {}
    }
}

/// A socket that takes connections and never says anything, as a daemon does that hangs.
private final class DeafSocket: Sendable {
    private let descriptor: Int32

    init(_ path: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let bound = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard bound == 0, listen(descriptor, 8) == 0 else { throw WaitedInVain("bind \(path): errno \(errno)") }
    }

    deinit { close(descriptor) }
}

extension DaemonFixture {
    /// A token that ends soon would be worth a word.
    func giveLastingToken() throws {
        try TestFile.write(server.issueToken(lifetime: .seconds(30 * 86_400)) + "\n", to: folder.file("key"))
    }

    func doctor(_ arguments: String...) async throws -> DoctorReport {
        let child = try startControl(["doctor", "--json"] + arguments)
        let ended = (try await child.waitForExit(), child.stdout, child.stderr)
        let report = try decode(DoctorReport.self, ended)
        #expect(ended.0 == .status(report.exitCode.rawValue), "\(ended)")
        return report
    }
}

extension DoctorReport {
    func levels(_ check: String) -> [Level] { findings.filter { $0.check == check }.map(\.level) }

    /// Of what the test has made.
    var complaints: [Finding] {
        findings.filter { ($0.level == .warning || $0.level == .failed) && $0.group != .machine && $0.check != "unit" }
    }
}
