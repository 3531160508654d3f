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
