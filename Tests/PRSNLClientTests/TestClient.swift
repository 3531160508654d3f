import PRSNLCore
import Synchronization

@testable import PRSNLClient

/// Time that passes only when a task waits: nothing sleeps really, and every wait is on record.
final class VirtualTime: Sendable {
    private struct State {
        var now = Timestamp(microseconds: 1_750_000_000_000_000)
        var waits: [Duration] = []
    }

    private let state = Mutex(State())

    var waits: [Duration] { state.withLock { $0.waits } }
    var now: Timestamp { state.withLock { $0.now } }

    func advance(by duration: Duration) {
        state.withLock { $0.now = $0.now.advanced(by: duration) }
    }

    var source: TimeSource {
        TimeSource(
            now: { self.now }, uptime: { self.now.duration(since: Timestamp(microseconds: 0)) },
            sleep: { duration in
                try Task.checkCancellation()
                self.state.withLock { state in
                    state.waits.append(duration)
                    state.now = state.now.advanced(by: duration)
                }
            })
    }
}

/// Takes what a handler is given, from any thread.
final class Recorder<Value: Sendable>: Sendable {
    private let values = Mutex<[Value]>([])

    var all: [Value] { values.withLock { $0 } }

    func record(_ value: Value) { values.withLock { $0.append(value) } }
}

extension PRSNLClient {
    /// `GET /api/health` without credentials, once: throws unless it is PRSNL's JSON.
    func health() async throws(APIError) {
        if let error = await ping().error { throw error }
    }
}

/// A client for a test, and what it waited for and used.
struct TestClient {
    let client: PRSNLClient
    let time = VirtualTime()
    let usage = Recorder<RequestUsage>()
    let log = Recorder<String>()

    init(
        _ url: String, _ credentials: Credentials = .none, seed: UInt64 = 7,
        _ change: (inout ClientConfiguration) -> Void = { _ in }
    ) throws {
        var configuration = ClientConfiguration(serverURL: url, credentials: credentials)
        change(&configuration)
        client = try PRSNLClient(
            configuration: configuration, time: time.source, seed: seed,
            usage: { [usage] in usage.record($0) }, log: { [log] _, _, message in log.record(message.description) })
    }
}

extension PRSNLClient {
    /// A write that no endpoint of the API has, with the answer as it came.
    func write(
        _ method: String, _ path: String, json: [UInt8]?, idempotencyKey: String, named endpoint: String? = nil
    ) async throws(APIError) -> HTTPAnswer {
        try await session().write(Call(method, path, named: endpoint), json, nil, idempotencyKey)
    }
}

/// The error that an operation must end with.
func apiError<Value>(
    _ operation: () async throws(APIError) -> Value
) async -> APIError? {
    do throws(APIError) {
        _ = try await operation()
        return nil
    } catch {
        return error
    }
}
