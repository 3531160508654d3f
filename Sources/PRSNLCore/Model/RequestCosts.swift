/// What the requests to one endpoint have cost since the daemon started.
package struct RequestCosts: Sendable, Equatable, Codable {
    /// `GET /api/timeline`; ids stand as `{id}`.
    package var endpoint: String
    /// Requests that went out, or tried to: repetitions, redirects and other forms of a key included.
    package var requests = 0
    /// Calls that ended without the answer that was asked for: an error's status, or none. A 304 is an answer.
    package var failures = 0
    /// Bytes on the wire, headers included, before decompression.
    package var bytesSent = 0
    package var bytesReceived = 0
    /// Milliseconds of a request on average, from the name to the last byte.
    package var meanDuration = 0.0
    /// Milliseconds of the longest call, its repetitions included and the pauses between them not.
    package var longestDuration = 0.0

    package init(endpoint: String) { self.endpoint = endpoint }
}
