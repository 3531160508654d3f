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

    /// `2026-11-21 04:06:14 CET`, by the clock on the wall. A text names the zone once, and has `clock` for its other times.
    package static func time(_ time: Timestamp) -> String { "\(clock(time)) \(zone(time))" }

    /// `2026-11-21 04:06:14`
    package static func clock(_ time: Timestamp) -> String {
        let local = LocalTime(time)
        return "\(local.day) \(local.time)"
    }

    package static func zone(_ time: Timestamp) -> String { LocalTime(time).zone }

    /// `2026-11-21 04:06:14 (12 s ago)`, with the zone where it is to be named.
    package static func timeWithAge(_ moment: Timestamp, now: Timestamp, named: Bool = false) -> String {
        let age = now.duration(since: moment)
        let text = named ? time(moment) : clock(moment)
        return age < .seconds(-1) ? "\(text) (in the future)" : "\(text) (\(duration(max(age, .zero))) ago)"
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
    package static func rate(_ perSecond: Double, _ noun: String) -> String {
        guard perSecond.isFinite, perSecond > 0, perSecond < 1e12 else { return "0 \(noun)s/s" }
        if perSecond < 10 { return "\(oneDecimal(perSecond)) \(noun)s/s" }
        return "\(count(Int(perSecond.rounded()))) \(noun)s/s"
    }
}
