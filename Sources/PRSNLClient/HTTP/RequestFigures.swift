package import PRSNLCore
import Synchronization

/// What the requests of a client have cost, by endpoint: the receiver of its usage. In memory only.
package final class RequestFigures: Sendable {
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
            costs.meanDuration = Double(duration.wholeMicroseconds / Int64(costs.requests)) / 1_000
            costs.longestDuration = max(costs.longestDuration, Double(usage.duration.wholeMicroseconds) / 1_000)
            endpoints[usage.endpoint] = (costs, duration)
        }
    }

    /// In the order of their names.
    package var current: [RequestCosts] {
        endpoints.withLock { $0.values.map(\.costs) }.sorted { $0.endpoint < $1.endpoint }
    }
}
