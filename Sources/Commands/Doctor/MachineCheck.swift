import Console
import Glibc
import PRSNLCore

/// The disk, and who asks.
struct MachineCheck: Check {
    static let group = DoctorReport.Group.machine
    static let name = "disk"

    /// Of the file system that the database is on: bytes that the daemon may use, and all. `nil` where it could not be asked.
    var disk: (free: Int64, total: Int64)?
    var diskReason = "the folder of the copy is not there"
    /// Who runs prsnlctl.
    var user = "root"
    /// Why neither the daemon nor the file is for this user.
    var refusal: UserFacingError?

    static let noticeBytes: Int64 = 200 << 20
    static let limitBytes: Int64 = 20 << 20
    /// Of all, in hundredths.
    static let noticePercent: Int64 = 5

    @Findings var findings: [Finding] {
        if let disk {
            let isLow = disk.free < Self.noticeBytes || disk.free < disk.total / 100 * Self.noticePercent
            let level: DoctorReport.Level = disk.free < Self.limitBytes ? .failed : isLow ? .warning : .ok
            let found = "\(Formatting.size(disk.free)) free of \(Formatting.size(disk.total))"
            let advice: Advice = "Free some space: without it nothing is pulled, and no write is accepted."
            finding("disk", level, found, level == .ok ? nil : advice, nil)
        } else {
            notChecked("disk", diskReason)
        }
        if let refusal {
            warning("caller", refusal.message, refusal.recoverySuggestion, next: refusal.nextCommand)
        } else {
            ok("caller", user == "root" ? "root: may see everything" : "\(user): may read the copy")
        }
    }

    static func gather(_ scene: DoctorScene) -> Self {
        var facts = Self(user: UserDatabase.user(geteuid()))
        if let error = scene.error, error.code == .databaseUnreadable {
            facts.refusal = error.explainedRefusal(scene.context.paths)
        }
        let folder = Descriptors.folder(of: scene.database)
        var status = statvfs()
        guard statvfs(folder, &status) == 0 else {
            if errno != ENOENT { facts.diskReason = "\(folder): \(String(cString: strerror(errno)))" }
            return facts
        }
        let unit = Double(status.f_frsize)
        func bytes(_ blocks: some BinaryInteger) -> Int64 { Int64(ForeignNumber.clamp(Double(blocks) * unit)) }
        facts.disk = (bytes(status.f_bavail), bytes(status.f_blocks))
        return facts
    }
}
