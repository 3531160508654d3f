import Glibc
package import PRSNLCore

/// The file that holds the API key or the login token.
package enum KeyFile {
    /// Reads the file after checking that no one else can.
    ///
    /// - Parameter credentialsDirectory: `$CREDENTIALS_DIRECTORY`. systemd protects that folder itself and gives its files
    ///   mode 0400 or, with an access list, 0440 and root's ownership (systemd.exec(5), "CREDENTIALS"). Group read is
    ///   accepted there.
    /// - Returns: the content without white space around it, never empty.
    /// - Throws: `key_file_unreadable`, `key_file_exposed`, `key_file_invalid`. No error holds any of the content.
    package static func read(path: String, credentialsDirectory: String? = nil) throws(UserFacingError) -> String {
        let descriptor: Int32
        do throws(SmallFile.Failure) {
            descriptor = try SmallFile.open(path)
        } catch {
            throw unreadable(path, error.reason, errno: error.errno)
        }
        defer { close(descriptor) }
        try SecretFile.check(descriptor, "The key file", path, unreadable: { unreadable(path, $0) }) { information in
            let isCredential = isInside(path, credentialsDirectory) && [0, geteuid()].contains(information.st_uid)
            return isCredential ? 0o037 : 0o077
        }
        let bytes: [UInt8]
        do throws(SmallFile.Failure) {
            bytes = try SmallFile.read(descriptor, limit: 64 << 10)
        } catch {
            throw unreadable(path, error.reason)
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw UserFacingError(.keyFileInvalid, "The key file \(path) is not text.")
        }
        let key = text[...].trimmed
        guard !key.isEmpty else { throw UserFacingError(.keyFileInvalid, "The key file \(path) is empty.") }
        return key
    }

    private static func isInside(_ path: String, _ directory: String?) -> Bool {
        guard let directory, directory.hasPrefix("/") else { return false }
        guard path.hasPrefix(directory.hasSuffix("/") ? directory : directory + "/") else { return false }
        return !path.split(separator: "/").contains("..")
    }

    private static func unreadable(_ path: String, _ reason: String, errno: Int32 = 0) -> UserFacingError {
        UserFacingError(
            .of(errno: errno, otherwise: .keyFileUnreadable), "The key file \(path) cannot be read: \(reason).")
    }
}

/// Files that only their owner may read.
enum SecretFile {
    /// Checks the open file, not the path, so that what is checked is what is read.
    ///
    /// - Parameters:
    ///   - name: "The key file".
    ///   - unreadable: makes the error of a reason.
    ///   - forbidden: mode bits. By default all of group and others.
    /// - Throws: `key_file_exposed`; what `unreadable` makes.
    static func check(
        _ descriptor: Int32, _ name: String, _ path: String, unreadable: (String) -> UserFacingError,
        forbidden: (stat) -> mode_t = { _ in 0o077 }
    ) throws(UserFacingError) {
        var information = stat()
        guard fstat(descriptor, &information) == 0 else { throw unreadable(String(cString: strerror(errno))) }
        guard information.st_mode & S_IFMT == S_IFREG else { throw unreadable("it is not a regular file") }
        let mode = information.st_mode & 0o777
        guard mode & forbidden(information) != 0 else { return }
        throw UserFacingError(
            .keyFileExposed,
            "\(name) \(path) can be read or changed by others (mode 0\(String(mode, radix: 8))).",
            nextCommand: "chmod 600 \(path)")
    }
}

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
