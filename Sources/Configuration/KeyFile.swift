import CLinux
import Glibc
public import PRSNLCore

/// The file that holds the API key or the login token.
public enum KeyFile {
    /// Reads the file after checking that nobody else can.
    ///
    /// - Parameter credentialsDirectory: `$CREDENTIALS_DIRECTORY`. systemd protects that folder itself and gives its files
    ///   mode 0400 or, with an access list, 0440 and root's ownership (systemd.exec(5), "CREDENTIALS"); group read is
    ///   accepted there.
    /// - Returns: the content without white space around it, never empty.
    /// - Throws: `key_file_unreadable`, `key_file_exposed`, `key_file_invalid`. No error holds any of the content.
    public static func read(path: String, credentialsDirectory: String? = nil) throws(UserFacingError) -> String {
        let descriptor: Int32
        do throws(SmallFile.Failure) {
            descriptor = try SmallFile.open(path)
        } catch {
            throw unreadable(path, error.reason)
        }
        defer { close(descriptor) }
        try checkMode(descriptor, path, credentialsDirectory)
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
    /// Checks the open file, not the path, so that what is checked is what is read.
    private static func checkMode(
        _ descriptor: Int32, _ path: String, _ credentialsDirectory: String?
    ) throws(UserFacingError) {
        var information = stat()
        guard fstat(descriptor, &information) == 0 else { throw unreadable(path, String(cString: strerror(errno))) }
        guard information.st_mode & S_IFMT == S_IFREG else { throw unreadable(path, "it is not a regular file") }
        let mode = information.st_mode & 0o777
        let isCredential = isInside(path, credentialsDirectory) && [0, geteuid()].contains(information.st_uid)
        let forbidden: mode_t = isCredential ? 0o037 : 0o077
        guard mode & forbidden == 0 else {
            throw UserFacingError(
                .keyFileExposed,
                "The key file \(path) can be read or changed by others (mode 0\(String(mode, radix: 8))).",
                nextCommand: "chmod 600 \(shellQuoted(path))")
        }
    }

    private static func isInside(_ path: String, _ directory: String?) -> Bool {
        guard let directory, directory.hasPrefix("/") else { return false }
        guard path.hasPrefix(directory.hasSuffix("/") ? directory : directory + "/") else { return false }
        return !path.split(separator: "/").contains("..")
    }

    private static func shellQuoted(_ path: String) -> String {
        let isPlain = path.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "/._-+".contains($0)) }
        return isPlain
            ? path
            : "'"
                + path.split(separator: "'", omittingEmptySubsequences: false)
                .joined(separator: "'\\''") + "'"
    }

    private static func unreadable(_ path: String, _ reason: String) -> UserFacingError {
        UserFacingError(.keyFileUnreadable, "The key file \(path) cannot be read: \(reason).")
    }
}
