public import PRSNLCore

/// What the daemon shows to the server to be let in.
public enum Credentials: Sendable, Equatable {
    case none
    /// Sent as `X-API-Key`, and only where that is answered 401, once as `Authorization: Bearer`.
    case apiKey(String)
    /// A JWT, sent as `Authorization: Bearer`.
    case loginToken(String)

    /// Reads the text of a key file: one line with an API key or a login token, told apart by form.
    ///
    /// - Throws: `key_file_invalid`. The text never appears in the error.
    public static func parse(_ text: String) throws(UserFacingError) -> Credentials {
        let lines = text.split(whereSeparator: \.isNewline).map { String($0).trimmingSpaces() }.filter { !$0.isEmpty }
        guard let key = lines.first else { throw UserFacingError(.keyFileInvalid, "The key file is empty.") }
        guard lines.count == 1 else {
            throw UserFacingError(.keyFileInvalid, "The key file has more than one line with text.")
        }
        // It goes into a header line: nothing that could end the line, and nothing that a proxy would change.
        guard key.utf8.count <= 8_192, key.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw UserFacingError(
                .keyFileInvalid,
                "The key file holds a space, a character that is not ASCII, or more than 8,192 characters.")
        }
        return isLoginToken(key) ? .loginToken(key) : .apiKey(key)
    }

    /// Why these credentials cannot be used with a server of that dialect, if they cannot: the cursor dialect takes an API
    /// key for nobody's, and shows everybody's items.
    public func refusal(for dialect: Dialect) -> UserFacingError? {
        switch (self, dialect) {
        case (.apiKey, .cursor):
            UserFacingError(
                .needsLogin, "This server needs a login: it does not accept API keys.",
                consequence: "Nothing was written to the copy.")
        case (.none, _), (.loginToken, _), (.apiKey, .page), (.apiKey, .express): nil
        }
    }

    /// RFC 7519: three base64url parts, of which the first is the JSON header.
    private static func isLoginToken(_ key: String) -> Bool {
        let parts = key.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, parts.allSatisfy({ Base64URL.decode($0) != nil }), !parts[0].isEmpty,
            !parts[1].isEmpty, let header = Base64URL.decode(parts[0])
        else { return false }
        do {
            if case .object = try JSONValue.parse(header) { return true }
        } catch {
            return false  // not JSON: an API key that happens to have two dots
        }
        return false
    }
}

/// RFC 4648 section 5, without padding.
enum Base64URL {
    static func decode(_ text: Substring) -> [UInt8]? {
        var bytes: [UInt8] = []
        var bits: UInt32 = 0
        var count = 0
        for byte in text.utf8 {
            let value: UInt32
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = UInt32(byte) - 65
            case UInt8(ascii: "a")...UInt8(ascii: "z"): value = UInt32(byte) - 71
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = UInt32(byte) + 4
            case UInt8(ascii: "-"): value = 62
            case UInt8(ascii: "_"): value = 63
            default: return nil
            }
            bits = bits << 6 | value
            count += 6
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
            }
        }
        return count == 6 ? nil : bytes  // a single character over is no byte
    }
}

extension Credentials {
    /// The text that must appear in no error and no log line.
    var secret: String? {
        switch self {
        case .none: nil
        case .apiKey(let text), .loginToken(let text): text
        }
    }
}
