/// RFC 4648 section 5, without padding.
package enum Base64URL {
    /// - Returns: `nil` for anything else than its characters, and for a length that it never has.
    package static func decode(_ text: Substring) -> [UInt8]? {
        var bytes: [UInt8] = []
        var bits: UInt32 = 0
        var count = 0
        for byte in text.utf8 {
            let value: UInt32
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = UInt32(byte) - 65
            case UInt8(ascii: "a")...UInt8(ascii: "z"): value = UInt32(byte) - 71
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = UInt32(byte) + 4
            case UInt8(ascii: "-"): value = 62
            case UInt8(ascii: "_"): value = 63
            default: return nil
            }
            bits = bits << 6 | value
            count += 6
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
            }
        }
        return count == 6 ? nil : bytes  // a single character over is no byte
    }
}
