package import PRSNLCore

/// Numbers, sizes and times as people read them.
package enum Formatting {
    package static let notKnown = "not known"

    package static func count(_ number: Int) -> String { Count.text(number) }

    package static func count(_ number: Int, _ noun: String) -> String { Count.text(number, noun) }

    /// `812 B`, `52.3 MiB`
    package static func size(_ bytes: Int64) -> String {
        if bytes < 1_024 { return "\(bytes) B" }
        var value = Double(bytes)
        for unit in ["KiB", "MiB", "GiB"] {
            value /= 1_024
            if value < 1_024 || unit == "GiB" { return "\(oneDecimal(value)) \(unit)" }
        }
        return "\(bytes) B"
    }

    private static func oneDecimal(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        return "\(count(tenths / 10)).\(tenths % 10)"
    }

    /// `2026-11-21 04:06:14 UTC`
    package static func time(_ time: Timestamp) -> String {
        let text = time.description
        return "\(text.prefix(10)) \(text.dropFirst(11).prefix(8)) UTC"
    }

    /// `2026-11-21 04:06:14 UTC (12 s ago)`
    package static func timeWithAge(_ moment: Timestamp, now: Timestamp) -> String {
        let age = now.duration(since: moment)
        if age < .seconds(-1) { return "\(time(moment)) (in the future)" }
        return "\(time(moment)) (\(duration(max(age, .zero))) ago)"
    }

    /// One unit, rounded down: `12 s`, `5 min`, `3 h`, `2 days`.
    package static func duration(_ duration: Duration) -> String {
        let seconds = Int(max(duration, .zero).wholeMilliseconds / 1_000)
        switch seconds {
        case ..<60: return "\(seconds) s"
        case ..<3_600: return "\(seconds / 60) min"
        case ..<(48 * 3_600): return "\(seconds / 3_600) h"
        default: return "\(count(seconds / 86_400)) days"
        }
    }

    /// `0.2 ms`, `1,234.5 ms`
    package static func milliseconds(_ milliseconds: Double) -> String {
        guard milliseconds.isFinite, milliseconds >= 0, milliseconds < 1e12 else { return notKnown }
        return "\(oneDecimal(milliseconds)) ms"
    }

    /// `1,230 items/s`
    package static func rate(_ itemsPerSecond: Double) -> String {
        guard itemsPerSecond.isFinite, itemsPerSecond > 0, itemsPerSecond < 1e12 else { return "0 items/s" }
        if itemsPerSecond < 10 { return "\(oneDecimal(itemsPerSecond)) items/s" }
        return "\(count(Int(itemsPerSecond.rounded()))) items/s"
    }
}
