package import Configuration
package import PRSNLCore
import Synchronization

/// A server, how it is reached, and as whom. The members of `network` read as its own.
@dynamicMemberLookup
package struct ClientConfiguration: Sendable {
    /// Scheme, host, port and an optional path prefix, without a slash at the end: `https://prsnl.example.org`.
    package var serverURL: String
    package var credentials: Credentials
    package var network: NetworkSettings
    /// `prsnld/1.2.3`.
    package var userAgent: String

    package init(
        serverURL: String, credentials: Credentials, network: NetworkSettings = NetworkSettings(),
        userAgent: String = "prsnld"
    ) {
        self.serverURL = serverURL
        self.credentials = credentials
        self.network = network
        self.userAgent = userAgent
    }

    package subscript<Value>(dynamicMember member: WritableKeyPath<NetworkSettings, Value>) -> Value {
        get { network[keyPath: member] }
        set { network[keyPath: member] = newValue }
    }
}

/// The cost of one call, for benchmarks and status (`RequestMetrics`).
package struct RequestUsage: Sendable, Equatable {
    package var endpoint: String
    package var requestID: String
    package var status: Int?
    /// Bytes on the wire, headers included.
    package var bytesSent = 0
    package var bytesReceived = 0
    package var duration: Duration = .zero
    /// 1 for a call that succeeded at once.
    package var attempts = 1
    /// What went over the wire, or tried to: attempts, redirects and other forms of the credentials; 0 where nothing did.
    package var requests = 0
    /// No 2xx came, nor the 304 that was asked for.
    package var hasFailed = false
    package var connectionReused = false
    /// Of the last request, where it was a ping.
    var timings: RequestTimings?
}

/// What the requests of a client have cost, by endpoint: the receiver of its usage. In memory only.
package final class RequestMetrics: Sendable {
    /// A call of the API has one of a dozen names, so this does not grow with what is done.
    private let endpoints = Mutex<[String: (costs: RequestCosts, duration: Duration)]>([:])

    package init() {}

    package func note(_ usage: RequestUsage) {
        // What was never sent, because the network is away or the task was cancelled, cost nothing.
        guard usage.requests > 0 else { return }
        endpoints.withLock { endpoints in
            var (costs, duration) = endpoints[usage.endpoint] ?? (RequestCosts(endpoint: usage.endpoint), .zero)
            duration += usage.duration
            costs.requests += usage.requests
            if usage.hasFailed { costs.failures += 1 }
            costs.bytesSent += usage.bytesSent
            costs.bytesReceived += usage.bytesReceived
            // Not rounded: times the requests it is a counter (`prsnlctl metrics`), which may not fall.
            costs.meanDuration = Double(duration.wholeMicroseconds) / Double(costs.requests) / 1_000
            costs.longestDuration = max(costs.longestDuration, usage.duration.milliseconds)
            endpoints[usage.endpoint] = (costs, duration)
        }
    }

    /// In the order of their names.
    package var current: [RequestCosts] {
        endpoints.withLock { $0.values.map(\.costs) }.sorted { $0.endpoint < $1.endpoint }
    }
}
