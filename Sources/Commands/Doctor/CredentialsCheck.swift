import Configuration
import Console
import Glibc
import PRSNLClient
import PRSNLCore

/// The files that hold secrets. Nothing here ever holds one of them.
struct CredentialsCheck: Check, Equatable {
    static let group = DoctorReport.Group.credentials
    static let name = "key_file"

    enum State: Sendable, Equatable {
        /// None is configured, or there is no file.
        case none
        /// This user may not look: as it should be for anybody but the daemon's user and root.
        case hidden
        case broken(UserFacingError)
        /// - Parameters:
        ///   - form: "an API key".
        ///   - expires: when it expires. `nil` where it does not say.
        case sound(form: String, expires: Timestamp?)
    }

    struct File: Sendable, Equatable {
        var path: String?
        var state = State.none
        /// Whose it is, by name; `nil` where that is not known.
        var owner: String?
        /// Handed over by systemd, which makes it readable for the daemon itself.
        var isFromSystemd = false
    }

    var key = File()
    var login = File()
    /// Who has to read them; `nil` where that is not known.
    var daemonUser: String?
    var now: Timestamp
    /// How long before its end a login is reported.
    static let notice: Duration = .seconds(86_400)

    @Findings var findings: [DoctorReport.Finding] {
        judge(key, "key_file", "A token that was put there by hand is not renewed: \(removalOfKey), and log in.")
        judge(login, "login", "Log in again before it ends, or start the daemon, which renews it.")
        if key.state == .none, login.state == .none {
            warning(
                "login", "neither a login nor an API key: nothing is pulled, unless `anonymous = yes` is set",
                next: "sudo prsnlctl login")
        }
        if key.isThere, login.isThere {
            warning(
                "login", "there are both an API key and a login; the daemon uses the key",
                "Either \(removalOfKey), or log out.", next: "prsnlctl logout")
        }
    }

    private var removalOfKey: String {
        key.isFromSystemd
            ? "remove the key from /etc/credstore and restart the daemon" : "take api_key_file out of the configuration"
    }

    @Findings private func judge(_ file: File, _ check: String, _ advice: Advice) -> [DoctorReport.Finding] {
        let path = file.path ?? "?"
        switch file.state {
        case .none: [DoctorReport.Finding]()
        case .hidden: notChecked(check, "\(path) may only be read by the daemon's user and root")
        case .broken(let error): failed(check, error)
        case .sound(let form, let expires):
            let left = expires?.duration(since: now)
            if let daemonUser, let owner = file.owner, owner != daemonUser, !file.isFromSystemd {
                failed(
                    check, "\(path) belongs to \(owner): the daemon, which is \(daemonUser), cannot read it",
                    next: "sudo chown \(daemonUser) \(path)")
            } else if let expires, let left {
                let text = "\(form) in \(path), for another \(Formatting.duration(left))"
                if left <= .zero {
                    failed(
                        check, "\(form) in \(path) has expired (\(Formatting.time(expires)))", "Log in again.",
                        next: "sudo prsnlctl login")
                } else if left > Self.notice {
                    ok(check, text)
                } else {
                    warning(check, text, advice, next: "sudo prsnlctl login")
                }
            } else {
                ok(check, "\(form) in \(path)")
            }
        }
    }
}

extension CredentialsCheck.File {
    fileprivate var isThere: Bool {
        switch state {
        // This user cannot see what is in a hidden file.
        case .none, .hidden: false
        case .broken, .sound: true
        }
    }
}

// MARK: Reading

extension CredentialsCheck {
    /// Looks at the key file and at the stored login, and forgets what is in them.
    init(_ scene: DoctorScene) {
        self.init(now: scene.now)
        // The owner of the folder that the copy is in.
        let folder = FileStatus.status(Descriptors.folder(of: scene.database))
        daemonUser = folder.status.map { UserDatabase.user($0.st_uid) }
        key = Self.key(scene)
        login = Self.login(scene)
    }

    private static func key(_ scene: DoctorScene) -> File {
        var file = File()
        if let path = scene.loaded.configuration.apiKeyFile {
            file.path = path
            file.owner = FileStatus.status(path).status.map { UserDatabase.user($0.st_uid) }
            file.state = state(path, nil)
            return file
        }
        file.isFromSystemd = true
        // What the daemon says that it uses.
        if let used = scene.credentials, used.kind == .apiKey || used.kind == .loginToken {
            file.path = used.path
            let form = used.kind == .apiKey ? "an API key" : "a login token"
            file.state = .sound(form: form, expires: used.expiresAt)
            return file
        }
        guard case .system(let name) = scene.unit.kind else { return file }
        // What systemd hands to it, or would at the next start (LoadCredential= in systemd.exec(5)).
        let handed = "/run/credentials/\(name).service/\(DefaultPaths.credentialName)"
        let look = FileStatus.status(handed)
        let key = look.status == nil ? scene.unit.nameForCredentials.flatMap(CredentialStore.key(ofUnit:)) : nil
        if let key, key.isEncrypted {
            file.path = key.path
            file.state = .sound(form: "an API key, encrypted,", expires: nil)
        } else if let path = key?.path ?? look.status.map({ _ in handed }) {
            file.path = path
            file.state = state(path, Descriptors.folder(of: path))
        } else if look.errno == EACCES, scene.credentials == nil {
            // The folder is there with and without a key.
            file.path = handed
            file.state = .hidden
        }
        return file
    }

    private static func state(_ path: String, _ credentials: String?) -> State {
        if FileStatus.isHidden(path) { return .hidden }
        if let owner = FileStatus.foreignLink(path) { return .broken(linked(path, owner)) }
        do throws(UserFacingError) {
            let text = try KeyFile.read(path: path, credentialsDirectory: credentials)
            switch try Credentials.parse(text) {
            case .none: return .none
            case .apiKey: return .sound(form: "an API key", expires: nil)
            case .loginToken(let token): return .sound(form: "a login token", expires: AccessToken(token)?.expiresAt)
            case .login: return .sound(form: "a login", expires: nil)
            }
        } catch {
            return .broken(error)
        }
    }

    private static func linked(_ path: String, _ owner: uid_t) -> UserFacingError {
        UserFacingError(
            .databaseLinked,
            "\(path) is a symbolic link that \(UserDatabase.user(owner)) has made, and root does not follow it.",
            recoverySuggestion: "Find out why it is there, and what it leads to.")
    }

    private static func login(_ scene: DoctorScene) -> File {
        var file = File()
        let stored = LoginFile(database: scene.database)
        file.path = stored.path
        let look = FileStatus.status(stored.path)
        guard let status = look.status else {
            if look.errno == EACCES { file.state = .hidden }
            return file
        }
        file.owner = UserDatabase.user(status.st_uid)
        if FileStatus.isHidden(stored.path) {
            file.state = .hidden
            return file
        }
        do throws(UserFacingError) {
            guard let login = try stored.read() else { return file }
            if let server = scene.loaded.configuration.serverURL { try login.check(isFor: server) }
            // The access token is renewed all the time. The login ends with the refresh token.
            file.state = .sound(form: "a login", expires: AccessToken(login.pair.refresh)?.expiresAt)
        } catch {
            file.state = .broken(error)
        }
        return file
    }
}
