import Glibc

/// Random numbers that a failed test can have again: SplitMix64 from a seed.
///
/// The seed is `PRSNL_TEST_SEED` of the environment, else a random one, and is printed.
package struct SeededRandom: RandomNumberGenerator, Sendable {
    package let seed: UInt64
    private var state: UInt64

    package init(seed: UInt64) {
        self.seed = seed
        state = seed
    }

    /// - Parameter name: the test's, printed beside the seed.
    package init(_ name: String = #function) {
        let given = getenv("PRSNL_TEST_SEED").flatMap { UInt64(String(cString: $0)) }
        let seed = given ?? UInt64.random(in: 1...UInt64(UInt32.max))
        self.init(seed: seed)
        print("\(name): PRSNL_TEST_SEED=\(seed)")
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
