package import Control
package import PRSNLCore
package import Store

/// Asks whose timeline the copy is of. With `acceptNew`, sets the copy aside and starts a new one.
package struct AccountRequest: Request {
    package static let command = "account"

    package let acceptNew: Bool
    package let dryRun: Bool
    package var isChange: Bool { acceptNew && !dryRun }

    package init(acceptNew: Bool, dryRun: Bool) { (self.acceptNew, self.dryRun) = (acceptNew, dryRun) }

    package init(_ members: RequestMembers) throws(RequestRefusal) {
        acceptNew = try members.bool("accept_new")
        dryRun = try members.bool("dry_run")
    }

    package func write(to line: inout RequestLine) {
        line.add("accept_new", acceptNew)
        line.add("dry_run", dryRun)
    }

    package func answer(_ context: RequestContext) async throws(UserFacingError) -> AccountReport? {
        switch context.host {
        case .daemon(let daemon, let conversation):
            guard acceptNew else { return try daemon.account(context) }
            return try await daemon.acceptNew(dryRun: dryRun, context, conversation)
        case .command(let command, _): return try await command.account(self)
        }
    }
}

extension RunningDaemon {
    fileprivate func account(_ context: RequestContext) throws(UserFacingError) -> AccountReport {
        let copy = try context.reader().summary()
        let login = parts.login
        let change = AccountChange.found(
            copy: copy, problem: parts.engine.state.problem, subject: parts.client.credentials.subject,
            server: login.server.text)
        return AccountReport(
            copy, source: .daemon, file: database, credentials: login.report, change: change, now: context.now)
    }

    /// - Returns: `nil` where the daemon answers later: when the file is set aside.
    fileprivate func acceptNew(
        dryRun: Bool, _ context: RequestContext, _ conversation: ControlConversation
    ) async throws(UserFacingError) -> AccountReport? {
        let report = try account(context)
        try AccountChange.require(report.change, of: report)
        // The server shows a test user's items to a token that has expired: a new copy would be of those.
        let credentials = report.credentials
        if credentials.kind == .loginToken, let end = credentials.expiresAt, end <= context.now {
            throw UserFacingError(
                .loginExpired, "The token in \(credentials.path ?? "api_key_file") has expired.",
                consequence: "Nothing was changed.")
        }
        if dryRun { return report.planned }
        // Its reader would keep the copy from being set aside.
        guard await !parts.store.awaitsCheck else {
            throw UserFacingError(
                .daemonBusy, "The copy was not closed properly the last time, and is being checked.",
                consequence: "Nothing was changed.",
                recoverySuggestion: "Give the command again when that is done; the log says when.")
        }
        guard !isEnding.exchange(true, ordering: .relaxed) else {
            try refuseWhileEnding()
            return nil
        }
        begin(NewCopy(report: report, conversation: conversation))
        // Only keeps the connection until the daemon answers.
        do { try await context.time.sleep(.seconds(60)) } catch { return nil }
        return nil
    }
}

/// The order to begin a new copy, for the daemon to carry out when everything that works on the copy has stopped.
package struct NewCopy: Sendable {
    let report: AccountReport
    let conversation: ControlConversation

    /// Sets the copy aside and answers. Where that fails, the copy is as it was, and the answer says why.
    package func perform(_ store: Store, log: LogHandler) async {
        var report = report
        do throws(UserFacingError) {
            let path = try await store.setAside(as: report.setAsideName)
            report.setAside = path
            log(.notice, .daemon, "the copy was set aside: \(path)")
            conversation.send(report)
        } catch {
            log(.error, .daemon, error.inFull)
            conversation.send(error)
        }
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
        (self.source, self.file, self.credentials) = (source, file, credentials)
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
}

/// Whether the copy is of another account or server than the one that is asked now. Only then may a new copy take its place:
/// a good copy should not be set aside by a slip.
package enum AccountChange {
    /// What a pull ends with that has found out.
    package static let codes: [ErrorCode] = [.accountChanged, .serverChanged]

    /// - Parameters:
    ///   - problem: what the last pull ended with, where it is one of `codes`.
    ///   - subject: the account that the login is for, by its token's own word.
    ///   - server: the server that is asked now.
    /// - Returns: what has changed, in words; `login_expired` where the login is the copy's account's, and the server takes it for
    ///   another account's; `nil` where nothing has.
    package static func found(
        copy: CopySummary, problem: UserFacingError?, subject: String?, server: String?
    ) -> UserFacingError? {
        if let problem, codes.contains(problem.code) {
            return problem.code == .accountChanged && isOf(copy, subject) ? loginExpired : problem
        }
        if let bound = copy.server.url, let server, bound != server {
            return UserFacingError(
                .serverChanged, "The copy is of \(bound), and the daemon is to ask \(server).",
                consequence: "Nothing is pulled and nothing is sent.")
        }
        if let bound = copy.accountSubject, let subject, ByteText(bound) != ByteText(subject) {
            return UserFacingError(
                .accountChanged, "The login is for another account than the one this copy is of.",
                consequence: "Nothing is pulled and nothing is sent.")
        }
        if copy.isAnonymous, subject != nil {
            return UserFacingError(
                .accountChanged, "This copy was made without a login and holds the items of all accounts.",
                consequence: "Nothing is pulled and nothing is sent.")
        }
        return nil
    }

    /// Whether the token names the account that the copy is of.
    package static func isOf(_ copy: CopySummary, _ subject: String?) -> Bool {
        guard let subject else { return false }
        return [copy.accountSubject, copy.server.accountID, copy.server.accountName].contains {
            $0.map(ByteText.init) == ByteText(subject)
        }
    }

    /// A new copy would be of the account that the server shows to a login that it does not take.
    package static let loginExpired = UserFacingError(
        .loginExpired, "The server does not take the login for the account's any more.",
        consequence: "The copy is of the right account, and was not changed.")

    /// - Throws: `nothing_to_accept`; `login_expired` where only a new login helps.
    package static func require(_ change: UserFacingError?, of report: AccountReport) throws(UserFacingError) {
        if change?.code == .loginExpired { throw loginExpired }
        guard change == nil else { return }
        let owner = (report.account.flatMap { $0.name ?? $0.id }).map { " belongs to \($0)" } ?? " stays as it is"
        throw UserFacingError(
            .nothingToAccept,
            "There is nothing to accept: this copy already\(owner)\(report.server.map { " on \($0)" } ?? "").",
            consequence: "Nothing was changed.")
    }
}

extension AccountReport {
    /// What the copy is called when it is set aside, by number.
    package var setAsideName: @Sendable (Int) -> String {
        let owner = account?.name ?? account?.id ?? server.map(Self.host) ?? ""
        return { [file, generatedAt] in
            SetAsideName.path(beside: file, owner: owner, at: generatedAt, number: $0)
        }
    }

    private static func host(_ server: String) -> String {
        let rest = server.firstRange(of: "://").map { server[$0.upperBound...] } ?? server[...]
        return String(rest.prefix { $0 != "/" && $0 != ":" })
    }

    /// Says what would be done.
    package var planned: AccountReport {
        var report = self
        report.setAside = setAsideName(SetAsideName.firstFree(setAsideName))
        report.dryRun = true
        return report
    }
}
