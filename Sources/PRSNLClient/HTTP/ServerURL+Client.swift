import CCurl
import PRSNLCore

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
        // With an explicit length, because the text may hold a NUL.
        guard let pointer = curl_easy_escape(nil, text, Int32(clamping: text.utf8.count)) else { return "" }
        defer { curl_free(pointer) }
        return String(cString: pointer)
    }
}

/// An address, taken apart by libcurl's own parser.
final class CurlURL {
    private let handle: OpaquePointer

    /// - Parameter flags: CURLU_* of curl_url_set(3), beside CURLU_NON_SUPPORT_SCHEME.
    init?(_ text: String, _ flags: Int32 = 0) {
        guard let handle = curl_url() else { return nil }
        self.handle = handle
        guard curl_url_set(handle, CURLUPART_URL, text, UInt32(CURLU_NON_SUPPORT_SCHEME | flags)) == CURLUE_OK else {
            return nil
        }
    }

    deinit { curl_url_cleanup(handle) }

    func part(_ part: CURLUPart, _ flags: Int32 = 0) -> String? {
        var value: UnsafeMutablePointer<CChar>?
        guard curl_url_get(handle, part, &value, UInt32(flags)) == CURLUE_OK, let value else { return nil }
        defer { curl_free(value) }
        return String(cString: value)
    }
}

extension String {
    var trimmingBrackets: String { hasPrefix("[") && hasSuffix("]") ? String(dropFirst().dropLast()) : self }
}
