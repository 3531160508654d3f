import CLinux
import Glibc

/// A line that was typed or piped in and must not stay in memory: it lies in one place, which is overwritten at the end.
///
/// What the HTTP library makes of it is out of our hands; that is why the process is not dumpable either (`Secrecy`).
final class SecretBytes {
    enum Outcome { case line, tooLong, end, interrupted }

    /// More than a password may have anywhere.
    static let limit = 1_024

    private let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: SecretBytes.limit, alignment: 1)
    private var count = 0

    deinit {
        wipe()
        bytes.deallocate()
    }

    /// The text, as a copy; `nil` where it is not UTF-8.
    var text: String? { String(validating: bytes[..<count], as: UTF8.self) }
    var isEmpty: Bool { count == 0 }

    func wipe() {
        if let base = bytes.baseAddress { prsnl_wipe(base, bytes.count) }
        count = 0
    }

    /// Reads up to a newline, byte by byte, so that nothing behind the line is taken away from the next reader.
    ///
    /// - Parameter interruption: a descriptor that ends the reading as soon as it can be read.
    func readLine(from descriptor: Int32, interruption: Int32 = -1) -> Outcome {
        wipe()
        while true {
            var waiting = [
                pollfd(fd: interruption, events: Int16(POLLIN), revents: 0),
                pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
            ]
            if poll(&waiting, 2, -1) < 0, errno == EINTR { continue }
            if waiting[0].revents != 0 { return .interrupted }
            var byte: UInt8 = 0
            let got = read(descriptor, &byte, 1)
            if got < 0, errno == EINTR { continue }
            guard got == 1 else { return count > 0 ? .line : .end }
            if byte == UInt8(ascii: "\n") {
                // From a file that was made elsewhere.
                if count > 0, bytes[count - 1] == UInt8(ascii: "\r") { count -= 1 }
                return .line
            }
            guard count < Self.limit else { return .tooLong }
            bytes[count] = byte
            count += 1
        }
    }
}

/// What keeps a secret of this process from others of the same user, and from the disk.
enum Secrecy {
    /// No core dump, and no look from outside: PR_SET_DUMPABLE also makes /proc/PID/mem and environ root's (prctl(2),
    /// ptrace(2)). Failing is impossible for these arguments, or harmless: the limit may be lower already.
    static func begin() {
        _ = prsnl_set_not_dumpable()
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    }
}
