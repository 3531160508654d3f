/// One question to the server's health endpoint: what was answered, and how long each part of the way took.
package struct Ping: Sendable, Equatable {
    /// What a request goes through, in this order.
    package enum Phase: String, Sendable, Codable {
        /// An ICMP echo, where one goes ahead of the request.
        case ahead
        case name, connect, tls
        /// From the request to the answer's first byte: mostly the server's own time.
        case firstByte = "first_byte"
        /// The rest of the answer, and whether it is PRSNL's.
        case answer
    }

    /// How long the phases took that came to an end; the others, and TLS where there is none, are missing. Where TLS
    /// fails, that of the connection may be missing, too.
    package var phases: [Phase: Duration] = [:]
    package var total: Duration = .zero
    /// Of the server, or of the proxy; `nil` where no connection was made. libcurl 8.14 does not tell it where TLS fails, either.
    package var address: String?
    package var status: Int?
    /// `nil` where a PRSNL server answered that it is well.
    package var error: APIError?
    package var failedPhase: Phase?

    package init() {}
}

/// When the phases of a request ended, counted from its start: libcurl's own figures.
struct RequestTimings: Sendable, Equatable {
    var name: Duration?
    var connect: Duration?
    var tls: Duration?
    var firstByte: Duration?
    var address: String?
    var isTLS = false

    /// How long each took: libcurl's times include those before.
    var phases: [Ping.Phase: Duration] {
        var phases: [Ping.Phase: Duration] = [:]
        var last = Duration.zero
        for (phase, end) in [(Ping.Phase.name, name), (.connect, connect), (.tls, tls), (.firstByte, firstByte)] {
            guard let end else { continue }
            phases[phase] = max(.zero, end - last)
            last = max(last, end)
        }
        return phases
    }

    /// The first one that did not come to its end.
    var openPhase: Ping.Phase {
        if name == nil { return .name }
        // libcurl 7.88 forgets when it was connected where TLS fails after it, and not to whom.
        if connect == nil, address == nil { return .connect }
        if isTLS, tls == nil { return .tls }
        return firstByte == nil ? .firstByte : .answer
    }
}

extension PRSNLClient {
    /// Asks `GET /api/health` once, over a connection and with a name resolution of its own, without credentials. It fails
    /// where anything but PRSNL's JSON comes. Redirects are followed as for any request; then the phases are those of the
    /// last one.
    package func ping() async -> Ping {
        var call = Call("GET", "/api/health")
        call.isAuthenticated = false
        call.isProbe = true
        var figures = RequestUsage(endpoint: call.endpoint, requestID: "")
        defer { usage?(figures) }
        var ping = Ping()
        do throws(APIError) {
            let answer = try await attempt(call, &figures)
            try decode(call, answer) { body throws(APIError.DecodingCause) in
                guard try Self.object(body)["status"]?.text != nil else { throw .unexpectedShape("no status") }
            }
        } catch {
            ping.error = error
            ping.failedPhase = error.failedPhase(figures.timings)
        }
        ping.phases = figures.timings?.phases ?? [:]
        ping.total = figures.duration
        ping.address = figures.timings?.address
        ping.status = figures.status
        return ping
    }

    /// The address that the newest connection leads to, an IP literal: the server's, or the proxy's where there is one;
    /// `nil` before the first. It stays when the connection ends.
    package var lastAddress: String? { loop.lastAddress.current }
}

extension APIError {
    fileprivate func failedPhase(_ timings: RequestTimings?) -> Ping.Phase? {
        guard case .networkError(let cause) = kind else { return .answer }
        switch cause {
        case .nameNotResolved: return .name
        case .connectFailed: return .connect
        case .tlsFailed: return .tls
        case .redirectRefused, .answerTooLarge: return .answer
        case .timedOut, .cutOff: return timings?.openPhase
        // It was stopped, wherever it was.
        case .offline, .cancelled: return nil
        }
    }
}
