import Glibc
import PRSNLCore

/// Where on the way to the server a request failed, and why: what a person needs beyond `APIError.NetworkCause`.
package enum ConnectionFault: Sendable, Equatable {
    /// Why a name has no address.
    package enum NameFault: Sendable, Equatable {
        /// libcurl does not say why.
        case unresolved
        /// The name servers answered that there is no such name, or no address for it.
        case unknown
        /// No name server answered; `within` where that was the limit.
        case unanswered(within: Duration?)
    }

    /// The host's, or the proxy's.
    case name(host: String, isProxy: Bool, NameFault)
    /// No connection; `reason` in the kernel's words.
    case connect(Peer, reason: String)
    /// The proxy does not connect to the server; `status` where it has answered.
    case tunnel(proxy: Peer, server: Peer, status: Int?)
    case tls(Peer, TLSFault)
    case noTLSInTime(Peer, within: Duration)
    /// No byte for so long.
    case silent(Peer, for: Duration)
    case unfinished(Peer, within: Duration)
    case cutOff(Peer)

    /// Part of a sentence, without a full stop.
    var phrase: String {
        switch self {
        case .name(let host, let isProxy, let fault):
            (isProxy ? "the proxy's name \(host) cannot be resolved" : "the name \(host) cannot be resolved")
                + fault.reason
        case .connect(let peer, let reason): "cannot connect to \(peer.place): \(reason)"
        case .tunnel(let proxy, let server, let status):
            "\(proxy.place) does not connect to \(server.place)" + (status.map { ": it answers \($0)" } ?? "")
        case .tls(let peer, let fault): fault.phrase(peer)
        case .noTLSInTime(let peer, let limit): "\(peer.place) did not complete TLS within \(limit.inWords)"
        case .silent(let peer, let limit): "\(peer.place) sent nothing for \(limit.inWords)"
        case .unfinished(let peer, let limit): "\(peer.place) did not complete its answer within \(limit.inWords)"
        case .cutOff(let peer): "the connection to \(peer.place) ended before the answer was complete"
        }
    }

    /// What to do, where more is known than for the code.
    var recoverySuggestion: Advice? {
        switch self {
        case .name(_, isProxy: _, .unanswered):
            "Check this machine's network and its name servers (/etc/resolv.conf)."
        case .name(_, isProxy: true, _): "Check the name in the proxy setting, and this machine's name servers."
        case .name: nil
        case .connect(let peer, _) where peer.isProxy: "Check the proxy setting, and that the proxy runs."
        case .tunnel(_, _, status: 407?): "Put the user name and password that the proxy wants into the proxy setting."
        case .tunnel: "Check the proxy setting, and whether the proxy lets this address through."
        case .tls(_, let fault): fault.recoverySuggestion
        case .connect, .noTLSInTime, .silent, .unfinished, .cutOff: nil
        }
    }
}

extension ConnectionFault.NameFault {
    fileprivate var reason: String {
        switch self {
        case .unresolved: ""
        case .unknown: ": the name servers know no address for it"
        case .unanswered(within: nil): ": no name server answered"
        case .unanswered(let limit?): ": no name server answered within \(limit.inWords)"
        }
    }
}

/// Which check of TLS failed.
package enum TLSFault: Sendable, Equatable {
    case expired, notYetValid, wrongName, noAlternativeName, selfSigned, unknownAuthority
    /// What came back is no TLS.
    case notTLS
    /// The other side hung up during the handshake.
    case ended
    /// The other side refused the handshake, with the alert's words.
    case refused(String)
    /// The file of `ca_file`.
    case unusableCAFile(String)
    /// In the TLS library's words.
    case other(String)

    fileprivate func phrase(_ peer: Peer) -> String {
        switch self {
        case .expired: "the certificate of \(peer.place) has expired"
        case .notYetValid: "the certificate of \(peer.place) is not valid yet"
        case .wrongName: "the certificate of \(peer.place) is for another name than \(peer.host)"
        case .noAlternativeName:
            "the certificate of \(peer.place) has no subjectAltName, where its names have to stand"
        case .selfSigned: "the certificate of \(peer.place) is self-signed"
        case .unknownAuthority: "the certificate of \(peer.place) is from an unknown authority"
        case .notTLS: "\(peer.place) does not speak TLS"
        case .ended: "\(peer.place) ended the TLS handshake"
        case .refused(let words): "\(peer.place) refused the TLS handshake: \(words)"
        case .unusableCAFile(let path): "the CA certificates in \(path) cannot be used"
        case .other(let words): "no trusted TLS connection to \(peer.place): \(words)"
        }
    }

    fileprivate var recoverySuggestion: Advice? {
        switch self {
        case .expired: "Have the certificate renewed. If it has not expired, set this machine's clock."
        case .notYetValid: "Check this machine's clock with `timedatectl`."
        case .wrongName: "Use an address whose name is in the certificate, or have this name put into the certificate."
        case .noAlternativeName:
            "Have a certificate made with the server's name in its subjectAltName. The name in its subject does not count."
        case .selfSigned: "If you trust this server, name its certificate with ca_file."
        case .unknownAuthority: "If you trust that authority, name its certificate with ca_file."
        case .notTLS: "Check the port. A server without TLS has an address that begins with http://."
        case .ended, .refused: "Check the port, and the TLS settings of the server."
        case .unusableCAFile: "Correct ca_file, then run `prsnld --check-config`."
        case .other: nil
        }
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
    /// "10 s", "200 ms".
    var inWords: String {
        let milliseconds = wholeMilliseconds
        return milliseconds % 1_000 == 0 ? "\(milliseconds / 1_000) s" : "\(milliseconds) ms"
    }
}
