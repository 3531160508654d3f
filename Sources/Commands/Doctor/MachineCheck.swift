import Console
import Glibc
import PRSNLCore

/// The disk, and who asks.
struct MachineCheck: Check, Equatable {
    static let group = DoctorReport.Group.machine
    static let name = "disk"

    /// Of the file system that the database is on. Bytes that the daemon may use, and all.
    struct Disk: Sendable, Equatable {
        var free: Int64
        var total: Int64
    }

    /// `nil` where it could not be asked.
    var disk: Disk?
    var diskReason = "the folder of the copy is not there"
    /// Who runs prsnlctl.
    var user = "root"
    /// Why neither the daemon nor the file is for this user.
    var refusal: UserFacingError?

    static let noticeBytes: Int64 = 200 << 20
    static let limitBytes: Int64 = 20 << 20
    /// Of all, in hundredths.
    static let noticePercent: Int64 = 5

    @Findings var findings: [DoctorReport.Finding] {
        if let disk {
            let isLow = disk.free < Self.noticeBytes || disk.free < disk.total / 100 * Self.noticePercent
            let level: DoctorReport.Level = disk.free < Self.limitBytes ? .failed : isLow ? .warning : .ok
            let advice: Advice = "Free some space: without it nothing is pulled, and no write is accepted."
            finding(
                "disk", level, "\(Formatting.size(disk.free)) free of \(Formatting.size(disk.total))",
                level == .ok ? nil : advice, nil)
        } else {
            notChecked("disk", diskReason)
        }
        if let refusal {
            warning("caller", refusal.message, refusal.recoverySuggestion, next: refusal.nextCommand)
        } else {
            ok("caller", user == "root" ? "root: may see everything" : "\(user): may read the copy")
        }
    }
}

extension MachineCheck {
    init(_ scene: DoctorScene) {
        user = UserDatabase.user(geteuid())
        refusal = scene.refusal
        let folder = Descriptors.folder(of: scene.database)
        var status = statvfs()
        guard statvfs(folder, &status) == 0 else {
            if errno != ENOENT { diskReason = "\(folder): \(String(cString: strerror(errno)))" }
            return
        }
        let unit = Double(status.f_frsize)
        disk = Disk(
            free: Int64(ForeignNumber.clamp(Double(status.f_bavail) * unit)),
            total: Int64(ForeignNumber.clamp(Double(status.f_blocks) * unit)))
    }
}
