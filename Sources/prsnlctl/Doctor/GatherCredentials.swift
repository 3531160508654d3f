import Configuration
import Control
import Glibc
import PRSNLClient
import PRSNLCore

/// Looks at the key file and at the stored login, and forgets what is in them.
enum GatherCredentials {
    static func run(_ scene: DoctorScene) -> DoctorCredentials {
        var facts = DoctorCredentials(now: scene.now)
        facts.daemonUser = daemonUser(scene)
        facts.key = key(scene)
        return facts
    }

    /// The owner of the folder that the copy is in.
    private static func daemonUser(_ scene: DoctorScene) -> String? {
        FileLook.status(Folder.containing(scene.database)).status.map { UserDatabase.user($0.st_uid) }
    }

    private static func key(_ scene: DoctorScene) -> DoctorCredentials.File {
        var file = DoctorCredentials.File()
        var credentials: String?
        if let path = scene.loaded.configuration.apiKeyFile {
            file.path = path
        } else {
            // Where systemd puts what LoadCredential= names (systemd.exec(5)).
            let folder = "/run/credentials/\(SystemdUnit.name(scene)).service"
            let path = "\(folder)/api-key"
            let look = FileLook.status(path)
            guard look.status != nil || look.errno == EACCES else { return file }
            file.path = path
            file.isFromSystemd = true
            credentials = folder
            if look.status == nil {
                file.state = .hidden
                return file
            }
        }
        guard let path = file.path else { return file }
        file.owner = FileLook.status(path).status.map { UserDatabase.user($0.st_uid) }
        file.state = state(path, credentials)
        return file
    }

    private static func state(_ path: String, _ credentials: String?) -> DoctorCredentials.State {
        if isHidden(path) { return .hidden }
        do throws(UserFacingError) {
            let text = try KeyFile.read(path: path, credentialsDirectory: credentials)
            switch try Credentials.parse(text) {
            case .none: return .none
            case .apiKey: return .sound(form: "an API key", expires: nil)
            case .loginToken(let token):
                return .sound(form: "a login token", expires: AccessToken(token)?.expiresAt)
            case .login(let pair): return .sound(form: "a login", expires: AccessToken(pair.access)?.expiresAt)
            }
        } catch {
            return .broken(error)
        }
    }

    /// Whether it is this user who may not look, rather than the file that is broken.
    static func isHidden(_ path: String) -> Bool {
        geteuid() != 0 && access(path, R_OK) != 0 && errno == EACCES
    }
}
