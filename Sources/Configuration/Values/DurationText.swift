/// Durations as the configuration writes them: `300` (seconds), `5m`, `1h30m`, `500ms`.
package enum DurationText {
    /// Milliseconds of each unit, the largest first, which is also the order in which units may follow one another.
    private static let units: [(name: String, milliseconds: Int64)] = [
        ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1),
    ]

    /// `nil` for anything that is not a duration, is negative, or passes 100 years.
    package static func parse(_ text: String) -> Duration? {
        var rest = Substring(text)
        var total: Int64 = 0
        var largestAllowed = units.startIndex
        var isFirst = true
        while !rest.isEmpty || isFirst {
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            guard let number = Int64(digits) else { return nil }
            rest = rest.dropFirst(digits.count)
            let name = rest.prefix { $0.isASCII && $0.isLetter }
            rest = rest.dropFirst(name.count)
            let unit: Int
            if name.isEmpty {
                // A bare number is seconds, and only when it stands alone: in `1h30` the 30 could be meant either way.
                guard isFirst, rest.isEmpty else { return nil }
                unit = 3
            } else {
                guard let found = units.firstIndex(where: { $0.name == name }), found >= largestAllowed else {
                    return nil
                }
                unit = found
            }
            let (part, overflow) = number.multipliedReportingOverflow(by: units[unit].milliseconds)
            guard !overflow, part <= longest - total else { return nil }
            total += part
            largestAllowed = unit + 1
            isFirst = false
        }
        return .milliseconds(total)
    }

    private static let longest: Int64 = 100 * 366 * 86_400_000

    /// The shortest text that `parse` reads back, to the millisecond: `1h30m`.
    package static func describe(_ duration: Duration) -> String {
        var rest = duration.wholeMilliseconds
        guard rest > 0 else { return "0s" }
        var text = ""
        for unit in units where rest >= unit.milliseconds {
            text += "\(rest / unit.milliseconds)\(unit.name)"
            rest %= unit.milliseconds
        }
        return text
    }
}

/// Sizes as the configuration writes them: `1048576` (bytes), `32MiB`, `64 KiB`, `1GB`.
package enum SizeText {
    private static let units: [(name: String, bytes: Int)] = [
        ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000),
        ("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10), ("B", 1),
    ]

    /// Bytes. `nil` for anything that is not a size or does not fit.
    package static func parse(_ text: String) -> Int? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let number = Int(digits) else { return nil }
        let name = text.dropFirst(digits.count).drop { $0 == " " }.lowercased()
        let factor = name.isEmpty ? 1 : units.first { $0.name.lowercased() == name }?.bytes
        guard let factor else { return nil }
        let (bytes, overflow) = number.multipliedReportingOverflow(by: factor)
        return overflow ? nil : bytes
    }

    /// In the largest binary unit that leaves no remainder: `32MiB`.
    package static func describe(_ bytes: Int) -> String {
        for unit in units.prefix(3) where bytes >= unit.bytes && bytes % unit.bytes == 0 {
            return "\(bytes / unit.bytes)\(unit.name)"
        }
        return "\(bytes)"
    }
}
