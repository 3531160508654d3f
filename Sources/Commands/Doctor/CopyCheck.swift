import Console
import Control
import PRSNLCore

/// Whose timeline it is, and how far the copy and the outbox are: from the status.
struct CopyCheck: Check, Equatable {
    /// `nil` where neither the daemon nor the file could be asked.
    var status: StatusReport?
    /// Why not.
    var reason = "there is no copy yet"

    /// Which account the server sees, where it could be asked.
    var whoami: WhoamiReport?
    /// Why it could not.
    var whoamiReason = "only a daemon that reaches the server finds out"

    /// A write that waits for longer while the server answers is worth a look.
    static let longWait: Duration = .seconds(3_600)

    var findings: [DoctorReport.Finding] {
        guard let status else { return [.notChecked(.copy, "copy", reason)] }
        return [account(status), dialect(status), completeness(status)] + texts(status) + replaced(status)
            + deletions(status) + writes(status) + lastError(status)
    }

    private func replaced(_ status: StatusReport) -> [DoctorReport.Finding] {
        guard let problem = status.daemon?.problem, problem.code.traits.flags.contains(.isOfFile) else {
            return []
        }
        return [.failed(.file, "database", problem)]
    }

    private func account(_ status: StatusReport) -> DoctorReport.Finding {
        // What needs a person, unless another line below is about it.
        if let problem = status.daemon?.problem, problem.code.needsPerson, problem.code != .deletionsHeld {
            // Nothing of the server's.
            if problem.code.traits.flags.contains(.isOfFile) { return .notChecked(.server, "account", problem.message) }
            return .failed(.server, "account", problem)
        }
        if let connectivity = status.daemon?.connectivity, connectivity.state == .unauthorized {
            return connectivity.reason.map { .failed(.server, "account", $0) }
                ?? .failed(.server, "account", "the server refuses the credentials", next: "prsnlctl login")
        }
        if let whoami, whoami.asked { return account(whoami) }
        let name = [status.server.accountName, status.server.accountID].compactMap(\.self).first
        guard status.daemon?.connectivity.state == .online else {
            return .notChecked(
                .server, "account",
                (name.map { "the copy is \($0)'s; " } ?? "") + whoamiReason)
        }
        return accepted(as: name)
    }

    private func accepted(as name: String?) -> DoctorReport.Finding {
        .ok(
            .server, "account",
            "the server takes the credentials" + (name.map { " as \($0)'s" } ?? "; it names no accounts"))
    }

    /// By the server's own word.
    private func account(_ whoami: WhoamiReport) -> DoctorReport.Finding {
        let name = whoami.account.flatMap { $0.name ?? $0.id }
        if whoami.sameAccount == false {
            let other = whoami.copyAccount.flatMap { $0.name ?? $0.id } ?? "another account"
            return .failed(
                .server, "account", "the credentials are \(name ?? "another account")'s, and the copy is \(other)'s",
                "Nothing is pulled and nothing is sent. Log in as the copy's account, or set the copy aside:",
                next: "prsnlctl account --accept-new")
        }
        if let error = whoami.error {
            // A server that is away says nothing of the credentials.
            guard whoami.credentials.refused == true || error.code.needsPerson else {
                return .notChecked(.server, "account", error.message)
            }
            return .failed(.server, "account", error)
        }
        return accepted(as: name)
    }

    private func dialect(_ status: StatusReport) -> DoctorReport.Finding {
        guard let dialect = status.server.dialect else {
            return .notChecked(.server, "dialect", "it is known after the first pull")
        }
        var quirks: [String] = []
        let collision = status.copy.possiblyMoreAt.count
        if collision > 0 { quirks.append("more items at \(Formatting.count(collision, "time")) than it shows") }
        if status.copy.rejected > 0 {
            quirks.append("\(Formatting.count(status.copy.rejected, "item")) that could not be read")
        }
        guard !quirks.isEmpty else { return .ok(.server, "dialect", "\(dialect.rawValue) when last pulled, no quirks") }
        return .warning(
            .server, "dialect", "\(dialect.rawValue); \(quirks.joined(separator: "; "))",
            "The copy lacks these; docs/errors.md (crowded_instant, items_rejected).", next: "prsnlctl status")
    }

    private func completeness(_ status: StatusReport) -> DoctorReport.Finding {
        let items = Formatting.count(status.copy.live, "item")
        if status.copy.complete {
            let asOf = status.copy.newAsOf.map { " as of \(Self.age($0, status)) ago" } ?? ""
            return .ok(.copy, "items", "\(items), complete\(asOf)")
        }
        if status.pull != nil { return .ok(.copy, "items", "\(items) so far; a pull is under way") }
        return .warning(.copy, "items", "\(items), and it is known to be incomplete", next: "prsnlctl status")
    }

    private func texts(_ status: StatusReport) -> [DoctorReport.Finding] {
        guard let texts = status.copy.texts else { return [] }
        let count =
            texts.present.map { "\(Formatting.count($0)) of \(Formatting.count($0 + texts.missing, "text"))" }
            ?? "more than \(Formatting.count(texts.missing)) missing"
        if texts.enabled == false { return [.ok(.copy, "texts", "\(count); texts = no")] }
        // A release without them, which nothing here can change.
        if let problem = texts.problem, problem.code == .textsUnavailable {
            return [.ok(.copy, "texts", problem.message)]
        }
        var findings: [DoctorReport.Finding] = []
        if texts.failing > 0, let failure = texts.failure {
            findings.append(
                .warning(
                    .copy, "texts",
                    "\(Formatting.count(texts.failing, "text")) could not be fetched: \(failure.message)",
                    failure.recoverySuggestion, next: "prsnlctl errors"))
        }
        if let problem = texts.problem, problem != texts.failure {
            findings.append(
                .warning(.copy, "texts", problem.message, problem.recoverySuggestion, next: "prsnlctl errors"))
        }
        if texts.tooLarge > 0 {
            findings.append(
                .warning(
                    .copy, "texts",
                    "\(Formatting.count(texts.tooLarge, "text")) larger than text_max_size or max_answer_size",
                    "Raise the limit that `prsnlctl show ID` names, or fetch one with `prsnlctl sync --text ID`.",
                    next: nil))
        }
        if !findings.isEmpty { return findings }
        if texts.missing > 0 { return [.ok(.copy, "texts", "\(count) so far")] }
        if !status.copy.complete { return [.notChecked(.copy, "texts", "the first pull has not ended")] }
        let unprocessed = texts.unprocessed.map { $0 > 0 ? "; " + StatusReport.unprocessed($0) : "" } ?? ""
        return [.ok(.copy, "texts", "all that there are" + unprocessed)]
    }

    private func deletions(_ status: StatusReport) -> [DoctorReport.Finding] {
        guard status.copy.deletionsHeld > 0 else { return [] }
        return [
            .warning(
                .copy, "deletions",
                "\(Formatting.count(status.copy.deletionsHeld, "deletion")) held back, more than is believed at once",
                "If they are meant:", next: "prsnlctl sync --accept-deletions")
        ]
    }

    private func writes(_ status: StatusReport) -> [DoctorReport.Finding] {
        guard let outbox = status.outbox else { return [] }
        var findings: [DoctorReport.Finding] = []
        if outbox.parked > 0 {
            let isRestored =
                status.isRestored
                ? ": the database was restored from a backup, or copied, and they may have been sent since" : ""
            findings.append(
                .warning(
                    .copy, "writes",
                    "\(Formatting.count(outbox.parked, "write")) parked, for you to decide about\(isRestored)",
                    next: "prsnlctl queue --state parked"))
        }
        if let failing = outbox.failing, failing.ownCount > 0 {
            let reason = failing.error.map { ": \($0.message.isEmpty ? $0.codeName : $0.message)" } ?? ""
            findings.append(
                .warning(
                    .copy, "writes",
                    "\(Formatting.count(failing.ownCount, "write")) failed again and again or refused, first of all #\(failing.entry)"
                        + reason, failing.error?.recoverySuggestion, next: "prsnlctl queue show \(failing.entry)"))
        }
        guard outbox.waiting > 0 else {
            if outbox.parked == 0 { findings.append(.ok(.copy, "writes", "none waits")) }
            return findings
        }
        let since = outbox.oldestWaiting.map {
            ", the oldest since \(Formatting.timeWithAge($0, now: status.generatedAt))"
        }
        let text = "\(Formatting.count(outbox.waiting)) waiting" + (since ?? "")
        let age = outbox.oldestWaiting.map { status.generatedAt.duration(since: $0) } ?? .zero
        let isStuck = age > Self.longWait && status.daemon?.connectivity.state == .online
        findings.append(
            isStuck
                ? .warning(.copy, "writes", text, "The server answers, and they do not arrive.", next: "prsnlctl queue")
                : .ok(.copy, "writes", text))
        return findings
    }

    private func lastError(_ status: StatusReport) -> [DoctorReport.Finding] {
        guard let error = status.lastError, !error.isOver, status.daemon?.problem?.codeName != error.code else {
            return []
        }
        // Said with the writes.
        if error.endpoint.hasPrefix("outbox ("), status.outbox?.failing != nil { return [] }
        return [
            .warning(
                .copy, "last_error",
                "\(error.code) at \(error.endpoint), \(Formatting.count(error.count, "time")), last "
                    + "\(Self.age(error.last, status)) ago",
                error.recoverySuggestion, next: error.nextCommand)
        ]
    }

    private static func age(_ time: Timestamp, _ status: StatusReport) -> String {
        Formatting.duration(status.generatedAt.duration(since: time))
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
            if case .success(let report) = try client.ask(WhoamiRequest(), timeout: ServerCheck.limit) {
                whoami = report
            }
        } catch {
            whoamiReason = error.message
        }
    }
}
