import PRSNLCore
import TestSupport
import Testing

@testable import PRSNLClient

struct CancellationTests {
    @Test func cancellingATaskEndsItsRequest() async throws {
        let server = try ScriptedServer(always: .silent)
        let test = try TestClient(server.url)
        let call = Task { await apiError { () async throws(APIError) in try await test.client.session().account() } }
        try await eventually("the request to arrive") { server.requests.count == 1 }
        call.cancel()
        let error = await call.value
        #expect(error?.kind == .networkError(.cancelled))
        #expect(error?.mayHaveReachedServer == true)
        #expect(server.requests.count == 1, "and it is not sent again")
    }

    @Test func aTaskThatIsCancelledBeforeSendsNothing() async throws {
        let server = try ScriptedServer(always: .json("{}"))
        let test = try TestClient(server.url)
        let call = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await apiError { () async throws(APIError) in try await test.client.session().account() }
        }
        let error = await call.value
        #expect(error?.kind == .networkError(.cancelled))
        #expect(error?.mayHaveReachedServer == false)
        #expect(server.requests.isEmpty)
    }

    @Test func manyCancelledRequestsLeaveTheClientUsable() async throws {
        let server = try ScriptedServer { request in
            request.target == "/api/auth/me" ? .silent : .json(#"{"status":"ok"}"#)
        }
        let test = try TestClient(server.url)
        for round in 0..<50 {
            let call = Task {
                await apiError { () async throws(APIError) in try await test.client.session().account() }
            }
            if round % 2 == 0 { await Task.yield() }
            call.cancel()
            #expect(await call.value?.kind == .networkError(.cancelled))
        }
        try await test.client.health()
    }

    @Test func shutdownEndsEveryRequest() async throws {
        let server = try ScriptedServer(always: .silent)
        let test = try TestClient(server.url)
        async let first = apiError { () async throws(APIError) in try await test.client.session().account() }
        async let second = apiError { () async throws(APIError) in try await test.client.health() }
        try await eventually("both to arrive") { server.requests.count == 2 }
        test.client.shutdown()
        #expect(await [first?.kind, second?.kind] == [.networkError(.cancelled), .networkError(.cancelled)])
        let later = await apiError { () async throws(APIError) in try await test.client.health() }
        #expect(later?.kind == .networkError(.cancelled))
        #expect(later?.mayHaveReachedServer == false)
        test.client.shutdown()
    }
}
