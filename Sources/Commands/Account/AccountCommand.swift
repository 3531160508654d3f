package import Console
import PRSNLClient
import PRSNLCore
package import Requests
import Store

/// `prsnlctl account`: whose timeline the copy is of; with `--accept-new`, a new copy takes its place.
enum AccountCommand {
    static let command = Command(
        "account", "Show whose timeline the copy is of, and the credentials.",
        examples: [("--accept-new --dry-run", "What a new account would do to the copy.")],
        options: [
            CommandOption(
                "--accept-new", nil,
                "Set this copy aside, with what was not delivered, and begin a new one. The daemon has to be stopped."),
            CommandOption("--dry-run", nil, "Only say what would be done."),
        ], needsRoot: true, run: run)

    private static func run(_ context: CommandContext, _ arguments: ParsedArguments) throws(UserFacingError) -> ExitCode
    {
        let dryRun = arguments.has("--dry-run")
        guard arguments.has("--accept-new") || !dryRun else {
            throw UserFacingError(
                .usage, "--dry-run says what --accept-new would do, which is not given.",
                nextCommand: "prsnlctl account --accept-new --dry-run")
        }
        var report = try context.answer(AccountRequest())
        if arguments.has("--accept-new") {
            try report.requireChange()
            report = dryRun ? report.planned : try context.setAside(report)
        }
        return try context.write(report)
    }
}

extension CommandContext {
    /// Sets the copy aside and begins an empty one, under the daemon's lock and as the owner of the copy.
    ///
    /// - Throws: `database_locked` while a daemon runs; `not_owner`; what `Store.setAside` throws.
    fileprivate func setAside(_ found: AccountReport) throws(UserFacingError) -> AccountReport {
        let holder = holder
        guard found.source == .file, holder == nil else {
            throw UserFacingError(
                .databaseLocked,
                "The daemon\(holder.map { " (process \($0.process))" } ?? "") works on \(found.file).",
                consequence: AccountRequest.refused, recoverySuggestion: "In this order: \(Advice.newCopy).",
                nextCommand: "sudo systemctl stop prsnld")
        }
        do throws(UserFacingError) {
            try FileOwner.become(ownerOf: database, consequence: AccountRequest.refused)
        } catch {
            throw error.with(suggestion: "Give the command as root.", next: Self.sudo())
        }
        Secrecy.begin()  // a change of user makes a process dumpable again, by the system's settings (prctl(2))
        return try blocking { () async throws(UserFacingError) in
            // Another prsnlctl holds the lock for a moment.
            let store = try openStore(waitsForLock: true)
            var report = found
            let aside = try await store.setAside(as: found.setAsideName)
            report.setAside = aside
            do throws(UserFacingError) {
                // An empty copy, so that writes can be queued before the daemon runs again.
                await (try openStore()).close()
            } catch {
                throw error.with(
                    consequence: "The copy was set aside: \(aside). The daemon makes an empty one when it starts.")
            }
            return report
        }
    }

    /// In the daemon's place.
    func account() throws(UserFacingError) -> AccountReport {
        let reader = try self.reader()
        let copy = try reader.summary()
        let configuration = try configuration().configuration
        let stored = CredentialFile.used(self, configuration)
        let change = AccountChange.found(
            copy: copy, problem: try reader.standingError(of: AccountChange.codes),
            subject: stored?.subject, server: configuration.serverURL?.text ?? stored?.server)
        return AccountReport(
            copy, source: .file, file: database, credentials: stored?.report ?? CredentialsReport(kind: .none),
            change: change, now: TimeSource.system.now())
    }
}

extension AccountReport {
    /// Only a copy of another account or server is set aside: a slip must not cost a good one.
    ///
    /// - Throws: `nothing_to_accept`; `login_expired` where only a new login helps.
    func requireChange() throws(UserFacingError) {
        guard let change else {
            let owner = account.map { " belongs to \($0.words)" } ?? " stays as it is"
            throw UserFacingError(
                .nothingToAccept,
                "There is nothing to accept: this copy already\(owner)\(server.map { " on \($0)" } ?? "").",
                consequence: AccountRequest.refused)
        }
        if change.code == .loginExpired { throw AccountChange.loginExpired }
        // The server shows a test user's items to a token that has expired: a new copy would be of those.
        guard credentials.kind == .loginToken, let end = credentials.expiresAt, end <= generatedAt else { return }
        throw UserFacingError(
            .loginExpired, "The token in \(credentials.path ?? "api_key_file") has expired.",
            consequence: AccountRequest.refused)
    }

    /// Says what would be done.
    var planned: AccountReport {
        var report = self
        report.setAside = setAsideName(SetAsideName.firstFree(setAsideName))
        report.dryRun = true
        return report
    }

    /// What the copy is called when it is set aside, by number.
    var setAsideName: @Sendable (Int) -> String {
        let owner = account?.name ?? account?.id ?? server.flatMap(URLCheck.host) ?? ""
        return { [file, generatedAt] in
            SetAsideName.path(beside: file, owner: owner, at: generatedAt, number: $0)
        }
    }
}

extension AccountReport: Report {
    /// 4 where the copy is of another account or server than the daemon asks now.
    package var exitCode: ExitCode { change != nil && (setAside == nil || dryRun) ? .needsAttention : .fine }

    package func text(_ style: TextStyle) -> String {
        if let setAside { return setAsideText(setAside, style) }
        return fields(
            [
                ("Account", [accountText(style)]),
                ("Server", [serverText(style)]),
                ("Since", since.map { [Formatting.time($0)] } ?? []),
                ("Items", [Formatting.count(items)]),
                ("Writes", [undelivered ?? "none undelivered"]),
                ("Credentials", credentials.paragraphs(style, now: generatedAt)),
                ("Changed", changeText(style)),
                ("File", [style.safe(file)]),
            ], style)
    }

    private func changeText(_ style: TextStyle) -> [String] {
        guard let change else { return [] }
        let next =
            change.code == .loginExpired
            ? "\(style.command("prsnlctl login")) logs in again"
            : style.text("To set this copy aside and begin a new one: \(Advice.newCopy).")
        return [style.paint(style.safe(change.message), .red), next]
    }

    private func accountText(_ style: TextStyle) -> String {
        account.map { $0.text(style) }
            ?? (server == nil ? "none yet: nothing was pulled" : "none: the server names none")
    }

    private func serverText(_ style: TextStyle) -> String {
        guard let server else { return Formatting.notKnown }
        return style.safe(server) + (dialect.map { ", dialect \($0.rawValue)" } ?? "")
    }

    private var undelivered: String? {
        let parts = [
            waiting > 0 ? "\(Formatting.count(waiting)) wait" : nil,
            parked > 0 ? "\(Formatting.count(parked)) parked" : nil,
        ]
        .compactMap(\.self)
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }

    private func setAsideText(_ path: String, _ style: TextStyle) -> String {
        let whose = account.map { "of \($0.text(style))" } ?? server.map { "of \(style.safe($0))" } ?? "as it was"
        let kept = [Formatting.count(items, "item"), undelivered.map { "its undelivered writes (\($0))" }]
            .compactMap(\.self).joined(separator: " and ")
        return paragraphs(style) {
            "the copy \(whose) \(dryRun ? "would be" : "was") set aside: \(style.safe(path))"
            "It keeps \(kept)." + (undelivered == nil ? "" : " The writes will not be sent.")
            dryRun
                ? style.text("Nothing was changed. To do it: \(Advice.newCopy).")
                : "There is an empty copy now. The daemon fills it: \(style.command("sudo systemctl start prsnld"))."
        }
    }
}
