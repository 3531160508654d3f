package import Console
package import Control
package import PRSNLCore
package import Store

/// Asks whose timeline the copy is of. With `acceptNew`, sets the copy aside and starts a new one.
package struct AccountRequest: ControlRequest {
    package typealias Answer = AccountReport
    package static let command = "account"

    package let acceptNew: Bool
    package let dryRun: Bool
    package var isChange: Bool { acceptNew && !dryRun }

    package init(acceptNew: Bool, dryRun: Bool) {
        self.acceptNew = acceptNew
        self.dryRun = dryRun
    }

    package init(_ members: RequestMembers) throws(RequestRefusal) {
        acceptNew = try members.bool("accept_new")
        dryRun = try members.bool("dry_run")
    }

    package func write(to line: inout RequestLine) {
        line.add("accept_new", acceptNew)
        line.add("dry_run", dryRun)
    }
}

/// Whose timeline the copy is of: the JSON of `prsnlctl account --json`.
package struct AccountReport: ControlReply {
    package static let type = "account"

    package var schemaVersion = 1
    package var source: StatusReport.Source
    package var generatedAt: Timestamp
    /// `null` where the copy is not bound.
    @Nullable package var account: AccountName? = nil
    @Nullable package var server: String? = nil
    @Nullable package var dialect: String? = nil
    /// When the copy was bound to it.
    @Nullable package var since: Timestamp? = nil
    package var items: Int
    /// Writes that are not on the server: waiting, and parked.
    package var waiting: Int
    package var parked: Int
    package var credentials: CredentialsReport
    /// Why a new copy may be started: the server or the account is another one now. `null` where they are the same. With the
    /// code `login_expired` the login has to be made again instead, because the server takes it for another account's.
    @Nullable package var change: UserFacingError? = nil
    package var file: String
    /// With `--accept-new`: where the copy is now, or with `--dry-run` would be.
    @Nullable package var setAside: String? = nil
    package var dryRun = false

    package init(
        _ summary: CopySummary, source: StatusReport.Source, file: String, credentials: CredentialsReport,
        change: UserFacingError?, now: Timestamp
    ) {
        self.source = source
        self.file = file
        self.credentials = credentials
        generatedAt = now
        account = AccountName(known: summary.server.accountID, summary.server.accountName)
        server = summary.server.url
        dialect = summary.server.dialect?.rawValue
        since = summary.boundAt
        items = summary.copy.live
        waiting = summary.outbox.waiting
        parked = summary.outbox.parked
        self.change = change
    }

    /// 4 where the copy is of another account or server than the daemon asks now.
    package var exitCode: ExitCode { change != nil && (setAside == nil || dryRun) ? .needsAttention : .fine }
}

extension AccountReport: Report {
    package func text(_ style: TextStyle) -> String {
        if let setAside { return setAsideText(setAside, style) }
        var fields: [[String]] = [
            field("Account", [accountText(style)], style),
            field("Server", [serverText(style)], style),
        ]
        if let since { fields.append(field("Since", [Formatting.time(since)], style)) }
        fields += [
            field("Items", [Formatting.count(items)], style),
            field("Writes", [undelivered ?? "none undelivered"], style),
            field("Credentials", credentials.paragraphs(style, now: generatedAt), style),
        ]
        if let change {
            fields.append(
                field(
                    "Changed",
                    [
                        style.paint(style.safe(change.message), .red),
                        change.code == .loginExpired
                            ? "\(style.command("prsnlctl login")) logs in again"
                            : "\(style.command("prsnlctl account --accept-new")) sets this copy aside and starts a new one",
                    ], style))
        }
        fields.append(field("File", [style.safe(file)], style))
        return fields.joined().map { $0 + "\n" }.joined()
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
