/// An instant in UTC as whole microseconds since 1970-01-01T00:00:00Z, the precision of the PRSNL API.
///
/// An integer, because the API pages by time: a value that loses a microsecond on its way through floating point or a
/// millisecond formatter is another cursor. Printed with a fixed width, so that the text sorts like the time does.
package struct Timestamp: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// Microseconds since the Unix epoch. Negative before it.
    package let microseconds: Int64

    package init(microseconds: Int64) {
        self.microseconds = microseconds
    }

    /// 0000-01-01T00:00:00Z: older than anything a server can say in RFC 3339, and so the bottom of every timeline.
    package static let earliest = Timestamp(microseconds: -62_167_219_200_000_000)
    /// 9999-12-31T23:59:59.999999Z, the newest instant that RFC 3339 can write.
    package static let latest = Timestamp(microseconds: 253_402_300_799_999_999)

    package static func < (left: Timestamp, right: Timestamp) -> Bool { left.microseconds < right.microseconds }

    /// The instant one microsecond later, or `latest`.
    package var next: Timestamp { self < .latest ? Timestamp(microseconds: microseconds + 1) : self }
    /// The instant one microsecond earlier, or `earliest`.
    package var previous: Timestamp { self > .earliest ? Timestamp(microseconds: microseconds - 1) : self }

    /// Moves by a duration (fractions of a microsecond are dropped), stopping at `earliest` and `latest`.
    package func advanced(by duration: Duration) -> Timestamp {
        let (sum, overflow) = microseconds.addingReportingOverflow(duration.wholeMicroseconds)
        if overflow { return duration < .zero ? .earliest : .latest }
        return Timestamp(microseconds: min(max(sum, Self.earliest.microseconds), Self.latest.microseconds))
    }

    package func duration(since earlier: Timestamp) -> Duration {
        .microseconds(microseconds - earlier.microseconds)
    }

    /// RFC 3339, UTC, always 27 bytes: `2025-06-01T00:00:24.000025Z`.
    package var description: String {
        String(unsafeUninitializedCapacity: Self.textLength) { buffer in
            write(to: buffer)
            return Self.textLength
        }
    }
}

extension Timestamp {
    /// The length of `description` in bytes.
    package static let textLength = 27

    /// Writes the 27 bytes of `description`. The buffer must hold at least that many.
    package func write(to buffer: UnsafeMutableBufferPointer<UInt8>) {
        let second = microseconds.flooredQuotient(by: 1_000_000)
        let day = second.flooredQuotient(by: 86_400)
        let (year, month, dayOfMonth) = Self.civil(fromDays: day)
        let secondOfDay = second - day * 86_400
        func put(_ value: Int64, at offset: Int, digits: Int) {
            var rest = value
            for index in stride(from: offset + digits - 1, through: offset, by: -1) {
                buffer[index] = UInt8(truncatingIfNeeded: 48 + rest % 10)
                rest /= 10
            }
        }
        put(year, at: 0, digits: 4)
        put(month, at: 5, digits: 2)
        put(dayOfMonth, at: 8, digits: 2)
        put(secondOfDay / 3_600, at: 11, digits: 2)
        put(secondOfDay / 60 % 60, at: 14, digits: 2)
        put(secondOfDay % 60, at: 17, digits: 2)
        put(microseconds - second * 1_000_000, at: 20, digits: 6)
        buffer[4] = UInt8(ascii: "-")
        buffer[7] = UInt8(ascii: "-")
        buffer[10] = UInt8(ascii: "T")
        buffer[13] = UInt8(ascii: ":")
        buffer[16] = UInt8(ascii: ":")
        buffer[19] = UInt8(ascii: ".")
        buffer[26] = UInt8(ascii: "Z")
    }

    /// Reads RFC 3339 as PRSNL servers write it: `T` or a space, any number of fractional digits (those after the sixth
    /// are dropped), `Z`, an offset, or no zone at all, which those servers mean as UTC. `nil` for anything else.
    package init?(_ text: some StringProtocol) {
        var text = String(text)
        let parsed = text.withUTF8 { Timestamp(bytes: $0) }
        guard let parsed else { return nil }
        self = parsed
    }

    package init?(bytes: UnsafeBufferPointer<UInt8>) {
        var scanner = Scanner(bytes: bytes)
        guard let date = scanner.date(), scanner.separator(), let time = scanner.time(),
            let fraction = scanner.fraction(), let offset = scanner.offset(), scanner.at == bytes.count
        else { return nil }
        let value = Timestamp(microseconds: (date * 86_400 + time - offset) * 1_000_000 + fraction)
        guard value >= .earliest, value <= .latest else { return nil }
        self = value
    }

    /// Reads the parts of an RFC 3339 time one after another. A value, because closures over a shared position cost more
    /// than the reading, and a timeline has two times per item.
    private struct Scanner {
        let bytes: UnsafeBufferPointer<UInt8>
        var at = 0

        /// Days since 1970-01-01.
        mutating func date() -> Int64? {
            guard let year = number(4), accept(UInt8(ascii: "-")), let month = number(2), accept(UInt8(ascii: "-")),
                let day = number(2), (1...12).contains(month), day >= 1,
                day <= Timestamp.days(inMonth: month, year: year)
            else { return nil }
            return Timestamp.days(fromYear: year, month: month, day: day)
        }

        mutating func separator() -> Bool {
            accept(UInt8(ascii: "T")) || accept(UInt8(ascii: " ")) || accept(UInt8(ascii: "t"))
        }

        /// Seconds of the day. A leap second (RFC 3339 5.6) counts as the first instant of the next minute.
        mutating func time() -> Int64? {
            guard let hour = number(2), accept(UInt8(ascii: ":")), let minute = number(2), accept(UInt8(ascii: ":")),
                let second = number(2), hour < 24, minute < 60, second <= 60
            else { return nil }
            return hour * 3_600 + minute * 60 + second
        }

        /// Microseconds. 0 where there is no fraction.
        mutating func fraction() -> Int64? {
            guard accept(UInt8(ascii: ".")) else { return 0 }
            var value: Int64 = 0
            var digits = 0
            while at < bytes.count, case let digit = bytes[at] &- 48, digit < 10 {
                if digits < 6 { value = value * 10 + Int64(digit) }
                digits += 1
                at += 1
            }
            guard digits > 0 else { return nil }
            for _ in min(digits, 6)..<6 { value *= 10 }
            return value
        }

        /// Seconds east of UTC. 0 where there is no zone.
        mutating func offset() -> Int64? {
            if at == bytes.count || accept(UInt8(ascii: "Z")) || accept(UInt8(ascii: "z")) { return 0 }
            let east = accept(UInt8(ascii: "+"))
            guard east || accept(UInt8(ascii: "-")), let hours = number(2), hours < 24 else { return nil }
            _ = accept(UInt8(ascii: ":"))
            guard let minutes = number(2), minutes < 60 else { return nil }
            return (hours * 3_600 + minutes * 60) * (east ? 1 : -1)
        }

        private mutating func number(_ digits: Int) -> Int64? {
            guard at + digits <= bytes.count else { return nil }
            var value: Int64 = 0
            for _ in 0..<digits {
                let digit = bytes[at] &- 48
                guard digit < 10 else { return nil }
                value = value * 10 + Int64(digit)
                at += 1
            }
            return value
        }

        private mutating func accept(_ byte: UInt8) -> Bool {
            guard at < bytes.count, bytes[at] == byte else { return false }
            at += 1
            return true
        }
    }

    /// Days since 1970-01-01 of a date in the proleptic Gregorian calendar, counting years from March so that the leap
    /// day comes last (the method of Howard Hinnant's "chrono-Compatible Low-Level Date Algorithms").
    static func days(fromYear year: Int64, month: Int64, day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = shifted.flooredQuotient(by: 400)
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    static func civil(fromDays days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719_468
        let era = shifted.flooredQuotient(by: 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }

    static func days(inMonth month: Int64, year: Int64) -> Int64 {
        switch month {
        case 4, 6, 9, 11: 30
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        default: 31
        }
    }
}

extension Int64 {
    func flooredQuotient(by divisor: Int64) -> Int64 {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}

extension Duration {
    /// Whole microseconds, clamped to what 64 bits hold.
    package var wholeMicroseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
        if overflow { return seconds < 0 ? .min : .max }
        let (sum, overflow2) = product.addingReportingOverflow(attoseconds / 1_000_000_000_000)
        return overflow2 ? (seconds < 0 ? .min : .max) : sum
    }

    /// Whole milliseconds, clamped to what 64 bits hold.
    package var wholeMilliseconds: Int64 { wholeMicroseconds / 1_000 }
    /// Seconds with a fraction: for ratios and display only.
    package var seconds: Double { Double(wholeMicroseconds) / 1_000_000 }
    /// With microseconds behind the point.
    package var milliseconds: Double { Double(wholeMicroseconds) / 1_000 }
}

/// In JSON, a time is RFC 3339 in UTC: `2025-06-01T00:00:24.000025Z`.
extension Timestamp: Codable {
    package func encode(to encoder: any Encoder) throws { try description.encode(to: encoder) }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let timestamp = Timestamp(text) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not an RFC 3339 time")
        }
        self = timestamp
    }
}

/// An instant by the server's clock, which may be set otherwise than this machine's. The times of items are such instants.
///
/// It cannot be compared with a `Timestamp` of this machine. Only a measured difference of the two clocks leads from one to the other.
package struct ServerTime: Sendable, Hashable, Comparable {
    /// As the server writes it.
    package let written: Timestamp

    package init(_ written: Timestamp) { self.written = written }

    /// What the server's clock says when ours says that.
    ///
    /// - Parameter ahead: how far the server's clock is ahead of ours.
    package init(at here: Timestamp, ahead: Duration) { written = here.advanced(by: ahead) }

    package static let earliest = ServerTime(.earliest)

    package static func < (left: ServerTime, right: ServerTime) -> Bool { left.written < right.written }

    package func advanced(by duration: Duration) -> ServerTime { ServerTime(written.advanced(by: duration)) }

    package func duration(since earlier: ServerTime) -> Duration { written.duration(since: earlier.written) }

    /// How far the server's clock is ahead of ours, which says `here`.
    package func ahead(of here: Timestamp) -> Duration { written.duration(since: here) }
}
