import CCurl
import Glibc
import PRSNLCore

extension Transfer {
    /// Whether the certificate of a new connection names no host but in its subject. libcurl would take that name, which
    /// RFC 9110 section 4.3.4 forbids. Looked at before anything is sent.
    func lacksAlternativeName() -> Bool {
        // Of other TLS libraries libcurl does not list the extensions.
        guard let backend = curl_version_info(CURLVERSION_SEVENTH)?.pointee.ssl_version,
            String(cString: backend).contains("OpenSSL")
        else { return false }
        var pointer: UnsafeMutableRawPointer?
        guard prsnl_getinfo_pointer(easy, CURLINFO_CERTINFO, &pointer) == CURLE_OK,
            let chain = pointer?.assumingMemoryBound(to: curl_certinfo.self).pointee, chain.num_of_certs > 0
        else { return false }
        var line = chain.certinfo[0]
        while let entry = line?.pointee {
            let names = "X509v3 Subject Alternative Name:"
            let text = String(cString: entry.data)
            // Of names of other kinds libcurl takes no notice either.
            if text.hasPrefix(names),
                text.dropFirst(names.count).split(separator: ",").contains(where: { name in
                    let name = name.drop { $0 == " " }
                    return name.hasPrefix("DNS:") || name.hasPrefix("IP Address:")
                })
            {
                return false
            }
            line = entry.next
        }
        return true
    }
}

// Where a transfer has failed, from what libcurl knows of it.
extension Transfer {
    /// - Parameter code: `nil` where the transfer was ended from here, because it stalled.
    func fault(_ kind: APIError.Kind, _ code: CURLcode?) -> ConnectionFault? {
        guard case .networkError(let cause) = kind, let request = job?.request,
            let url = ServerURL(foreign: request.url)
        else {
            return nil
        }
        let way = Way(url, options.proxy)
        switch cause {
        case .nameNotResolved:
            let limit = code == CURLE_OPERATION_TIMEDOUT ? beginLimit(request) : nil
            // Of the server, where a SOCKS proxy leaves the name to us.
            let peer = code == CURLE_COULDNT_RESOLVE_HOST ? way.server : way.peer
            return .name(
                host: peer.host, isProxy: peer.isProxy, limit.map { .unanswered(within: $0) } ?? .unresolved)
        case .connectFailed: return connectFault(way, code)
        case .tlsFailed:
            let words = String(cString: errorText)
            // Of a proxy that is itself reached by TLS, which comes before anything is asked of it.
            let isProxys = way.peer.isProxy && !way.peer.isSOCKS && connectStatus == nil
            let check = long(isProxys ? CURLINFO_PROXY_SSL_VERIFYRESULT : CURLINFO_SSL_VERIFYRESULT)
            if isWithoutAlternativeName { return .tls(way.server, .noAlternativeName) }
            return .tls(
                isProxys ? way.peer : way.server, TLSFault(code, check: check, words, caFile: options.caFile))
        case .timedOut: return timeFault(way, request, code)
        case .cutOff: return .cutOff(way.end)
        case .answerTooLarge, .redirectRefused, .offline, .cancelled: return nil
        }
    }

    /// Whether there was an address to connect to.
    var hasAddress: Bool {
        guard timings.openPhase == .name, let url = job.flatMap({ ServerURL(foreign: $0.request.url) }) else {
            return true
        }
        return Way(url, options.proxy).peer.isAddress
    }

    var timings: RequestTimings {
        /// Zero: not reached.
        func end(_ info: CURLINFO) -> Duration? {
            let microseconds = offset(info)
            return microseconds > 0 ? .microseconds(Int64(microseconds)) : nil
        }
        let address = string(CURLINFO_PRIMARY_IP)
        return RequestTimings(
            name: end(CURLINFO_NAMELOOKUP_TIME_T), connect: end(CURLINFO_CONNECT_TIME_T),
            tls: end(CURLINFO_APPCONNECT_TIME_T),
            // It has a time also where the connection ended instead.
            firstByte: bytesReceived > 0 ? end(CURLINFO_STARTTRANSFER_TIME_T) : nil,
            address: address?.isEmpty == false ? address : nil,
            isTLS: job?.request.url.hasPrefix("https:") ?? false)
    }

    /// From here to the server.
    private struct Way {
        let server: Peer
        /// Where the connection leads: the server, or the proxy.
        let peer: Peer
        /// The proxy only passes on what is meant for the server.
        let isTunnel: Bool
        /// Who answers requests.
        var end: Peer { isTunnel ? server : peer }

        init(_ url: ServerURL, _ proxy: String?) {
            server = Peer(url)
            peer = Peer(url, proxy: proxy) { name in getenv(name).map { String(cString: $0) } }
            isTunnel = peer.isProxy && (url.scheme == .https || peer.isSOCKS)
        }
    }

    /// What an HTTP proxy has answered to CONNECT.
    private var connectStatus: Int? {
        let code = long(CURLINFO_HTTP_CONNECTCODE)
        return code > 0 ? code : nil
    }

    /// For the name, the connection and TLS together.
    private func beginLimit(_ request: HTTPRequest) -> Duration { min(options.connectTimeout, request.totalTimeout) }

    private func connectFault(_ way: Way, _ code: CURLcode?) -> ConnectionFault {
        if way.isTunnel, code == CURLE_PROXY || connectStatus != nil {
            return .tunnel(proxy: way.peer, server: way.server, status: connectStatus)
        }
        // libcurl keeps the number of an earlier failure, of the address before, where a later step fails.
        let number = code == CURLE_COULDNT_CONNECT ? Int32(clamping: long(CURLINFO_OS_ERRNO)) : 0
        let words =
            number > 0
            ? String(cString: strerror(number)) : String(cString: curl_easy_strerror(code ?? CURLE_COULDNT_CONNECT))
        return .connect(way.peer, reason: words.asReason)
    }

    private func timeFault(_ way: Way, _ request: HTTPRequest, _ code: CURLcode?) -> ConnectionFault {
        guard code != nil else { return .silent(way.end, for: .milliseconds(stallMilliseconds)) }
        guard !hasStarted else { return .unfinished(way.end, within: request.totalTimeout) }
        let limit = beginLimit(request)
        guard timings.openPhase == .tls else {
            return .connect(way.peer, reason: "no answer within \(limit.inWords)")
        }
        if way.isTunnel, !way.peer.isSOCKS, connectStatus == nil { return .silent(way.peer, for: limit) }
        return .noTLSInTime(way.server, within: limit)
    }
}

// What libcurl's result codes mean to us.
extension Transfer {
    /// - Parameters:
    ///   - hasStarted: whether a connection stood and the request was about to be sent (PREREQFUNCTION).
    ///   - hasAddress: whether the name of the host, or of the proxy, was resolved.
    static func kind(_ code: CURLcode, hasStarted: Bool, hasAddress: Bool, answerLimit: Int) -> APIError.Kind {
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY:
            .networkError(.nameNotResolved)
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
            CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_ENGINE_INITFAILED, CURLE_USE_SSL_FAILED,
            CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CRL_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_PINNEDPUBKEYNOTMATCH,
            CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CLIENTCERT:
            .networkError(.tlsFailed)
        case CURLE_OPERATION_TIMEDOUT:
            // Without a connection the name was all that there was to wait for.
            .networkError(hasStarted || hasAddress ? .timedOut : .nameNotResolved)
        case CURLE_FILESIZE_EXCEEDED:
            .networkError(.answerTooLarge(limit: answerLimit))
        // A status line that is not HTTP's, or a body that is not in the encoding that it claims.
        case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL:
            .decodingError(.notJSON("the answer is not HTTP"))
        case CURLE_BAD_CONTENT_ENCODING:
            .decodingError(.notJSON("the compressed answer is damaged"))
        default:
            .networkError(hasStarted ? .cutOff : .connectFailed)
        }
    }

    /// libcurl's words. They name hosts, ports and system errors; never paths, headers or bodies.
    static func words(_ code: CURLcode, _ text: String) -> String {
        text.isEmpty ? String(cString: curl_easy_strerror(code)) : text
    }
}

extension TLSFault {
    /// - Parameters:
    ///   - check: the result of the certificate's verification, X509_V_* of x509_vfy.h
    ///     (X509_STORE_CTX_get_error(3)).
    ///   - words: libcurl's, which are OpenSSL's in most cases.
    init(_ code: CURLcode?, check: Int, _ words: String, caFile: String?) {
        switch code {
        case CURLE_SSL_CACERT_BADFILE: self = .unusableCAFile(caFile ?? "the system's folder")
        case CURLE_PEER_FAILED_VERIFICATION: self = Self.unverified(check, words)
        case CURLE_SSL_CONNECT_ERROR: self = Self.handshake(words)
        default: self = .other(Transfer.words(code ?? CURLE_SSL_CONNECT_ERROR, words))
        }
    }

    private static func unverified(_ check: Int, _ words: String) -> TLSFault {
        switch check {
        case 10: return .expired
        case 9: return .notYetValid
        case 18: return .selfSigned
        // No issuer here, an issuer that is only in the server's own chain, or no chain at all.
        case 2, 19, 20, 21: return .unknownAuthority
        case 62, 64: return .wrongName
        default:
            // libcurl compares names by itself, after OpenSSL was content.
            if words.contains(" name ") { return .wrongName }
            let prefix = "SSL certificate problem: "
            return .other(words.hasPrefix(prefix) ? String(words.dropFirst(prefix.count)) : words)
        }
    }

    /// OpenSSL's errors read `error:0A00010B:SSL routines::wrong version number`.
    private static func handshake(_ words: String) -> TLSFault {
        let reason = words.split(separator: ":").last.map(String.init)?.asReason ?? words
        if ["wrong version number", "packet length too long", "http request"].contains(reason) { return .notTLS }
        if reason.contains("alert") { return .refused(reason) }
        let hangUps = ["unexpected eof", "SSL_ERROR_SYSCALL", "reset by peer", "Broken pipe"]
        return hangUps.contains(where: words.contains) ? .ended : .other(words)
    }
}

extension String {
    /// As a part of a sentence: "connection refused".
    fileprivate var asReason: String {
        let text = drop { $0 == " " }
        return text.prefix(1).lowercased() + text.dropFirst()
    }
}
