import CommandSamples
import Console
import Control
import PRSNLClient
import PRSNLCore
import Testing

@testable import Commands
@testable import Requests

/// What follows from what was gathered: each check at each of its levels.
@Suite struct DoctorJudgementTests {
    typealias Level = DoctorReport.Level

    /// The levels of one check; empty where it has no line.
    private func levels(_ facts: some Check, _ check: String) -> [Level] {
        facts.findings.filter { $0.check == check }.map(\.level)
    }

    private let time = Samples.now

    // MARK: Configuration

    @Test func aConfigurationWithoutAServerFails() {
        var facts = ConfigurationCheck()
        #expect(levels(facts, "configuration") == [.ok] && levels(facts, "server_url") == [.failed])
        facts.serverURL = "https://prsnl.example.org"
        facts.file = "/etc/prsnld/prsnld.conf"
        #expect(facts.findings.map(\.level) == [.ok, .ok])
    }

    @Test func eachProblemOfTheConfigurationIsALine() {
        var facts = ConfigurationCheck()
        facts.problems = ["prsnld.conf:5: pol_interval is not a known key", "prsnld.conf:6: page_size is out of range"]
        facts.warnings = ["environment variable PRSNL_PAGE_SIZ is not known"]
        #expect(facts.findings.map(\.level) == [.failed, .failed, .warning])
        #expect(facts.findings[0].nextCommand == "prsnld --check-config")
    }

    @Test func aConfigurationThatMayNotBeReadIsNotCalledGood() {
        var facts = ConfigurationCheck()
        facts.hiddenFile = "/etc/prsnld/prsnld.conf"
        #expect(facts.findings.map(\.level) == [.notChecked])
    }

    // MARK: Credentials

    private func file(
        _ kind: CredentialsReport.Kind = .apiKey, _ state: CredentialFile.State = .sound, expires: Timestamp? = nil,
        owner: String = "prsnld", isFromSystemd: Bool = false
    ) -> CredentialFile {
        var file = CredentialFile(
            report: .init(kind: kind, path: "/etc/prsnld/key", expiresAt: expires), isFromSystemd: isFromSystemd)
        (file.state, file.owner) = (state, owner)
        return file
    }

    private func credentials(_ key: CredentialFile? = nil, login: CredentialFile? = nil) -> CredentialsCheck {
        CredentialsCheck(key: key, login: login, daemonUser: "prsnld", now: time)
    }

    @Test func withoutCredentialsThereIsAWarning() {
        #expect(credentials().findings.map(\.level) == [.warning])
    }

    @Test func keyFilesAreJudgedByWhatBecameOfReadingThem() {
        let exposed = UserFacingError(.keyFileExposed, "exposed", nextCommand: "chmod 600 /etc/prsnld/key")
        #expect(levels(credentials(file()), "key_file") == [.ok])
        #expect(levels(credentials(file(.notReadable, .hidden)), "key_file") == [.notChecked])
        let broken = credentials(file(.notReadable, .broken(exposed)))
        #expect(levels(broken, "key_file") == [.failed])
        #expect(broken.findings[0].nextCommand == "chmod 600 /etc/prsnld/key")
    }

    @Test func aFileOfAnotherUserIsNoUseToTheDaemon() {
        #expect(levels(credentials(file(owner: "root")), "key_file") == [.failed])
        #expect(levels(credentials(file(owner: "root", isFromSystemd: true)), "key_file") == [.ok])
    }

    @Test(arguments: [(3 * 86_400, Level.ok), (3_600, .warning), (0, .failed), (-60, .failed)])
    func aLoginIsJudgedByHowLongItLasts(seconds: Int, level: Level) {
        let login = file(.login, expires: time.advanced(by: .seconds(seconds)))
        #expect(levels(credentials(login: login), "login") == [level])
        #expect(levels(credentials(login), "key_file") == [level])
    }

    @Test func aKeyAndALoginAreOneTooMany() {
        #expect(credentials(file(), login: file(.login)).findings.map(\.level) == [.ok, .ok, .warning])
        // Behind a closed door there need not be one.
        let hidden = credentials(file(.notReadable, .hidden), login: file(.login))
        #expect(hidden.findings.map(\.level) == [.notChecked, .ok])
    }

    // MARK: Server

    private func server(_ change: (inout PingReport) -> Void = { _ in }) -> ServerCheck {
        var ping = PingReport(state: .online, probe: .http, total: .milliseconds(20), now: time)
        ping.address = "192.0.2.9"
        ping.phases = .init(name: 1, connect: 2, tls: 9, firstByte: 5)
        ping.status = 200
        change(&ping)
        var facts = ServerCheck()
        facts.ping = ping
        facts.isByDaemon = true
        facts.ping?.clockOffset = 0.4
        return facts
    }

    @Test func aServerThatAnswersIsFineStepByStep() {
        #expect(server().findings.map(\.check) == ["name", "connect", "tls", "health", "clock"])
        #expect(server().findings.allSatisfy { $0.level == .ok })
    }

    @Test(arguments: [(Ping.Phase.name, "name"), (.connect, "connect"), (.tls, "tls"), (.firstByte, "health")])
    func theStepThatFailedIsNamedAndNoneAfterIt(phase: Ping.Phase, check: String) {
        let facts = server { ping in
            ping.failedPhase = phase
            ping.error = UserFacingError(.timedOut, "no answer")
            ping.phases.firstByte = nil
            if phase != .firstByte { ping.phases.tls = nil }
            if phase == .name || phase == .connect { ping.phases.connect = nil }
            if phase == .name { ping.phases.name = nil }
        }
        let way = facts.findings.filter { $0.check != "clock" }
        #expect(way.last?.check == check && way.last?.level == .failed)
        #expect(way.dropLast().allSatisfy { $0.level == .ok })
    }

    @Test func aServerThatAnswersAndRefusesTheLoginAnswers() {
        let facts = server { ping in
            ping.state = .unauthorized
            ping.error = UserFacingError(.loginExpired, "The login has expired.")
        }
        #expect(facts.findings.first { $0.check == "health" }?.level == .ok)
        #expect(!facts.findings.contains { $0.found.contains("does not answer") })
    }

    @Test func whatWasNotAskedIsNotGood() {
        #expect(ServerCheck().findings.map(\.level) == [.notChecked])
    }

    @Test(arguments: [
        (0.0, Level.ok), (4.9, .ok), (-4.9, .ok), (6, .warning), (-299, .warning), (301, .failed), (-1e9, .failed),
    ])
    func clocksThatDifferAreJudgedByHowMuch(offset: Double, level: Level) {
        var facts = server()
        facts.ping?.clockOffset = offset
        #expect(levels(facts, "clock") == [level])
        facts.ping?.error = UserFacingError(.connectFailed, "No connection.")
        #expect(levels(facts, "clock") == [level == .ok ? .notChecked : level])
        facts.ping?.clockOffset = nil
        #expect(levels(facts, "clock") == [.notChecked])
    }

    @Test func theClockSaysWhichOneIsBehind() {
        var facts = server()
        facts.ping?.clockOffset = 600
        #expect(facts.findings.last?.found == "10 min behind the server's")
        facts.ping?.clockOffset = -600
        #expect(facts.findings.last?.found == "10 min ahead of the server's")
    }

    // MARK: Copy

    private func copy(_ summary: StatusReport) -> CopyCheck {
        var facts = CopyCheck()
        facts.status = summary
        return facts
    }

    private var online: StatusReport {
        var report = Samples.report(Samples.complete)
        report.daemon?.connectivity = .init(state: .online, since: time, reason: nil)
        return report
    }

    @Test func aHealthyCopyHasNothingToSay() {
        #expect(copy(online).findings.map(\.level) == [.ok, .ok, .ok, .ok])
        #expect(CopyCheck().findings.map(\.level) == [.notChecked])
    }

    @Test func howTheDaemonHearsOfTheNetworkIsSaidByTheDaemonAlone() {
        var report = online
        #expect(levels(copy(report), "netlink") == [])
        report.daemon?.network = .init(listening: .netlink, route: "192.0.2.7 over eth0")
        #expect(levels(copy(report), "netlink") == [.ok])
        report.daemon?.network = .init(listening: .polling, listeningReason: "not permitted", route: "192.0.2.7")
        #expect(levels(copy(report), "netlink") == [.warning])
    }

    @Test func aProblemOfTheFileIsNotSaidOfTheAccount() {
        var report = online
        report.daemon?.problem = UserFacingError(.databaseReplaced, "The file is another one.")
        #expect(levels(copy(report), "database") == [.failed] && levels(copy(report), "account") == [.ok])
    }

    @Test func textsThatFailOrAreTooLargeAreNamed() {
        var report = Samples.report(Samples.withTexts)
        let findings = copy(report).findings.filter { $0.check == "texts" }
        #expect(findings.map(\.level) == [.warning, .warning])
        #expect(findings[0].found == "12 larger than text_max_size or max_answer_size, not fetched")
        #expect(findings[1].found == "3 failing: Server error: broken")
        report.copy.texts?.failing = 0
        report.copy.texts?.tooLarge = 0
        report.copy.texts?.problem = nil
        #expect(
            copy(report).findings.contains {
                $0.check == "texts" && $0.level == .ok && $0.found == "1,234,550 of 1,234,565, newest first"
            })
        report.copy.texts?.problem = UserFacingError(.textsUnavailable, "This server does not give the texts of items.")
        #expect(copy(report).findings.contains { $0.check == "texts" && $0.level == .ok })
    }

    @Test func beforeTheFirstPullNothingIsSaidOfTexts() {
        var report = Samples.report(Samples.complete)
        report.copy.complete = false
        report.copy.texts = .init()
        #expect(levels(copy(report), "texts") == [.notChecked])
        report = Samples.report(Samples.complete)
        report.copy.texts = .init()
        report.copy.texts?.unprocessed = 2
        let found = copy(report).findings.first { $0.check == "texts" }?.found
        #expect(found?.hasPrefix("all that there are; 2 items in process on the server") == true)
    }

    @Test func whoseItIsOnlyADaemonFindsOut() {
        #expect(levels(copy(Samples.report(Samples.complete, nil)), "account") == [.notChecked])
        var refused = online
        refused.daemon?.connectivity.state = .unauthorized
        #expect(levels(copy(refused), "account") == [.failed])
        var changed = online
        changed.daemon?.problem = UserFacingError(.accountChanged, "another account")
        #expect(levels(copy(changed), "account") == [.failed])
        var busy = online
        busy.daemon?.problem = UserFacingError(.connectFailed, "down")
        #expect(levels(copy(busy), "account") == [.ok])
    }

    @Test func whomTheServerNamesDecides() {
        func account(
            _ named: String?, refused: Bool? = nil, error: UserFacingError? = nil
        ) -> [Level] {
            var facts = copy(online)
            var report = WhoamiReport(
                source: .daemon, server: "https://prsnl.example.org",
                account: named.map { AccountName(id: $0, name: nil) }, copyAccount: AccountName(id: "ada", name: nil),
                credentials: .init(kind: .login, refused: refused), asked: true, now: time)
            report.error = error
            facts.whoami = report
            return levels(facts, "account")
        }
        #expect(account("ada") == [.ok] && account(nil) == [.ok])
        #expect(account("eve") == [.failed])
        #expect(account(nil, refused: true, error: UserFacingError(.unauthorized, "no")) == [.failed])
        #expect(account(nil, error: UserFacingError(.connectFailed, "down")) == [.notChecked])
    }

    @Test func whatTheCopyLacksIsAWarning() {
        let gaps = copy(Samples.report(Samples.withGaps))
        #expect(levels(gaps, "items") == [.warning] && levels(gaps, "dialect") == [.warning, .warning])
        var pulling = Samples.report(Samples.withGaps)
        pulling.pull = Samples.pull
        #expect(levels(copy(pulling), "items") == [.ok])
        #expect(levels(copy(Samples.report(Samples.held)), "deletions") == [.warning])
        #expect(levels(copy(Samples.report(Samples.withError)), "last_error") == [.warning])
        #expect(levels(copy(Samples.report(Samples.fresh, nil)), "dialect") == [.notChecked])
    }

    @Test func writesThatWaitAreFineWhileTheServerIsAway() {
        var report = online
        report.outbox?.waiting = 2
        report.outbox?.oldestWaiting = time.advanced(by: .seconds(-7_200))
        #expect(levels(copy(report), "writes") == [.warning])
        report.daemon?.connectivity.state = .offline
        #expect(levels(copy(report), "writes") == [.ok])
        report.outbox?.parked = 1
        let writes = copy(report).findings.filter { $0.check == "writes" }
        #expect(writes.map(\.level) == [.warning] && writes[0].nextCommand == "prsnlctl queue --state parked")
    }
}
