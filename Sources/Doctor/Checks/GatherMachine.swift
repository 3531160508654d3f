import Control
import Glibc
import NetMonitor
import PRSNLCore

/// The disk, the kernel's interfaces, and who asks.
enum GatherMachine {
    static func run(_ scene: DoctorScene) -> DoctorMachine {
        var facts = DoctorMachine()
        let folder = Folder.containing(scene.database)
        disk(folder, &facts)
        netlink(scene, &facts)
        let owner = FileLook.status(folder).status
        facts.wantsICMP = scene.loaded.configuration.sync.probe == .icmp
        if facts.wantsICMP, let group = owner?.st_gid { facts.isICMPPermitted = isICMPPermitted(group) }
        facts.caller = owner.map(caller)
        return facts
    }

    private static func disk(_ folder: String, _ facts: inout DoctorMachine) {
        var status = statvfs()
        guard statvfs(folder, &status) == 0 else {
            if errno != ENOENT { facts.diskReason = "\(folder): \(String(cString: strerror(errno)))" }
            return
        }
        let unit = Int64(status.f_frsize)
        facts.disk = DoctorMachine.Disk(
            free: Int64(clamping: status.f_bavail) * unit, total: Int64(clamping: status.f_blocks) * unit,
            freeInodes: Int64(clamping: status.f_favail), inodes: Int64(clamping: status.f_files))
    }

    /// The daemon's own experience, in its sandbox; else what holds for this process.
    private static func netlink(_ scene: DoctorScene, _ facts: inout DoctorMachine) {
        if let network = scene.status?.daemon?.network {
            facts.isNetlinkPermitted = network.listening == "none" ? nil : network.listening == "netlink"
            facts.netlinkReason = network.listeningReason
            return
        }
        do throws(UserFacingError) {
            let source = try NetworkSource.kernel()
            defer { source.stop() }
            facts.isNetlinkPermitted = source.how == .none ? nil : source.how == .netlink
            facts.netlinkReason = source.how.reason
        } catch {
            facts.netlinkReason = error.message
        }
    }

    /// icmp(7): the kernel lets the groups of a range send echoes, by default none.
    private static func isICMPPermitted(_ group: gid_t) -> Bool? {
        guard let text = SmallText.read("/proc/sys/net/ipv4/ping_group_range") else { return nil }
        let ends = text.split(whereSeparator: \.isWhitespace).compactMap { UInt32($0) }
        guard ends.count == 2 else { return nil }
        return ends[0] <= group && group <= ends[1]
    }

    private static func caller(_ folder: stat) -> DoctorMachine.Caller {
        let user = geteuid()
        if user == 0 { return .root }
        if user == folder.st_uid { return .owner }
        let group = UserDatabase.group(folder.st_gid)
        let name = UserDatabase.user(user)
        var groups = [gid_t](repeating: 0, count: 65_536)
        let count = getgroups(Int32(groups.count), &groups)
        if getegid() == folder.st_gid || groups.prefix(Int(max(0, count))).contains(folder.st_gid) {
            return .member(group)
        }
        return UserDatabase.group(folder.st_gid, lists: name)
            ? .newMember(name, group: group) : .stranger(name, group: group)
    }
}
