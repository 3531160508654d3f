import Synchronization

/// Who may do what at the control socket (docs/security.md, "The control socket").
struct PeerPolicy: Sendable, Equatable {
    enum Standing: Sendable, CaseIterable {
        case root
        /// The daemon's own user.
        case owner
        /// Of the socket's group.
        case member
        case stranger
    }

    /// The daemon's effective user.
    let owner: UInt32
    /// The group of the socket's file.
    let group: UInt32

    /// Stands for all users that this process's user namespace does not know, and so proves nothing.
    static let unknownUser: UInt32 = 65_534

    func standing(of peer: Peer) -> Standing {
        if peer.user == 0 { return .root }
        if peer.user == owner, owner != Self.unknownUser { return .owner }
        if group != Self.unknownUser, peer.groups.contains(group) { return .member }
        return .stranger
    }

    static func mayChange(_ standing: Standing, groupMayWrite: Bool) -> Bool {
        switch standing {
        case .root, .owner: true
        case .member: groupMayWrite
        case .stranger: false
        }
    }
}

/// `group_may_write`: whether members of the socket's group may change things. Counts from the next request on, also for
/// those who are connected.
package final class GroupRight: Sendable {
    private let value: Atomic<Bool>

    package init(mayWrite: Bool = false) {
        value = Atomic(mayWrite)
    }

    package var mayWrite: Bool { value.load(ordering: .relaxed) }

    package func set(mayWrite: Bool) { value.store(mayWrite, ordering: .relaxed) }
}

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
