import Console
import Control
import PRSNLCore
import Store

@testable package import Requests

extension Samples {
    package static let ada = AccountName(id: "59ec0d4e-0000-4000-8000-000000000001", name: "ada@example.org")
    package static let bob = AccountName(id: "0b1ac6f1-6a4e-4d0c-9a55-3f0f4b2f7a01", name: "bob@example.org")

    package static let credentials = CredentialsReport(
        kind: .login, path: path + ".login", expiresAt: time("2026-11-21T04:30:00Z"), refused: false)

    /// Obviously not a login.
    package static var handover: LoginRequest {
        guard
            let pair = TokenPair(
                access: "not-a-real.access.token", refresh: "not-a-real-refresh-token", life: .seconds(1_799))
        else {
            preconditionFailure("no tokens")
        }
        return LoginRequest(server: "https://prsnl.example.org", pair: pair, account: ada)
    }

    package static var login: LoginReport {
        var report = LoginReport(source: .daemon, server: "https://prsnl.example.org", account: ada, copy(of: ada))
        report.configuration = "/etc/prsnld/prsnld.conf"
        return report
    }

    package static var otherLogin: LoginReport {
        LoginReport(source: .daemon, server: "https://prsnl.example.org", account: bob, copy(of: ada))
    }

    package static var firstLogin: LoginReport {
        LoginReport(source: .file, server: "https://prsnl.example.org", account: ada, nil)
    }

    private static func copy(of account: AccountName) -> CopySummary {
        var copy = complete
        (copy.server.accountID, copy.server.accountName) = (account.id, account.name)
        return copy
    }

    package static var logout: LogoutReport {
        var report = LogoutReport(source: .daemon, wasLoggedIn: true)
        report.server = "https://prsnl.example.org"
        report.serverTold = false
        report.error = UserFacingError(.offline, "Network error: there is no network.")
        report.items = 1_234
        report.undelivered = 2
        return report
    }

    package static var whoami: WhoamiReport {
        var report = WhoamiReport(
            source: .daemon, server: "https://prsnl.example.org", account: bob, copyAccount: ada,
            credentials: credentials, asked: true, now: now)
        report.error = problem
        return report
    }

    package static var account: AccountReport {
        var summary = complete
        summary.server.accountName = "ada@example.org"
        summary.boundAt = time("2026-10-01T08:00:00Z")
        summary.outbox.waiting = 2
        summary.outbox.parked = 1
        return AccountReport(
            summary, source: .daemon, file: path, credentials: credentials,
            change: UserFacingError(.accountChanged, "The login is of another account than the one this copy is of."),
            now: now)
    }

    package static var setAside: AccountReport {
        var report = account
        report.source = .file
        report.setAside = "/var/lib/prsnld/prsnl-ada@example.org-2026-11-21.sqlite"
        return report
    }
}
