import PRSNLCore
import TestSupport
import Testing

@testable import Store

/// The errors that recur.
@Suite struct ErrorTests {
    private let fixture = StoreFixture()

    @Test func whatGoesOnComesFirstAndTheNewestFirst() async throws {
        let store = try fixture.open()
        func record(_ code: ErrorCode, _ endpoint: String, at second: Int) async throws {
            try await store.recordError(code: code, endpoint: endpoint, message: "m", at: StoreFixture.at(second))
        }
        try await record(.timedOut, "a", at: 1)
        try await record(.timedOut, "b", at: 9)
        try await store.noteSuccess()
        try await record(.offline, "a", at: 2)
        try await record(.offline, "a", at: 3)
        try await record(.serverError, "a", at: 4)
        let errors = try StoreReader(path: fixture.path).recurringErrors()
        #expect(
            errors.map { "\($0.code) \($0.endpoint)" } == ["server_error a", "offline a", "timed_out b", "timed_out a"])
        #expect(errors.map(\.isOver) == [false, false, true, true])
        #expect(errors[1].count == 2)
        #expect(errors[1].first == StoreFixture.at(2))
        #expect(errors[1].last == StoreFixture.at(3))
        await store.close()
    }

    @Test func forgettingLeavesNothingAndSaysHowMany() async throws {
        let store = try fixture.open()
        #expect(try await store.forgetErrors() == 0)
        for endpoint in ["a", "b"] {
            try await store.recordError(code: .offline, endpoint: endpoint, message: "", at: StoreFixture.at(1))
        }
        #expect(try await store.forgetErrors() == 2)
        #expect(try StoreReader(path: fixture.path).recurringErrors().isEmpty)
        try await store.recordError(code: .offline, endpoint: "a", message: "", at: StoreFixture.at(5))
        #expect(try StoreReader(path: fixture.path).recurringErrors().map(\.count) == [1])
        await store.close()
    }
}
