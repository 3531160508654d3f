import PRSNLCore
import Testing

@Suite struct BackoffTests {
    @Test func theStepDoublesUpToTheCap() {
        let backoff = Backoff(base: .seconds(4), cap: .seconds(3_600), jitter: 1...1)
        #expect([0, 1, 2, 3].map(backoff.step) == [.seconds(4), .seconds(4), .seconds(8), .seconds(16)])
        #expect(backoff.step(11) == .seconds(3_600))
        #expect(backoff.wait(failures: .max, draw: 0.3) == .seconds(3_600))
    }

    @Test func theDrawSpansTheJitter() {
        let backoff = Backoff(base: .seconds(10), cap: .seconds(60), jitter: 0.8...1.2)
        #expect(backoff.wait(failures: 1, draw: 0) == .seconds(8))
        #expect(backoff.wait(failures: 1, draw: 0.5) == .seconds(10))
        #expect(backoff.wait(failures: 1, draw: 1) == .seconds(12))
        let full = Backoff(base: .seconds(10), cap: .seconds(60), jitter: 0...1)
        #expect(full.wait(failures: 2, draw: 0) == .zero)
        #expect(full.wait(failures: 2, draw: 1) == .seconds(20))
    }
}
