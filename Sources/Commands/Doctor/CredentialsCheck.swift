import Console
import PRSNLCore

/// The files that hold secrets. Nothing here ever holds one of them.
struct CredentialsCheck: Check {
    static let group = DoctorReport.Group.credentials
    static let name = "key_file"

    var key: CredentialFile?
    var login: CredentialFile?
    /// Who has to read them; `nil` where that is not known.
    var daemonUser: String?
    var now: Timestamp
    /// How long before its end a login is reported.
    static let notice: Duration = .seconds(86_400)

    @Findings var findings: [Finding] {
        if let key {
            judge(key, "key_file", "A token that was put there manually is not renewed: \(removalOfKey), and log in.")
        }
        if let login {
            judge(login, "login", "Log in again before it ends, or start the daemon, which renews it.")
        }
        if key == nil, login == nil {
            warning(
                "login", "neither a login nor an API key: nothing is pulled, unless `anonymous = yes` is set",
                next: "sudo prsnlctl login")
        }
        // This user cannot see what is in a hidden file.
        if let key, let login, key.state != .hidden, login.state != .hidden {
            warning(
                "login", "there are both an API key and a login; the daemon uses the key",
                "Either \(removalOfKey), or log out.", next: "prsnlctl logout")
        }
    }

    private var removalOfKey: String {
        key?.isFromSystemd == true
            ? "remove the key from /etc/credstore and restart the daemon" : "take api_key_file out of the configuration"
    }

    private func judge(_ file: CredentialFile, _ check: String, _ advice: Advice) -> Finding {
        switch file.state {
        case .hidden: return notChecked(check, "\(file.path) may only be read by the daemon's user and root")
        case .broken(let error): return failed(check, error)
        case .sound: break
        }
        if let daemonUser, let owner = file.owner, owner != daemonUser, !file.isFromSystemd {
            return failed(
                check, "\(file.path) belongs to \(owner): the daemon, which is \(daemonUser), cannot read it",
                next: "sudo chown \(daemonUser) \(file.path)")
        }
        let text = "\(file.report.kind.words) in \(file.path)"
        guard let expires = file.report.expiresAt else { return ok(check, text) }
        let left = expires.duration(since: now)
        guard left > .zero else {
            let found = "\(text) has expired (\(Formatting.time(expires)))"
            return failed(check, found, "Log in again.", next: "sudo prsnlctl login")
        }
        let found = "\(text), for another \(Formatting.duration(left))"
        return left > Self.notice ? ok(check, found) : warning(check, found, advice, next: "sudo prsnlctl login")
    }

    /// Looks at the key file and at the stored login, and forgets what is in them.
    static func gather(_ scene: DoctorScene) -> Self {
        let configuration = scene.context.loaded.configuration
        // The owner of the folder that the copy is in.
        let owner = FileStatus.owner(Descriptors.folder(of: scene.database))
        var facts = Self(daemonUser: owner.map(UserDatabase.user), now: scene.now)
        if let used = scene.credentials, configuration.apiKeyFile == nil, [.apiKey, .loginToken].contains(used.kind) {
            // What the daemon says that it uses.
            facts.key = CredentialFile(report: used, isFromSystemd: true)
        } else {
            facts.key = CredentialFile.key(configuration, scene.unit)
        }
        var login = CredentialFile.login(scene.database, for: configuration.serverURL)
        // The access token is renewed all the time. The login ends with the refresh token.
        let end = login?.endsAt
        login?.report.expiresAt = end
        facts.login = login
        return facts
    }
}
