import Configuration
import Console
import Glibc
import PRSNLCore
import Reports
import Store

/// `prsnlctl account`: whose timeline the copy is of; with `--accept-new`, a new copy takes its place.
enum AccountCommand {
    static let command = Command(
        "account", "Show whose timeline the copy is of, and the credentials.",
        options: [
            CommandOption(
                "--accept-new", nil,
                "Set this copy aside, with what was not delivered, and start one of the account or server of now."),
            CommandOption("--dry-run", nil, "Only say what would be done."),
        ], run: run)

    private static func run(_ context: CommandContext, _ arguments: ParsedArguments) throws(UserFacingError) -> ExitCode
    {
        let acceptNew = arguments.has("--accept-new")
        let dryRun = arguments.has("--dry-run")
        guard acceptNew || !dryRun else {
            throw UserFacingError(
                .usage, "--dry-run says what --accept-new would do, which is not given.",
                nextCommand: "prsnlctl account --accept-new --dry-run")
        }
        let report = acceptNew && !dryRun ? try accept(context) : try look(context, acceptNew: acceptNew)
        try context.write(report)
        return report.exitCode
    }

    private static func look(_ context: CommandContext, acceptNew: Bool) throws(UserFacingError) -> AccountReport {
        if !context.isFileGiven,
            let report = try context.ask(AccountRequest(acceptNew: acceptNew, dryRun: true))
        {
            return report
        }
        var report = try readHere(context)
        guard acceptNew else { return report }
        try AccountChange.require(report.change)
        report.plan(number: SetAsideName.firstFree(report.setAsideName), dryRun: true)
        return report
    }

    private static func accept(_ context: CommandContext) throws(UserFacingError) -> AccountReport {
        let database = context.paths.database
        let consequence = "Nothing was changed."
        var outbox = OutboxClient(context)
        let report = try outbox.changeAccount(
            AccountRequest(acceptNew: true, dryRun: false), consequence: consequence
        ) { () throws(UserFacingError) in
            try FileOwner.become(ownerOf: database, consequence: consequence)
            return try setAside(context)
        }
        if report.source == .file, let aside = report.setAside { try startNew(context, aside: aside) }
        return report
    }

    private static func setAside(_ context: CommandContext) throws(UserFacingError) -> AccountReport {
        let database = context.paths.database
        var report = try readHere(context)
        try AccountChange.require(report.change)
        let name = report.setAsideName
        report.setAside = try blocking { () async throws(UserFacingError) -> String in
            let store = try Store(path: database, allowsNetwork: context.paths.allowsNetworkFileSystem)
            return try await store.setAside(as: name)
        }
        return report
    }

    /// An empty copy, so that writes can be queued before the daemon runs again.
    private static func startNew(_ context: CommandContext, aside: String) throws(UserFacingError) {
        let database = context.paths.database
        do throws(UserFacingError) {
            try blocking { () async throws(UserFacingError) in
                let store = try Store(path: database, allowsNetwork: context.paths.allowsNetworkFileSystem)
                await store.close()
            }
        } catch {
            throw UserFacingError(
                error.code, error.message,
                consequence: "The copy was set aside: \(aside). The daemon makes an empty one when it starts.",
                recoverySuggestion: error.recoverySuggestion, nextCommand: error.nextCommand)
        }
    }

    private static func readHere(_ context: CommandContext) throws(UserFacingError) -> AccountReport {
        let database = context.paths.database
        let reader = try StoreReader(path: database)
        let copy = try reader.summary()
        let stored = try StoredCredentials(context)
        let configured = try context.configuration().configuration.serverURL?.text
        let change = AccountChange.found(
            copy: copy, problem: try reader.standingError(of: AccountChange.codes),
            subject: stored.login.flatMap { AccessToken($0.pair.access)?.subject },
            server: configured ?? stored.login?.server)
        return AccountReport(
            copy, source: .file, file: database, credentials: stored.report, change: change,
            now: TimeSource.system.now())
    }
}
