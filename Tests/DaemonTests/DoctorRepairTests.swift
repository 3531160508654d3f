import CLinux
import CTestSupport
import Control
import DevServer
import Glibc
import PRSNLCore
import Store
import Synchronization
import TestSupport
import Testing

@testable import Commands
@testable import Requests

/// Files beside the database that are gone or another user's, and `prsnlctl doctor --repair`: with the owner, a member of
/// the group and a stranger as processes of their own.
@Suite(.enabled(if: geteuid() == 0 || getenv("CI") != nil, "needs root, for users of its own"))
struct DoctorRepairTests {
    private let owner: uid_t = 65_533
    private let group: gid_t = 65_532
    private let member: uid_t = 65_531
    private let query = "SELECT count(*) FROM timeline"

    /// A copy of 30 items whose daemon is stopped, as the package would have it: the owner's, readable for the group.
    private func copy() async throws -> DaemonFixture {
        let fixture = try DaemonFixture(items: DevItem.generate(count: 30))
        let daemon = try await fixture.startReady()
        try await fixture.waitUntilComplete()
        #expect(try await daemon.terminate() == .status(0))
        let folder = Descriptors.folder(of: fixture.database)
        #expect(chmod(fixture.folder.path, 0o755) == 0 && chmod(folder, 0o750) == 0)
        for path in [folder] + ["", "-wal", "-shm", ".lock"].map({ fixture.database + $0 }) {
            #expect(chown(path, owner, group) == 0, "\(path)")
        }
        #expect(chown(fixture.folder.file("key"), owner, group) == 0)
        return fixture
    }

    private func run(as user: uid_t, group: gid_t, _ program: String, _ arguments: [String]) async throws
        -> DaemonFixture.Ended
    {
        try await ChildProcess.run(
            "/usr/bin/setpriv", ["--reuid=\(user)", "--regid=\(group)", "--clear-groups", program] + arguments,
            environment: ["HOME": "/nonexistent", "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"])
    }

    private func memberReads(_ fixture: DaemonFixture) async throws -> DaemonFixture.Ended {
        try await run(as: member, group: group, "/usr/bin/sqlite3", ["-readonly", fixture.database, query])
    }

    private func doctor(as user: uid_t, group: gid_t, _ fixture: DaemonFixture, _ more: [String] = []) async throws
        -> DoctorReport
    {
        let ended = try await run(
            as: user, group: group, try BuiltProducts.executable("prsnlctl"),
            ["--socket", fixture.folder.file("none.sock"), "--database", fixture.database, "doctor", "--json"] + more)
        return try fixture.decode(DoctorReport.self, ended)
    }

    @Test func whatAPlainSqlite3OfRootRemovesIsFoundAndRecreated() async throws {
        let fixture = try await copy()
        #expect(try await memberReads(fixture).stdout == "30\n")
        #expect(try await fixture.doctor().levels("readers") == [.ok])

        // Root only wanted to look.
        let look = try await ChildProcess.run("/usr/bin/sqlite3", [fixture.database, query])
        #expect(look.stdout == "30\n")
        #expect(!TestFile.exists(fixture.database + "-wal") && !TestFile.exists(fixture.database + "-shm"))
        let refused = try await memberReads(fixture)
        #expect(refused.exit != .status(0) && refused.stdout.isEmpty, "\(refused)")

        let found = try await fixture.doctor()
        #expect(found.levels("readers") == [.warning])
        let cure = "prsnlctl --config \(fixture.configuration) doctor --repair"
        #expect(found.findings.first { $0.check == "readers" }?.nextCommand?.line == cure)
        // Looking leaves no trace.
        #expect(!TestFile.exists(fixture.database + "-wal") && !TestFile.exists(fixture.database + "-shm"))
        let repaired = try await fixture.doctor("--repair")
        #expect(repaired.levels("repair") == [.ok] && repaired.levels("readers") == [.ok], "\(repaired.findings)")
        // Root is root again for the checks that follow.
        #expect(repaired.findings.contains { $0.check == "caller" && $0.found.hasPrefix("root") })
        #expect(try await memberReads(fixture).stdout == "30\n")
        for suffix in ["", "-wal", "-shm", ".lock"] {
            var status = stat()
            #expect(stat(fixture.database + suffix, &status) == 0 && status.st_uid == owner, "\(suffix)")
            #expect(status.st_gid == group && status.st_mode & 0o027 == 0, "\(suffix)")
        }
        let again = try await fixture.doctor("--repair")
        #expect(again.findings.first { $0.check == "repair" }?.found == "there was nothing to repair")
    }

    /// `doctor` names the commands, and they are enough.
    @Test func filesThatAreRootsAreGivenBackByTheCommandsThatAreNamed() async throws {
        let fixture = try await copy()
        for suffix in ["-wal", "-shm", ".lock"] {
            #expect(chown(fixture.database + suffix, 0, 0) == 0 && chmod(fixture.database + suffix, 0o600) == 0)
        }
        #expect(try await memberReads(fixture).exit != .status(0))
        #expect(try await fixture.doctor().levels("owner") == [.failed, .failed, .failed])
        for check in ["owner", "mode"] {
            for finding in try await fixture.doctor("--repair").findings where finding.check == check {
                let line = try #require(finding.nextCommand?.line, "\(finding)")
                #expect(line.hasPrefix("ch"), "\(line)")
                let ended = try await ChildProcess.run("/bin/sh", ["-c", line])
                #expect(ended.exit == .status(0), "\(line): \(ended)")
            }
        }
        let repaired = try await fixture.doctor()
        #expect(repaired.levels("owner") == [] && repaired.levels("mode") == [], "\(repaired.findings)")
        #expect(try await memberReads(fixture).stdout == "30\n")
    }

    @Test func theOwnerRepairsToo() async throws {
        let fixture = try await copy()
        for suffix in ["-wal", "-shm"] { try TestFile.remove(fixture.database + suffix) }
        let repaired = try await doctor(as: owner, group: group, fixture, ["--repair"])
        #expect(repaired.levels("repair") == [.ok] && repaired.levels("readers") == [.ok], "\(repaired.findings)")
        #expect(try await memberReads(fixture).stdout == "30\n")
    }

    @Test func rootIsNotLedElsewhereByALink() async throws {
        let fixture = try await copy()
        let elsewhere = fixture.folder.file("elsewhere")
        try TestFile.write("root's", to: elsewhere)
        try TestFile.remove(fixture.database + "-wal")
        #expect(symlink(elsewhere, fixture.database + "-wal") == 0)
        _ = try await fixture.doctor("--repair")
        // Nor when root only looks: SQLite would follow the link, and give what it leads to away.
        for command in ["status", "history", "queue"] { _ = try await fixture.control(command) }
        try TestFile.remove(fixture.database + "-wal")
        #expect(link(elsewhere, fixture.database + "-wal") == 0)
        let linked = try await fixture.doctor("--repair")
        // Pasted, a chown would give it away.
        #expect(!linked.findings.contains { $0.nextCommand?.line.contains("chown") == true }, "\(linked.findings)")
        var status = stat()
        #expect(stat(elsewhere, &status) == 0 && status.st_uid == 0 && status.st_mode & 0o777 == 0o600)
    }

    // MARK: A compromised daemon

    /// It answers with a file of its choice.
    @Test func rootGoesToNoPathThatADaemonNames() async throws {
        let fixture = try await copy()
        let others = try await copy()
        for suffix in ["-wal", "-shm"] { try TestFile.remove(others.database + suffix) }
        let summary = try StoreReader(path: fixture.database).summary()
        let chosen = others.database
        var requests = RequestTable()
        requests.on(StatusRequest.self) { _, conversation in
            let now = TimeSource.system.now()
            let daemon = StatusReport.Daemon(pid: getpid(), since: now, engine: EngineState().shown)
            var status = StatusReport(summary, daemon: daemon, engine: EngineState(), now: now)
            status.file.path = chosen
            conversation.send(status)
        }
        let daemon = try ControlServer(path: fixture.socket, requests: requests)
        defer { daemon.stop() }
        let report = try await fixture.doctor("--repair")
        #expect(
            report.findings.contains { $0.level == .warning && $0.found.contains("the daemon says that it works on") })
        #expect(!report.findings.contains { $0.found.contains("created") }, "\(report.findings)")
        #expect(!TestFile.exists(chosen + "-wal") && !TestFile.exists(chosen + "-shm"))
    }

    /// Its folder is a link to a folder that is not its own, where root's files have the same names.
    @Test(arguments: ["the folder", "the database"])
    func linksOfTheDaemonsUserLeadRootNowhere(_ part: String) async throws {
        let fixture = try await copy()
        let victim = try await copy()
        for suffix in ["", "-wal", "-shm", ".lock"] {
            #expect(chown(victim.database + suffix, 0, 0) == 0 && chmod(victim.database + suffix, 0o600) == 0)
        }
        let folder = Descriptors.folder(of: victim.database)
        #expect(chown(folder, 0, 0) == 0 && chmod(folder, 0o755) == 0)
        let attackers = part == "the folder" ? Descriptors.folder(of: fixture.database) : fixture.database
        let led = part == "the folder" ? Descriptors.folder(of: victim.database) : victim.database
        #expect(rename(attackers, attackers + ".away") == 0)
        #expect(symlink(led, attackers) == 0 && lchown(attackers, owner, group) == 0)
        let report = try await fixture.doctor("--repair")
        // A pasted chmod or chown would follow the link after all.
        #expect(!report.findings.contains { $0.nextCommand?.line.contains(victim.folder.path) == true })
        #expect(
            !report.findings.contains { finding in
                finding.check != "key_file"
                    && ["chmod ", "chown "].contains { finding.nextCommand?.line.contains($0) == true }
            })
        for command in [["status"], ["history"], ["queue"], ["note", "a text"]] {
            let ended = try await ChildProcess.run(
                BuiltProducts.executable("prsnlctl"), ["--config", fixture.configuration] + command,
                environment: fixture.environment([:]))
            #expect(ended.exit != .status(0), "\(ended)")
        }
        for suffix in ["", "-wal", "-shm", ".lock"] {
            var status = stat()
            #expect(stat(victim.database + suffix, &status) == 0 && status.st_uid == 0, "\(suffix)")
            #expect(status.st_mode & 0o777 == 0o600, "\(suffix)")
        }
        #expect(!TestFile.exists(victim.database + ".login"))
        // A link of root's is the administrator's own choice.
        #expect(lchown(attackers, 0, 0) == 0)
        #expect(try await fixture.doctor("--repair").levels("repair") == [.ok])
    }

    /// The daemon's user swaps the folder for a link to one of root's, again and again, while root runs commands.
    @Test func aFolderThatIsSwappedForALinkLeadsRootNowhere() async throws {
        let fixture = try await copy()
        let folder = Descriptors.folder(of: fixture.database)
        let victim = TemporaryDirectory("victim")
        let file = victim.file("prsnl.sqlite")
        try TestFile.write(try TestFile.read(fixture.database), to: file, mode: 0o600)
        try #require(chmod(victim.path, 0o700) == 0)
        let before = try TestFile.read(file)
        let link = folder + ".link"
        try #require(symlink(victim.path, link) == 0 && lchown(link, owner, group) == 0)
        let swapping = Swapping()
        await withTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
                while !swapping.isOver.load(ordering: .relaxed) {
                    for _ in 0..<500 { _ = prsnl_exchange(folder, link) }
                    await Task.yield()
                }
            }
            tasks.addTask {
                defer { swapping.isOver.store(true, ordering: .relaxed) }
                for command in [["note", "a text"], ["status"], ["doctor", "--repair"], ["queue"]] {
                    for _ in 0..<15 { _ = try? await fixture.startControl(command).waitForExit() }
                }
            }
        }
        #expect(try TestFile.read(file) == before)
        for suffix in ["-wal", "-shm", "-journal", ".lock", ".login"] {
            #expect(!TestFile.exists(file + suffix), "\(suffix)")
        }
    }

    /// Root changes no owner and no mode of its own accord, whatever the daemon's user has put there.
    @Test func ownersAndModesAreLeftAlone() async throws {
        let fixture = try await copy()
        #expect(chown(fixture.database + "-wal", 0, 0) == 0 && chmod(fixture.database + "-wal", 0o600) == 0)
        #expect(chown(fixture.database + "-shm", member, member) == 0)
        #expect(try await fixture.doctor("--repair").levels("owner") == [.failed, .failed])
        var status = stat()
        #expect(stat(fixture.database + "-wal", &status) == 0 && status.st_uid == 0 && status.st_mode & 0o777 == 0o600)
        #expect(stat(fixture.database + "-shm", &status) == 0 && status.st_uid == member)
    }

    /// A login that is a link would tell what is in a file that only root may read.
    @Test func theLoginIsReadWithItsOwnersRights() async throws {
        let fixture = try await copy()
        let secret = fixture.folder.file("secret")
        try TestFile.write("root's own", to: secret)
        #expect(symlink(secret, fixture.database + ".login") == 0)
        #expect(lchown(fixture.database + ".login", owner, group) == 0)
        let report = try await fixture.doctor()
        let login = report.findings.filter { $0.check == "login" }
        #expect(login.allSatisfy { $0.level != .ok && !$0.found.contains("does not hold a login") }, "\(login)")
    }

    @Test func whileTheDaemonRunsItsFilesAreLeftAlone() async throws {
        let fixture = try DaemonFixture(items: DevItem.generate(count: 30))
        try fixture.giveLastingToken()
        let daemon = try await fixture.startReady()
        try await fixture.waitUntilComplete()
        let report = try await fixture.doctor("--repair")
        #expect(report.findings.first { $0.check == "repair" }?.found == "there was nothing to repair")
        #expect(report.complaints.isEmpty, "\(report.complaints)")
        #expect(try await fixture.status().copy.live == 30)
        #expect(try await daemon.terminate() == .status(0))
    }

    @Test func aMemberSeesTheCopyAndAStrangerIsToldHowToJoin() async throws {
        let fixture = try await copy()
        let asMember = try await doctor(as: member, group: group, fixture)
        #expect(asMember.levels("caller") == [.ok] && asMember.levels("integrity") == [.ok], "\(asMember.findings)")
        #expect(asMember.levels("items") == [.ok])
        let asStranger = try await doctor(as: member, group: member, fixture)
        #expect(asStranger.levels("caller") == [.warning], "\(asStranger.findings)")
        #expect(asStranger.levels("database") == [.notChecked] && asStranger.levels("copy") == [.notChecked])
        #expect(asStranger.levels("integrity") != [.ok] && asStranger.levels("schema") != [.ok])
    }
}

private final class Swapping: Sendable {
    let isOver = Atomic(false)
}
