import Glibc
import PRSNLCore

extension LoadedConfiguration {
    /// Why this user cannot use the file that `ca_file` names: certificates in PEM (RFC 7468). The TLS library says that much
    /// later. `nil` where it can be used, and where there is none.
    package var caFileProblem: ConfigurationProblem? {
        guard let path = configuration.network.caFile else { return nil }
        func problem(_ code: ErrorCode, _ reason: String) -> ConfigurationProblem {
            ConfigurationProblem(code: code, origin: origins["ca_file"] ?? .builtIn, key: "ca_file", reason: reason)
        }
        do throws(SmallFile.Failure) {
            let descriptor = try SmallFile.open(path)
            defer { close(descriptor) }
            let text = String(decoding: try SmallFile.read(descriptor, limit: Self.largestBundle), as: UTF8.self)
            guard !Self.certificateBegins.contains(where: { text.contains($0) }) else { return nil }
            return problem(
                .configInvalid, "cannot be used: \(path) holds no certificate in PEM (-----BEGIN CERTIFICATE-----)")
        } catch {
            return problem(
                .of(errno: error.errno, otherwise: .configInvalid), "cannot be read: \(path): \(error.reason)")
        }
    }

    /// A system's whole bundle has some 250 KB.
    private static let largestBundle = 16 << 20

    /// What OpenSSL takes for a certificate (PEM_read_bio_X509(3)).
    private static let certificateBegins = [
        "-----BEGIN CERTIFICATE-----", "-----BEGIN X509 CERTIFICATE-----", "-----BEGIN TRUSTED CERTIFICATE-----",
    ]
}
