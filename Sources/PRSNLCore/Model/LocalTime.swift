import Glibc

/// Seconds east of UTC at an instant, and the zone's name there: `CET`.
package typealias LocalZone = @Sendable (Timestamp) -> (seconds: Int64, name: String)

/// A time as people read it. Files, JSON and logs have UTC.
package struct LocalTime: Sendable {
    /// That of `$TZ`, or of this machine (tzset(3)).
    package static let system: LocalZone = { instant in
        var seconds = time_t(instant.microseconds.flooredQuotient(by: 1_000_000))
        var parts = tm()
        guard localtime_r(&seconds, &parts) != nil, let zone = parts.tm_zone else { return (0, "UTC") }
        // TZ may be anything.
        return (Int64(parts.tm_gmtoff), SafeText.harmless(String(cString: zone)))
    }

    /// What the clock shows, as if it were one of UTC.
    private let clock: Timestamp
    private let wall: LocalZone
    /// `CET`
    package let zone: String

    package init(_ instant: Timestamp, _ wall: @escaping LocalZone = system) {
        let (seconds, name) = wall(instant)
        (clock, zone, self.wall) = (instant.advanced(by: .seconds(seconds)), name, wall)
    }

    /// `2026-11-21`
    package var day: String { String(clock.description.prefix(10)) }
    /// `10:42:05`
    package var time: String { String(clock.description.dropFirst(11).prefix(8)) }

    /// When the clock shows what one of UTC shows at `clock`. Where it is set forward past that, when it is set.
    package static func instant(showing clock: Timestamp, _ wall: @escaping LocalZone = system) -> Timestamp {
        func instant(at other: Timestamp) -> Timestamp { clock.advanced(by: .seconds(-wall(other).seconds)) }
        let guess = instant(at: clock)
        let found = instant(at: guess)
        return LocalTime(found, wall).clock < clock ? max(found, guess) : found
    }

    /// When this day began, or one that is so many days before it.
    package func midnight(daysBefore: Int64 = 0) -> Timestamp {
        let day = clock.microseconds.flooredQuotient(by: Self.dayLength) - daysBefore
        return Self.instant(showing: Timestamp(microseconds: day * Self.dayLength), wall)
    }

    /// Days since Monday.
    package var dayOfWeek: Int64 {
        // The first day of 1970 was a Thursday.
        let day = clock.microseconds.flooredQuotient(by: Self.dayLength) + 3
        return day - day.flooredQuotient(by: 7) * 7
    }

    /// The same day and time of a month before, or its last day. `earliest` where there was none.
    package func earlier(months: Int64) -> Timestamp {
        let day = clock.microseconds.flooredQuotient(by: Self.dayLength)
        let (year, month, dayOfMonth) = Timestamp.civil(fromDays: day)
        let all = year * 12 + month - 1 - months
        guard all >= 0 else { return .earliest }
        let last = Timestamp.days(inMonth: all % 12 + 1, year: all / 12)
        let then = Timestamp.days(fromYear: all / 12, month: all % 12 + 1, day: min(dayOfMonth, last))
        return Self.instant(
            showing: Timestamp(microseconds: clock.microseconds + (then - day) * Self.dayLength), wall)
    }

    private static let dayLength: Int64 = 86_400_000_000
}
