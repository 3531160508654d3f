/// A gzip stream (RFC 1952) that is small and unpacks to much: one DEFLATE block with the fixed codes of RFC 1951
/// section 3.2.6, in which 13 bits stand for 258 spaces. Its checksum is left at zero, because no client should get
/// that far.
struct GzipOfSpaces {
    private var bytes: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]
    private var pending: UInt32 = 0
    private var pendingBits: UInt32 = 0

    /// - Parameter count: how many bytes it unpacks to, about.
    static func make(start: [UInt8], count: Int) -> [UInt8] {
        var stream = GzipOfSpaces()
        stream.append(0b011, bits: 3)  // the last block, fixed codes
        for byte in start + [0x20] { stream.appendCode(0x30 + UInt32(byte), bits: 8) }
        for _ in 0..<max(1, count / 258) {
            stream.appendCode(0b1100_0101, bits: 8)  // length 258
            stream.appendCode(0, bits: 5)  // from 1 byte back
        }
        stream.appendCode(0, bits: 7)  // end of block
        stream.append(0, bits: (8 - stream.pendingBits) % 8)
        return stream.bytes + [UInt8](repeating: 0, count: 8)
    }

    private mutating func append(_ value: UInt32, bits: UInt32) {
        pending |= value << pendingBits
        pendingBits += bits
        while pendingBits >= 8 {
            bytes.append(UInt8(truncatingIfNeeded: pending))
            pending >>= 8
            pendingBits -= 8
        }
    }

    /// Huffman codes are packed from their most significant bit.
    private mutating func appendCode(_ code: UInt32, bits: UInt32) {
        var reversed: UInt32 = 0
        for index in 0..<bits where code >> index & 1 == 1 { reversed |= 1 << (bits - 1 - index) }
        append(reversed, bits: bits)
    }
}
