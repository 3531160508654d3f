import Glibc

/// Lines of a descriptor, with as little memory as one line may have.
package struct LineReader {
    package enum Item: Sendable, Equatable {
        /// Without its end.
        case line([UInt8])
        /// Longer than the limit; it was read over, not kept.
        case tooLong
        /// Nothing has come for a while, and the input is not at its end.
        case pause
        case end
        /// The signal has come.
        case interrupted
    }

    /// Why the input cannot be read: an errno.
    package struct Failure: Error {
        package let code: Int32
    }

    private let descriptor: Int32
    private let limit: Int
    private let interruption: Int32?
    private var buffer: [UInt8] = []
    /// Where the next line begins in `buffer`.
    private var start = 0
    private var searched = 0
    private var isSkipping = false
    private var hasEnded = false

    package init(descriptor: Int32, limit: Int, interruption: Interruption? = nil) {
        self.interruption = interruption?.descriptor
        self.descriptor = descriptor
        self.limit = limit
    }

    /// The next line.
    ///
    /// - Parameter pause: milliseconds after which an input that sends nothing is reported; `nil` waits without a limit.
    package mutating func next(pauseAfter pause: Int32?) throws(Failure) -> Item {
        while true {
            if let newline = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                let line = Array(buffer[start..<newline])
                start = newline + 1
                searched = start
                if isSkipping || line.count > limit {
                    isSkipping = false
                    return .tooLong
                }
                return .line(line)
            }
            if isSkipping || buffer.count - start > limit {
                isSkipping = true
                start = buffer.count
            }
            if hasEnded { return rest() }
            buffer.removeSubrange(..<start)
            start = 0
            searched = buffer.count
            if pause != nil || interruption != nil {
                guard let isReady = Interruption.wait(for: descriptor, or: interruption, atMost: pause ?? -1) else {
                    return .interrupted
                }
                if !isReady { return .pause }
            }
            try fill()
        }
    }

    /// The last line needs no end.
    private mutating func rest() -> Item {
        let line = Array(buffer[start...])
        buffer = []
        start = 0
        searched = 0
        if isSkipping {
            isSkipping = false
            return .tooLong
        }
        return line.isEmpty ? .end : .line(line)
    }

    private mutating func fill() throws(Failure) {
        let size = 65_536
        let before = buffer.count
        buffer.append(contentsOf: repeatElement(0, count: size))
        let count = buffer.withUnsafeMutableBytes { bytes -> Int in
            guard let base = bytes.baseAddress else { return 0 }
            while true {
                let count = read(descriptor, base + before, size)
                if count >= 0 || errno != EINTR { return count }
            }
        }
        let code = errno
        buffer.removeLast(size - max(0, count))
        if count < 0 { throw Failure(code: code) }
        if count == 0 { hasEnded = true }
    }
}
