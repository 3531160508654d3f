import Configuration
import Control
import Glibc
import PRSNLClient
import PRSNLCore
import Store

/// Looks at the key file and at the stored login, and forgets what is in them.
enum GatherCredentials {
    static func run(_ scene: DoctorScene) -> DoctorCredentials {
        var facts = DoctorCredentials(now: scene.now)
        facts.daemonUser = daemonUser(scene)
        facts.key = key(scene)
        facts.login = login(scene)
        return facts
    }

    /// The owner of the folder that the copy is in.
    private static func daemonUser(_ scene: DoctorScene) -> String? {
        FileLook.status(Folder.containing(scene.database)).status.map { UserDatabase.user($0.st_uid) }
    }

    private static func key(_ scene: DoctorScene) -> DoctorCredentials.File {
        var file = DoctorCredentials.File()
        if let path = scene.loaded.configuration.apiKeyFile {
            file.path = path
            file.owner = FileLook.status(path).status.map { UserDatabase.user($0.st_uid) }
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
        let look = FileLook.status(handed)
        let key = look.status == nil ? scene.unit.nameForCredentials.flatMap(CredentialStore.key(ofUnit:)) : nil
        if let key, key.isEncrypted {
            file.path = key.path
            file.state = .sound(form: "an API key, encrypted,", expires: nil)
        } else if let path = key?.path ?? look.status.map({ _ in handed }) {
            file.path = path
            file.state = state(path, Folder.containing(path))
        } else if look.errno == EACCES, scene.credentials == nil {
            // The folder is there with and without a key.
            file.path = handed
            file.state = .hidden
        }
        return file
    }

    private static func state(_ path: String, _ credentials: String?) -> DoctorCredentials.State {
        if FileLook.isHidden(path) { return .hidden }
        if let owner = FileLook.foreignLink(path) { return .broken(linked(path, owner)) }
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

    private static func login(_ scene: DoctorScene) -> DoctorCredentials.File {
        var file = DoctorCredentials.File()
        let stored = LoginFile(database: scene.database)
        file.path = stored.path
        let look = FileLook.status(stored.path)
        guard let status = look.status else {
            if look.errno == EACCES { file.state = .hidden }
            return file
        }
        file.owner = UserDatabase.user(status.st_uid)
        if FileLook.isHidden(stored.path) {
            file.state = .hidden
            return file
        }
        do throws(UserFacingError) {
            // With its owner's rights: a link beside the copy must not lead root elsewhere.
            let login = try FolderOwner.run(beside: scene.database) { path throws(UserFacingError) in
                try LoginFile(database: path).read()
            }
            guard let login else { return file }
            if let server = scene.loaded.configuration.serverURL { try login.check(isFor: server) }
            // The access token is renewed all the time; the login ends with the other one.
            file.state = .sound(form: "a login", expires: AccessToken(login.pair.refresh)?.expiresAt)
        } catch {
            file.state = .broken(error)
        }
        return file
    }
}
