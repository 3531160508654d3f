import PRSNLCore

/// A login token in the form of a JWT: three base64url parts, the first a JSON header. The signature is made up.
enum FakeToken {
    /// - Parameter issuedAt: `nil` for a token that does not say, as those of the main server.
    static func make(
        account: DevAccount, kind: String, number: Int, issuedAt: Timestamp?, expiresAt: Timestamp
    ) -> String {
        let header = #"{"alg":"HS256","typ":"JWT"}"#
        let issued = issuedAt.map { #""iat":\#($0.microseconds / 1_000_000),"# } ?? ""
        let claims =
            #"{"sub":"\#(account.id)","email":"\#(account.email)","type":"\#(kind)","jti":\#(number),"#
            + #"\#(issued)"exp":\#(expiresAt.microseconds / 1_000_000)}"#
        let signature = "fake-signature-\(number)-of-the-development-server"
        return [header, claims, signature].map { base64URL(Array($0.utf8)) }.joined(separator: ".")
    }

    /// RFC 4648 section 5, without padding as JWTs have it (RFC 7515 section 2).
    static func base64URL(_ bytes: [UInt8]) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let chunk = bytes[start..<min(start + 3, bytes.count)]
            var word: UInt32 = 0
            for index in 0..<3 { word = word << 8 | UInt32(index < chunk.count ? chunk[start + index] : 0) }
            for index in 0...chunk.count { text.append(alphabet[Int(word >> UInt32(18 - 6 * index) & 63)]) }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
