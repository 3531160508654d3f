import Glibc

extension ClientConfiguration {
    /// The password of the proxy, as it is written and as it is sent: a proxy that refuses it may repeat it.
    var proxySecrets: [String] {
        guard let proxy = network.proxy else { return Self.environmentProxies.flatMap(Self.passwords) }
        return Self.passwords(of: proxy)
    }

    /// What libcurl looks at where no proxy is configured (curl(1), "ENVIRONMENT").
    private static var environmentProxies: [String] {
        let names = ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
        return names.compactMap { (name: String) in getenv(name).map { String(cString: $0) } }
    }

    /// `http://user:password@host`: percent-encoded (RFC 3986, section 3.2.1).
    static func passwords(of address: String) -> [String] {
        let start = address.firstRange(of: "://")?.upperBound ?? address.startIndex
        guard let at = address[start...].lastIndex(of: "@"), let colon = address[start..<at].firstIndex(of: ":") else {
            return []
        }
        let written = String(address[address.index(after: colon)..<at])
        let sent = decoded(written)
        return [written, sent].filter { !$0.isEmpty }
    }

    private static func decoded(_ text: String) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2)
            if byte == UInt8(ascii: "%"), digits.count == 2,
                let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
            {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
