import Glibc
import PRSNLCore

/// The file that `ca_file` names: certificates in PEM (RFC 7468), as the TLS library reads it, which says much later that it
/// cannot.
enum CertificateFile {
    /// A system's whole bundle has some 250 KB.
    private static let maximumSize = 16 << 20

    /// - Returns: why it holds no usable certificate, to be read after the key; `nil` where one can.
    static func problem(_ path: String) -> (code: ErrorCode, reason: String)? {
        do throws(SmallFile.Failure) {
            let descriptor = try SmallFile.open(path)
            defer { close(descriptor) }
            let reason = problem(in: try SmallFile.read(descriptor, limit: maximumSize))
            return reason.map { (.configInvalid, "cannot be used: \(path) \($0)") }
        } catch {
            return (
                .of(errno: error.errno, otherwise: .configInvalid), "cannot be read: \(path): \(error.reason)"
            )
        }
    }

    static func problem(in bytes: [UInt8]) -> String? {
        /// Of the certificate that is being read: the base64 of its lines.
        var content: String?
        var count = 0
        for line in bytes.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
            let text = String(decoding: line, as: UTF8.self)[...].trimmed
            if begins.contains(text) {
                guard content == nil else { break }
                content = ""
            } else if text.hasPrefix("-----END "), let whole = content {
                count += 1
                guard isSequence(whole) else { return "is damaged: certificate \(count) cannot be parsed" }
                content = nil
            } else if content != nil {
                content?.append(text)
            }
        }
        if content != nil { return "is damaged: certificate \(count + 1) has no end" }
        return count == 0 ? "holds no certificate in PEM (-----BEGIN CERTIFICATE-----)" : nil
    }

    /// What OpenSSL takes for a certificate (PEM_read_bio_X509(3)).
    private static let begins: Set<String> = [
        "-----BEGIN CERTIFICATE-----", "-----BEGIN X509 CERTIFICATE-----", "-----BEGIN TRUSTED CERTIFICATE-----",
    ]

    /// Whether it is base64, and in it a whole DER SEQUENCE, which a certificate is (RFC 5280, section 4.1). That of a
    /// trusted certificate is followed by another one.
    private static func isSequence(_ base64: String) -> Bool {
        var digits = base64.replacing("+", with: "-").replacing("/", with: "_")
        while digits.last == "=" { digits.removeLast() }
        guard let bytes = Base64URL.decode(digits[...]), bytes.count > 2, bytes[0] == 0x30 else { return false }
        let first = Int(bytes[1])
        guard first >= 0x80 else { return bytes.count >= 2 + first }
        let length = bytes.dropFirst(2).prefix(first - 0x80)
        guard (1...4).contains(first - 0x80), length.count == first - 0x80 else { return false }
        return bytes.count >= 2 + length.count + length.reduce(0) { $0 << 8 | Int($1) }
    }
}

extension LoadedConfiguration {
    /// Why the file of `ca_file` cannot be used by this user. `nil` where it can, and where there is none.
    package var caFileProblem: ConfigurationProblem? {
        guard let path = configuration.network.caFile, let problem = CertificateFile.problem(path) else { return nil }
        return ConfigurationProblem(
            code: problem.code, origin: origins["ca_file"] ?? .builtIn, key: "ca_file", reason: problem.reason)
    }
}
