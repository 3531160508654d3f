import CCurl
import PRSNLCore

/// An http or https address, taken apart by libcurl's own parser, so that we and the transfer never disagree about the
/// host.
struct ServerURL: Sendable, Equatable {
    var scheme: String
    /// Lower case; IPv6 in brackets.
    var host: String
    var port: Int
    /// Without a slash at the end; empty for the root.
    var path: String
    var hasUserInfo: Bool
    var hasQueryOrFragment: Bool

    init?(_ text: String) {
        guard let handle = curl_url() else { return nil }
        defer { curl_url_cleanup(handle) }
        guard curl_url_set(handle, CURLUPART_URL, text, UInt32(CURLU_NON_SUPPORT_SCHEME)) == CURLUE_OK else {
            return nil
        }
        func part(_ part: CURLUPart, _ flags: Int32 = 0) -> String? {
            var value: UnsafeMutablePointer<CChar>?
            guard curl_url_get(handle, part, &value, UInt32(flags)) == CURLUE_OK, let value else { return nil }
            defer { curl_free(value) }
            return String(cString: value)
        }
        guard let scheme = part(CURLUPART_SCHEME), scheme == "http" || scheme == "https",
            let host = part(CURLUPART_HOST), !host.isEmpty,
            let port = part(CURLUPART_PORT, CURLU_DEFAULT_PORT).flatMap({ Int($0) })
        else { return nil }
        self.scheme = scheme
        self.host = host.lowercased()
        self.port = port
        var path = part(CURLUPART_PATH) ?? ""
        while path.hasSuffix("/") { path.removeLast() }
        self.path = path
        hasUserInfo = part(CURLUPART_USER) != nil || part(CURLUPART_PASSWORD) != nil
        hasQueryOrFragment = part(CURLUPART_QUERY) != nil || part(CURLUPART_FRAGMENT) != nil
    }

    /// Checks what the owner wrote into the configuration.
    static func server(_ text: String, allowInsecureHTTP: Bool) throws(UserFacingError) -> ServerURL {
        if text.isEmpty { throw UserFacingError(.noServer, "No server is configured.") }
        // Not the text itself: it may hold a password.
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }), let url = ServerURL(text) else {
            throw UserFacingError(.badServerURL, "server_url is not an http or https address.")
        }
        if url.hasUserInfo {
            throw UserFacingError(
                .badServerURL, "server_url holds a user name or password.",
                recoverySuggestion: "Put the API key or login token into the file that api_key_file names.")
        }
        if url.hasQueryOrFragment {
            throw UserFacingError(.badServerURL, "server_url has a query or fragment (\"?\" or \"#\").")
        }
        if url.scheme == "http", !allowInsecureHTTP, !url.isLoopback {
            throw UserFacingError(
                .insecureServerURL, "server_url is plain http to \(url.host): anybody in between could read the key.")
        }
        return url
    }

    /// Plain http is for this machine only, and so is its proxy: the environment's, which is meant for the network, is passed
    /// by.
    ///
    /// - Returns: As `ClientConfiguration.proxy`.
    /// - Throws: `insecure_server_url` where the configured proxy is another machine.
    func proxy(of configuration: ClientConfiguration) throws(UserFacingError) -> String? {
        guard scheme == "http", isLoopback else { return configuration.proxy }
        guard let proxy = configuration.proxy, !proxy.isEmpty else { return "" }
        let peer = Peer(self, proxy: proxy) { _ in nil }
        guard peer.isProxy, !Self.isLoopback(peer.host), !configuration.allowInsecureHTTP else { return proxy }
        throw UserFacingError(
            .insecureServerURL,
            "server_url is plain http, and the proxy \(peer.host) is another machine: anybody in between could read the key."
        )
    }

    var isLoopback: Bool { Self.isLoopback(host) }

    private static func isLoopback(_ host: String) -> Bool {
        host == "localhost" || host.hasSuffix(".localhost") || host == "[::1]" || host == "::1" || isLoopbackIPv4(host)
    }

    /// 127.0.0.0/8. libcurl has already brought other spellings (`127.1`, `0x7f000001`) into this form.
    private static func isLoopbackIPv4(_ host: String) -> Bool {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }

    /// Scheme, host, and the port where it is not the scheme's own.
    var origin: String {
        let isDefault = port == (scheme == "https" ? 443 : 80)
        return "\(scheme)://\(host)\(isDefault ? "" : ":\(port)")"
    }

    /// What requests are appended to.
    var base: String { origin + path }

    /// Whether a redirect from here to there may be followed with credentials: the same origin, or from http to https
    /// of the same host, whose certificate then vouches for it.
    func mayRedirect(to target: ServerURL) -> Bool {
        guard host == target.host, !target.hasUserInfo else { return false }
        if scheme == target.scheme { return port == target.port }
        return scheme == "http" && target.scheme == "https"
    }

    /// Percent-encodes all but the unreserved characters of RFC 3986, `+` and `:` included.
    static func escaped(_ text: String) -> String {
        // With an explicit length, because the text may hold a NUL.
        guard let pointer = curl_easy_escape(nil, text, Int32(clamping: text.utf8.count)) else { return "" }
        defer { curl_free(pointer) }
        return String(cString: pointer)
    }
}
