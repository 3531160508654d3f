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
        // A copy that is not shared needs neither.
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
        let link = UserFacingError(.databaseLinked, "It is a link of the daemon's user.")
        #expect(levels(files { $0.beside["-wal"] = .linked(link) }, "link") == [.failed])
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
            IndexCheck(outcome: .failure(UserFacingError(error, "malformed"))).findings
        }
        func findings(lost: Int = 0, due: Int = 0, isEnabled: Bool = true) -> [DoctorReport.Finding] {
            IndexCheck(outcome: .success((checked: 9_000, lost: lost, due: due)), isEnabled: isEnabled).findings
        }
        #expect(findings().map(\.level) == [.ok])
        let lost = findings(lost: 1)
        #expect(lost.map(\.level) == [.failed])
        #expect(lost.first?.nextCommand == "prsnlctl doctor --rebuild-index")
        let damaged = findings(.databaseDamaged)
        #expect(damaged.map(\.level) == [.failed])
        // Others say why a file cannot be read.
        #expect(findings(.databaseUnreadable).isEmpty)
        #expect(findings(.noSearchIndex).map(\.level) == [.notChecked])
        // What is new is indexed within seconds, and is not spoken of.
        func found(_ due: Int, isEnabled: Bool) -> String? {
            findings(due: due, isEnabled: isEnabled).first?.found
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
        facts.disk = (free, total)
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
        _ properties: [String: String] = [:], isUser: Bool = false, _ change: (inout ServiceCheck) -> Void = { _ in }
    ) -> ServiceCheck {
        let usual = ["LoadState": "loaded", "ActiveState": "active", "SubState": "running", "Result": "success"]
        var facts = ServiceCheck(
            daemon: Samples.report(Samples.complete).daemon,
            socketPath: "/run/prsnld/control.sock", socket: entry(0o660),
            unit: .known(name: "prsnld", isUser: isUser, properties: usual.merging(properties) { $1 }), now: time)
        change(&facts)
        return facts
    }

    /// Where no daemon has answered.
    private func silent(
        _ code: ErrorCode, isRunning: Bool = true, _ properties: [String: String] = [:]
    ) -> ServiceCheck {
        service(properties) { facts in
            facts.daemon = nil
            facts.silence = UserFacingError(code, "No answer.")
            facts.isRunning = isRunning
        }
    }

    @Test func aServiceThatRunsIsFineAndItsLogIsNamed() {
        #expect(service().findings.map(\.check) == ["daemon", "socket", "unit"])
        #expect(service().findings.allSatisfy { $0.level == .ok })
        #expect(service().findings.last?.nextCommand == "journalctl -u prsnld -e")
    }

    @Test func anotherVersionThanTheDaemonsIsAWarning() {
        #expect(levels(service { $0.daemon?.version = "0.0.1" }, "daemon") == [.warning])
    }

    @Test func aDaemonThatIsStoppedOrSilentIsNotFine() {
        #expect(levels(silent(.daemonNotRunning, isRunning: false), "daemon") == [.warning])
        #expect(levels(silent(.controlRefused), "daemon") == [.notChecked])
        #expect(levels(silent(.databaseReplaced), "daemon") == [.failed])
        // It holds the copy, and its socket is gone.
        #expect(levels(silent(.daemonNotRunning), "daemon") == [.notChecked])
        #expect(levels(service { $0.socket = entry(0o666) }, "socket") == [.failed])
    }

    @Test(
        arguments: [
            ([:], "runs", .ok, "journalctl -u prsnld -e"),
            (["ActiveState": "inactive", "SubState": "dead"], "is stopped", .warning, "sudo systemctl start prsnld"),
            (
                ["LoadState": "masked", "ActiveState": "inactive"], "is masked: systemd does not start it", .warning,
                "sudo systemctl unmask prsnld"
            ),
            (
                ["ActiveState": "failed", "Result": "exit-code"],
                "has failed (exit-code); systemd does not start it again", .failed, "journalctl -u prsnld -e"
            ),
            (
                ["ActiveState": "activating", "SubState": "auto-restart", "Result": "signal"],
                "ends as soon as it is started, and is started again (signal)", .failed, "journalctl -u prsnld -e"
            ),
            (
                ["ActiveState": "activating", "SubState": "start"], "is starting", .warning, "journalctl -u prsnld -e"
            ),
            (["ActiveState": "deactivating"], "is stopping", .warning, "journalctl -u prsnld -e"),
            (["ActiveState": "reloading"], "runs", .ok, "journalctl -u prsnld -e"),
        ] as [([String: String], String, Level, NextCommand)])
    func theUnitIsJudgedByItsState(
        properties: [String: String], state: String, level: Level, next: NextCommand
    ) {
        #expect(levels(service(properties), "unit") == [level])
        #expect(service(properties).findings.last?.found == "system unit prsnld \(state)")
        #expect(service(properties).findings.last?.nextCommand == next)
    }

    @Test func aUnitThatIsNotThereIsNotChecked() {
        let gone = service(["LoadState": "not-found", "ActiveState": "inactive"])
        #expect(levels(gone, "unit") == [.notChecked])
        #expect(gone.findings.last?.found == "no unit prsnld is installed")
        #expect(levels(service { $0.unit = .notKnown("systemd does not run here") }, "unit") == [.notChecked])
    }

    /// `prsnlctl status` has it where no daemon answers.
    @Test func whatADaemonSaidBeforeItFailedIsTheReason() {
        func failure(_ properties: [String: String]) -> String? { service(properties).unit.failure }
        #expect(failure([:]) == nil && failure(["ActiveState": "inactive"]) == nil)
        #expect(failure(["ActiveState": "failed", "Result": "exit-code"]) == "exit-code")
        let said = ["ActiveState": "failed", "Result": "exit-code", "StatusText": "No server is configured."]
        #expect(failure(said) == "No server is configured.")
        #expect(failure(["ActiveState": "activating", "SubState": "auto-restart", "Result": "signal"]) == "signal")
        #expect(failure(["LoadState": "not-found", "ActiveState": "failed"]) == nil)
    }

    @Test func aDaemonThatDoesNotAnswerInTimeFailsUnlessItIsStarting() {
        let hung = silent(.daemonBusy)
        #expect(levels(hung, "daemon") == [.failed])
        #expect(hung.findings.first?.nextCommand == "sudo systemctl restart prsnld")
        let starting = silent(.daemonBusy, ["ActiveState": "activating", "SubState": "start"])
        #expect(levels(starting, "daemon") == [.notChecked])
    }

    /// They are written for the machine's own unit, as all commands are.
    @Test func commandsForAUserUnitAreItsUsers() {
        func next(_ check: ServiceCheck) -> NextCommand? {
            check.findings.last?.nextCommand.flatMap(ServiceUnit(.user).fit)
        }
        let stopped = service(["ActiveState": "inactive", "SubState": "dead"], isUser: true)
        #expect(next(stopped) == "systemctl --user start prsnld")
        #expect(next(service(isUser: true)) == "journalctl --user -u prsnld -e")
        #expect(service(isUser: true).findings.last?.found == "user unit prsnld runs")
        let restart = silent(.daemonBusy).findings.first?.nextCommand
        #expect(restart.flatMap(ServiceUnit(.user).fit) == "systemctl --user restart prsnld")
    }
}
