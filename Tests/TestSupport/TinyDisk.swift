import CLinux
import Glibc

/// A file system of a few megabytes in memory (tmpfs), which can be filled and made read-only. For root. Unmounted when the
/// last reference goes.
package final class TinyDisk: Sendable {
    private let folder = TemporaryDirectory("disk")
    package var path: String { folder.path }
    private var filler: String { file("filler") }

    /// In CI nothing is skipped: what cannot be made there fails.
    package static var canBeMade: Bool { geteuid() == 0 || getenv("CI") != nil }

    package init(megabytes: Int = 8) throws {
        guard mount("tmpfs", folder.path, "tmpfs", 0, "size=\(megabytes)m,mode=0700") == 0 else {
            throw WaitedInVain("mount: \(String(cString: strerror(errno)))")
        }
    }

    /// Also where files are still open.
    deinit { umount2(folder.path, Int32(MNT_DETACH)) }

    package func file(_ name: String) -> String { folder.file(name) }

    /// Takes all the space that is left, but for so many bytes.
    package func fill(leaving rest: Int = 0) throws {
        let descriptor = prsnl_open(filler, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw WaitedInVain("filler: \(String(cString: strerror(errno)))") }
        defer { close(descriptor) }
        let block = [UInt8](repeating: 0x20, count: 4_096)
        var size = 0
        while case let count = write(descriptor, block, block.count), count > 0 { size += count }
        guard errno == ENOSPC else { throw WaitedInVain("filler: \(String(cString: strerror(errno)))") }
        if rest > 0 { ftruncate(descriptor, max(0, lseek(descriptor, 0, SEEK_END) - rest)) }
    }

    package func free() throws { try TestFile.remove(filler) }

    package func setReadOnly(_ isReadOnly: Bool) throws {
        let flags = UInt(MS_REMOUNT) | (isReadOnly ? UInt(MS_RDONLY) : 0)
        guard mount("tmpfs", folder.path, "tmpfs", flags, nil) == 0 else {
            throw WaitedInVain("remount: \(String(cString: strerror(errno)))")
        }
    }
}
