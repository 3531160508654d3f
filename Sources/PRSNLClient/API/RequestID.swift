import PRSNLCore

extension SeededGenerator {
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
