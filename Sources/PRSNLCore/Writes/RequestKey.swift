/// The name of one write, chosen by its sender. The outbox keeps it with the entry, and answers a request with a key that
/// it knows with that entry.
package struct RequestKey: Sendable, Hashable {
    /// Long enough for 96 random bits, short enough to be indexed.
    package static let length = 16...64

    package let text: String

    /// - Returns: `nil` for anything but 16 to 64 ASCII letters, digits, `-` and `_`.
    package init?(_ text: String) {
        guard Self.length.contains(text.utf8.count), text.utf8.allSatisfy(Self.isAllowed) else { return nil }
        self.text = text
    }

    /// A key that nothing else has.
    package static func make(at now: Timestamp) -> RequestKey { RequestKey(made: TimedUUID.make(at: now)) }

    private init(made text: String) { self.text = text }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
