import Glibc

/// A file without a folder for code that opens a path.
final class MemoryFile: Sendable {
    private let descriptor: Int32

    init() {
        // memfd_create(2) would not touch a disk at all; Glibc's module does not have it.
        guard let stream = tmpfile() else { fatalError("tmpfile: \(String(cString: strerror(errno)))") }
        descriptor = fileno(stream)
    }

    /// Opening it gives a descriptor with a position of its own (proc(5)).
    var path: String { "/proc/self/fd/\(descriptor)" }

    func fill(_ bytes: [UInt8]) {
        require(ftruncate(descriptor, 0) == 0, "ftruncate")
        require(pwrite(descriptor, bytes, bytes.count, 0) == bytes.count, "pwrite")
    }
}
