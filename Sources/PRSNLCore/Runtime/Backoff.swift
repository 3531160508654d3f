/// How long to wait after a failure: a step that doubles with each failure in a row, and jitter, so that clients that failed
/// together do not come back together
/// (https://aws.amazon.com/builders-library/timeouts-retries-and-backoff-with-jitter/).
package struct Backoff: Sendable, Equatable {
    package let base: Duration
    package var cap: Duration
    /// The share of a step that is waited is drawn from this range: 0...1 is full jitter, 1...1 is none.
    package let jitter: ClosedRange<Double>

    package init(base: Duration, cap: Duration, jitter: ClosedRange<Double>) {
        self.base = base
        self.cap = cap
        self.jitter = jitter
    }

    /// The step without jitter.
    ///
    /// - Parameter failures: in a row, from 1.
    package func step(_ failures: Int) -> Duration { min(cap, base * (1 << min(max(failures, 1) - 1, 20))) }

    /// - Parameters:
    ///   - failures: in a row, from 1.
    ///   - draw: a number from 0 to 1, at random.
    package func wait(failures: Int, draw: Double) -> Duration {
        step(failures) * (jitter.lowerBound * (1 - draw) + jitter.upperBound * draw)
    }
}
