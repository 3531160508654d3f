import Glibc

/// A text that is equal to another one of the same bytes, and to no other: the id of an item, a tag.
///
/// Swift's `==` takes "café" with a composed and with a combined accent for one text (canonical equivalence, Unicode UAX #15).
/// To servers and to SQLite they are two, so that an id compared by `==` would stand for another item.
package struct ByteText: Hashable, Comparable, Sendable {
    package let text: String

    package init(_ text: String) { self.text = text }

    package static func == (left: ByteText, right: ByteText) -> Bool {
        // Native strings lie in one piece, and are compared as such.
        left.text.utf8.withContiguousStorageIfAvailable { left in
            right.text.utf8.withContiguousStorageIfAvailable { right -> Bool in
                guard left.count == right.count else { return false }
                guard let start = left.baseAddress, let other = right.baseAddress else { return true }
                return memcmp(start, other, left.count) == 0
            }
        }.flatMap(\.self) ?? left.text.utf8.elementsEqual(right.text.utf8)
    }

    package static func < (left: ByteText, right: ByteText) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }

    package func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        // So that a prefix is no other text's beginning (Hasher's discrimination of what is combined in a row).
        hasher.combine(UInt8(0xFF))
    }
}

/// A hash that is the same in every process and on every machine, for telling whether something has changed: FNV-1a with
/// 128 bits (http://www.isthe.com/chongo/tech/comp/fnv/). Not against people who look for two texts of one hash.
package struct Fingerprint: Hashable, Sendable {
    package private(set) var value: UInt128 = 0x6C62_272E_07BB_0142_62B8_2175_6295_C58D

    private static let prime: UInt128 = (1 << 88) + 0x13B

    package init() {}

    package init(_ bytes: UnsafeBufferPointer<UInt8>) { add(bytes) }

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

    package init?(hexadecimal digits: some Collection<UInt8>) {
        guard digits.count == Self.textLength else { return nil }
        var high: UInt64 = 0
        var low: UInt64 = 0
        for digit in digits {
            let nibble: UInt8
            switch digit {
            case 0x30...0x39: nibble = digit - 0x30
            case 0x61...0x66: nibble = digit - 0x61 + 10
            default: return nil
            }
            high = high << 4 | low >> 60
            low = low << 4 | UInt64(nibble)
        }
        value = UInt128(high) << 64 | UInt128(low)
    }
}
