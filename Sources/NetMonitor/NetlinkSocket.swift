import CLinux
import Glibc
import PRSNLCore

/// A route netlink socket (rtnetlink(7)): one that hears of events, or one that dumps.
final class NetlinkSocket {
    let descriptor: Int32

    enum Failure: Error, Equatable {
        /// The kernel, or a sandbox, does not let us.
        case notPermitted(Int32)
        /// Events were lost (ENOBUFS), or an answer could not be read: what is known may be wrong.
        case lost
    }

    /// - Parameters:
    ///   - groups: RTMGRP_…, 0 for none.
    ///   - receiveBuffer: bytes, where a test wants few of them.
    init(groups: UInt32, receiveBuffer: Int32? = nil) throws(Failure) {
        let descriptor = socket(AF_NETLINK, Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue), NETLINK_ROUTE)
        guard descriptor >= 0 else { throw .notPermitted(errno) }
        if var size = receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
        var address = sockaddr_nl()
        address.nl_family = sa_family_t(AF_NETLINK)
        address.nl_groups = groups
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_nl>.size)) == 0
            }
        }
        guard isBound else {
            let code = errno
            close(descriptor)
            throw .notPermitted(code)
        }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// Throws away what has arrived: events are hints, and the state is dumped in any case.
    ///
    /// - Returns: Whether the kernel has dropped some of them.
    func drain() -> Bool {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var hasLost = false
        while true {
            let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            if count > 0 { continue }
            if count < 0, errno == EINTR { continue }
            // The error is told once; what arrived before it is still there to be read.
            if count < 0, errno == ENOBUFS {
                hasLost = true
                continue
            }
            return hasLost
        }
    }

    // MARK: Dumping

    /// The whole state: links, addresses, routes. A dump that a change has interrupted is asked for again.
    func snapshot() throws(Failure) -> NetworkSnapshot {
        for _ in 0..<8 {
            var snapshot = NetworkSnapshot()
            var isConsistent = true
            for request: UInt16 in [18, 22, 26] {  // RTM_GETLINK, RTM_GETADDR, RTM_GETROUTE
                isConsistent = try dump(request, into: &snapshot) && isConsistent
            }
            if isConsistent { return snapshot }
        }
        throw .lost
    }

    private var sequence: UInt32 = 0

    /// - Returns: False where the kernel says that the answer is not of one moment.
    private func dump(_ type: UInt16, into snapshot: inout NetworkSnapshot) throws(Failure) -> Bool {
        sequence += 1
        // nlmsghdr with NLM_F_REQUEST | NLM_F_DUMP, and a struct that is zero but for its family, which is any.
        var request = [UInt8](repeating: 0, count: NetlinkMessage.headerSize + 16)
        request.withUnsafeMutableBytes { bytes in
            bytes.storeBytes(of: UInt32(bytes.count), as: UInt32.self)
            bytes.storeBytes(of: type, toByteOffset: 4, as: UInt16.self)
            bytes.storeBytes(of: UInt16(0x301), toByteOffset: 6, as: UInt16.self)
            bytes.storeBytes(of: sequence, toByteOffset: 8, as: UInt32.self)
        }
        while send(descriptor, request, request.count, 0) < 0 {
            guard errno == EINTR else { throw .lost }
        }
        var isConsistent = true
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw .lost }
            let messages: [NetlinkMessage]
            do { messages = try NetlinkMessage.parse(buffer[..<count]) } catch { throw .lost }
            for message in messages where message.sequence == sequence {
                if message.flags & NetlinkMessage.interruptedFlag != 0 { isConsistent = false }
                if message.type == NetlinkMessage.done { return isConsistent }
                if message.type == NetlinkMessage.error { throw .lost }
                snapshot.take(message)
            }
        }
    }
}
