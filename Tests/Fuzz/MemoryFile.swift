import Glibc

/// A file for code that opens a path, in $TMPDIR, which the script makes in memory and removes.
final class MemoryFile: Sendable {
    private let descriptor: Int32
    let path: String

    init() {
        path = Self.folder + "/file-\(getpid())"
        descriptor = open(path, O_RDWR | O_CREAT | O_EXCL, 0o600)
        require(descriptor >= 0, "open: \(String(cString: strerror(errno)))")
    }

    deinit { close(descriptor) }

    static let folder = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"

    func fill(_ bytes: [UInt8]) {
        require(ftruncate(descriptor, 0) == 0, "ftruncate")
        require(pwrite(descriptor, bytes, bytes.count, 0) == bytes.count, "pwrite")
    }
}
