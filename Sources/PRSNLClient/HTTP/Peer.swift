import CCurl
import Glibc
import PRSNLCore

/// Where connections lead: the server, or the proxy towards it. Whether there is a route is a question about this one.
package struct Peer: Sendable, Equatable {
    /// A name or an address, IPv6 without brackets.
    package var host: String
    package var port: UInt16
    package var isProxy = false
    /// A proxy that passes bytes on, whatever they are.
    var isSOCKS = false

}

extension Peer {
    init(_ server: ServerURL) { self.init(host: server.host, port: UInt16(clamping: server.port)) }

    /// - Parameter proxy: as in `ClientConfiguration`; `nil` for what the environment says, by libcurl's rules
    ///   (https://curl.se/libcurl/c/CURLOPT_PROXY.html, "Environment variables").
    init(_ server: ServerURL, proxy: String?, environment: (String) -> String?) {
        self.init(server)
        let text: String
        if let proxy {
            text = proxy
        } else {
            // Not HTTP_PROXY: that name could be set by a request's header, where a CGI program runs libcurl.
            let names =
                server.scheme == .https
                ? ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] : ["http_proxy", "all_proxy", "ALL_PROXY"]
            text = names.lazy.compactMap(environment).first { !$0.isEmpty } ?? ""
        }
        let exceptions = environment("no_proxy") ?? environment("NO_PROXY") ?? ""
        guard !text.isEmpty, !Self.isExempt(host, by: exceptions), let proxy = Self.address(ofProxy: text) else {
            return
        }
        self = proxy
    }

    /// The names in `no_proxy`: each exempts itself and what ends with a dot and it; `*` exempts all.
    private static func isExempt(_ host: String, by list: String) -> Bool {
        list.split { $0 == "," || $0 == " " }.contains { entry in
            let name = entry.drop { $0 == "." }.lowercased().trimmingBrackets
            return name == "*" || host == name || host.hasSuffix("." + name)
        }
    }

    private static func address(ofProxy text: String) -> Peer? {
        guard let url = CurlURL(text, CURLU_GUESS_SCHEME), let host = url.part(CURLUPART_HOST), !host.isEmpty else {
            return nil
        }
        let scheme = url.part(CURLUPART_SCHEME) ?? ""
        // 1080 is what libcurl takes where a proxy's port is not said.
        let port = url.part(CURLUPART_PORT).flatMap { UInt16($0) } ?? (scheme == "https" ? 443 : 1080)
        return Peer(
            host: host.lowercased().trimmingBrackets, port: port, isProxy: true, isSOCKS: scheme.hasPrefix("socks"))
    }
}

extension PRSNLClient {
    /// For the name, the connection and TLS together.
    package var connectTimeout: Duration { configuration.connectTimeout }

    /// Where this client's connections lead.
    package var peer: Peer { configuration.peer(to: server) }
}

extension ClientConfiguration {
    func peer(to server: ServerURL) -> Peer {
        Peer(server, proxy: network.proxy) { name in getenv(name).map { String(cString: $0) } }
    }
}

extension Peer {
    /// Needs no name server: inet_pton(3).
    var isAddress: Bool { ServerURL.addressBytes(host) != nil }

    /// For people: "127.0.0.1:9", "the proxy [::1]:3128".
    var place: String {
        (isProxy ? "the proxy " : "") + (host.contains(":") ? "[\(host)]" : host) + ":\(port)"
    }
}

extension Duration {
    /// "10 s", "200 ms". Rounded up, because a part of a limit may be gone before it counts.
    var inWords: String {
        let milliseconds = (wholeMilliseconds + 9) / 10 * 10
        return milliseconds % 1_000 == 0 ? "\(milliseconds / 1_000) s" : "\(milliseconds) ms"
    }
}

// What the client needs of an address.
extension ServerURL {
    /// An address that is not the owner's, such as a redirect's, taken apart by libcurl's own parser, so that we and the
    /// transfer never disagree about the host. `nil` for what is not http or https, and for one with a user name or a
    /// password.
    init?(foreign text: String) {
        guard let url = CurlURL(text), url.part(CURLUPART_USER) == nil, url.part(CURLUPART_PASSWORD) == nil,
            let scheme = url.part(CURLUPART_SCHEME).flatMap(Scheme.init), let host = url.part(CURLUPART_HOST),
            !host.isEmpty, let port = url.part(CURLUPART_PORT, CURLU_DEFAULT_PORT).flatMap({ Int($0) })
        else { return nil }
        self.init(scheme: scheme, host: host.trimmingBrackets, port: port, path: url.part(CURLUPART_PATH) ?? "")
    }

    /// Checks what the owner wrote into the configuration.
    static func server(_ text: String, allowInsecureHTTP: Bool) throws(UserFacingError) -> ServerURL {
        if text.isEmpty { throw UserFacingError(.noServer, "No server is configured.") }
        let url: ServerURL
        do throws(Rejection) { url = try ServerURL(text) } catch {
            throw UserFacingError(.badServerURL, "server_url \(error.reason).")
        }
        if url.scheme == .http, !allowInsecureHTTP, !url.isLoopback {
            throw UserFacingError(
                .insecureServerURL, "server_url is plain http to \(url.host): anybody in between could read the key.")
        }
        return url
    }

    /// Plain http is for this machine only, and so is its proxy. The environment's proxy is meant for the network, and is
    /// passed by.
    ///
    /// - Returns: As `ClientConfiguration.proxy`.
    /// - Throws: `insecure_server_url` where the configured proxy is another machine.
    func proxy(of configuration: ClientConfiguration) throws(UserFacingError) -> String? {
        guard scheme == .http, isLoopback else { return configuration.proxy }
        guard let proxy = configuration.proxy, !proxy.isEmpty else { return "" }
        let peer = Peer(self, proxy: proxy) { _ in nil }
        guard peer.isProxy, !Self.isLoopback(peer.host), !configuration.allowInsecureHTTP else { return proxy }
        throw UserFacingError(
            .insecureServerURL,
            "server_url is plain http, and the proxy \(peer.host) is another machine: anybody in between could read the key."
        )
    }

    /// Whether a redirect from here to there may be followed with credentials: the same origin, or from http to https
    /// of the same host, whose certificate then vouches for it.
    func mayRedirect(to target: ServerURL) -> Bool {
        guard host == target.host else { return false }
        if scheme == target.scheme { return port == target.port }
        return scheme == .http && target.scheme == .https
    }

    /// Percent-encodes all but the unreserved characters of RFC 3986, `+` and `:` included.
    static func escaped(_ text: String) -> String {
        var result = ""
        for byte in text.utf8 {
            if byte.isASCIILetterOrDigit || "-._~".utf8.contains(byte) {
                result.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                result += (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
            }
        }
        return result
    }
}

/// An address, taken apart by libcurl's own parser.
final class CurlURL {
    private let handle: OpaquePointer

    /// - Parameter flags: CURLU_* of curl_url_set(3), beside CURLU_NON_SUPPORT_SCHEME.
    init?(_ text: String, _ flags: Int32 = 0) {
        guard Libcurl.failure == nil, let handle = prsnl_url() else { return nil }
        self.handle = handle
        guard prsnl_url_set(handle, CURLUPART_URL, text, UInt32(CURLU_NON_SUPPORT_SCHEME | flags)) == CURLUE_OK else {
            return nil
        }
    }

    deinit { prsnl_url_cleanup(handle) }

    func part(_ part: CURLUPart, _ flags: Int32 = 0) -> String? {
        var value: UnsafeMutablePointer<CChar>?
        guard prsnl_url_get(handle, part, &value, UInt32(flags)) == CURLUE_OK, let value else { return nil }
        defer { prsnl_free(value) }
        return String(cString: value)
    }
}

extension String {
    var trimmingBrackets: String { hasPrefix("[") && hasSuffix("]") ? String(dropFirst().dropLast()) : self }
}
