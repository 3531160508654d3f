import PRSNLCore
import Store
import Testing

@testable import Commands
@testable import Control
@testable import Requests

/// Who may do what, as tables.
@Suite struct PeerPolicyTests {
    private static let daemon = PeerPolicy(owner: 990, group: 980)

    @Test(arguments: [
        (UInt32(0), [UInt32(0)], PeerPolicy.Standing.root),
        (0, [980], .root), (990, [980], .owner), (990, [1], .owner), (1_000, [1_000, 980], .member),
        // The effective group counts like any other.
        (1_000, [980], .member), (1_000, [1_000, 990], .stranger), (1_000, [], .stranger), (980, [990], .stranger),
        (1_000, [0], .stranger),
        // Whom a user namespace does not know: by the groups alone.
        (65_534, [65_534, 980], .member), (65_534, [65_534], .stranger), (UInt32.max, [UInt32.max], .stranger),
    ])
    func standingFollowsUserAndGroups(user: UInt32, groups: [UInt32], standing: PeerPolicy.Standing) {
        #expect(Self.daemon.standing(of: Peer(user: user, groups: Set(groups))) == standing)
    }

    @Test func nobodyIsNeitherTheOwnerNorAGroup() {
        let policy = PeerPolicy(owner: 65_534, group: 65_534)
        #expect(policy.standing(of: Peer(user: 65_534, groups: [65_534])) == .stranger)
        #expect(policy.standing(of: Peer(user: 0, groups: [65_534])) == .root)
    }

    @Test(arguments: [
        (PeerPolicy.Standing.root, true, true), (.owner, true, true), (.member, false, true), (.stranger, false, false),
    ])
    func theGroupChangesThingsOnlyWhereItMay(
        standing: PeerPolicy.Standing, changes: Bool, changesIfGroupMay: Bool
    ) {
        #expect(PeerPolicy.mayChange(standing, groupMayWrite: false) == changes)
        #expect(PeerPolicy.mayChange(standing, groupMayWrite: true) == changesIfGroupMay)
    }

    @Test(arguments: [
        (StatusRequest() as any ControlRequest, false), (HistoryRequest(), false),
        (QueueRequest(filter: .all, limit: 1), false),
        (EntryRequest(entry: 1), false), (DeliveryRequest(entries: [1], atMost: nil), false), (PingRequest(), false),
        (NetWatchRequest(), false), (WatchRequest(), false), (NetRequest(), false), (ErrorsRequest(), false),
        (ClearErrorsRequest(), true), (VerifyRequest(texts: "none"), true),
        (RebuildIndexRequest(), true),
        (SyncNowRequest(full: false, wait: false, acceptDeletions: false), true),
        (SyncNowRequest(full: true, wait: true, acceptDeletions: true), true),
        (TallyRequest([WriteRequest(.delete(item: "a"))]), true),
        (RetryRequest(entries: nil, parked: true, dryRun: false), true),
        (RetryRequest(entries: [1], parked: false, dryRun: true), false),
        (DropRequest(entries: [1], withDependents: true, dryRun: false), true),
        (DropRequest(entries: [1], withDependents: true, dryRun: true), false), (LoginCheckRequest(), true),
        (LogoutRequest(), true), (WhoamiRequest(), false), (AccountRequest(), false),
    ])
    func changesAreToldFromLooking(request: any ControlRequest, isChange: Bool) {
        #expect(request.isChange == isChange)
    }

    @Test(arguments: [
        (PeerPolicy.Standing.member, 0, 0, true), (.member, 2, 5, true), (.member, 3, 3, false),
        // The last four places are not the members', the last two not the daemon's user's.
        (.member, 0, 5, true), (.member, 0, 6, false), (.owner, 6, 7, true), (.owner, 8, 8, false),
        (.root, 9, 9, true), (.root, 10, 10, false), (.stranger, 0, 0, false),
    ])
    func placesAreKeptForThoseWhoMayDoMore(standing: PeerPolicy.Standing, ofUser: Int, inAll: Int, isAdmitted: Bool) {
        var limits = ControlServer.Limits()
        limits.clients = 10
        limits.reserved = 4
        limits.clientsPerUser = 3
        #expect(ClientQuota.admits(standing, ofUser: ofUser, inAll: inAll, limits: limits) == isAdmitted)
    }
}
