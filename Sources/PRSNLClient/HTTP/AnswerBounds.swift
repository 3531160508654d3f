import Glibc

/// The encodings that an answer's header names.
///
/// libcurl decodes as many as are named, one after another, in one call: what is compressed three times makes gigabytes of 57 KB,
/// while no deadline is looked at. So there is one at most, of those that were asked for, and a wrong one ends the transfer before
/// anything is decoded.
struct Encodings {
    private var count = 0
    private(set) var areExpected = true

    private static let accepted: Set<String> = ["gzip", "x-gzip", "deflate"]

    /// A line of the header, or the status line of the next answer: a proxy's comes before the server's.
    mutating func read(_ line: UnsafeRawBufferPointer) {
        if line.starts(with: "HTTP/".utf8) { return count = 0 }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return }
        let name = Self.lowercased(line[..<colon])
        guard name == "content-encoding" || name == "transfer-encoding" else { return }
        for part in line[(colon + 1)...].split(separator: UInt8(ascii: ",")) {
            switch Self.lowercased(part) {
            case "", "identity", "none": continue
            case "chunked" where name == "transfer-encoding": continue
            case let encoding where name == "content-encoding" && Self.accepted.contains(encoding): count += 1
            default: areExpected = false
            }
        }
        if count > 1 { areExpected = false }
    }

    private static func lowercased(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
        String(decoding: bytes, as: UTF8.self).lowercased().filter { !$0.isWhitespace }
    }
}

/// What the thread has used of its processor since it was asked last.
final class CPUMeter {
    private var last: Int64 = 0

    /// In nanoseconds.
    func lap() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        let now = Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
        defer { last = now }
        return now - last
    }
}
