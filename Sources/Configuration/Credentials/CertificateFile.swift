import Glibc
import PRSNLCore

/// The file that `ca_file` names: certificates in PEM (RFC 7468). The TLS library says much later that it cannot read it.
enum CertificateFile {
    /// A system's whole bundle has some 250 KB.
    private static let maximumSize = 16 << 20

    /// - Returns: why it holds no certificate, to be read after the key; `nil` where it has one.
    static func problem(_ path: String) -> (code: ErrorCode, reason: String)? {
        do throws(SmallFile.Failure) {
            let descriptor = try SmallFile.open(path)
            defer { close(descriptor) }
            let text = String(decoding: try SmallFile.read(descriptor, limit: maximumSize), as: UTF8.self)
            guard !begins.contains(where: { text.contains($0) }) else { return nil }
            return (
                .configInvalid,
                "cannot be used: \(path) holds no certificate in PEM (-----BEGIN CERTIFICATE-----)"
            )
        } catch {
            return (
                .of(errno: error.errno, otherwise: .configInvalid), "cannot be read: \(path): \(error.reason)"
            )
        }
    }

    /// What OpenSSL takes for a certificate (PEM_read_bio_X509(3)).
    private static let begins = [
        "-----BEGIN CERTIFICATE-----", "-----BEGIN X509 CERTIFICATE-----", "-----BEGIN TRUSTED CERTIFICATE-----",
    ]
}

extension LoadedConfiguration {
    /// Why the file of `ca_file` cannot be used by this user. `nil` where it can, and where there is none.
    package var caFileProblem: ConfigurationProblem? {
        guard let path = configuration.network.caFile, let problem = CertificateFile.problem(path) else { return nil }
        return ConfigurationProblem(
            code: problem.code, origin: origins["ca_file"] ?? .builtIn, key: "ca_file", reason: problem.reason)
    }
}
