package import Console
import Glibc
import PRSNLClient
import PRSNLCore
package import Requests
import Store

/// `prsnlctl account`: whose timeline the copy is of; with `--accept-new`, a new copy takes its place.
enum AccountCommand {
    static let command = Command(
        "account", "Show whose timeline the copy is of, and the credentials.",
        options: [
            CommandOption(
                "--accept-new", nil,
                "Set this copy aside, with what was not delivered, and begin a new one."),
            CommandOption("--dry-run", nil, "Only say what would be done."),
        ], needsRoot: true, run: run)

    private static func run(_ context: CommandContext, _ arguments: ParsedArguments) throws(UserFacingError) -> ExitCode
    {
        let acceptNew = arguments.has("--accept-new")
        let dryRun = arguments.has("--dry-run")
        guard acceptNew || !dryRun else {
            throw UserFacingError(
                .usage, "--dry-run says what --accept-new would do, which is not given.",
                nextCommand: "prsnlctl account --accept-new --dry-run")
        }
        var client = RequestClient(context)
        let report = try client.changeAccount(AccountRequest(acceptNew: acceptNew, dryRun: dryRun))
        try context.write(report)
        return report.exitCode
    }
}

extension RequestClient {
    /// Asks what the daemon logs in with, or whose copy it keeps, or changes that.
    ///
    /// - Throws: what `ask` throws; `daemon_busy` where the daemon ended before it answered.
    mutating func changeAccount<Asked: Request>(_ request: Asked) throws(UserFacingError) -> Asked.Answer {
        do throws(UserFacingError) {
            return try ask(request)
        } catch {
            guard request.isChange, isUnanswered, error.code == .daemonNotRunning else { throw error }
            throw UserFacingError(
                .daemonBusy, "The daemon ended before it answered.",
                recoverySuggestion: "Look what it has done: `prsnlctl account`.", nextCommand: "prsnlctl account")
        }
    }
}

extension CommandContext {
    /// In the daemon's place, as the owner of the copy.
    func account(_ request: AccountRequest) async throws(UserFacingError) -> AccountReport {
        if request.isChange { try FileOwner.become(ownerOf: database, consequence: AccountRequest.refused) }
        var report = try accountOfFile()
        guard request.acceptNew else { return report }
        try AccountChange.require(report.change, of: report)
        if request.dryRun { return report.planned }
        let store = try openStore()
        let aside = try await store.setAside(as: report.setAsideName)
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

    private func accountOfFile() throws(UserFacingError) -> AccountReport {
        let reader = try StoreReader(path: database)
        let copy = try reader.summary()
        let stored = try StoredCredentials(self)
        let change = AccountChange.found(
            copy: copy, problem: try reader.standingError(of: AccountChange.codes),
            subject: stored.login.flatMap { AccessToken($0.pair.access)?.subject },
            server: try configuration().configuration.serverURL?.text ?? stored.login?.server)
        return AccountReport(
            copy, source: .file, file: database, credentials: stored.report, change: change,
            now: TimeSource.system.now())
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
            : "\(style.command("prsnlctl account --accept-new")) sets this copy aside and starts a new one"
        return [style.paint(style.safe(change.message), .red), next]
    }

    private func accountText(_ style: TextStyle) -> String {
        account.map { $0.text(style) }
            ?? (server == nil ? "none yet: nothing was pulled" : "none: the server names none")
    }

    private func serverText(_ style: TextStyle) -> String {
        guard let server else { return Formatting.notKnown }
        return style.safe(server) + (dialect.map { ", dialect \(style.safe($0))" } ?? "")
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
        var lines = ["the copy \(whose) \(dryRun ? "would be" : "was") set aside: \(style.safe(path))"]
        let kept = [Formatting.count(items, "item"), undelivered.map { "its undelivered writes (\($0))" }]
            .compactMap(\.self).joined(separator: " and ")
        lines.append("It keeps \(kept)." + (undelivered == nil ? "" : " The writes will not be sent."))
        lines.append(
            dryRun
                ? "Nothing was changed. \(style.command("prsnlctl account --accept-new")) does it."
                : source == .daemon
                    ? "The daemon restarts with an empty copy and pulls."
                    : "There is an empty copy now; the daemon fills it when it runs.")
        return paragraphs(lines, style)
    }
}
