/// A pull reader over one JSON text (RFC 8259).
///
/// Ours, and not JSONDecoder, for two reasons: an item that cannot be understood is kept with its raw text, and unknown
/// members keep theirs, so the reader must know byte ranges; and a timeline of 100,000 items is 80 MB of JSON, for which
/// JSONDecoder takes longer than the network and the database together.
///
/// It reads from memory that the caller keeps alive: `JSONReader.read(bytes) { reader in … }`.
public struct JSONReader {
    public enum Kind: Sendable { case object, array, string, number, bool, null }

    /// Where and why the text is not what was asked for.
    public struct Failure: Error, Equatable, Sendable, CustomStringConvertible {
        /// Bytes from the beginning of the text.
        public let offset: Int
        public let reason: String
        public var description: String { "\(reason) at byte \(offset)" }

        public init(offset: Int, reason: String) {
            self.offset = offset
            self.reason = reason
        }
    }

    /// Arrays and objects inside one another; a deeper text is refused rather than risked on the stack.
    static let maximumDepth = 512

    private let bytes: UnsafeBufferPointer<UInt8>
    /// The offset of the next byte.
    public private(set) var offset = 0

    private init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
    }

    /// Runs `body` over the bytes. The reader must not leave it.
    public static func read<Result>(_ bytes: [UInt8], _ body: (inout JSONReader) throws -> Result) rethrows -> Result {
        try bytes.withUnsafeBufferPointer { buffer in
            var reader = JSONReader(buffer)
            return try body(&reader)
        }
    }

    // MARK: Looking

    /// The kind of the next value, without reading it.
    public mutating func kind() throws(Failure) -> Kind {
        skipSpace()
        switch try peek() {
        case UInt8(ascii: "{"): return .object
        case UInt8(ascii: "["): return .array
        case UInt8(ascii: "\""): return .string
        case UInt8(ascii: "t"), UInt8(ascii: "f"): return .bool
        case UInt8(ascii: "n"): return .null
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number
        default: throw failure("no JSON value")
        }
    }

    /// Throws unless only white space is left.
    public mutating func end() throws(Failure) {
        skipSpace()
        if offset < bytes.count { throw failure("text after the JSON value") }
    }

    /// The text between two offsets, invalid UTF-8 repaired.
    public func text(_ range: Range<Int>) -> String {
        String(decoding: UnsafeBufferPointer(rebasing: bytes[range]), as: UTF8.self)
    }

    // MARK: Reading

    /// Reads an object; `member` must read or skip the value each time it is called.
    public mutating func object<Error: Swift.Error>(
        _ member: (_ name: String, inout JSONReader) throws(Error) -> Void
    ) throws {
        guard try enterObject() else { return }
        repeat {
            let name = try string()
            try colon()
            try member(name, &self)
        } while try nextMember()
    }

    /// Reads an array; `element` must read or skip one value each time it is called.
    public mutating func array<Error: Swift.Error>(_ element: (inout JSONReader) throws(Error) -> Void) throws {
        guard try enterArray() else { return }
        repeat { try element(&self) } while try nextElement()
    }

    /// Reads the opening brace; false when the object is empty, and then it has been read whole. Otherwise a name, `colon`
    /// and a value must be read before each `nextMember`.
    public mutating func enterObject() throws(Failure) -> Bool {
        try enter(UInt8(ascii: "{"), UInt8(ascii: "}"))
    }

    /// Reads the colon after a member's name.
    public mutating func colon() throws(Failure) { try expect(UInt8(ascii: ":")) }

    /// Reads the comma or the closing brace after a member; false for the brace.
    public mutating func nextMember() throws(Failure) -> Bool { try goOn(UInt8(ascii: "}")) }

    /// As `enterObject`, for an array.
    public mutating func enterArray() throws(Failure) -> Bool {
        try enter(UInt8(ascii: "["), UInt8(ascii: "]"))
    }

    /// As `nextMember`, for an array.
    public mutating func nextElement() throws(Failure) -> Bool { try goOn(UInt8(ascii: "]")) }

    private mutating func enter(_ opener: UInt8, _ closer: UInt8) throws(Failure) -> Bool {
        try expect(opener)
        skipSpace()
        guard try peek() == closer else { return true }
        offset += 1
        return false
    }

    private mutating func goOn(_ closer: UInt8) throws(Failure) -> Bool {
        skipSpace()
        if try peek() == UInt8(ascii: ",") {
            offset += 1
            return true
        }
        try expect(closer)
        return false
    }

    public mutating func string() throws(Failure) -> String {
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

    /// Reads a string that holds no escapes, as its bytes, which are valid as long as the text is; `nil`, and nothing read,
    /// for one that does. For callers that read many names and times and would throw the `String` away.
    public mutating func plainString() throws(Failure) -> UnsafeBufferPointer<UInt8>? {
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

    /// The number's text; RFC 8259 sets no limits, so neither does this.
    public mutating func numberText() throws(Failure) -> String {
        skipSpace()
        let start = offset
        try skipNumber()
        return text(start..<offset)
    }

    public mutating func bool() throws(Failure) -> Bool {
        skipSpace()
        if try peek() == UInt8(ascii: "t") {
            try word("true")
            return true
        }
        try word("false")
        return false
    }

    /// Reads `null` if it is next.
    public mutating func null() throws(Failure) -> Bool {
        skipSpace()
        guard try peek() == UInt8(ascii: "n") else { return false }
        try word("null")
        return true
    }

    /// Reads past the next value, checking that it is well-formed, and says where it stood.
    @discardableResult
    public mutating func skip() throws(Failure) -> Range<Int> {
        skipSpace()
        let start = offset
        var closers: [UInt8] = []  // what each open array or object ends with
        repeat {
            if closers.count > Self.maximumDepth { throw failure("nested too deeply") }
            skipSpace()
            switch try peek() {
            case UInt8(ascii: "{"):
                offset += 1
                skipSpace()
                if try peek() == UInt8(ascii: "}") {
                    offset += 1
                } else {
                    closers.append(UInt8(ascii: "}"))
                    try skipName()
                    continue
                }
            case UInt8(ascii: "["):
                offset += 1
                skipSpace()
                if try peek() == UInt8(ascii: "]") {
                    offset += 1
                } else {
                    closers.append(UInt8(ascii: "]"))
                    continue
                }
            case UInt8(ascii: "\""): try skipString()
            case UInt8(ascii: "t"): try word("true")
            case UInt8(ascii: "f"): try word("false")
            case UInt8(ascii: "n"): try word("null")
            default: try skipNumber()
            }
            // A value has ended: go on to the next one of what it stands in, closing all that end with it.
            while let closer = closers.last {
                skipSpace()
                if try peek() == UInt8(ascii: ",") {
                    offset += 1
                    if closer == UInt8(ascii: "}") { try skipName() }
                    break
                }
                try expect(closer)
                closers.removeLast()
            }
        } while !closers.isEmpty
        return start..<offset
    }

    // MARK: Pieces

    @inline(__always)
    private mutating func skipSpace() {
        while offset < bytes.count {
            let byte = bytes[offset]
            guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return }
            offset += 1
        }
    }

    @inline(__always)
    private func peek() throws(Failure) -> UInt8 {
        guard offset < bytes.count else { throw failure("unfinished JSON text") }
        return bytes[offset]
    }

    private mutating func expect(_ byte: UInt8) throws(Failure) {
        skipSpace()
        guard try peek() == byte else {
            throw failure("expected \(String(UnicodeScalar(byte)))")
        }
        offset += 1
    }

    private mutating func word(_ word: StaticString) throws(Failure) {
        guard bytes.count - offset >= word.utf8CodeUnitCount else { throw failure("unfinished JSON text") }
        for index in 0..<word.utf8CodeUnitCount where bytes[offset + index] != word.utf8Start[index] {
            throw failure("expected \(word)")
        }
        offset += word.utf8CodeUnitCount
    }

    private mutating func skipName() throws(Failure) {
        skipSpace()
        try skipString()
        skipSpace()
        try expect(UInt8(ascii: ":"))
    }

    private mutating func skipString() throws(Failure) {
        try expect(UInt8(ascii: "\""))
        while true {
            offset = endOfPlainBytes(from: offset)
            switch try peek() {
            case UInt8(ascii: "\""):
                offset += 1
                return
            case UInt8(ascii: "\\"):
                offset += 1
                try skipEscape()
            default: throw failure("control character in a string")
            }
        }
    }

    /// The offset of the first byte that means something in a string: a quotation mark, a backslash or a control
    /// character; or the end of the text. Eight bytes at a time: most of a timeline is inside strings.
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
            if hits & highs != 0 { break }
            at += 8
        }
        while at < bytes.count {
            let byte = bytes[at]
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte < 0x20 { return at }
            at += 1
        }
        return at
    }

    private mutating func skipNumber() throws(Failure) {
        if try peek() == UInt8(ascii: "-") { offset += 1 }
        if try peek() == UInt8(ascii: "0") {
            offset += 1
            if offset < bytes.count, bytes[offset] &- 48 < 10 { throw failure("a number begins with 0") }
        } else {
            try skipDigits()
        }
        if offset < bytes.count, bytes[offset] == UInt8(ascii: ".") {
            offset += 1
            try skipDigits()
        }
        if offset < bytes.count, bytes[offset] | 0x20 == UInt8(ascii: "e") {
            offset += 1
            let sign = try peek()
            if sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") { offset += 1 }
            try skipDigits()
        }
    }

    private mutating func skipDigits() throws(Failure) {
        let start = offset
        while offset < bytes.count, bytes[offset] &- 48 < 10 { offset += 1 }
        if offset == start { throw failure("expected a digit") }
    }

    /// A string from its first byte on, `offset` at its first escape.
    private mutating func escapedString(from start: Int) throws(Failure) -> String {
        var unescaped = Array(bytes[start..<offset])
        while offset < bytes.count {
            let byte = bytes[offset]
            offset += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: unescaped, as: UTF8.self)
            case UInt8(ascii: "\\"): try unescape(into: &unescaped)
            case 0..<0x20: throw failure("control character in a string")
            default: unescaped.append(byte)
            }
        }
        throw failure("unfinished string")
    }

    /// Past an escape, `offset` after its backslash. Checks what `unescape` checks, so that a text that was kept raw can
    /// be read later.
    private mutating func skipEscape() throws(Failure) {
        switch try peek() {
        case UInt8(ascii: "u"):
            offset += 1
            _ = try hexadecimal()
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            offset += 1
        default: throw failure("unknown escape")
        }
    }

    private mutating func unescape(into bytes: inout [UInt8]) throws(Failure) {
        let escape = try peek()
        offset += 1
        switch escape {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): bytes.append(escape)
        case UInt8(ascii: "b"): bytes.append(0x08)
        case UInt8(ascii: "f"): bytes.append(0x0C)
        case UInt8(ascii: "n"): bytes.append(0x0A)
        case UInt8(ascii: "r"): bytes.append(0x0D)
        case UInt8(ascii: "t"): bytes.append(0x09)
        case UInt8(ascii: "u"): bytes.append(contentsOf: Array(String(try unicodeEscape()).utf8))
        default: throw failure("unknown escape")
        }
    }

    /// The scalar of a `\uXXXX`, after the `u`: two of them for one beyond the first plane. A surrogate without its other
    /// half becomes U+FFFD, as RFC 8259 section 8.2 leaves open.
    private mutating func unicodeEscape() throws(Failure) -> Character {
        let unit = try hexadecimal()
        if let scalar = UnicodeScalar(unit) { return Character(scalar) }
        if unit < 0xDC00, offset + 1 < bytes.count, bytes[offset] == UInt8(ascii: "\\"),
            bytes[offset + 1] == UInt8(ascii: "u")
        {
            let mark = offset
            offset += 2
            let low = try hexadecimal()
            if (0xDC00..<0xE000).contains(low),
                let scalar = UnicodeScalar(0x10000 + (UInt32(unit) - 0xD800) << 10 + UInt32(low) - 0xDC00)
            {
                return Character(scalar)
            }
            offset = mark  // the second escape stands for itself
        }
        return "\u{FFFD}"
    }

    private mutating func hexadecimal() throws(Failure) -> UInt16 {
        guard bytes.count - offset >= 4 else { throw failure("unfinished escape") }
        var value: UInt16 = 0
        for _ in 0..<4 {
            let byte = bytes[offset]
            guard let digit = Character(UnicodeScalar(byte)).hexDigitValue, byte < 0x80 else {
                throw failure("expected a hexadecimal digit")
            }
            value = value << 4 | UInt16(digit)
            offset += 1
        }
        return value
    }

    private func failure(_ reason: String) -> Failure { Failure(offset: offset, reason: reason) }
}
