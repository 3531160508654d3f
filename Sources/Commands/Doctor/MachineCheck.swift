import Console
import Glibc
import NetMonitor
import PRSNLCore

/// The disk, the kernel's interfaces, and who asks.
struct MachineCheck: Check, Equatable {
    static let group = DoctorReport.Group.machine
    static let name = "disk"

    /// Of the file system that the database is on.
    struct Disk: Sendable, Equatable {
        /// Bytes that the daemon may use, and all.
        var free: Int64
        var total: Int64
        /// Zero inodes in all: a file system that does not count them.
        var freeInodes: Int64
        var inodes: Int64
    }

    /// Who runs prsnlctl, as against the file.
    enum Caller: Sendable, Equatable {
        case root, owner
        /// Of the group, by name.
        case member(String)
        /// Neither: nothing but what is open to everybody can be seen. With the names of the user and of the group.
        case stranger(String, group: String)
        /// In the group by now, but not yet when this session began.
        case newMember(String, group: String)
    }

    /// `nil` where it could not be asked.
    var disk: Disk?
    var diskReason = "the folder of the copy is not there"
    /// How the kernel tells about the network; `nil` where that is not known.
    var isNetlinkPermitted: Bool?
    var netlinkReason: String?
    /// Whether `probe = icmp` is configured.
    var wantsICMP = false
    /// Whether the daemon's group may send echoes; `nil` where that is not known.
    var isICMPPermitted: Bool?
    var caller: Caller?

    static let noticeBytes: Int64 = 200 << 20
    static let limitBytes: Int64 = 20 << 20
    /// Of all, in hundredths.
    static let noticePercent: Int64 = 5

    @Findings var findings: [DoctorReport.Finding] {
        if let disk { space(disk) } else { notChecked("disk", diskReason) }
        switch isNetlinkPermitted {
        case true?: ok("netlink", "the kernel tells of changes of the network")
        case false?:
            warning(
                "netlink",
                "not permitted\(netlinkReason.map { " (\($0))" } ?? ""): the network is looked at once a minute",
                "Allow AF_NETLINK (RestrictAddressFamilies= in the unit).")
        case nil: notChecked("netlink", netlinkReason ?? "not known")
        }
        switch (wantsICMP, isICMPPermitted) {
        case (false, _): [DoctorReport.Finding]()
        case (true, true?): ok("icmp", "echoes are permitted")
        case (true, false?):
            warning(
                "icmp", "echoes are not permitted to the daemon's group: probe = icmp is done over HTTP",
                "Put the group's number into net.ipv4.ping_group_range.", next: "sysctl net.ipv4.ping_group_range")
        case (true, nil): notChecked("icmp", "the daemon's group is not known")
        }
        if let caller { who(caller) }
    }

    @Findings private func space(_ disk: Disk) -> [DoctorReport.Finding] {
        let isLow = disk.free < Self.noticeBytes || disk.free < disk.total / 100 * Self.noticePercent
        let level: DoctorReport.Level = disk.free < Self.limitBytes ? .failed : isLow ? .warning : .ok
        let advice: Advice = "Free some space: without it nothing is pulled, and no write is accepted."
        finding(
            "disk", level, "\(Formatting.size(disk.free)) free of \(Formatting.size(disk.total))",
            level == .ok ? nil : advice, nil)
        if disk.inodes > 0, disk.freeInodes < max(16, disk.inodes / 100) {
            let (free, all) = (Formatting.count(Int(disk.freeInodes)), Formatting.count(Int(disk.inodes)))
            finding(
                "inodes", disk.freeInodes < 4 ? .failed : .warning, "\(free) of \(all) inodes free",
                "Remove files: \(disk.freeInodes < 4 ? "no" : "soon no") new one can be made.", nil)
        }
    }

    private func who(_ caller: Caller) -> DoctorReport.Finding {
        switch caller {
        case .root: ok("caller", "root: may see everything")
        case .owner: ok("caller", "the owner of the copy")
        case .member(let group): ok("caller", "a member of the group \(group): may read the copy")
        case .stranger(let user, "root"):
            warning("caller", "\(user) may see neither the copy nor the daemon, which are root's", "Ask as root.")
        case .stranger(let user, let group):
            warning(
                "caller", "\(user) is not in the group \(group), and may see neither the copy nor the daemon",
                "Ask as root, or join the group and log in again:", next: "sudo usermod -aG \(group) \(user)")
        case .newMember(let user, let group):
            warning(
                "caller", "\(user) is in the group \(group), but was not when this session began", "Log in again.")
        }
    }
}

// MARK: Reading

extension MachineCheck {
    init(_ scene: DoctorScene) {
        let folder = Descriptors.folder(of: scene.database)
        checkDisk(folder)
        checkNetlink(scene)
        let owner = FileStatus.status(folder).status
        wantsICMP = scene.loaded.configuration.sync.probe == .icmp
        if wantsICMP, let group = owner?.st_gid { isICMPPermitted = Self.isICMPPermitted(group) }
        caller = owner.map(Self.caller)
    }

    private mutating func checkDisk(_ folder: String) {
        var status = statvfs()
        guard statvfs(folder, &status) == 0 else {
            if errno != ENOENT { diskReason = "\(folder): \(String(cString: strerror(errno)))" }
            return
        }
        let unit = Double(status.f_frsize)
        disk = Disk(
            free: Int64(ForeignNumber.clamp(Double(status.f_bavail) * unit)),
            total: Int64(ForeignNumber.clamp(Double(status.f_blocks) * unit)),
            freeInodes: Int64(clamping: status.f_favail), inodes: Int64(clamping: status.f_files))
    }

    /// What the daemon found in its sandbox, else what holds for this process.
    private mutating func checkNetlink(_ scene: DoctorScene) {
        if let network = scene.status?.daemon?.network {
            isNetlinkPermitted = network.listening == "none" ? nil : network.listening == "netlink"
            netlinkReason = network.listeningReason
            return
        }
        do throws(UserFacingError) {
            let source = try NetworkSource.kernel()
            defer { source.stop() }
            isNetlinkPermitted = source.how == .none ? nil : source.how == .netlink
            netlinkReason = source.how.reason
        } catch {
            netlinkReason = error.message
        }
    }

    /// icmp(7): the kernel lets the groups of a range send echoes, by default none.
    private static func isICMPPermitted(_ group: gid_t) -> Bool? {
        guard let text = SmallText.read("/proc/sys/net/ipv4/ping_group_range") else { return nil }
        let ends = text.split(whereSeparator: \.isWhitespace).compactMap { UInt32($0) }
        guard ends.count == 2 else { return nil }
        return ends[0] <= group && group <= ends[1]
    }

    private static func caller(_ folder: stat) -> Caller {
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
