import CCurl
import Glibc
import PRSNLCore

/// Where on the way to the server a request failed, and why: what a person needs beyond `APIError.NetworkCause`.
package struct ConnectionFault: Sendable, Equatable {
    /// Part of a sentence, without a full stop.
    let phrase: String
    /// What to do, where more is known than for the code.
    var suggestion: Advice?
}

// Where a transfer has failed, from what libcurl knows of it.
extension Transfer {
    /// - Parameter code: `nil` where the transfer was ended from here, because it stalled.
    func fault(_ kind: APIError.Kind, _ code: CURLcode?) -> ConnectionFault? {
        guard case .networkError(let cause) = kind, let request = job?.request, let peer = failedPeer(cause, code)
        else {
            return nil
        }
        let ofProxy: Advice? =
            peer.isProxy
            ? "Check the proxy setting: address, user name and password. Check too that the proxy runs." : nil
        switch cause {
        case .nameNotResolved:
            let name = peer.isProxy ? "the proxy's name" : "the name"
            return ConnectionFault(phrase: "\(name) \(peer.host) cannot be resolved", suggestion: ofProxy)
        case .connectFailed:
            return ConnectionFault(
                phrase: "cannot connect to \(peer.place): \(connectWords(code))", suggestion: ofProxy)
        case .tlsFailed: return tlsFault(peer, code)
        case .timedOut:
            guard code != nil else {
                let time = Duration.milliseconds(stallMilliseconds)
                return ConnectionFault(phrase: "\(peer.place) sent nothing for \(time.inWords)")
            }
            let limit = hasStarted ? request.totalTimeout : min(configuration.connectTimeout, request.totalTimeout)
            let missing = hasStarted ? "whole answer from" : "connection to"
            return ConnectionFault(phrase: "no \(missing) \(peer.place) within \(limit.inWords)")
        case .cutOff:
            return ConnectionFault(phrase: "the connection to \(peer.place) ended before the answer was complete")
        case .answerTooLarge, .redirectRefused, .offline, .cancelled: return nil
        }
    }

    /// The server, or the proxy towards it: which of the two failed.
    private func failedPeer(_ cause: APIError.NetworkCause, _ code: CURLcode?) -> Peer? {
        guard let url = job.flatMap({ ServerURL(foreign: $0.request.url) }) else { return nil }
        let peer = configuration.peer(to: url)
        let isBeyondProxy =
            switch cause {
            // A SOCKS proxy may leave the server's name to us.
            case .nameNotResolved: code == CURLE_COULDNT_RESOLVE_HOST
            case .connectFailed: false
            // Where there is no tunnel, it is the proxy that answers.
            default:
                (peer.isSOCKS || url.scheme == .https)
                    && (hasStarted || long(CURLINFO_HTTP_CONNECTCODE) > 0
                        || peer.isSOCKS && timings.openPhase != .connect)
            }
        return isBeyondProxy ? Peer(url) : peer
    }

    /// The kernel's words where it refused the connection, else libcurl's.
    private func connectWords(_ code: CURLcode?) -> String {
        // libcurl keeps the number of an earlier failure, of the address before, where a later step fails.
        let number = code == CURLE_COULDNT_CONNECT ? Int32(clamping: long(CURLINFO_OS_ERRNO)) : 0
        let words = number > 0 ? String(cString: strerror(number)) : words(code)
        return words.prefix(1).lowercased() + words.dropFirst()
    }

    private func tlsFault(_ peer: Peer, _ code: CURLcode?) -> ConnectionFault {
        let certificate = "the certificate of \(peer.place)"
        let words = words(code)
        // X509_V_ERR_* of x509_vfy.h: X509_STORE_CTX_get_error(3).
        switch (code, long(peer.isProxy ? CURLINFO_PROXY_SSL_VERIFYRESULT : CURLINFO_SSL_VERIFYRESULT)) {
        case (CURLE_PEER_FAILED_VERIFICATION, 10):
            return ConnectionFault(
                phrase: "\(certificate) has expired",
                suggestion: "Have the certificate renewed. If it has not expired, set this machine's clock.")
        // No issuer here, an issuer that is only in the server's own chain, no chain at all, or itself.
        case (CURLE_PEER_FAILED_VERIFICATION, 2), (CURLE_PEER_FAILED_VERIFICATION, 18...21):
            return ConnectionFault(
                phrase: "\(certificate) is self-signed, or from an unknown issuer",
                suggestion: "If you trust the server, or that issuer, name its certificate with ca_file.")
        // libcurl compares names by itself, after OpenSSL was content.
        case (CURLE_PEER_FAILED_VERIFICATION, _) where words.contains(" name "):
            return ConnectionFault(
                phrase: "\(certificate) is for another name than \(peer.host)",
                suggestion:
                    "Use an address whose name is in the certificate, or have this name put into the certificate.")
        case (CURLE_SSL_CONNECT_ERROR, _):
            return ConnectionFault(
                phrase: "no TLS connection to \(peer.place): \(words)",
                suggestion:
                    "Check the port, and the server's TLS settings. Without TLS its address begins with http://.")
        default: return ConnectionFault(phrase: "no trusted TLS connection to \(peer.place): \(words)")
        }
    }

    /// Whether there was an address to connect to.
    var hasAddress: Bool {
        guard timings.openPhase == .name, let url = job.flatMap({ ServerURL(foreign: $0.request.url) }) else {
            return true
        }
        return configuration.peer(to: url).isAddress
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
    func words(_ code: CURLcode?) -> String {
        let text = String(cString: errorText)
        if text.isEmpty || text == " " { return String(cString: prsnl_easy_strerror(code ?? CURLE_OK)) }
        return text.last == " " ? String(text.dropLast()) : text
    }
}
