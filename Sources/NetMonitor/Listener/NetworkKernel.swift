import CLinux

/// What the listener asks of the kernel; tests let it fail.
struct NetworkKernel: Sendable {
    /// A socket that hears of events.
    var listen: @Sendable () throws(NetlinkSocket.Failure) -> NetlinkSocket
    /// The state now.
    var snapshot: @Sendable () throws(NetlinkSocket.Failure) -> NetworkSnapshot
    var clocks: @Sendable () -> ClockReading
    /// A descriptor, from then on the listener's, that becomes readable when the clocks are worth a look; -1 for none.
    var clockAlarm: @Sendable () -> Int32 = ClockAlarm.timer
    /// How often to look where the kernel does not tell.
    var pollEvery: Duration = .seconds(60)
    /// The same while a change is waited for.
    var pollEveryWhileUrgent: Duration = .seconds(10)

    /// - Parameter receiveBuffer: bytes for events; the kernel's own measure by default.
    static func real(receiveBuffer: Int32? = nil) -> NetworkKernel {
        NetworkKernel(
            listen: { () throws(NetlinkSocket.Failure) in
                let links = RTMGRP_LINK
                let addresses = RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR
                let routes = RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE
                return try NetlinkSocket(groups: UInt32(links | addresses | routes), receiveBuffer: receiveBuffer)
            },
            snapshot: { () throws(NetlinkSocket.Failure) in try NetworkSnapshot.read() },
            clocks: { ClockReading.now() })
    }
}
