import PRSNLCore

/// Writes one JSON object into a buffer that the caller holds.
struct JSONObjectWriter {
    private var isFirst = true

    init(_ bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "{"))
    }

    mutating func end(_ bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "}"))
    }

    mutating func string(_ name: StaticString, _ value: String?, _ bytes: inout [UInt8]) {
        key(name, &bytes)
        if let value { bytes.appendJSON(value) } else { bytes.append(contentsOf: "null".utf8) }
    }

    mutating func number(_ name: StaticString, _ value: Int?, _ bytes: inout [UInt8]) {
        key(name, &bytes)
        bytes.append(contentsOf: (value.map(String.init) ?? "null").utf8)
    }

    mutating func bool(_ name: StaticString, _ value: Bool, _ bytes: inout [UInt8]) {
        key(name, &bytes)
        bytes.append(contentsOf: (value ? "true" : "false").utf8)
    }

    mutating func time(_ name: StaticString, _ value: Timestamp, _ style: TimeStyle, _ bytes: inout [UInt8]) {
        key(name, &bytes)
        bytes.append(UInt8(ascii: "\""))
        bytes.append(value, style)
        bytes.append(UInt8(ascii: "\""))
    }

    mutating func strings(_ name: StaticString, _ values: [String], _ bytes: inout [UInt8]) {
        key(name, &bytes)
        bytes.append(UInt8(ascii: "["))
        for (index, value) in values.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes.appendJSON(value)
        }
        bytes.append(UInt8(ascii: "]"))
    }

    mutating func raw(_ name: StaticString, _ json: String, _ bytes: inout [UInt8]) {
        key(name, &bytes)
        bytes.append(contentsOf: json.utf8)
    }

    private mutating func key(_ name: StaticString, _ bytes: inout [UInt8]) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: name.utf8CodeUnitCount + 4) { buffer in
            var count = 0
            func put(_ byte: UInt8) {
                buffer[count] = byte
                count += 1
            }
            if !isFirst { put(UInt8(ascii: ",")) }
            put(UInt8(ascii: "\""))
            for index in 0..<name.utf8CodeUnitCount { put(name.utf8Start[index]) }
            put(UInt8(ascii: "\""))
            put(UInt8(ascii: ":"))
            bytes.append(contentsOf: UnsafeBufferPointer(rebasing: buffer[..<count]))
        }
        isFirst = false
    }
}

/// How servers write times.
enum TimeStyle {
    /// `2025-06-01T00:00:24.000025Z`, without a fraction where it is zero.
    case zulu
    /// The same with `+00:00`.
    case offset
    /// `2026-11-20T02:38:50.536Z`.
    case milliseconds
}

extension Timestamp {
    func text(_ style: TimeStyle) -> String {
        var bytes: [UInt8] = []
        bytes.append(self, style)
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension [UInt8] {
    mutating func append(_ time: Timestamp, _ style: TimeStyle) {
        let secondsEnd = 19
        let kept =
            switch style {
            case .milliseconds: 23
            case .zulu, .offset: time.microseconds % 1_000_000 == 0 ? secondsEnd : 26
            }
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Timestamp.textLength) { buffer in
            time.write(to: buffer)
            append(contentsOf: UnsafeBufferPointer(rebasing: buffer[..<kept]))
        }
        append(contentsOf: (style == .offset ? "+00:00" : "Z").utf8)
    }

    /// A JSON string. What needs no escape, nearly all of any text, is copied at once.
    mutating func appendJSON(_ text: String) {
        var text = text
        append(UInt8(ascii: "\""))
        text.withUTF8 { utf8 in
            var start = 0
            while true {
                let end = utf8.endOfPlainText(from: start)
                append(contentsOf: UnsafeBufferPointer(rebasing: utf8[start..<end]))
                guard end < utf8.count else { return }
                appendEscaped(utf8[end])
                start = end + 1
            }
        }
        append(UInt8(ascii: "\""))
    }

    private mutating func appendEscaped(_ byte: UInt8) {
        append(UInt8(ascii: "\\"))
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): append(byte)
        case 0x0A: append(UInt8(ascii: "n"))
        default: append(contentsOf: "u00\(byte < 0x10 ? "0" : "")\(String(byte, radix: 16))".utf8)
        }
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// The place of the next byte that JSON escapes, or the end.
    fileprivate func endOfPlainText(from start: Int) -> Int {
        let bytes = UnsafeRawBufferPointer(self)
        var at = start
        // Eight bytes at a time: a test reads megabytes of text from a debug build.
        while at + 8 <= count, !bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self).holdsSpecialByte { at += 8 }
        while at < count, self[at] >= 0x20, self[at] != UInt8(ascii: "\""), self[at] != UInt8(ascii: "\\") { at += 1 }
        return at
    }
}

extension UInt64 {
    /// Whether one of its bytes is less than a space, a quotation mark or a backslash ("Bit Twiddling Hacks": hasless).
    fileprivate var holdsSpecialByte: Bool {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let quotes = self ^ ones &* 0x22
        let backslashes = self ^ ones &* 0x5C
        let isLess = (self &- ones &* 0x20) & ~self
        let isSpecial = isLess | ((quotes &- ones) & ~quotes) | ((backslashes &- ones) & ~backslashes)
        return isSpecial & (ones &* 0x80) != 0
    }
}
