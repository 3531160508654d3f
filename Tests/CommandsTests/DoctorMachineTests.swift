import CommandSamples
import Console
import Control
import PRSNLCore
import Testing

@testable import Commands
@testable import struct Store.FileFigures

/// The doctor's judgement of files, of the machine and of the service.
@Suite struct DoctorMachineTests {
    typealias Level = DoctorReport.Level
    typealias Entry = FilesCheck.Entry

    private let time = Samples.now

    private func levels(_ facts: some Check, _ check: String) -> [Level] {
        facts.findings.filter { $0.check == check }.map(\.level)
    }

    // MARK: Files

    private func entry(_ mode: UInt32, _ owner: String = "prsnld", _ group: String = "prsnld") -> Entry {
        .there(mode: mode, owner: owner, group: group, isFile: true)
    }

    private func files(_ change: (inout FilesCheck) -> Void = { _ in }) -> FilesCheck {
        var facts = FilesCheck(path: "/var/lib/prsnld/prsnl.sqlite")
        facts.folder = .there(mode: 0o750, owner: "prsnld", group: "prsnld", isFile: false)
        facts.database = entry(0o640)
        facts.beside = ["-wal": entry(0o640), "-shm": entry(0o640), ".lock": entry(0o600)]
        change(&facts)
        return facts
    }

    @Test func filesAsTheDaemonMakesThemAreFine() {
        #expect(files().findings.map(\.level) == [.ok, .ok])
    }

    @Test func whatIsNotThereOrHiddenIsNotCalledGood() {
        #expect(files { $0.database = .missing }.findings.map(\.level) == [.warning])
        #expect(files { $0.folder = .missing }.findings.map(\.level) == [.warning])
        #expect(files { $0.database = .hidden }.findings.map(\.level) == [.notChecked])
    }

    @Test func removedFilesLockTheGroupOut() {
        let removed = files { $0.beside["-wal"] = .missing }
        #expect(levels(removed, "readers") == [.warning])
        #expect(removed.findings.last?.nextCommand == "sudo prsnlctl doctor --repair")
        let underTheDaemon = files {
            $0.beside["-shm"] = .missing
            $0.isDaemonRunning = true
        }
        #expect(levels(underTheDaemon, "readers") == [.failed])
        // A copy that nobody shares needs neither.
        let own = files {
            $0.folder = .there(mode: 0o700, owner: "prsnld", group: "prsnld", isFile: false)
            $0.beside["-wal"] = .missing
        }
        #expect(levels(own, "readers") == [.ok])
    }

    /// What root could give away by it, no command is named for.
    @Test func onlyAFileOfItsOwnIsGivenBackByTheCommandThatIsNamed() {
        func next(_ entry: Entry) -> NextCommand? {
            files { $0.beside["-wal"] = entry }.findings.first { $0.check == "owner" || $0.check == "mode" }?
                .nextCommand
        }
        let back: NextCommand =
            "sudo chown --no-dereference --reference=/var/lib/prsnld /var/lib/prsnld/prsnl.sqlite-wal"
        #expect(next(entry(0o640, "root", "root")) == back && next(entry(0o640, "prsnld", "root")) == back)
        #expect(next(entry(0o600)) == "sudo chmod 640 /var/lib/prsnld/prsnl.sqlite-wal")
        #expect(next(.there(mode: 0o600, owner: "root", group: "root", isFile: false)) == nil)
        #expect(levels(files { $0.beside["-wal"] = .linked(owner: "prsnld") }, "link") == [.failed])
    }

    @Test func filesOfAnotherUserKeepTheDaemonOut() {
        #expect(levels(files { $0.beside["-wal"] = entry(0o640, "root", "root") }, "owner") == [.failed])
        #expect(levels(files { $0.beside[".lock"] = entry(0o600, "root", "root") }, "owner") == [.failed])
        #expect(levels(files { $0.database = entry(0o640, "root") }, "owner").contains(.failed))
        // In /tmp, everybody has files of their own.
        let shared = files {
            $0.folder = .there(mode: 0o1777, owner: "root", group: "root", isFile: false)
        }
        #expect(levels(shared, "owner") == [])
    }

    @Test func modesThatLetOthersInAreFound() {
        func open(_ mode: UInt32, folder: UInt32) -> [Level] {
            levels(
                files {
                    $0.folder = .there(mode: folder, owner: "prsnld", group: "prsnld", isFile: false)
                    $0.database = entry(mode)
                }, "mode")
        }
        #expect(open(0o644, folder: 0o755) == [.failed])
        #expect(open(0o646, folder: 0o755) == [.failed])
        #expect(open(0o644, folder: 0o750) == [])
        #expect(open(0o660, folder: 0o750) == [.warning])
        #expect(open(0o640, folder: 0o757) == [.failed])
        #expect(levels(files { $0.beside["-shm"] = entry(0o600) }, "mode") == [.warning])
    }

    // MARK: The database

    @Test func aLogThatAReaderHoldsBackNamesTheReader() {
        var figures = FileFigures(schemaVersion: 1, size: 0, freeSize: 0, logSize: 0)
        var facts = DatabaseCheck(figures: .success(figures))
        #expect(facts.findings.map(\.level) == [.ok, .ok, .ok])
        figures.logSize = 65 << 20
        facts.figures = .success(figures)
        facts.readers = ["sqlite3 (4242)"]
        #expect(levels(facts, "log") == [.warning])
        #expect(facts.findings.last?.found.contains("sqlite3 (4242)") ?? false)
    }

    @Test func errorsOfTheFileAreToldOnce() {
        func levels(_ code: ErrorCode) -> [Level] {
            DatabaseCheck(figures: .failure(UserFacingError(code, "hidden"))).findings.map(\.level)
        }
        #expect(levels(.noDatabase) == [])
        #expect(levels(.databaseUnreadable) == [.notChecked])
        #expect(levels(.otherApplication) == [.failed])
    }

    @Test func damageFailsAndWhatWasNotReadIsNotGood() {
        func levels(_ outcome: Result<[String], UserFacingError>?) -> [Level] {
            IntegrityCheck(path: "/p.sqlite", outcome: outcome).findings.map(\.level)
        }
        #expect(levels(.success([])) == [.ok])
        #expect(levels(.success(["row 1 missing from index x"])) == [.failed])
        #expect(levels(nil) == [.notChecked])
        #expect(levels(.failure(UserFacingError(.databaseDamaged, "malformed"))) == [.failed])
        #expect(levels(.failure(UserFacingError(.databaseUnreadable, "hidden"))) == [.notChecked])
    }

    @Test func anIndexThatFindsTooLittleIsToBeBuiltAgain() {
        func findings(_ error: ErrorCode) -> [DoctorReport.Finding] {
            IndexCheck(error: UserFacingError(error, "malformed")).findings
        }
        #expect(IndexCheck(isEnabled: true).findings.map(\.level) == [.ok])
        let lost = IndexCheck(lost: 1, isEnabled: true).findings
        #expect(lost.map(\.level) == [.failed])
        #expect(lost.first?.nextCommand == "prsnlctl doctor --rebuild-index")
        let damaged = findings(.databaseDamaged)
        #expect(damaged.map(\.level) == [.failed])
        // Others say why a file cannot be read.
        #expect(findings(.databaseUnreadable).isEmpty)
        #expect(findings(.noSearchIndex).map(\.level) == [.notChecked])
        // What is new is indexed within seconds, and is not spoken of.
        func found(_ due: Int, isEnabled: Bool) -> String? {
            IndexCheck(due: due, isEnabled: isEnabled).findings.first?.found
        }
        #expect(found(7, isEnabled: true) == "items are found by their words")
        #expect(found(7, isEnabled: false)?.contains("search_index = no") == true)
        #expect(found(5_000, isEnabled: true) == "5,000 items to be indexed")
    }

    // MARK: The machine

    @Test(
        arguments: [
            (74 << 30, 252 << 30, Level.ok), (199 << 20, 1 << 30, .warning), (10 << 30, 252 << 30, .warning),
            (19 << 20, 1 << 30, .failed), (0, 0, .failed),
        ] as [(Int64, Int64, Level)])
    func theDiskIsJudgedByWhatIsFree(free: Int64, total: Int64, level: Level) {
        var facts = MachineCheck()
        #expect(levels(facts, "disk") == [.notChecked])
        facts.disk = .init(free: free, total: total)
        #expect(levels(facts, "disk") == [level])
    }

    @Test func aStrangerIsToldHowToJoin() {
        var facts = MachineCheck()
        #expect(levels(facts, "caller") == [.ok])
        facts.refusal = UserFacingError(
            .databaseUnreadable, "This user may not look.", nextCommand: "sudo prsnlctl doctor")
        #expect(levels(facts, "caller") == [.warning])
        #expect(facts.findings.last?.nextCommand == "sudo prsnlctl doctor")
    }

    // MARK: The service

    private func service(
        _ state: SystemdUnit.State = .running, daemon: ServiceCheck.Daemon? = nil, isUser: Bool = false
    ) -> ServiceCheck {
        var facts = ServiceCheck(
            daemon: daemon ?? .answers(pid: 7, version: ProductVersion.current, since: time),
            socketPath: "/run/prsnld/control.sock",
            unit: .known(SystemdUnit(name: "prsnld", isUser: isUser, state: state)), now: time)
        facts.socket = entry(0o660)
        return facts
    }

    @Test func aServiceThatRunsIsFineAndItsLogIsNamed() {
        #expect(service().findings.map(\.check) == ["daemon", "socket", "unit"])
        #expect(service().findings.allSatisfy { $0.level == .ok })
        #expect(service().findings.last?.nextCommand == "journalctl -u prsnld -e")
    }

    @Test func anotherVersionThanTheDaemonsIsAWarning() {
        let facts = service(daemon: .answers(pid: 7, version: "0.0.1", since: time))
        #expect(levels(facts, "daemon") == [.warning])
    }

    @Test func aDaemonThatIsStoppedOrSilentIsNotFine() {
        let stopped = service(daemon: .stopped(UserFacingError(.daemonNotRunning, "No daemon listens.")))
        #expect(levels(stopped, "daemon") == [.warning])
        let silent = service(daemon: .silent(UserFacingError(.controlRefused, "Not this user.")))
        #expect(levels(silent, "daemon") == [.notChecked])
        var open = service()
        open.socket = entry(0o666)
        #expect(levels(open, "socket") == [.failed])
    }

    @Test(
        arguments: [
            ([:], .running, .ok, "journalctl -u prsnld -e"),
            (["ActiveState": "inactive", "SubState": "dead"], .stopped, .warning, "sudo systemctl start prsnld"),
            (["LoadState": "masked", "ActiveState": "inactive"], .masked, .warning, "sudo systemctl unmask prsnld"),
            (
                ["ActiveState": "failed", "Result": "exit-code"], .failed("exit-code"), .failed,
                "journalctl -u prsnld -e"
            ),
            (
                ["ActiveState": "activating", "SubState": "auto-restart", "Result": "signal"], .restarting("signal"),
                .failed, "journalctl -u prsnld -e"
            ),
            (["ActiveState": "activating", "SubState": "start"], .starting, .warning, "journalctl -u prsnld -e"),
            (["ActiveState": "deactivating"], .stopping, .warning, "journalctl -u prsnld -e"),
            (["ActiveState": "reloading"], .running, .ok, "journalctl -u prsnld -e"),
        ] as [([String: String], SystemdUnit.State, Level, NextCommand)])
    func theUnitIsJudgedByItsState(
        properties: [String: String], state: SystemdUnit.State, level: Level, next: NextCommand
    ) {
        let usual = ["LoadState": "loaded", "ActiveState": "active", "SubState": "running", "Result": "success"]
        #expect(SystemdUnit.State(usual.merging(properties) { $1 }) == state)
        #expect(levels(service(state), "unit") == [level])
        #expect(service(state).findings.last?.nextCommand == next)
    }

    @Test func aUnitThatIsNotThereIsNotChecked() {
        #expect(SystemdUnit.State(["LoadState": "not-found", "ActiveState": "inactive"]) == nil)
        var facts = service()
        facts.unit = .notKnown("no unit prsnld is installed")
        #expect(levels(facts, "unit") == [.notChecked])
    }

    @Test func aDaemonThatDoesNotAnswerInTimeFailsUnlessItIsStarting() {
        let hung = ServiceCheck.Daemon.hangs(UserFacingError(.daemonBusy, "It did not answer in time."))
        #expect(levels(service(daemon: hung), "daemon") == [.failed])
        #expect(
            service(daemon: hung, isUser: true).findings.first?.nextCommand == "systemctl --user restart prsnld")
        #expect(levels(service(.starting, daemon: hung), "daemon") == [.notChecked])
    }

    @Test func commandsForAUserUnitAreItsUsers() {
        #expect(service(.stopped, isUser: true).findings.last?.nextCommand == "systemctl --user start prsnld")
        #expect(service(isUser: true).findings.last?.nextCommand == "journalctl --user -u prsnld -e")
    }
}
