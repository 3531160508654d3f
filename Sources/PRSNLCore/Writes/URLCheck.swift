/// The URL of a capture: what a browser's address bar holds. Letters beyond ASCII are allowed (RFC 3987), as the server
/// takes the text as it is.
package enum URLCheck {
    /// The host of an address of any scheme, an IPv6 one without its brackets; `nil` where it has none.
    package static func host(of url: String) -> String? {
        guard let scheme = url.firstRange(of: "://") else { return nil }
        let authority = authority(url.utf8[scheme.upperBound...])
        guard let end = hostEnd(authority), end > authority.startIndex else { return nil }
        return String(Substring(authority[..<end]).filter { $0 != "[" && $0 != "]" })
    }

    /// Behind a user's name, and up to a path, a query or a fragment.
    private static func authority(_ rest: Substring.UTF8View) -> Substring.UTF8View {
        let authority = rest.prefix {
            $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") && $0 != UInt8(ascii: "\\")
        }
        return authority.lastIndex(of: UInt8(ascii: "@")).map { authority[authority.index(after: $0)...] } ?? authority
    }

    /// What two addresses of one page have in common: scheme and host are the same in either case, the scheme's own port is
    /// none, and no path is `/` (RFC 3986, section 6.2).
    package static func comparable(_ url: String) -> ByteText {
        guard let scheme = url.firstRange(of: "://") else { return ByteText(url) }
        let end = url[scheme.upperBound...].firstIndex { "/?#".contains($0) } ?? url.endIndex
        var site = url[..<end].lowercased()
        for (scheme, port) in [("https:", ":443"), ("http:", ":80")]
        where site.hasPrefix(scheme) && site.hasSuffix(port) {
            site.removeLast(port.utf8.count)
        }
        let path = url[end...]
        return ByteText(site + (path.hasPrefix("/") ? "" : "/") + path)
    }

    /// Why it cannot be captured; `nil` where it can.
    package static func problem(_ url: String) -> String? {
        do throws(UserFacingError) {
            try check(url)
            return nil
        } catch { return error.message }
    }

    package static func isOfPage(_ url: String) -> Bool { problem(url) == nil }

    static func check(_ url: String) throws(UserFacingError) {
        try Refusal.check("url", url, WriteLimits.url, called: "The URL")
        guard url.unicodeScalars.allSatisfy({ !isForbidden($0) }) else {
            throw Refusal.of("url", "it holds white space or control characters")
        }
        try checkParts(url)
    }

    private static func isForbidden(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.value < 0x80 { return scalar.value <= 0x20 || scalar.value == 0x7F }
        return scalar.value < 0xA0 || scalar.properties.isWhitespace
    }

    /// `http` or `https`, `://`, and an authority with a host: RFC 3986 section 3.2.
    private static func checkParts(_ url: String) throws(UserFacingError) {
        let bytes = url.utf8
        guard let start = ["http://", "https://"].first(where: { hasPrefix(bytes, $0) })?.utf8.count else {
            let hasScheme = bytes.firstIndex(of: UInt8(ascii: ":")).map { bytes[$0...].starts(with: "://".utf8) }
            throw Refusal.of(
                "url",
                hasScheme == true
                    ? "only http and https addresses can be captured"
                    : "no http:// or https:// in front (files are not uploaded)",
                suggestion: "Give the whole address, like https://example.org/page.")
        }
        let authority = authority(bytes.dropFirst(start))
        guard let host = hostEnd(authority), host > authority.startIndex else {
            throw Refusal.of(
                "url", "it has no host", suggestion: "Give the whole address, like https://example.org/page.")
        }
        let port = authority[host...]
        guard port.isEmpty || isPort(port.dropFirst()) else {
            throw Refusal.of("url", "its port is not a number from 0 to 65535")
        }
    }

    private static func hasPrefix(_ bytes: String.UTF8View, _ prefix: String) -> Bool {
        // `| 0x20` is lower case for letters, and leaves ":" and "/" as they are.
        bytes.count >= prefix.utf8.count && zip(bytes, prefix.utf8).allSatisfy { $0 | 0x20 == $1 }
    }

    /// Where the host ends and the port begins. `nil` if the host is invalid.
    private static func hostEnd(_ authority: Substring.UTF8View) -> Substring.UTF8View.Index? {
        if authority.first == UInt8(ascii: "[") {
            guard let end = authority.firstIndex(of: UInt8(ascii: "]")) else { return nil }
            let after = authority.index(after: end)
            let isEmpty = authority.index(after: authority.startIndex) == end
            let isFollowed = after < authority.endIndex && authority[after] != UInt8(ascii: ":")
            return isEmpty || isFollowed ? nil : after
        }
        return authority.firstIndex(of: UInt8(ascii: ":")) ?? authority.endIndex
    }

    /// An empty one is allowed by RFC 3986.
    private static func isPort(_ digits: Substring.UTF8View) -> Bool {
        digits.allSatisfy(\.isASCIIDigit) && (digits.isEmpty || UInt16(String(Substring(digits))) != nil)
    }
}
