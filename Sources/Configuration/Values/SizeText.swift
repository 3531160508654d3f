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
