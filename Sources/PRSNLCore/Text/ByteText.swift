import Glibc

/// A text that is equal to another one of the same bytes, and to no other: the id of an item, a tag.
///
/// Swift's `==` takes "café" with a composed and with a combined accent for one text (canonical equivalence, Unicode UAX #15).
/// To servers and to SQLite they are two, so that an id compared by `==` would stand for another item.
package struct ByteText: Hashable, Comparable, Sendable {
    package let text: String

    package init(_ text: String) { self.text = text }

    package static func == (left: ByteText, right: ByteText) -> Bool {
        left.text.utf8.count == right.text.utf8.count && order(left, right) == 0
    }

    package static func < (left: ByteText, right: ByteText) -> Bool { order(left, right) < 0 }

    /// Below, at or above zero, as of memcmp(3): the shorter of two texts comes first where it is how the other begins.
    private static func order(_ left: ByteText, _ right: ByteText) -> Int {
        // Native strings lie in one piece, and `withUTF8` makes others so.
        var (left, right) = (left.text, right.text)
        return left.withUTF8 { left in
            right.withUTF8 { right in
                let shared = min(left.count, right.count)
                guard shared > 0, let start = left.baseAddress, let other = right.baseAddress else {
                    return left.count - right.count
                }
                let order = Int(memcmp(start, other, shared))
                return order == 0 ? left.count - right.count : order
            }
        }
    }

    package func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        // So that a prefix is no other text's beginning (Hasher's discrimination of what is combined in a row).
        hasher.combine(UInt8(0xFF))
    }
}

extension UInt8 {
    package var isASCIIDigit: Bool { self &- 0x30 < 10 }
    package var isASCIILetter: Bool { (self | 0x20) &- 0x61 < 26 }
    package var isASCIILetterOrDigit: Bool { isASCIILetter || isASCIIDigit }
}

/// A hash that is the same in every process and on every machine, for telling whether something has changed: FNV-1a with
/// 128 bits (http://www.isthe.com/chongo/tech/comp/fnv/). Not against people who look for two texts of one hash.
package struct Fingerprint: Hashable, Sendable {
    package private(set) var value: UInt128 = 0x6C62_272E_07BB_0142_62B8_2175_6295_C58D

    private static let prime: UInt128 = (1 << 88) + 0x13B

    package init() {}

    package init(_ bytes: ArraySlice<UInt8>) { bytes.withUnsafeBufferPointer { add($0) } }

    package init(_ text: String) {
        var text = text
        text.withUTF8 { add($0) }
    }

    package mutating func add(_ bytes: UnsafeBufferPointer<UInt8>) {
        var hash = value
        for byte in bytes { hash = (hash ^ UInt128(byte)) &* Self.prime }
        value = hash
    }

    private mutating func add(_ byte: UInt8) { value = (value ^ UInt128(byte)) &* Self.prime }

    /// A value among others: its length goes ahead, so that what ends one cannot begin the next. `nil` is not the empty one.
    package mutating func add(field: UnsafeBufferPointer<UInt8>?) {
        guard let field else { return add(0) }
        var length = UInt64(field.count)
        repeat {
            add(UInt8(truncatingIfNeeded: length) | 0x80)
            length >>= 7
        } while length > 0
        add(1)
        add(field)
    }

    // MARK: As text

    package static let textLength = 32

    /// 32 digits, lower case.
    package var hexadecimal: String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: Self.textLength - digits.count) + digits
    }

    package init?(hexadecimal digits: some StringProtocol) {
        // A sign would count as a digit.
        guard digits.utf8.count == Self.textLength, digits.utf8.allSatisfy({ (0x30...0x66).contains($0) }),
            let value = UInt128(digits, radix: 16)
        else { return nil }
        self.value = value
    }
}

/// What servers make of a text while they process an item: they clean HTML, squeeze white space, and put a placeholder where a
/// title is to come.
package enum ServerText {
    /// Whether both are the same text, apart from what servers do to it.
    package static func isSame(_ left: String?, _ right: String?) -> Bool {
        guard let left, let right else { return (left ?? right ?? "").isEmpty }
        return left.utf8.elementsEqual(right.utf8) || cleaned(left).utf8.elementsEqual(cleaned(right).utf8)
    }

    /// Whether both are the same text but for white space.
    package static func isSqueezedSame(_ left: String?, _ right: String?) -> Bool {
        squeezed(left ?? "").utf8.elementsEqual(squeezed(right ?? "").utf8)
    }

    /// Whether both may be spellings of one address. Servers write it in small letters, encode what is not ASCII, and cut a usual port,
    /// the fragment, parameters, or the slash at the end.
    package static func isSameAddress(_ left: String, _ right: String) -> Bool {
        let (left, right) = (address(left), address(right))
        return left.place == right.place
            && (left.parameters.isSubset(of: right.parameters) || right.parameters.isSubset(of: left.parameters))
    }

    private static func address(_ url: String) -> (place: [Substring], parameters: Set<Substring>) {
        let parts = percentDecoded(url).lowercased().prefix { $0 != "#" }.split(separator: "?", maxSplits: 1)
        // Without the scheme; the host is the first.
        var place = parts.first?.split(separator: "/") ?? []
        if place.first?.last == ":" { place.removeFirst() }
        for port in [":80", ":443"] where place.first?.hasSuffix(port) == true { place[0].removeLast(port.count) }
        return (place, Set(parts.dropFirst().first?.split(separator: "&") ?? []))
    }

    private static func percentDecoded(_ text: String) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            let code =
                byte == UInt8(ascii: "%") ? UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) : nil
            if code != nil { rest = rest.dropFirst(2) }
            bytes.append(code ?? byte)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Whether a title only stands for one that is to come.
    package static func isPlaceholder(_ title: String?) -> Bool {
        guard let title = title?.trimmingWhiteSpace() else { return true }
        return title.isEmpty || title == "Untitled"
    }

    /// Each run of white space is one space, and none is at either end.
    package static func squeezed(_ text: String) -> String {
        var result = String.UnicodeScalarView()
        var isSpace = false
        for scalar in text.unicodeScalars {
            if scalar.isStrippedByServers {
                isSpace = true
                continue
            }
            if isSpace, !result.isEmpty { result.append(" ") }
            isSpace = false
            result.append(scalar)
        }
        return String(result)
    }

    /// Without tags of HTML, with squeezed white space.
    static func cleaned(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "<")) else { return squeezed(text) }
        var result = String.UnicodeScalarView()
        var rest = text.unicodeScalars[...]
        while let opening = rest.firstIndex(of: "<") {
            result.append(contentsOf: rest[..<opening])
            let inside = rest[rest.index(after: opening)...]
            // "a < b" is no tag.
            guard let first = inside.first, first == "/" || first == "!" || first.properties.isAlphabetic,
                let closing = inside.firstIndex(of: ">")
            else {
                result.append("<")
                rest = inside
                continue
            }
            rest = inside[inside.index(after: closing)...]
        }
        result.append(contentsOf: rest)
        return squeezed(String(result))
    }
}
