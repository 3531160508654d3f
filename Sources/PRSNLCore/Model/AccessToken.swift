/// What a login token says about itself (RFC 7519), as far as a client may use it: only the server can verify it, so these
/// are hints about when to renew it and whose it is, and never a proof.
package struct AccessToken: Sendable, Equatable {
    /// `exp`: from then on the server ignores the token. Whole seconds of the server's clock.
    package private(set) var expiresAt: Timestamp?
    /// `iat`, by the server's clock.
    package private(set) var issuedAt: Timestamp?
    /// `sub`: whom the server gave it to.
    package private(set) var subject: String?

    /// A subject is compared and stored. Nothing sensible is longer.
    private static let longestSubject = 256

    private init() {}

    /// - Returns: `nil` for a text that is not a JWT: three base64url parts, the first a JSON object. Claims that cannot be
    ///   read, or are of another type than RFC 7519 gives them, count as missing.
    package init?(_ text: String) {
        guard text.utf8.count <= TokenPair.longestToken else { return nil }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, !parts[1].isEmpty, Base64URL.decode(parts[2]) != nil,
            let header = Base64URL.decode(parts[0]), let payload = Base64URL.decode(parts[1]),
            Self.claims(header) != nil
        else { return nil }
        self = Self.claims(payload) ?? AccessToken()
    }

    /// `nil` where it is no JSON object.
    private static func claims(_ bytes: [UInt8]) -> AccessToken? {
        do {
            return try JSONReader.read(whole: bytes) { reader in
                var claims = AccessToken()
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

/// RFC 4648 section 5, without padding.
package enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// - Returns: `nil` for anything else than its characters, and for a length that it never has.
    package static func decode(_ text: Substring) -> [UInt8]? {
        var bytes: [UInt8] = []
        var bits: UInt32 = 0
        var count = 0
        for byte in text.utf8 {
            guard let value = alphabet.firstIndex(of: byte) else { return nil }
            bits = bits << 6 | UInt32(value)
            count += 6
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
            }
        }
        return count == 6 ? nil : bytes  // a single character over is no byte
    }
}

/// The two tokens of a login: the access token goes with requests, the refresh token buys the next pair, once.
///
/// Nothing that prints values shows them: not interpolation, not `dump`, not a debugger's mirror.
package struct TokenPair: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable
{
    package let access: String
    package let refresh: String
    /// How long the access token lives, in whole seconds: what was left of it by the server's clock when it came. `nil` where
    /// that is not known. The main server's tokens say only when they end.
    package private(set) var life: Duration?

    /// Characters of one token. Those of today's servers have some hundred. HTTP servers refuse header lines of 8 KiB.
    static let longestToken = 8_192

    /// - Returns: `nil` where a token is empty, too long, or could end the header line that it stands in.
    package init?(access: String, refresh: String, life: Duration? = nil) {
        let isToken: (String) -> Bool = { text in
            !text.isEmpty && text.utf8.count <= Self.longestToken && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
        }
        guard isToken(access), isToken(refresh) else { return nil }
        self.access = access
        self.refresh = refresh
        setLife(life)
    }

    /// A life that the login file could not say counts as not known: a stored pair must be read as the same.
    package mutating func setLife(_ life: Duration?) {
        let seconds = life?.components.seconds ?? 0
        self.life = (1...Int64(Int32.max)).contains(seconds) ? .seconds(seconds) : nil
    }

    package var description: String { "a token pair" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: [], displayStyle: .struct) }
}
