/// Strings: RFC 8259 section 7.
extension JSONReader {
    /// Reads a string, with its escapes resolved and invalid UTF-8 repaired.
    package mutating func string() throws(Failure) -> String {
        hasLoneSurrogate = false
        skipSpace()
        let start = offset
        try expect(UInt8(ascii: "\""))
        offset = endOfPlainBytes(from: offset)
        switch try peek() {
        case UInt8(ascii: "\""):
            let slice = UnsafeBufferPointer(rebasing: bytes[start + 1..<offset])
            offset += 1
            return String(decoding: slice, as: UTF8.self)
        case UInt8(ascii: "\\"): return try escapedString(from: start + 1)
        default: throw failure("control character in a string")
        }
    }

    /// Reads a string that holds no escapes, as its bytes, which are valid as long as the text is. `nil`, and nothing read,
    /// for one that does. For callers that read many names and times and would throw the `String` away.
    package mutating func plainString() throws(Failure) -> UnsafeBufferPointer<UInt8>? {
        skipSpace()
        let start = offset
        try expect(UInt8(ascii: "\""))
        let end = endOfPlainBytes(from: offset)
        guard end < bytes.count else { throw failure("unfinished JSON text") }
        guard bytes[end] == UInt8(ascii: "\"") else {
            offset = start
            return nil
        }
        offset = end + 1
        return UnsafeBufferPointer(rebasing: bytes[start + 1..<end])
    }

    mutating func skipString() throws(Failure) {
        try expect(UInt8(ascii: "\""))
        while true {
            offset = endOfPlainBytes(from: offset)
            switch try peek() {
            case UInt8(ascii: "\""):
                offset += 1
                return
            case UInt8(ascii: "\\"):
                offset += 1
                _ = try unescaped()
            default: throw failure("control character in a string")
            }
        }
    }

    /// The offset of the first byte that means something in a string: a quotation mark, a backslash or a control
    /// character, or the end of the text. Eight bytes at a time: most of a timeline is inside strings.
    private func endOfPlainBytes(from start: Int) -> Int {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highs: UInt64 = 0x8080_8080_8080_8080
        var at = start
        while at + 8 <= bytes.count, let base = UnsafeRawPointer(bytes.baseAddress) {
            let word = base.loadUnaligned(fromByteOffset: at, as: UInt64.self)
            // "Bit Twiddling Hacks": a byte is zero, or less than n, if the subtraction borrows into its high bit.
            let quote = word ^ (ones &* 0x22)
            let backslash = word ^ (ones &* 0x5C)
            let hits =
                ((quote &- ones) & ~quote) | ((backslash &- ones) & ~backslash) | ((word &- ones &* 0x20) & ~word)
            // A borrow can only go on upwards: the lowest of the bits is right.
            if hits & highs != 0 { return at + (hits & highs).littleEndian.trailingZeroBitCount / 8 }
            at += 8
        }
        while at < bytes.count {
            let byte = bytes[at]
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte < 0x20 { return at }
            at += 1
        }
        return at
    }

    /// A string from its first byte on, `offset` at its first escape. A text of megabytes is unescaped into its final place:
    /// it is never longer than what is written.
    private mutating func escapedString(from start: Int) throws(Failure) -> String {
        let first = offset
        offset = start - 1
        try skipString()
        let end = offset - 1
        offset = first
        var failed: Failure?
        let text = String(unsafeUninitializedCapacity: end - start) { place in
            var count = 0
            func take(_ range: Range<Int>) {
                guard !range.isEmpty else { return }
                _ = UnsafeMutableBufferPointer(rebasing: place[count...]).initialize(
                    fromContentsOf: UnsafeBufferPointer(rebasing: bytes[range]))
                count += range.count
            }
            take(start..<offset)
            do throws(Failure) {
                while offset < end {
                    offset += 1  // the backslash
                    for byte in try unescaped() {
                        place[count] = byte
                        count += 1
                    }
                    let next = min(endOfPlainBytes(from: offset), end)
                    take(offset..<next)
                    offset = next
                }
            } catch {
                failed = error
            }
            return count
        }
        if let failed { throw failed }
        offset = end + 1
        return text
    }

    /// What an escape stands for, `offset` after its backslash.
    private mutating func unescaped() throws(Failure) -> UTF8.EncodedScalar {
        let scalar: UnicodeScalar
        switch try peek() {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): scalar = UnicodeScalar(bytes[offset])
        case UInt8(ascii: "b"): scalar = "\u{08}"
        case UInt8(ascii: "f"): scalar = "\u{0C}"
        case UInt8(ascii: "n"): scalar = "\n"
        case UInt8(ascii: "r"): scalar = "\r"
        case UInt8(ascii: "t"): scalar = "\t"
        case UInt8(ascii: "u"):
            offset += 1
            return UTF8.encode(try unicodeEscape()) ?? UTF8.encodedReplacementCharacter
        default: throw failure("unknown escape")
        }
        offset += 1
        return UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
    }

    /// The scalar of a `\uXXXX`, after the `u`: two of them for one beyond the first plane. A surrogate without its other
    /// half becomes U+FFFD, as RFC 8259 section 8.2 leaves open.
    private mutating func unicodeEscape() throws(Failure) -> UnicodeScalar {
        let unit = try hexadecimal()
        if let scalar = UnicodeScalar(unit) { return scalar }
        if unit < 0xDC00, offset + 1 < bytes.count, bytes[offset] == UInt8(ascii: "\\"),
            bytes[offset + 1] == UInt8(ascii: "u")
        {
            let mark = offset
            offset += 2
            let low = try hexadecimal()
            if (0xDC00..<0xE000).contains(low),
                let scalar = UnicodeScalar(0x10000 + (UInt32(unit) - 0xD800) << 10 + UInt32(low) - 0xDC00)
            {
                return scalar
            }
            offset = mark  // the second escape stands for itself
        }
        hasLoneSurrogate = true
        return "\u{FFFD}"
    }

    private mutating func hexadecimal() throws(Failure) -> UInt16 {
        guard bytes.count - offset >= 4 else { throw failure("unfinished escape") }
        var value: UInt16 = 0
        for _ in 0..<4 {
            // Not by `Character`, which takes ten times as long: a page may be 16 MiB of escapes.
            let byte = bytes[offset]
            let letter = (byte | 0x20) &- UInt8(ascii: "a")
            let digit = letter < 6 ? letter + 10 : byte &- UInt8(ascii: "0")
            guard digit < 10 || letter < 6 else { throw failure("expected a hexadecimal digit") }
            value = value << 4 | UInt16(digit)
            offset += 1
        }
        return value
    }
}
