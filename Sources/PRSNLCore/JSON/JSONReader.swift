/// A pull reader over one JSON text (RFC 8259).
///
/// Ours, and not JSONDecoder, for two reasons: an item that cannot be understood is kept with its raw text, and unknown
/// members keep theirs, so the reader must know byte ranges. A timeline of 100,000 items is 80 MB of JSON, for which
/// JSONDecoder takes longer than the network and the database together.
///
/// It reads from memory that the caller keeps alive: `JSONReader.read(bytes) { reader in … }`.
package struct JSONReader {
    package enum Kind: Sendable { case object, array, string, number, bool, null }

    /// Where and why the text is not what was asked for.
    package struct Failure: Error, Equatable, Sendable, CustomStringConvertible {
        /// Bytes from the beginning of the text.
        package let offset: Int
        package let reason: String
        package var description: String { "\(reason) at byte \(offset)" }

        package init(offset: Int, reason: String) {
            self.offset = offset
            self.reason = reason
        }
    }

    /// Arrays and objects inside one another. A deeper text is refused rather than risked on the stack.
    static let maximumDepth = 512

    let bytes: UnsafeBufferPointer<UInt8>
    /// The offset of the next byte.
    package internal(set) var offset = 0
    /// Whether the last `string` held a surrogate without its other half, which became U+FFFD.
    package internal(set) var hasLoneSurrogate = false

    private init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
    }

    /// Runs `body` over the bytes. The reader must not leave it.
    package static func read<Result>(_ bytes: [UInt8], _ body: (inout JSONReader) throws -> Result) rethrows -> Result {
        try bytes.withUnsafeBufferPointer { buffer in
            var reader = JSONReader(buffer)
            return try body(&reader)
        }
    }

    /// The same, of a text that is one value and nothing after it.
    package static func read<Result>(whole bytes: [UInt8], _ body: (inout JSONReader) throws -> Result) throws -> Result
    {
        try read(bytes) { reader in
            let result = try body(&reader)
            try reader.end()
            return result
        }
    }

    // MARK: Reading

    /// The kind of the next value, without reading it.
    package mutating func kind() throws(Failure) -> Kind {
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
    package mutating func end() throws(Failure) {
        skipSpace()
        if offset < bytes.count { throw failure("text after the JSON value") }
    }

    /// The text between two offsets, invalid UTF-8 repaired.
    package func text(_ range: Range<Int>) -> String { String(decoding: raw(range), as: UTF8.self) }

    /// The bytes between two offsets, which are valid as long as the text is.
    package func raw(_ range: Range<Int>) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(rebasing: bytes[range])
    }

    package var bytesLeft: Int { bytes.count - offset }

    /// Whether that part of the text is what RFC 8259 asks for: else each byte of it may become three.
    package func isUTF8(_ range: Range<Int>) -> Bool {
        String(validating: raw(range), as: UTF8.self) != nil
    }

    // MARK: Reading

    /// Reads an object. `member` must read or skip the value each time it is called.
    package mutating func object<Error: Swift.Error>(
        _ member: (_ name: String, inout JSONReader) throws(Error) -> Void
    ) throws {
        guard try enterObject() else { return }
        repeat {
            let name = try string()
            try colon()
            try member(name, &self)
        } while try nextMember()
    }

    /// Reads an array. `element` must read or skip one value each time it is called.
    package mutating func array<Error: Swift.Error>(_ element: (inout JSONReader) throws(Error) -> Void) throws {
        guard try enterArray() else { return }
        repeat { try element(&self) } while try nextElement()
    }

    /// Reads the opening brace. False when the object is empty, and then it has been read whole. Otherwise a name, `colon`
    /// and a value must be read before each `nextMember`.
    package mutating func enterObject() throws(Failure) -> Bool {
        try enter(UInt8(ascii: "{"), UInt8(ascii: "}"))
    }

    package mutating func colon() throws(Failure) { try expect(UInt8(ascii: ":")) }

    /// Reads the comma or the closing brace after a member. False for the brace.
    package mutating func nextMember() throws(Failure) -> Bool { try goOn(UInt8(ascii: "}")) }

    /// As `enterObject`, for an array.
    package mutating func enterArray() throws(Failure) -> Bool {
        try enter(UInt8(ascii: "["), UInt8(ascii: "]"))
    }

    /// As `nextMember`, for an array.
    package mutating func nextElement() throws(Failure) -> Bool { try goOn(UInt8(ascii: "]")) }

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

    /// The number's text. RFC 8259 sets no limits, so neither does this.
    package mutating func numberText() throws(Failure) -> String {
        skipSpace()
        let start = offset
        try skipNumber()
        return text(start..<offset)
    }

    package mutating func bool() throws(Failure) -> Bool {
        skipSpace()
        switch try peek() {
        case UInt8(ascii: "t"):
            try word("true")
            return true
        case UInt8(ascii: "f"):
            try word("false")
            return false
        default: throw failure("expected true or false")
        }
    }

    /// Reads `null` if it is next.
    package mutating func null() throws(Failure) -> Bool {
        skipSpace()
        guard try peek() == UInt8(ascii: "n") else { return false }
        try word("null")
        return true
    }

    /// Reads past the next value, checking that it is well-formed, and says where it stood.
    @discardableResult
    package mutating func skip() throws(Failure) -> Range<Int> {
        skipSpace()
        let start = offset
        var closers: [UInt8] = []  // what each open array or object ends with
        repeat {
            if closers.count > Self.maximumDepth { throw failure("nested too deeply") }
            skipSpace()
            switch try peek() {
            case UInt8(ascii: "{"):
                if try enterObject() {
                    closers.append(UInt8(ascii: "}"))
                    try skipName()
                    continue
                }
            case UInt8(ascii: "["):
                if try enterArray() {
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
                if try goOn(closer) {
                    if closer == UInt8(ascii: "}") { try skipName() }
                    break
                }
                closers.removeLast()
            }
        } while !closers.isEmpty
        return start..<offset
    }

    // MARK: Pieces

    @inline(__always)
    mutating func skipSpace() {
        while offset < bytes.count {
            let byte = bytes[offset]
            guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return }
            offset += 1
        }
    }

    @inline(__always)
    func peek() throws(Failure) -> UInt8 {
        guard offset < bytes.count else { throw failure("unfinished JSON text") }
        return bytes[offset]
    }

    @inline(__always)
    mutating func expect(_ byte: UInt8) throws(Failure) {
        skipSpace()
        guard try peek() == byte else { throw missing(byte) }
        offset += 1
    }

    private func missing(_ byte: UInt8) -> Failure { failure("expected \(String(UnicodeScalar(byte)))") }

    @inline(__always)
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

    func failure(_ reason: String) -> Failure { Failure(offset: offset, reason: reason) }
}
