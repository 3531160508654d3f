import CLinux

/// One message of a netlink datagram (netlink(7)), read with every bound checked: what the kernel sends is trusted no
/// more than a stranger's bytes, because a bug here would be read from a socket all day.
struct NetlinkMessage: Equatable, Sendable {
    /// Why a datagram is none.
    struct Malformed: Error, Equatable, CustomStringConvertible {
        let offset: Int
        let reason: String
        var description: String { "\(reason) at byte \(offset)" }
    }

    var type: UInt16
    var flags: UInt16
    var sequence: UInt32
    var payload: ArraySlice<UInt8>

    /// `nlmsghdr`: length, type, flags, sequence, pid.
    static let headerSize = 16

    // linux/netlink.h
    static let error = UInt16(NLMSG_ERROR)
    static let done = UInt16(NLMSG_DONE)
    /// Data was lost.
    static let overrun = UInt16(NLMSG_OVERRUN)
    /// The dump was interrupted by a change: it may be inconsistent.
    static let interruptedFlag = UInt16(NLM_F_DUMP_INTR)

    /// The messages of one datagram. What stands before a broken one is lost with it: the state is dumped again anyway.
    static func parse(_ bytes: ArraySlice<UInt8>) throws(Malformed) -> [NetlinkMessage] {
        var messages: [NetlinkMessage] = []
        var offset = bytes.startIndex
        while offset < bytes.endIndex {
            guard let length = bytes.uint32(at: offset), bytes.endIndex - offset >= headerSize else {
                throw Malformed(offset: offset - bytes.startIndex, reason: "half of a header")
            }
            guard length >= headerSize, Int(length) <= bytes.endIndex - offset else {
                throw Malformed(offset: offset - bytes.startIndex, reason: "a length of \(length)")
            }
            messages.append(
                NetlinkMessage(
                    type: bytes.uint16(at: offset + 4) ?? 0, flags: bytes.uint16(at: offset + 6) ?? 0,
                    sequence: bytes.uint32(at: offset + 8) ?? 0,
                    payload: bytes[offset + headerSize..<offset + Int(length)]))
            // The padding after the last message may be missing.
            offset = min(offset + aligned(Int(length)), bytes.endIndex)
        }
        return messages
    }

    /// Messages and attributes begin at multiples of four bytes.
    static func aligned(_ length: Int) -> Int { (length + 3) & ~3 }

    /// What an error, or the end of a dump, carries: an errno, 0 for none. The kernel sends it negated.
    var errorCode: Int32? {
        guard let code = payload.uint32(at: payload.startIndex).map(Int32.init(bitPattern:)), code > .min else {
            return nil
        }
        return -code
    }

    /// A message to the kernel.
    static func bytes(type: UInt16, flags: UInt16, sequence: UInt32, payload: [UInt8]) -> [UInt8] {
        native(UInt32(headerSize + payload.count)) + native(type) + native(flags) + native(sequence) + native(UInt32(0))
            + payload
    }

    /// An attribute, padded.
    static func attribute(_ type: UInt16, _ value: [UInt8]) -> [UInt8] {
        let length = value.count + 4
        return native(UInt16(length)) + native(type) + value + [UInt8](repeating: 0, count: aligned(length) - length)
    }

    /// In the machine's own byte order.
    static func native(_ value: some FixedWidthInteger) -> [UInt8] { withUnsafeBytes(of: value) { Array($0) } }
}

/// The attributes of a message (rtnetlink(7)), each a type and bytes.
struct NetlinkAttributes: Sendable {
    private var values: [UInt16: ArraySlice<UInt8>] = [:]

    /// - Parameter bytes: What follows the message's own struct. A broken attribute ends the list.
    init(_ bytes: ArraySlice<UInt8>) {
        var offset = bytes.startIndex
        while let length = bytes.uint16(at: offset), let type = bytes.uint16(at: offset + 2), length >= 4,
            Int(length) <= bytes.endIndex - offset
        {
            // Two bits say how it is nested; the type is the rest.
            values[type & 0x3FFF] = bytes[offset + 4..<offset + Int(length)]
            offset = min(offset + NetlinkMessage.aligned(Int(length)), bytes.endIndex)
        }
    }

    subscript(_ type: UInt16) -> ArraySlice<UInt8>? { values[type] }
    func uint32(_ type: UInt16) -> UInt32? { values[type].flatMap { $0.uint32(at: $0.startIndex) } }
    func uint8(_ type: UInt16) -> UInt8? { values[type]?.first }

    /// A text that ends with a NUL or with the attribute.
    func text(_ type: UInt16) -> String? {
        values[type].map { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}

extension ArraySlice<UInt8> {
    /// In the machine's own byte order, as netlink speaks; `nil` beyond the end.
    func uint16(at offset: Int) -> UInt16? {
        guard offset >= startIndex, offset <= endIndex - 2 else { return nil }
        return withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset - startIndex, as: UInt16.self) }
    }

    func uint32(at offset: Int) -> UInt32? {
        guard offset >= startIndex, offset <= endIndex - 4 else { return nil }
        return withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset - startIndex, as: UInt32.self) }
    }
}
