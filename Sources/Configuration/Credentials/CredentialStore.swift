import Glibc

/// Where systemd finds the API key that it hands to the daemon at a start: `LoadCredential=api-key:UNIT.api-key`, looked for
/// in folders that are root's alone (systemd.exec(5)).
package enum CredentialStore {
    package struct Key: Sendable {
        package let path: String
        /// Only systemd can read it (systemd-creds(1)).
        package let isEncrypted: Bool
    }

    package static let folder = "/etc/credstore"

    /// - Parameter unit: `prsnld`, or `prsnld@NAME`.
    /// - Returns: `nil` where there is none, and where this user may not look.
    package static func key(ofUnit unit: String) -> Key? {
        [(folder, false), ("\(folder).encrypted", true)].lazy
            .map { Key(path: "\($0)/\(unit).api-key", isEncrypted: $1) }
            .first { access($0.path, F_OK) == 0 }
    }
}
