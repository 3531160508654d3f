import CCurl
import Glibc
import PRSNLCore

/// Where connections lead: the server, or the proxy towards it. whether there is a route is a question about this one.
package struct Peer: Sendable, Equatable {
    /// A name or an address, IPv6 without brackets.
    package var host: String
    package var port: UInt16
    package var isProxy = false
    /// A proxy that passes bytes on, whatever they are.
    var isSOCKS = false

    init(_ server: ServerURL) {
        host = server.host
        port = UInt16(clamping: server.port)
    }

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

    private init(host: String, port: UInt16, isProxy: Bool, isSOCKS: Bool) {
        self.host = host
        self.port = port
        self.isProxy = isProxy
        self.isSOCKS = isSOCKS
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
    var isAddress: Bool {
        var address = in6_addr()
        return inet_pton(host.contains(":") ? AF_INET6 : AF_INET, host, &address) == 1
    }

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
