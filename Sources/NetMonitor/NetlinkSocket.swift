import CLinux
import Glibc
import PRSNLCore

/// A route netlink socket (rtnetlink(7)): one that hears of events, or one that asks.
final class NetlinkSocket {
    let descriptor: Int32

    enum Failure: Error, Equatable {
        /// The kernel, or a sandbox, does not let us; also where there is no descriptor left.
        case notPermitted(Int32)
        /// The kernel's answer to a question is an error.
        case refused(Int32)
        /// The answer is not of one moment, and asking again did not help.
        case interrupted
        /// The answer could not be read.
        case lost
    }

    /// - Parameters:
    ///   - groups: RTMGRP_…, 0 for none.
    ///   - receiveBuffer: bytes, where a test wants few of them.
    init(groups: UInt32 = 0, receiveBuffer: Int32? = nil) throws(Failure) {
        let descriptor = socket(AF_NETLINK, Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue), NETLINK_ROUTE)
        guard descriptor >= 0 else { throw .notPermitted(errno) }
        if var size = receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
        // The kernel answers at once. Should it not, a thread that waits without end could not be stopped.
        var patience = timeval(tv_sec: 2, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_nl()
        address.nl_family = sa_family_t(AF_NETLINK)
        // Port 0 is the kernel's. Connected to it, no other process's messages arrive.
        let kernel = address
        address.nl_groups = groups
        guard Descriptors.withAddress(address, { bind(descriptor, $0, $1) }) == 0,
            Descriptors.withAddress(kernel, { connect(descriptor, $0, $1) }) == 0
        else {
            let code = errno
            close(descriptor)
            throw .notPermitted(code)
        }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// Throws away what has arrived: events are hints, and the state is read in any case.
    ///
    /// - Returns: whether some were dropped: ENOBUFS, or another error of receiving.
    func drain() -> Bool {
        var byte: UInt8 = 0
        var hasLost = false
        // Bounded, because in a flood there is always more. What is left is a hint for the next dump.
        for _ in 0..<10_000 {
            // A message that does not fit is cut off, which is all that is wanted of it.
            if recv(descriptor, &byte, 1, Int32(MSG_DONTWAIT)) >= 0 { continue }
            switch errno {
            case EINTR: continue
            case EAGAIN: return hasLost
            // The error is told once; what arrived before it is still there to be read.
            case ENOBUFS: hasLost = true
            default: return true
            }
        }
        return hasLost
    }

    // MARK: Asking

    private var sequence: UInt32 = 0
    /// The kernel's pieces of a dump have 32 KiB at most (netlink_dump in af_netlink.c).
    private lazy var buffer = [UInt8](repeating: 0, count: 65_536)

    /// Asks for a list.
    ///
    /// - Parameter body: The request's struct and attributes.
    /// - Returns: False where the kernel says that the list is not of one moment.
    func dump(_ type: UInt16, _ body: [UInt8], take: (NetlinkMessage) -> Void) throws(Failure) -> Bool {
        try send(type, flags: UInt16(NLM_F_REQUEST) | UInt16(NLM_F_ROOT) | UInt16(NLM_F_MATCH), body)  // NLM_F_DUMP
        var isConsistent = true
        while true {
            for message in try receive() where message.sequence == sequence {
                // Interrupted by a change.
                if message.flags & UInt16(NLM_F_DUMP_INTR) != 0 { isConsistent = false }
                if message.type == UInt16(NLMSG_DONE) {
                    if let code = message.errorCode, code != 0 { throw .refused(code) }
                    return isConsistent
                }
                try check(message)
                take(message)
            }
        }
    }

    func ask(_ type: UInt16, _ body: [UInt8]) throws(Failure) -> NetlinkMessage {
        try send(type, flags: UInt16(NLM_F_REQUEST), body)
        while true {
            for message in try receive() where message.sequence == sequence {
                try check(message)
                return message
            }
        }
    }

    private func check(_ message: NetlinkMessage) throws(Failure) {
        if message.type == UInt16(NLMSG_OVERRUN) { throw .lost }
        guard message.type == UInt16(NLMSG_ERROR) else { return }
        guard let code = message.errorCode, code != 0 else { throw .lost }
        throw .refused(code)
    }

    private func send(_ type: UInt16, flags: UInt16, _ body: [UInt8]) throws(Failure) {
        sequence += 1
        let request = NetlinkMessage.bytes(type: type, flags: flags, sequence: sequence, payload: body)
        while Glibc.send(descriptor, request, request.count, 0) < 0 {
            switch errno {
            case EINTR: continue
            case EPERM, EACCES: throw .notPermitted(errno)
            default: throw .lost
            }
        }
    }

    private func receive() throws(Failure) -> [NetlinkMessage] {
        while true {
            // MSG_TRUNC: the length that it has, not the part of it that fits.
            let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_TRUNC))
            if count < 0, errno == EINTR { continue }
            guard count > 0, count <= buffer.count else { throw .lost }
            return try NetlinkMessage.parse(buffer[..<count])
        }
    }
}

/// One message of a netlink datagram (netlink(7)), read with every bound checked: what the kernel sends is trusted no
/// more than a stranger's bytes, because a bug here would be read from a socket all day.
struct NetlinkMessage: Equatable, Sendable {
    var type: UInt16
    var flags: UInt16
    var sequence: UInt32
    var payload: ArraySlice<UInt8>

    /// `nlmsghdr`: length, type, flags, sequence, pid.
    static let headerSize = 16

    /// The messages of one datagram. What stands before a broken one is lost with it: the state is dumped again anyway.
    static func parse(_ bytes: ArraySlice<UInt8>) throws(NetlinkSocket.Failure) -> [NetlinkMessage] {
        var messages: [NetlinkMessage] = []
        var offset = bytes.startIndex
        while offset < bytes.endIndex {
            guard bytes.endIndex - offset >= headerSize, let length = bytes.uint32(at: offset), length >= headerSize,
                Int(length) <= bytes.endIndex - offset
            else { throw .lost }
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

    static func bytes(type: UInt16, flags: UInt16, sequence: UInt32, payload: [UInt8]) -> [UInt8] {
        native(UInt32(headerSize + payload.count)) + native(type) + native(flags) + native(sequence) + native(UInt32(0))
            + payload
    }

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
