import CLinux
import Glibc
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
    private let value = Atomic(false)

    package init() {}

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

/// Who has connected: what the kernel remembers from the time of connect(2) (unix(7), SO_PEERCRED; socket(7),
/// SO_PEERGROUPS). Nothing of it comes from the client itself.
///
/// The numbers are those of this process's user namespace. A user who has none there, as all but root and the daemon's own
/// under systemd's `PrivateUsers=`, is read as 65534 (user_namespaces(7), "Unmapped user and group IDs").
struct Peer: Sendable, Equatable {
    /// 0 for a process of another pid namespace.
    var process: Int32 = 0
    var user: UInt32
    /// The effective one and the supplementary ones.
    var groups: Set<UInt32>
}

extension Peer {
    /// `nil` where the kernel does not say.
    init?(descriptor: Int32) {
        var process = pid_t()
        var user = uid_t()
        var group = gid_t()
        guard prsnl_peer_credentials(descriptor, &process, &user, &group) == 0 else { return nil }
        guard let groups = Self.supplementaryGroups(descriptor) else { return nil }
        self.init(process: process, user: user, groups: Set(groups + [group]))
    }

    private static func supplementaryGroups(_ descriptor: Int32) -> [gid_t]? {
        var groups = [gid_t](repeating: 0, count: 64)
        // Twice: the first call says how many there are, and what was remembered at connect does not change.
        for _ in 0..<2 {
            var size = socklen_t(groups.count * MemoryLayout<gid_t>.stride)
            if prsnl_peer_groups(descriptor, &groups, &size) == 0 {
                return Array(groups.prefix(Int(size) / MemoryLayout<gid_t>.stride))
            }
            guard errno == ERANGE else { return nil }
            groups = [gid_t](repeating: 0, count: Int(size) / MemoryLayout<gid_t>.stride)
        }
        return nil
    }
}
