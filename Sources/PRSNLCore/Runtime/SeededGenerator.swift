import Synchronization

/// Randomness for jitter and request ids, repeatable from a seed (SplitMix64, Steele, Lea and Flood 2014). Any thread may
/// draw. Nothing secret comes from here.
package final class SeededGenerator: Sendable {
    private let state: Mutex<UInt64>

    /// - Parameter seed: `nil` for a random one.
    package init(seed: UInt64?) {
        state = Mutex(seed ?? UInt64.random(in: .min ... .max))
    }

    package func next() -> UInt64 {
        state.withLock { state in
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }

    /// 0 up to, not including, 1.
    package func unit() -> Double { Double(next() >> 11) / Double(1 << 53) }
}
