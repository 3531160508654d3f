import Glibc

/// The address of the PRSNL server: scheme, host, port and an optional path prefix.
package struct ServerURL: Sendable, Equatable {
    package enum Scheme: String, Sendable { case http, https }

    package let scheme: Scheme
    /// Without the brackets of an IPv6 address.
    package let host: String
    /// As configured, without slashes at the end.
    package let text: String

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
        self.host = host
        var end = text.endIndex
        while end > authority.endIndex, text[text.index(before: end)] == "/" { end = text.index(before: end) }
        self.text = String(text[..<end])
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

    private static func isIPv6(_ text: String) -> Bool {
        var address = in6_addr()
        return inet_pton(AF_INET6, text, &address) == 1
    }

    /// Whether the traffic stays on this machine: `localhost`, 127.0.0.0/8, ::1. Names that merely look so do not count.
    package var isLoopback: Bool {
        if host.lowercased() == "localhost" { return true }
        var four = in_addr()
        if inet_pton(AF_INET, host, &four) == 1 { return UInt32(bigEndian: four.s_addr) >> 24 == 127 }
        var six = in6_addr()
        guard inet_pton(AF_INET6, host, &six) == 1 else { return false }
        return withUnsafeBytes(of: six) { $0.dropLast().allSatisfy { $0 == 0 } && $0.last == 1 }
    }
}

/// Why a value is not taken, to be read after the key's name: "is not a duration".
package struct Rejection: Error, Sendable, Equatable {
    package let reason: String
    package init(_ reason: String) { self.reason = reason }
}
