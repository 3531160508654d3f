import Control
import Glibc

/// Where systemd finds the API key that it hands to the daemon at a start: `LoadCredential=api-key:UNIT.api-key`, looked for
/// in folders that are root's alone (systemd.exec(5)).
enum CredentialStore {
    struct Key {
        let path: String
        /// Only systemd can read it (systemd-creds(1)).
        let isEncrypted: Bool
    }

    static let folder = "/etc/credstore"

    /// `nil` where there is none, where this user may not look, and for daemons that systemd hands nothing to.
    static func key(for unit: ServiceUnit) -> Key? {
        // With a database of its own choosing it is about a file, not about the unit.
        guard case .system(let name) = unit.kind, !unit.options.contains("--database") else { return nil }
        return [(folder, false), ("\(folder).encrypted", true)].lazy
            .map { Key(path: "\($0)/\(name).api-key", isEncrypted: $1) }
            .first { access($0.path, F_OK) == 0 }
    }
}
