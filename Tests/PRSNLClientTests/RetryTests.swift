import PRSNLCore
import Testing

@testable import PRSNLClient

/// Retrying in place, in virtual time.
struct RetryTests {
    @Test func aReadIsTriedThreeTimesWithGrowingPauses() async throws {
        let server = try ScriptedServer(always: .answer(503, [:], ""))
        let test = try TestClient(server.url)
        let error = await apiError { () async throws(APIError) in try await test.client.session().account() }
        #expect(error?.code == .serviceUnavailable)
        #expect(server.requests.count == 3)
        let waits = test.time.waits
        #expect(waits.count == 2)
        #expect((0.8...1.2).contains(waits[0].seconds))
        #expect((1.6...2.4).contains(waits[1].seconds))
        #expect(test.usage.all.map(\.attempts) == [3], "one report for the call")
        #expect(Set(server.requests.compactMap { $0.headers["x-request-id"] }).count == 3, "an id of its own for each")
    }

    @Test func theSeedDecidesTheJitterAndTheIDs() async throws {
        let server = try ScriptedServer(always: .answer(502, [:], ""))
        func run(_ seed: UInt64) async throws -> ([Duration], [String?]) {
            let before = server.requests.count
            let test = try TestClient(server.url, seed: seed)
            _ = await apiError { () async throws(APIError) in try await test.client.session().account() }
            return (test.time.waits, server.requests[before...].map { $0.headers["x-request-id"] })
        }
        let (first, second, other) = (try await run(1), try await run(1), try await run(2))
        #expect(first == second)
        #expect(first.0 != other.0 && first.1 != other.1)
    }

    @Test func aReadThatSucceedsAtLastIsASuccess() async throws {
        let server = try ScriptedServer([.closed, .answer(504, [:], ""), .json(#"{"id":"a"}"#)])
        let test = try TestClient(server.url)
        #expect(try await test.client.session().account().id == "a")
        #expect(test.usage.all.map(\.attempts) == [3])
    }

    @Test func aRateLimitIsWaitedForOnceAndIsNoAttempt() async throws {
        let limit = ScriptedServer.Reply.json("{}", status: 429, headers: ["Retry-After": "7"])
        let server = try ScriptedServer([limit, .answer(503, [:], ""), .answer(503, [:], ""), .json(#"{"id":"a"}"#)])
        let test = try TestClient(server.url)
        #expect(try await test.client.session().account().id == "a")
        #expect(test.time.waits.first == .seconds(7))
        #expect(test.time.waits.count == 3)

        let strict = try ScriptedServer(always: limit)
        let second = try TestClient(strict.url)
        let error = await apiError { () async throws(APIError) in try await second.client.session().account() }
        #expect(error?.kind == .rateLimitExceeded(retryAfter: .seconds(7)))
        #expect(second.time.waits == [.seconds(7)])
    }

    @Test func aSessionThatDoesNotWaitForARateLimitHandsItToItsCaller() async throws {
        let limit = ScriptedServer.Reply.json("{}", status: 429, headers: ["Retry-After": "7"])
        let server = try ScriptedServer(always: limit)
        let test = try TestClient(server.url)
        let error = await apiError { () async throws(APIError) in
            try await test.client.session(waitsForRateLimit: false).account()
        }
        #expect(error?.kind == .rateLimitExceeded(retryAfter: .seconds(7)))
        #expect(test.time.waits.isEmpty && server.requests.count == 1)
    }

    @Test func aRateLimitThatDoesNotSayIsAMinute() async throws {
        let server = try ScriptedServer([
            .json(#"{"error":"rate_limit_exceeded","retry_after":null}"#, status: 429), .json(#"{"id":"a"}"#),
        ])
        let test = try TestClient(server.url)
        #expect(try await test.client.session().account().id == "a")
        #expect(test.time.waits == [.seconds(60)])
    }

    @Test func theBodysOwnWaitCountsWhereTheHeaderIsGarbage() async throws {
        let server = try ScriptedServer([
            .json(#"{"error":"rate_limit_exceeded","retry_after":9}"#, status: 429, headers: ["Retry-After": "soon"]),
            .json(#"{"id":"a"}"#),
        ])
        let test = try TestClient(server.url)
        #expect(try await test.client.session().account().id == "a")
        #expect(test.time.waits == [.seconds(9)])
    }

    @Test func aDateIsMeasuredAgainstTheServersOwnClock() async throws {
        let server = try ScriptedServer([
            .json(
                "{}", status: 429,
                headers: ["Date": "Sun, 06 Nov 1994 08:49:37 GMT", "Retry-After": "Sun, 06 Nov 1994 08:49:49 GMT"]),
            .json(#"{"id":"a"}"#),
        ])
        let test = try TestClient(server.url)
        #expect(try await test.client.session().account().id == "a")
        #expect(test.time.waits == [.seconds(12)])
    }

    @Test func aShortWaitOfABusyServerIsHonouredAndALongOneHandedOn() async throws {
        let server = try ScriptedServer([
            .answer(503, ["Retry-After": "9"], ""), .answer(503, ["Retry-After": "11"], ""),
        ])
        let test = try TestClient(server.url)
        let error = await apiError { () async throws(APIError) in try await test.client.session().account() }
        guard case .serviceUnavailable(_, retryAfter: .seconds(11))? = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(test.time.waits == [.seconds(9)])
    }

    @Test func cancellingWhileItWaitsEndsTheCall() async throws {
        let server = try ScriptedServer(always: .answer(503, [:], ""))
        var configuration = ClientConfiguration(serverURL: server.url, credentials: .none)
        configuration.userAgent = "test"
        let (asleep, signal) = AsyncStream<Void>.makeStream()
        let time = TimeSource(
            now: TimeSource.system.now, uptime: TimeSource.system.uptime,
            sleep: { _ in
                signal.yield()
                try await Task.sleep(for: .seconds(3_600))
            })
        let client = try PRSNLClient(configuration: configuration, time: time)
        let call = Task { await apiError { () async throws(APIError) in try await client.session().account() } }
        for await _ in asleep { break }
        call.cancel()
        #expect(await call.value?.kind == .networkError(.cancelled))
    }

    @Test func thePolicyIsATable() {
        func error(_ kind: APIError.Kind) -> APIError {
            APIError(kind: kind, endpoint: "GET /", requestID: "", mayHaveReachedServer: true)
        }
        let again: [APIError.Kind] = [
            .networkError(.nameNotResolved), .networkError(.connectFailed), .networkError(.timedOut),
            .networkError(.cutOff), .serviceUnavailable(reason: "", retryAfter: nil),
        ]
        let never: [APIError.Kind] = [
            .unauthorized, .forbidden, .notFound(resource: "Item"), .invalidInput(message: ""), .conflict(message: ""),
            .serverError(message: ""), .networkError(.tlsFailed), .networkError(.answerTooLarge(limit: 1)),
            .networkError(.redirectRefused(to: "")), .networkError(.cancelled), .decodingError(.empty),
            .decodingError(.portal), .unknown(statusCode: 418, message: ""),
        ]
        for kind in again {
            var policy = ReadRetry()
            #expect(policy.delay(after: error(kind), unit: 0.5) == .seconds(1))
            #expect(policy.delay(after: error(kind), unit: 0)?.wholeMilliseconds == 1_600)
            #expect(policy.delay(after: error(kind), unit: 0) == nil, "three attempts")
        }
        for kind in never {
            var policy = ReadRetry()
            #expect(policy.delay(after: error(kind), unit: 0.5) == nil)
        }
    }
}
