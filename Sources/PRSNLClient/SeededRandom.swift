import Synchronization

/// The client's randomness: request ids and jitter, repeatable from a seed (SplitMix64, Steele, Lea and Flood 2014).
/// Nothing secret comes from here.
final class SeededRandom: Sendable {
    private let state: Mutex<UInt64>

    init(seed: UInt64?) {
        state = Mutex(seed ?? UInt64.random(in: .min ... .max))
    }

    func next() -> UInt64 {
        state.withLock { state in
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }

    /// 0 up to, not including, 1.
    func unit() -> Double { Double(next() >> 11) / Double(1 << 53) }

    /// 128 bits in the form of a UUID of version 4.
    func requestID() -> String {
        let high = next() & ~0xF000 | 0x4000
        let low = next() & ~(3 << 62) | (2 << 62)
        var text = [UInt8]()
        text.reserveCapacity(36)
        for (word, bits) in [(high, 60), (low, 60)] {
            for shift in stride(from: bits, through: 0, by: -4) {
                if text.count == 8 || text.count == 13 || text.count == 18 || text.count == 23 {
                    text.append(UInt8(ascii: "-"))
                }
                let digit = UInt8(truncatingIfNeeded: word >> UInt64(shift) & 15)
                text.append(digit < 10 ? 48 + digit : 87 + digit)
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
