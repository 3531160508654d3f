import Configuration
import Glibc
import PRSNLClient
import PRSNLCore
import Reports

/// What a stopped daemon would show to the server at its next start, as far as this user may know.
struct StoredCredentials {
    let report: CredentialsReport
    /// Where it is a login.
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
            let token = login.flatMap { AccessToken($0.pair.access) }
            report =
                login == nil
                ? CredentialsReport(kind: .none)
                : CredentialsReport(kind: .login, path: file.path, expiresAt: token?.expiresAt)
        } catch {
            report = CredentialsReport(kind: .notReadable, path: file.path)
        }
    }

    private static func ofKeyFile(_ path: String, credentialsDirectory: String? = nil) -> CredentialsReport {
        do throws(UserFacingError) {
            switch try Credentials.parse(try KeyFile.read(path: path, credentialsDirectory: credentialsDirectory)) {
            case .loginToken(let token):
                return CredentialsReport(kind: .loginToken, path: path, expiresAt: AccessToken(token)?.expiresAt)
            case .none, .apiKey, .login: return CredentialsReport(kind: .apiKey, path: path)
            }
        } catch {
            return CredentialsReport(kind: .notReadable, path: path)
        }
    }
}
