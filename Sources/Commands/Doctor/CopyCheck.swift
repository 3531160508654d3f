import PRSNLCore
import Requests

/// Whose timeline it is, and how far the copy and the outbox are: from the facts of the status.
struct CopyCheck: Check {
    static let group = DoctorReport.Group.copy
    static let name = "copy"
    static let limit = ServerCheck.limit

    /// `nil` where neither the daemon nor the file could be asked.
    var status: StatusReport?
    /// Why not; `nil` where the file did not answer in time.
    var error: UserFacingError?
    /// Which account the server sees, where it could be asked.
    var whoami: WhoamiReport?
    /// Why it could not.
    var whoamiReason = "only a daemon that reaches the server finds out"

    @Findings var findings: [Finding] {
        if let status {
            let facts = Self.facts(status)
            // What needs a person, the problem of the daemon says.
            if !facts.contains(where: { $0.check == "account" }) { account(status) }
            facts
        } else {
            notChecked(Self.name, reason)
        }
    }

    private var reason: String {
        switch error?.code {
        case .noDatabase?: "there is no copy yet"
        case .databaseUnreadable?: "this user may not read the file"
        case .some: "the file cannot be read"
        case nil: "the file did not answer in time"
        }
    }

    /// A check is what its facts complain of, or else one line that all is well.
    private static func facts(_ status: StatusReport) -> [Finding] {
        let facts = StatusFact.all
        var names: Set<String> = []
        return facts.flatMap { fact -> [Finding] in
            guard let check = fact.check, names.insert(check.name).inserted else { return [] }
            let said = facts.filter { $0.check?.name == check.name }.flatMap { $0.say(status) }
                .filter { $0.level != nil }
            let complaints = said.filter { $0.level == .warning || $0.level == .failed }
            let level = said.contains { $0.level == .notChecked } ? DoctorReport.Level.notChecked : .ok
            let words = said.isEmpty ? fact.calm(status) : said.map(\.found).joined(separator: "; ")
            let calm = words.map { [Statement("\($0)", level)] } ?? []
            return (complaints.isEmpty ? calm : complaints).map {
                Finding(
                    group: check.group, check: check.name, level: $0.level ?? .ok, found: $0.found, advice: $0.cure,
                    nextCommand: $0.next)
            }
        }
    }

    private func account(_ status: StatusReport) -> Finding {
        var finding = judgement(status)
        finding.group = .server
        return finding
    }

    private func judgement(_ status: StatusReport) -> Finding {
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
                    "Nothing is pulled and nothing is sent. \(ErrorCode.accountChanged.recoverySuggestion)")
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

    /// The status, and which account the server sees just now, where the daemon can ask.
    static func gather(_ scene: DoctorScene) -> Self {
        var facts = Self(status: scene.status, error: scene.error)
        guard scene.silence == nil else { return facts }
        do throws(UserFacingError) {
            var client = try scene.context.reach()
            // A daemon of an earlier version does not know the question.
            if case .success(let report) = try client.ask(WhoamiRequest(), timeout: ServerCheck.patience) {
                facts.whoami = report
            }
        } catch {
            facts.whoamiReason = error.message
        }
        return facts
    }
}
