import CommandSamples
import PRSNLCore
import Store
import Testing

@testable import Commands
@testable import Console
@testable import Control

/// What is said about accounts and logins.
@Suite struct AccountTextTests {
    private var style: TextStyle { TextStyle() }

    @Test func aLoginSaysAsWhomAndWhatComesNext() {
        #expect(
            Samples.login.text(style) == """
                logged in as ada@example.org on https://prsnl.example.org
                server_url was written to /etc/prsnld/prsnld.conf
                The daemon uses it now.

                """)
        #expect(Samples.login.exitCode == .fine)
        #expect(
            Samples.firstLogin.text(style) == """
                logged in as ada@example.org on https://prsnl.example.org
                The daemon is not running. It will use the login when it starts.
                `systemctl start prsnld`

                """)
        #expect(Samples.firstLogin.sameAccount == nil)
    }

    @Test func aLoginAsSomebodyElseSaysHowToGoOn() {
        let report = Samples.otherLogin
        #expect(report.exitCode == .needsAttention)
        #expect(report.nextCommand == "prsnlctl account --accept-new")
        #expect(
            report.text(style) == """
                logged in as bob@example.org on https://prsnl.example.org
                The copy on this machine is of ada@example.org: nothing is pulled and nothing is
                sent until you decide.
                `prsnlctl account --accept-new` sets it aside and starts one of this account.

                """)
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

    @Test func aLogoutSaysWhatStays() {
        #expect(
            Samples.logout.text(style) == """
                logged out of https://prsnl.example.org
                The server could not be told (Network error: there is no network.). The login is
                gone from this machine; on the server it ends by itself within a week.
                The copy stays: 1,234 items, and 2 undelivered writes. It is brought up to date
                after the next login.

                """)
        let nobody = LogoutReport(source: .file, wasLoggedIn: false, server: nil)
        #expect(nobody.text(style) == "not logged in\n")
        #expect(nobody.exitCode == .fine)
    }

    @Test func whoamiSaysWhetherTheServerAndTheCopyAgree() {
        #expect(Samples.whoami.exitCode == .needsAttention)
        #expect(
            Samples.whoami.text(style) == """
                Account      bob@example.org (0b1ac6f1-6a4e-4d0c-9a55-3f0f4b2f7a01)
                Server       https://prsnl.example.org
                Copy         of ada@example.org, another account: nothing is pulled and nothing
                             is sent. `prsnlctl account --accept-new` sets the copy aside
                Credentials  a login, in /var/lib/prsnld/prsnl.sqlite.login
                             the token expires in 23 min; the daemon renews it before

                """)
        var same = Samples.whoami
        same.error = nil
        same.account = Samples.ada
        same.sameAccount = true
        #expect(same.exitCode == .fine)
        #expect(same.text(style).contains("Copy         of the same account\n"))
    }

    @Test func whoamiOfAStoppedDaemonSaysThatNobodyAsked() {
        var report = WhoamiReport(
            source: .file, server: nil, account: nil, copyAccount: nil, credentials: CredentialsReport(kind: .none),
            asked: false, now: Samples.now)
        report.error = UserFacingError(.daemonNotRunning, "No daemon.")
        #expect(
            report.text(style) == """
                Account      the server was not asked; this is what the copy remembers
                Server       not known
                Credentials  none: nothing is pulled, unless `anonymous = yes` is set. `prsnlctl
                             login` logs in

                """)
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
        #expect(report.text(style).contains("Account      the server named no account\n"))
        #expect(report.text(style).contains("             The server refuses them.\n"))
        report.credentials.refused = nil
        #expect(report.exitCode == .error)
    }

    @Test func anAccountThatHasChangedSaysHowToGoOn() {
        #expect(Samples.account.exitCode == .needsAttention)
        #expect(
            Samples.account.text(style) == """
                Account      ada@example.org
                Server       https://prsnl.example.org, dialect C
                Since        2026-10-01 08:00:00 UTC
                Items        1,234,567
                Writes       2 wait, 1 parked
                Credentials  a login, in /var/lib/prsnld/prsnl.sqlite.login
                             the token expires in 23 min; the daemon renews it before
                Changed      The login is of another account than the one this copy is of.
                             `prsnlctl account --accept-new` sets this copy aside and starts a
                             new one
                File         /var/lib/prsnld/prsnl.sqlite

                """)
    }

    @Test func aCopyThatWasSetAsideIsNamedWithWhatItKeeps() {
        #expect(Samples.setAside.exitCode == .fine)
        #expect(
            Samples.setAside.text(style) == """
                the copy of ada@example.org was set aside:
                /var/lib/prsnld/prsnl-ada@example.org-2026-11-21.sqlite
                It keeps 1,234,567 items and its undelivered writes (2 wait, 1 parked). The
                writes will not be sent.
                The daemon restarts with an empty copy and pulls.

                """)
        var plan = Samples.account
        plan.plan(number: 2, dryRun: true)
        #expect(plan.exitCode == .needsAttention)
        #expect(
            plan.text(style).contains(
                "would be set aside:\n/var/lib/prsnld/prsnl-ada@example.org-2026-11-21-2.sqlite\n"))
        #expect(plan.text(style).hasSuffix("Nothing was changed. `prsnlctl account --accept-new` does it.\n"))
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
            try AccountChange.require(report.change)
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
        (["server": "s", "access_token": "a b", "refresh_token": "r"], "is no token"),
        (["server": "s", "access_token": "a", "refresh_token": "r\n"], "is no token"),
        (["server": "s", "access_token": String(repeating: "a", count: 9_000), "refresh_token": "r"], "longer than"),
        (["server": String(repeating: "s", count: 9_000), "access_token": "a", "refresh_token": "r"], "longer than"),
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
