import PRSNLCore

/// stdout and stderr without buffers of the C library in between.
package enum StandardStream: Int32, Sendable {
    case output = 1
    case error = 2

    /// Writes all of it. False when the other end is gone or the disk is full: the caller has nowhere left to report it.
    @discardableResult
    package func write(_ text: String) -> Bool {
        Array(text.utf8).withUnsafeBytes { Descriptors.write($0, to: rawValue) } == 0
    }
}
