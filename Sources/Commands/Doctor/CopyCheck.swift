import Console
import Control
import PRSNLCore
import Requests
import Store

/// Whose timeline it is, and how far the copy and the outbox are: from the facts of the status.
struct CopyCheck: Check, Equatable {
    static let group = DoctorReport.Group.copy
    static let name = "copy"
    static let limit = ServerCheck.limit

    /// `nil` where neither the daemon nor the file could be asked.
    var status: StatusReport?
    /// Why not.
    var reason = "there is no copy yet"
    /// Which account the server sees, where it could be asked.
    var whoami: WhoamiReport?
    /// Why it could not.
    var whoamiReason = "only a daemon that reaches the server finds out"

    @Findings var findings: [DoctorReport.Finding] {
        if let status {
            let facts = Self.facts(status)
            // What needs a person, the problem of the daemon says.
            if !facts.contains(where: { $0.check == "account" }) { account(status) }
            facts
        } else {
            notChecked(Self.name, reason)
        }
    }

    /// A check is what its facts complain of, or else one line that all is well.
    private static func facts(_ status: StatusReport) -> [DoctorReport.Finding] {
        let facts = StatusFact.all.filter { $0.check != nil }
        let names = facts.compactMap { $0.check?.name }
        return facts.enumerated().flatMap { place, fact -> [DoctorReport.Finding] in
            guard let check = fact.check, names.firstIndex(of: check.name) == place else { return [] }
            let said = facts.filter { $0.check?.name == check.name }.flatMap { $0.say(status) }
                .filter { $0.level != nil }
            func finding(_ level: DoctorReport.Level, _ found: String, _ by: Statement? = nil) -> DoctorReport.Finding {
                .init(
                    group: check.group, check: check.name, level: level, found: found, advice: by?.cure,
                    nextCommand: by?.next)
            }
            let complaints = said.filter { $0.level == .warning || $0.level == .failed }
            if !complaints.isEmpty { return complaints.map { finding($0.level ?? .ok, $0.found, $0) } }
            let level = said.contains { $0.level == .notChecked } ? DoctorReport.Level.notChecked : .ok
            let words = said.isEmpty ? fact.calm(status) : said.map(\.found).joined(separator: "; ")
            return words.map { [finding(level, $0)] } ?? []
        }
    }

    private func account(_ status: StatusReport) -> DoctorReport.Finding {
        var finding = judgement(status)
        finding.group = .server
        return finding
    }

    private func judgement(_ status: StatusReport) -> DoctorReport.Finding {
        if let connectivity = status.daemon?.connectivity, connectivity.state == .unauthorized {
            return connectivity.reason.map { failed("account", $0) }
                ?? failed("account", "the server refuses the credentials", next: "prsnlctl login")
        }
        var name = AccountName(known: status.server.accountID, status.server.accountName)?.words
        if let whoami, whoami.asked {
            // By the server's own word.
            name = whoami.account?.words
            if whoami.sameAccount == false {
                let other = whoami.copyAccount?.words ?? "another account"
                return failed(
                    "account", "the credentials are \(name ?? "another account")'s, and the copy is \(other)'s",
                    "Nothing is pulled and nothing is sent. Log in as the copy's account, or set the copy aside:",
                    next: "prsnlctl account --accept-new")
            }
            if let error = whoami.error {
                // A server that is away says nothing of the credentials.
                let isRefused = whoami.credentials.refused == true || error.code.needsPerson
                return isRefused ? failed("account", error) : notChecked("account", error.message)
            }
        } else if status.daemon?.connectivity.state != .online {
            return notChecked("account", (name.map { "the copy is \($0)'s; " } ?? "") + whoamiReason)
        }
        return ok(
            "account", "the server takes the credentials" + (name.map { " as \($0)'s" } ?? "; it names no accounts"))
    }
}

// MARK: Reading

extension CopyCheck {
    /// The status, and which account the server sees just now, where the daemon can ask.
    init(_ scene: DoctorScene) {
        status = scene.status
        reason = scene.statusReason
        guard case .answers = scene.daemon else { return }
        do throws(UserFacingError) {
            var client = try scene.context.reach()
            // A daemon of an earlier version does not know the question.
            if case .success(let report) = try client.ask(WhoamiRequest(), timeout: ServerCheck.patience) {
                whoami = report
            }
        } catch {
            whoamiReason = error.message
        }
    }
}
