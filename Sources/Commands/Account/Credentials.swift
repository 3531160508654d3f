import Configuration
import Console
import Glibc
import PRSNLClient
import PRSNLCore
import Requests

extension AccountName {
    func text(_ style: TextStyle) -> String { style.safe(words) }
}

extension CredentialsReport.Kind {
    var words: String {
        switch self {
        case .apiKey: "an API key"
        case .loginToken: "a login token"
        case .login, .none, .notReadable: "a login"
        }
    }
}

extension CredentialsReport {
    @Listing<String> func paragraphs(_ style: TextStyle, now: Timestamp) -> [String] {
        let place = path.map { ", in \(style.safe($0))" } ?? ""
        switch kind {
        case .none:
            "none: nothing is pulled, unless `anonymous = yes` is set. \(style.command("prsnlctl login")) logs in"
        case .notReadable: "not readable for this user" + place
        case .apiKey, .loginToken, .login:
            kind.words + place
            if let expiresAt {
                let left = expiresAt.duration(since: now)
                let renewed = kind == .login ? "; the daemon renews it" : ""
                if left > .zero {
                    "the token expires in \(Formatting.duration(left))" + (kind == .login ? renewed + " before" : "")
                } else {
                    "the token expired at \(Formatting.time(expiresAt))" + renewed
                }
            }
            if refused == true { style.paint("The server refuses this \(kind == .apiKey ? "key" : "login").", .red) }
        }
    }
}

/// A file that the daemon logs in with, as far as this user may see it. Never what is in it.
struct CredentialFile: Sendable, Equatable {
    enum State: Sendable, Equatable {
        case sound
        /// This user may not look: as it should be for all but the daemon's user and root.
        case hidden
        case broken(UserFacingError)
    }

    var report: CredentialsReport
    var state = State.sound
    /// Handed over by systemd, which makes it readable for the daemon itself.
    var isFromSystemd = false

    var path: String { report.path ?? "?" }

    /// Whose it is, by name; `nil` where that is not known.
    var owner: String?
    /// Of a login: the server that it is for.
    var server: String?
    /// Of a login or token: the account that it is for, by its own word.
    var subject: String?
    /// Of a login: when the refresh token expires. The access token is renewed all the time.
    var endsAt: Timestamp?

    init(report: CredentialsReport, isFromSystemd: Bool = false) {
        (self.report, self.isFromSystemd) = (report, isFromSystemd)
        owner = report.path.flatMap(FileStatus.owner).map(UserDatabase.user)
    }

    /// `api_key_file`, or the credential of systemd in its place; `nil` where there is neither.
    static func key(_ configuration: DaemonConfiguration, _ unit: ServiceUnit) -> CredentialFile? {
        if let path = configuration.apiKeyFile { return CredentialFile(keyFile: path) }
        guard let key = unit.nameForCredentials.flatMap(CredentialStore.key(ofUnit:)) else { return nil }
        return key.isEncrypted
            ? CredentialFile(report: CredentialsReport(kind: .apiKey, path: key.path), isFromSystemd: true)
            : CredentialFile(keyFile: key.path, credentialsDirectory: CredentialStore.folder)
    }

    private init(keyFile path: String, credentialsDirectory: String? = nil) {
        self.init(
            report: CredentialsReport(kind: .notReadable, path: path), isFromSystemd: credentialsDirectory != nil)
        examine(path) { file throws(UserFacingError) in
            file.show(try Credentials.parse(try KeyFile.read(path: path, credentialsDirectory: credentialsDirectory)))
        }
    }

    /// The login beside a database; `nil` where there is none.
    ///
    /// - Parameter server: that it should be for.
    static func login(_ database: String, for server: ServerURL? = nil) -> CredentialFile? {
        let stored = LoginFile(database: database)
        var file = CredentialFile(report: CredentialsReport(kind: .notReadable, path: stored.path))
        var isThere = true
        file.examine(stored.path) { file throws(UserFacingError) in
            guard let login = try stored.read() else { return isThere = false }
            if let server { try login.check(isFor: server) }
            file.show(.login(login.pair))
            (file.server, file.endsAt) = (login.server, AccessToken(login.pair.refresh)?.expiresAt)
        }
        return isThere ? file : nil
    }

    /// What a stopped daemon would show to the server at its next start: a key stands above a login. `nil` where there is
    /// neither.
    static func used(_ context: CommandContext, _ configuration: DaemonConfiguration) -> CredentialFile? {
        key(configuration, context.unit) ?? login(context.database)
    }

    private mutating func show(_ credentials: Credentials) {
        (report, subject) = (CredentialsReport(credentials, in: path), credentials.subject)
    }

    /// Reads nothing that is hidden from this user, or would lead root elsewhere.
    private mutating func examine(_ path: String, _ read: (inout Self) throws(UserFacingError) -> Void) {
        if FileStatus.isHidden(path) { return state = .hidden }
        do throws(UserFacingError) {
            if let error = FileStatus.foreignLink(path) { throw error }
            try read(&self)
        } catch {
            state = .broken(error)
        }
    }
}
