package import CLinux
import Glibc

/// What takes more than one call of the system.
package enum Descriptors {
    /// Before anything is opened: where stdin, stdout or stderr is closed, the next file or socket would get its number, and what
    /// is printed would go there. What takes the place can be neither read nor written, so that it fails as a closed one does.
    package static func holdStandardPlaces() {
        for (place, mode) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)]
        where fcntl(place, F_GETFD) < 0 {
            _ = open("/dev/null", mode)
        }
    }

    /// Writes all of it, however often it is interrupted.
    ///
    /// - Returns: 0, or the errno of what failed.
    package static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32 {
        var done = 0
        while done < bytes.count {
            let count = Glibc.write(descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done)
            if count >= 0 { done += count } else if errno != EINTR { return errno }
        }
        return 0
    }

    /// Reads to the end, or until there are more bytes than `limit`.
    ///
    /// - Returns: what was read, and 0, or the errno of what failed.
    package static func read(_ descriptor: Int32, atMost limit: Int) -> (bytes: [UInt8], code: Int32) {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while bytes.count <= limit {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count == 0 { break }
            if count > 0 { bytes += buffer[..<count] } else if errno != EINTR { return (bytes, errno) }
        }
        return (bytes, 0)
    }

    /// What is in a small file, such as those of proc(5); `nil` where it cannot be read.
    package static func text(of path: String, atMost limit: Int = 65_536) -> String? {
        let file = prsnl_open(path, O_RDONLY | O_CLOEXEC, 0)
        guard file >= 0 else { return nil }
        defer { close(file) }
        let (bytes, code) = read(file, atMost: limit)
        return code == 0 ? String(decoding: bytes, as: UTF8.self) : nil
    }

    /// A socket's address, of any family, as the system's calls take it.
    package static func withAddress<Address, Result>(
        _ address: Address, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<Address>.size))
            }
        }
    }

    package static func folder(of path: String) -> String {
        path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    }

    /// Brings the names in a file's folder onto the disk. fsync(2) of the file "does not necessarily ensure that the entry in
    /// the directory containing the file has also reached disk".
    ///
    /// - Returns: 0, or the errno of what failed.
    package static func synchronizeFolder(of path: String) -> Int32 {
        let descriptor = prsnl_open(folder(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
        guard descriptor >= 0 else { return errno }
        defer { close(descriptor) }
        return fsync(descriptor) == 0 ? 0 : errno
    }
}

/// Wakes a thread that sleeps in poll(2), from any other: an eventfd(2). Where there is no other descriptor to sleep on,
/// `ThreadWakeup` needs none.
package final class EventDescriptor: Sendable {
    /// Readable from `signal` on until `take`.
    package let descriptor: Int32

    /// `nil` where there is no descriptor to be had; errno says why.
    package init?() {
        descriptor = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
        if descriptor < 0 { return nil }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    package func signal() {
        var one: UInt64 = 1
        while Glibc.write(descriptor, &one, 8) < 0 && errno == EINTR {}
    }

    /// Forgets the signals so far, of which there may be none.
    package func take() {
        var count: UInt64 = 0
        while read(descriptor, &count, 8) < 0 && errno == EINTR {}
    }
}
