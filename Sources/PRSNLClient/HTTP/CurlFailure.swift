import CCurl

/// What libcurl's result codes mean to us.
enum CurlFailure {
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
    static func detail(_ code: CURLcode, _ text: String) -> String {
        text.isEmpty ? String(cString: curl_easy_strerror(code)) : text
    }
}
