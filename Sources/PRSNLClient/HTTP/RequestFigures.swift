import Synchronization

/// What the requests of a client have cost, by endpoint: the receiver of its usage. In memory only.
package final class RequestFigures: Sendable {
    /// Sums since the beginning.
    package struct Endpoint: Sendable, Equatable {
        /// Requests that went out, or tried to: repetitions, redirects and other forms of a key included.
        package var requests = 0
        /// Calls that ended without the answer that was asked for: an error's status, or none. A 304 is an answer.
        package var failures = 0
        /// Bytes on the wire, headers included, before decompression.
        package var bytesSent = 0
        package var bytesReceived = 0
        /// Of all requests together, from the name to the last byte.
        package var duration: Duration = .zero
        /// Of the longest call, its repetitions included and the pauses between them not.
        package var longest: Duration = .zero
    }

    /// A call of the API has one of a dozen names, so this does not grow with what is done.
    private let endpoints = Mutex<[String: Endpoint]>([:])

    package init() {}

    package func note(_ usage: RequestUsage) {
        // What was never sent, because the network is away or the task was cancelled, cost nothing.
        guard usage.requests > 0 else { return }
        endpoints.withLock { endpoints in
            endpoints[usage.endpoint, default: Endpoint()].add(usage)
        }
    }

    /// By the name of the endpoint, as `GET /api/timeline`.
    package var current: [String: Endpoint] { endpoints.withLock(\.self) }
}

extension RequestFigures.Endpoint {
    fileprivate mutating func add(_ usage: RequestUsage) {
        requests += usage.requests
        if usage.hasFailed { failures += 1 }
        bytesSent += usage.bytesSent
        bytesReceived += usage.bytesReceived
        duration += usage.duration
        longest = max(longest, usage.duration)
    }
}
