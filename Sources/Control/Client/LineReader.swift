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

/// SIGINT and SIGTERM as a descriptor that becomes readable, for commands that have something to say before they end.
///
/// Only the first of each: given again, it ends the process at once, as ever, whatever that is waiting for.
package struct Interruption: Sendable {
    /// Readable after a signal, and from then on.
    package let descriptor: Int32

    /// Call once. `nil` where there is no descriptor left: the signals then do what they always do.
    ///
    /// - Parameter output: a descriptor whose reader may go, as `head` does, which interrupts as a signal does; -1 for none.
    package static func watch(output descriptor: Int32 = -1) -> Interruption? {
        output = descriptor
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        writeEnd = ends[1]
        var action = sigaction()
        // The second signal finds what the first one found taken away.
        action.sa_flags = Int32(bitPattern: UInt32(SA_RESETHAND))
        action.__sigaction_handler.sa_handler = { number in
            // Only what signal-safety(7) allows, and errno as it was.
            let saved = errno
            firstSignal = number
            var byte: UInt8 = 0
            write(writeEnd, &byte, 1)
            errno = saved
        }
        for number in [SIGINT, SIGTERM] where !isIgnored(number) { sigaction(number, &action, nil) }
        return Interruption(descriptor: ends[0])
    }

    /// Where a signal ends the process before `body` has returned, it says this first.
    package static func saying<Result, Failure: Error>(
        _ message: String, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        lastWords = Array(message.utf8)
        var action = sigaction()
        action.sa_flags = Int32(bitPattern: UInt32(SA_RESETHAND))
        action.__sigaction_handler.sa_handler = { number in
            lastWords.withUnsafeBytes { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
            // Blocked until this returns, and then as if it had never been caught.
            raise(number)
        }
        let numbers = [SIGINT, SIGTERM].filter { !isIgnored($0) }
        let former = numbers.map { number in
            var old = sigaction()
            sigaction(number, &action, &old)
            return old
        }
        defer { for (number, var old) in zip(numbers, former) { sigaction(number, &old, nil) } }
        return try body()
    }

    /// A shell starts what runs in its background so, as nohup(1) does: then signals are not meant for this process.
    package static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        sigaction(number, nil, &action)
        // SIG_IGN is the number 1 in the place of a function.
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
    }

    /// The signal that came; `nil` before.
    package var signal: Int32? { firstSignal == 0 ? nil : firstSignal }

    /// Ends the process by the signal that came, as if it had never been caught: a shell sees who ended it, and ends a
    /// loop that the command stands in.
    package func endProcess() {
        guard let signal else { return }
        raise(signal)
    }

    /// Waits until a descriptor can be read, or until the signal, or until no one reads the output.
    ///
    /// - Parameter milliseconds: -1 for no limit.
    /// - Returns: `nil` after the signal; else whether the descriptor can be read.
    package static func wait(for descriptor: Int32, or interruption: Int32?, atMost milliseconds: Int32) -> Bool? {
        var descriptors = [
            pollfd(fd: interruption ?? -1, events: Int16(POLLIN), revents: 0),
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: interruption == nil ? -1 : output, events: 0, revents: 0),
        ]
        while poll(&descriptors, 3, milliseconds) < 0 {
            // EINTR by the signal itself: the pipe has its byte. Anything else is for the read that follows to find out.
            if errno != EINTR { return true }
        }
        if descriptors[0].revents != 0 || descriptors[2].revents != 0 { return nil }
        return descriptors[1].revents != 0
    }
}

// For the handler, which can be given nothing.
private nonisolated(unsafe) var writeEnd: Int32 = -1
private nonisolated(unsafe) var output: Int32 = -1
private nonisolated(unsafe) var firstSignal: Int32 = 0

/// What `Interruption.saying` says.
nonisolated(unsafe) private var lastWords: [UInt8] = []
