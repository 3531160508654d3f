/// An instant by the server's clock, which may be set otherwise than this machine's. The times of items are such instants.
///
/// It cannot be compared with a `Timestamp` of this machine. Only a measured difference of the two clocks leads from one to the other.
package struct ServerTime: Sendable, Hashable, Comparable {
    /// As the server writes it.
    package let written: Timestamp

    package init(_ written: Timestamp) { self.written = written }

    /// What the server's clock says when ours says that.
    ///
    /// - Parameter ahead: how far the server's clock is ahead of ours.
    package init(at here: Timestamp, ahead: Duration) { written = here.advanced(by: ahead) }

    package static let earliest = ServerTime(.earliest)

    package static func < (left: ServerTime, right: ServerTime) -> Bool { left.written < right.written }

    package func advanced(by duration: Duration) -> ServerTime { ServerTime(written.advanced(by: duration)) }

    package func duration(since earlier: ServerTime) -> Duration { written.duration(since: earlier.written) }

    /// How far the server's clock is ahead of ours, which says `here`.
    package func ahead(of here: Timestamp) -> Duration { written.duration(since: here) }
}
