/// Who still gets a place at the control socket: a value, so that no user takes all of them.
enum ClientQuota {
    /// - Parameters:
    ///   - ofUser: how many the same user has already.
    ///   - inAll: how many are taken.
    static func admits(
        _ standing: PeerPolicy.Standing, ofUser: Int, inAll: Int, limits: ControlServer.Limits
    ) -> Bool {
        switch standing {
        case .root: inAll < limits.clients
        // One of the reserved places stays free for root, whatever the daemon's user does.
        case .owner: inAll < max(1, limits.clients - limits.reserved / 2)
        case .member: inAll < limits.clients - limits.reserved && ofUser < limits.clientsPerUser
        case .stranger: false
        }
    }
}
