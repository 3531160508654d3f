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

    /// A JSON string. Text without anything to escape, nearly all of it, is copied at once.
    mutating func appendJSON(_ text: String) {
        var text = text
        let isPlain = text.withUTF8 { utf8 in
            var isSpecial = false  // without a branch in the loop: most text is plain to its end
            for byte in utf8 {
                isSpecial = isSpecial || byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
            }
            if isSpecial { return false }
            append(UInt8(ascii: "\""))
            append(contentsOf: utf8)
            append(UInt8(ascii: "\""))
            return true
        }
        if !isPlain { JSONText.appendString(text, to: &self) }
    }
}
