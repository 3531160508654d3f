/// What a login token says about itself (RFC 7519), as far as a client may use it: only the server can verify it, so these
/// are hints about when to renew it and whose it is, and never a proof.
package struct AccessToken: Sendable, Equatable {
    /// `exp`: from then on the server ignores the token. Whole seconds of the server's clock.
    package let expiresAt: Timestamp?
    /// `iat`, by the server's clock.
    package let issuedAt: Timestamp?
    /// `sub`: whom the server gave it to.
    package let subject: String?

    /// - Returns: `nil` for a text that is not a JWT: three base64url parts, the first a JSON object. Claims that cannot be
    ///   read, or are of another type than RFC 7519 gives them, count as missing.
    package init?(_ text: String) {
        guard text.utf8.count <= TokenPair.longestToken else { return nil }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, !parts[1].isEmpty, Base64URL.decode(parts[2]) != nil,
            let header = Base64URL.decode(parts[0]), let payload = Base64URL.decode(parts[1]),
            Claims.read(header) != nil
        else { return nil }
        let claims = Claims.read(payload)
        expiresAt = claims?.expiresAt
        issuedAt = claims?.issuedAt
        subject = claims?.subject
    }
}

private struct Claims {
    var expiresAt: Timestamp?
    var issuedAt: Timestamp?
    var subject: String?

    /// A subject is compared and stored. Nothing sensible is longer.
    static let longestSubject = 256

    /// `nil` where it is no JSON object.
    static func read(_ bytes: [UInt8]) -> Claims? {
        do {
            return try JSONReader.read(bytes) { reader in
                var claims = Claims()
                try reader.object { name, reader in
                    switch (name, try reader.kind()) {
                    case ("exp", .number): claims.expiresAt = time(try reader.numberText())
                    case ("iat", .number): claims.issuedAt = time(try reader.numberText())
                    case ("sub", .string):
                        let text = try reader.string()
                        claims.subject = text.isEmpty || text.utf8.count > longestSubject ? nil : text
                    default: try reader.skip()
                    }
                }
                try reader.end()
                return claims
            }
        } catch {
            return nil  // not JSON, and so not a token of this form
        }
    }

    /// NumericDate: seconds since 1970, perhaps with a fraction.
    private static func time(_ text: String) -> Timestamp? {
        guard let seconds = Double(text), seconds >= 0, seconds < 100_000_000_000 else { return nil }
        return Timestamp(microseconds: Int64(seconds * 1_000_000))
    }
}
