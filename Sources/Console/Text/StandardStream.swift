import Glibc

/// stdout and stderr without buffers of the C library in between.
package enum StandardStream: Int32, Sendable {
    case output = 1
    case error = 2

    /// Writes all of it. False when the other end is gone or the disk is full: the caller has nowhere left to report it.
    @discardableResult
    package func write(_ text: String) -> Bool {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(rawValue, $0.baseAddress, $0.count) }
            if count > 0 {
                bytes = bytes.dropFirst(count)
            } else if errno != EINTR {
                return false
            }
        }
        return true
    }
}
