import Glibc

/// A file without a name (shm_open(3)) for code that opens a path.
final class MemoryFile: Sendable {
    private let descriptor: Int32

    init() {
        // In memory, and without a name as soon as it is open: a file on a disk would make everything four times as slow.
        let name = "/prsnl-fuzz-\(getpid())"
        descriptor = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0o600)
        require(descriptor >= 0, "shm_open: \(String(cString: strerror(errno)))")
        shm_unlink(name)
    }

    deinit { close(descriptor) }

    /// Opening it gives a descriptor with a position of its own (proc(5)).
    var path: String { "/proc/self/fd/\(descriptor)" }

    func fill(_ bytes: [UInt8]) {
        require(ftruncate(descriptor, 0) == 0, "ftruncate")
        require(pwrite(descriptor, bytes, bytes.count, 0) == bytes.count, "pwrite")
    }
}
