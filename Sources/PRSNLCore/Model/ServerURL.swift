import Glibc

/// The address of a PRSNL server: scheme, host, port and an optional path prefix.
package struct ServerURL: Sendable, Equatable {
    package enum Scheme: String, Sendable { case http, https }

    package let scheme: Scheme
    /// In lower case, without the brackets of an IPv6 address. An IPv4 address has four decimal parts, as libcurl writes it.
    package let host: String
    package let port: Int
    /// Without a slash at the end; empty for the root.
    package let path: String
    /// As configured, without slashes at the end.
    package let text: String

    /// What another parser has made of an address.
    package init(scheme: Scheme, host: String, port: Int, path: String) {
        self.scheme = scheme
        self.host = Self.normal(host)
        self.port = port
        self.path = Self.trimmed(path)
        text = Self.origin(scheme, self.host, port) + self.path
    }

    /// Reads what the owner wrote.
    ///
    /// - Throws: `Rejection`, saying what is wrong and what is allowed.
    package init(_ text: String) throws(Rejection) {
        func reject(_ reason: String) -> Rejection { Rejection("\(reason); write it like https://prsnl.example.org") }
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") }) else {
            throw reject(
                "is not an address: only printable ASCII is allowed (percent-encode the path, use xn-- for the host)")
        }
        guard let colon = text.firstRange(of: "://") else { throw reject("has no http:// or https:// in front") }
        guard let scheme = Scheme(rawValue: text[..<colon.lowerBound].lowercased()) else {
            throw reject("must begin with http:// or https://")
        }
        let afterScheme = text[colon.upperBound...]
        // The whole value is never repeated in an error: what stands before an @ may be a password.
        guard !afterScheme.contains("@") else {
            throw reject("must not contain a user name or a password: credentials go into api_key_file")
        }
        guard !afterScheme.contains("?") else { throw reject("must not contain a query (?)") }
        guard !afterScheme.contains("#") else { throw reject("must not contain a fragment (#)") }
        let authority = afterScheme.prefix { $0 != "/" }
        let (host, port) = try Self.split(authority)
        if let port {
            guard let number = Int(port), (1...65_535).contains(number), port.allSatisfy(\.isNumber) else {
                throw reject("has a port that is not a number from 1 to 65535")
            }
        }
        self.scheme = scheme
        self.host = Self.normal(host)
        self.port = port.flatMap { Int($0) } ?? Self.defaultPort(scheme)
        path = Self.trimmed(String(afterScheme[authority.endIndex...]))
        self.text = String(text[..<authority.endIndex]) + path
    }

    private static func split(_ authority: Substring) throws(Rejection) -> (host: String, port: Substring?) {
        let host: Substring
        let rest: Substring
        if authority.first == "[" {
            guard let bracket = authority.firstIndex(of: "]"),
                isIPv6(String(authority.dropFirst().prefix { $0 != "]" }))
            else { throw Rejection("has a bad IPv6 address in brackets") }
            host = authority[authority.index(after: authority.startIndex)..<bracket]
            rest = authority[authority.index(after: bracket)...]
        } else {
            host = authority.prefix { $0 != ":" }
            rest = authority[host.endIndex...]
            guard !host.isEmpty, host.allSatisfy({ $0.isLetter || $0.isNumber || "-._".contains($0) }) else {
                throw Rejection("has no valid host name")
            }
        }
        if rest.isEmpty { return (String(host), nil) }
        guard rest.first == ":" else { throw Rejection("has no valid host name") }
        return (String(host), rest.dropFirst())
    }

    private static func trimmed(_ path: String) -> String {
        var path = path[...]
        while path.hasSuffix("/") { path.removeLast() }
        return String(path)
    }

    /// inet_aton(3) reads the spellings that libcurl reads: `127.1`, `0x7f000001`.
    private static func normal(_ host: String) -> String {
        let host = host.lowercased()
        var address = in_addr()
        guard inet_aton(host, &address) == 1 else { return host }
        return withUnsafeBytes(of: address) { $0.map { String($0) }.joined(separator: ".") }
    }

    private static func isIPv6(_ text: String) -> Bool { addressBytes(text)?.count == 16 }

    /// The 4 or 16 bytes of an IP address in its usual notation (inet_pton(3)). `nil` for a name, and for an address with a zone.
    package static func addressBytes(_ text: String) -> [UInt8]? {
        let isIPv6 = text.contains(":")
        var bytes = [UInt8](repeating: 0, count: isIPv6 ? 16 : 4)
        return inet_pton(isIPv6 ? AF_INET6 : AF_INET, text, &bytes) == 1 ? bytes : nil
    }

    package var isLoopback: Bool { Self.isLoopback(host) }

    /// Whether what is sent to the host stays on this machine: `localhost`, 127.0.0.0/8, ::1. Names below `localhost` do not
    /// count, because not every resolver keeps them here (RFC 6761, section 6.3, is a "should").
    ///
    /// - Parameter host: as in `ServerURL.host`.
    package static func isLoopback(_ host: String) -> Bool {
        if host == "localhost" { return true }
        guard let bytes = addressBytes(host) else { return false }
        return bytes.count == 4 ? bytes[0] == 127 : bytes.dropLast().allSatisfy { $0 == 0 } && bytes.last == 1
    }

    /// Scheme, host, and the port where it is not the scheme's own.
    package var origin: String { Self.origin(scheme, host, port) }

    /// What requests are appended to.
    package var base: String { origin + path }

    private static func origin(_ scheme: Scheme, _ host: String, _ port: Int) -> String {
        let name = host.contains(":") ? "[\(host)]" : host
        return "\(scheme.rawValue)://\(name)\(port == defaultPort(scheme) ? "" : ":\(port)")"
    }

    private static func defaultPort(_ scheme: Scheme) -> Int { scheme == .https ? 443 : 80 }
}

/// Why a value is not taken, to be read after the key's name: "is not a duration".
package struct Rejection: Error, Sendable, Equatable {
    package let reason: String
    package init(_ reason: String) { self.reason = reason }
}
