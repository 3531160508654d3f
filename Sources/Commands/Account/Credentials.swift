import Configuration
import Console
import Glibc
import PRSNLClient
package import PRSNLCore
import Store

/// An account as the server names it.
package struct AccountName: Sendable, Equatable, Codable {
    @Nullable package var id: String? = nil
    /// The e-mail address, else the name.
    @Nullable package var name: String? = nil
}

extension AccountName {
    /// `nil` where nothing is known.
    package init?(known id: String?, _ name: String?) {
        guard id != nil || name != nil else { return nil }
        self.init(id: id, name: name)
    }

    /// Whose timeline a copy is of; `nil` where it is not bound.
    init?(_ copy: CopySummary) { self.init(known: copy.server.accountID, copy.server.accountName) }

    var words: String { name ?? id ?? Formatting.notKnown }
    func text(_ style: TextStyle) -> String { style.safe(words) }

    /// By the id, which stays when people change their address; `nil` where one of them is not known.
    static func isSame(_ left: AccountName?, _ right: AccountName?) -> Bool? {
        guard let left = left?.id, let right = right?.id else { return nil }
        return left == right
    }
}

/// What the daemon shows to the server to be let in, without the secret itself.
package struct CredentialsReport: Sendable, Equatable, Codable {
    package enum Kind: String, Sendable, Codable {
        case none
        /// In `api_key_file`.
        case apiKey = "api_key"
        /// In `api_key_file`, put there by hand, and not renewed.
        case loginToken = "login_token"
        /// Of `prsnlctl login`: the daemon renews it.
        case login
        /// Only the daemon's user and root may see what they are.
        case notReadable = "not_readable"
    }

    package var kind: Kind
    /// The file that they are read from.
    @Nullable package var path: String? = nil
    /// When the token expires that is shown to the server.
    @Nullable package var expiresAt: Timestamp? = nil
    /// The server has refused them; `null` where it was not asked.
    @Nullable package var refused: Bool? = nil
}

extension CredentialsReport {
    /// Of what the file of `api_key_file` holds.
    init(_ credentials: Credentials, inKeyFile path: String) {
        self.init(kind: .apiKey, path: path)
        guard case .loginToken(let token) = credentials else { return }
        kind = .loginToken
        expiresAt = AccessToken(token)?.expiresAt
    }

    func paragraphs(_ style: TextStyle, now: Timestamp) -> [String] {
        let place = path.map { ", in \(style.safe($0))" } ?? ""
        var lines: [String]
        switch kind {
        case .none:
            return [
                "none: nothing is pulled, unless `anonymous = yes` is set. \(style.command("prsnlctl login")) logs in"
            ]
        case .apiKey: lines = ["an API key" + place]
        case .loginToken: lines = ["a login token" + place]
        case .login: lines = ["a login" + place]
        case .notReadable: return ["not readable for this user" + place]
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

/// What a stopped daemon would show to the server at its next start, as far as this user may know.
struct StoredCredentials {
    let report: CredentialsReport
    var login: StoredLogin?

    /// `api_key_file`, or the credential of systemd in its place, stands above a login, as in the daemon.
    init(_ context: CommandContext) throws(UserFacingError) {
        let configuration = try context.configuration().configuration
        if let path = configuration.apiKeyFile {
            report = Self.ofKeyFile(path)
            return
        }
        if let key = context.unit.nameForCredentials.flatMap(CredentialStore.key(ofUnit:)) {
            report =
                key.isEncrypted
                ? CredentialsReport(kind: .apiKey, path: key.path)
                : Self.ofKeyFile(key.path, credentialsDirectory: CredentialStore.folder)
            return
        }
        let file = LoginFile(database: context.paths.database)
        do throws(UserFacingError) {
            login = try file.read()
            report =
                login.map {
                    CredentialsReport(kind: .login, path: file.path, expiresAt: AccessToken($0.pair.access)?.expiresAt)
                } ?? CredentialsReport(kind: .none)
        } catch {
            report = CredentialsReport(kind: .notReadable, path: file.path)
        }
    }

    private static func ofKeyFile(_ path: String, credentialsDirectory: String? = nil) -> CredentialsReport {
        do throws(UserFacingError) {
            let text = try KeyFile.read(path: path, credentialsDirectory: credentialsDirectory)
            return CredentialsReport(try Credentials.parse(text), inKeyFile: path)
        } catch {
            return CredentialsReport(kind: .notReadable, path: path)
        }
    }
}
