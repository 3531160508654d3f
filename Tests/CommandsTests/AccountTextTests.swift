import CommandSamples
import PRSNLCore
import Store
import Testing

@testable import Commands
@testable import Console
@testable import Control
@testable import Requests

/// What is said about accounts and logins.
@Suite struct AccountTextTests {
    private var style: TextStyle { TextStyle() }

    @Test func aLoginSaysAsWhomAndWhatComesNext() throws {
        try expectScreen("aLoginSaysAsWhomAndWhatComesNext", Samples.login.text(style))
        #expect(Samples.login.exitCode == .fine)
        try expectScreen("aLoginSaysAsWhomAndWhatComesNext-2", Samples.firstLogin.text(style))
        #expect(Samples.firstLogin.sameAccount == nil)
    }

    @Test func aLoginAsAnotherAccountSaysHowToGoOn() throws {
        let report = Samples.otherLogin
        #expect(report.exitCode == .needsAttention)
        #expect(report.nextCommand == "prsnlctl account --accept-new")
        try expectScreen("aLoginAsAnotherAccountSaysHowToGoOn", report.text(style))
        let elsewhere = LoginReport(
            source: .file, server: "https://new.example.org", account: Samples.ada, Samples.complete)
        #expect(elsewhere.sameAccount == false)
    }

    @Test func aLoginBesideACopyOfEverybodysItemsDoesNotSayThatTheDaemonGoesOn() {
        var anonymous = Samples.complete
        (anonymous.server.accountID, anonymous.server.accountName) = (nil, nil)
        for source in [StatusReport.Source.daemon, .file] {
            let report = LoginReport(
                source: source, server: "https://prsnl.example.org", account: Samples.ada, anonymous)
            #expect(report.exitCode == .needsAttention)
            #expect(report.nextCommand == "prsnlctl account --accept-new")
            #expect(!report.text(style).contains("daemon"))
            #expect(report.text(style).contains("`prsnlctl account --accept-new`"))
        }
        var copy = CopySummary()
        copy.server.url = "https://prsnl.example.org"
        copy.server.dialect = .cursor
        let change = AccountChange.found(copy: copy, problem: nil, subject: "a", server: copy.server.url)
        #expect(change?.code == .accountChanged)
        #expect(AccountChange.found(copy: copy, problem: nil, subject: nil, server: copy.server.url) == nil)
    }

    @Test func aLogoutSaysWhatStays() throws {
        try expectScreen("aLogoutSaysWhatStays", Samples.logout.text(style))
        let without = LogoutReport(source: .file, wasLoggedIn: false)
        #expect(without.text(style) == "not logged in\n")
    }

    @Test func whoamiSaysWhetherTheServerAndTheCopyAgree() throws {
        #expect(Samples.whoami.exitCode == .needsAttention)
        try expectScreen("whoamiSaysWhetherTheServerAndTheCopyAgree", Samples.whoami.text(style))
        var same = Samples.whoami
        same.error = nil
        same.account = Samples.ada
        same.sameAccount = true
        #expect(same.exitCode == .fine)
        #expect(same.text(style).contains("Copy         of the same account\n"))
    }

    @Test func whoamiOfAStoppedDaemonSaysThatItWasNotAsked() throws {
        var report = WhoamiReport(
            source: .file, server: nil, account: nil, copyAccount: nil, credentials: CredentialsReport(kind: .none),
            asked: false, now: Samples.now)
        report.error = UserFacingError(.daemonNotRunning, "No daemon.")
        try expectScreen("whoamiOfAStoppedDaemonSaysThatItWasNotAsked", report.text(style))
        #expect(report.exitCode == .daemonNotRunning)
        report.error = UserFacingError(.controlRefused, "No.")
        #expect(report.exitCode == .error)
    }

    @Test func refusedCredentialsNeedAPerson() {
        var report = Samples.whoami
        report.account = nil
        report.sameAccount = nil
        report.credentials.refused = true
        #expect(report.exitCode == .needsAttention)
        #expect(report.text(style).contains("Account      the server did not say\n"))
        #expect(report.text(style).contains("             The server refuses this login.\n"))
        report.credentials.refused = nil
        #expect(report.exitCode == .error)
    }

    @Test func anAccountThatHasChangedSaysHowToGoOn() throws {
        #expect(Samples.account.exitCode == .needsAttention)
        try expectScreen("anAccountThatHasChangedSaysHowToGoOn", Samples.account.text(style))
    }

    @Test func aCopyThatWasSetAsideIsNamedWithWhatItKeeps() throws {
        #expect(Samples.setAside.exitCode == .fine)
        try expectScreen("aCopyThatWasSetAsideIsNamedWithWhatItKeeps", Samples.setAside.text(style))
        var plan = Samples.account
        (plan.setAside, plan.dryRun) = (plan.setAsideName(2), true)
        #expect(plan.exitCode == .needsAttention)
        #expect(
            plan.text(style).contains(
                "would be set aside:\n/var/lib/prsnld/prsnl-ada@example.org-2026-11-21-2.sqlite\n"))
        #expect(
            plan.text(style).hasSuffix(
                """
                Nothing was changed. To do it: `sudo systemctl stop prsnld`,
                `prsnlctl account --accept-new`, `sudo systemctl start prsnld`.

                """))
    }

    // MARK: When a new copy may be started

    @Test func onlyAnotherAccountOrServerIsAChange() {
        var copy = Samples.complete
        copy.accountSubject = "ada"
        let server = "https://prsnl.example.org"
        func code(
            problem: UserFacingError? = nil, subject: String? = "ada", server: String? = server
        ) -> ErrorCode? {
            AccountChange.found(copy: copy, problem: problem, subject: subject, server: server)?.code
        }
        #expect(code() == nil)
        #expect(code(subject: nil, server: nil) == nil)
        #expect(code(problem: UserFacingError(.connectFailed, "")) == nil)
        // The login is the copy's: it is the server that does not take it any more.
        #expect(code(problem: UserFacingError(.accountChanged, "")) == .loginExpired)
        #expect(code(problem: UserFacingError(.accountChanged, ""), subject: "bob") == .accountChanged)
        #expect(code(problem: UserFacingError(.accountChanged, ""), subject: nil) == .accountChanged)
        #expect(code(problem: UserFacingError(.serverChanged, "")) == .serverChanged)
        #expect(code(subject: "bob") == .accountChanged)
        #expect(code(server: "https://new.example.org") == .serverChanged)
        copy.accountSubject = nil
        #expect(code(subject: "bob") == nil)
        // Without the subject, which earlier versions did not keep, the id tells as well.
        copy.server.accountID = "ada"
        #expect(code(problem: UserFacingError(.accountChanged, "")) == .loginExpired)
        copy = Samples.fresh
        #expect(code(subject: "bob", server: "https://new.example.org") == nil)
    }

    @Test func aLoginThatTheServerDoesNotTakeIsNoReasonForANewCopy() {
        var report = Samples.account
        report.change = AccountChange.loginExpired
        #expect(report.exitCode == .needsAttention)
        let text = report.text(style)
        #expect(text.contains("prsnlctl login") && !text.contains("--accept-new"), "\(text)")
        do throws(UserFacingError) {
            try report.requireChange()
            Issue.record("accepted")
        } catch {
            #expect(error.code == .loginExpired)
        }
        var who = Samples.whoami
        who.error = report.change
        #expect(who.exitCode == .needsAttention)
        #expect(!who.text(style).contains("--accept-new"), "\(who.text(style))")
        #expect(who.text(style).contains("`prsnlctl login` logs in"), "\(who.text(style))")
    }

    // MARK: The line that carries a secret

    @Test func aLoginOnItsWayShowsNothingOfItself() {
        var text = ""
        dump(Samples.handover, to: &text)
        text += "\(Samples.handover) \([Samples.handover])"
        #expect(!text.contains("not-a-real"), "\(text)")
    }

    @Test(arguments: [
        ([:], "server is missing"), (["server": "s"], "access_token is missing"),
        (["server": "s", "access_token": "a"], "refresh_token is missing"),
        (["server": "s", "access_token": "a b", "refresh_token": "r"], "is not a token"),
        (["server": "s", "access_token": "a", "refresh_token": "r\n"], "is not a token"),
        (["server": "s", "access_token": String(repeating: "a", count: 9_000), "refresh_token": "r"], "not a token"),
    ])
    func aLoginThatIsNoneIsRefusedWithoutAWordOfIt(members: [String: String], reason: String) {
        do throws(RequestRefusal) {
            var line = RequestLine("login")
            for (name, value) in members.sorted(by: { $0.key < $1.key }) { line.add(name, value) }
            _ = try LoginRequest(RequestMembers(line.bytes + [UInt8(ascii: "}")]))
            Issue.record("accepted")
        } catch {
            #expect(error.reason.contains(reason))
            #expect(!error.reason.contains("a b") && error.reason.utf8.count < 100)
        }
    }
}
