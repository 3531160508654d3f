import CLinux
import Glibc

// Asking the kernel for the state. Constants are those of linux/rtnetlink.h and linux/netlink.h.
extension NetworkSnapshot {
    /// The state now, in this thread's network.
    static func read() throws(NetlinkSocket.Failure) -> NetworkSnapshot {
        // A socket per look: one whose dump has failed half-way would answer EBUSY, and none is held while idle.
        let socket = try NetlinkSocket()
        // Since Linux 4.20 the kernel can leave out what is not asked for: the routes of other tables than the main one.
        var one: Int32 = 1
        let solNetlink: Int32 = 270
        let isStrict =
            setsockopt(
                socket.descriptor, solNetlink, NETLINK_GET_STRICT_CHK, &one, socklen_t(MemoryLayout<Int32>.size)) == 0
        var snapshot = NetworkSnapshot()
        // IFLA_EXT_MASK: RTEXT_FILTER_SKIP_STATS, because counters are most of a link's message.
        try snapshot.take(
            socket, 18,
            [UInt8](repeating: 0, count: 16) + NetlinkMessage.attribute(29, NetlinkMessage.native(UInt32(8))))
        try snapshot.take(socket, 22, [UInt8](repeating: 0, count: 8))
        var route = [UInt8](repeating: 0, count: 12)
        if isStrict { route[4] = 254 }  // RT_TABLE_MAIN
        try snapshot.take(socket, 26, route)
        return snapshot
    }

    /// One list, which is asked for again where a change has come between its pieces.
    private mutating func take(
        _ socket: NetlinkSocket, _ type: UInt16, _ body: [UInt8]
    ) throws(NetlinkSocket.Failure) {
        for _ in 0..<4 {
            var attempt = self
            if try socket.dump(type, body, take: { attempt.take($0) }) {
                self = attempt
                return
            }
        }
        throw .interrupted
    }
}
