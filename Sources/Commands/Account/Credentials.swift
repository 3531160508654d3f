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
    func paragraphs(_ style: TextStyle, now: Timestamp) -> [String] {
        let place = path.map { ", in \(style.safe($0))" } ?? ""
        var lines: [String]
        switch kind {
        case .none:
            return [
                "none: nothing is pulled, unless `anonymous = yes` is set. \(style.command("prsnlctl login")) logs in"
            ]
        case .notReadable: return ["not readable for this user" + place]
        case .apiKey, .loginToken, .login: lines = [kind.words + place]
        }
        if let expiresAt {
            let renewed = kind == .login ? "; the daemon renews it before" : ""
            let left = expiresAt.duration(since: now)
            lines.append(
                left > .zero
                    ? "the token expires in \(Formatting.duration(left))\(renewed)"
                    : "the token expired at \(Formatting.time(expiresAt))"
                        + (kind == .login ? "; the daemon renews it" : ""))
        }
        if refused == true {
            lines.append(style.paint("The server refuses this \(kind == .apiKey ? "key" : "login").", .red))
        }
        return lines
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
        guard !look(path) else { return }
        do throws(UserFacingError) {
            let text = try KeyFile.read(path: path, credentialsDirectory: credentialsDirectory)
            report = CredentialsReport(try Credentials.parse(text), inKeyFile: path)
        } catch {
            state = .broken(error)
        }
    }

    /// The login beside a database, and what is in it; `nil` where there is none.
    ///
    /// - Parameter server: that it should be for.
    static func login(_ database: String, for server: ServerURL? = nil) -> (file: CredentialFile, login: StoredLogin?)?
    {
        let stored = LoginFile(database: database)
        var file = CredentialFile(report: CredentialsReport(kind: .notReadable, path: stored.path))
        guard !file.look(stored.path) else { return (file, nil) }
        do throws(UserFacingError) {
            guard let login = try stored.read() else { return nil }
            if let server { try login.check(isFor: server) }
            file.report = CredentialsReport(
                kind: .login, path: stored.path, expiresAt: AccessToken(login.pair.access)?.expiresAt)
            return (file, login)
        } catch {
            file.state = .broken(error)
            return (file, nil)
        }
    }

    /// Whether it is not to be read: it is hidden from this user, or would lead root elsewhere.
    private mutating func look(_ path: String) -> Bool {
        if FileStatus.isHidden(path) {
            state = .hidden
        } else if let error = FileStatus.foreignLink(path) {
            state = .broken(error)
        }
        return state != .sound
    }
}

/// What a stopped daemon would show to the server at its next start, as far as this user may know.
struct StoredCredentials {
    let report: CredentialsReport
    var login: StoredLogin?

    /// A key stands above a login, as in the daemon.
    init(_ context: CommandContext) throws(UserFacingError) {
        if let key = CredentialFile.key(try context.configuration().configuration, context.unit) {
            report = key.report
            return
        }
        let found = CredentialFile.login(context.paths.database)
        login = found?.login
        report = found?.file.report ?? CredentialsReport(kind: .none)
    }
}
