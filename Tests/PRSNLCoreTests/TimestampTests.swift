import Glibc
import PRSNLCore
import TestSupport
import Testing

struct TimestampTests {
    @Test(arguments: [
        ("2025-06-01T00:00:24.000025Z", 1_748_736_024_000_025),
        ("2025-06-01T00:00:23.000024+00:00", 1_748_736_023_000_024),
        ("2026-11-20T02:38:50.536Z", 1_795_142_330_536_000),
        ("2025-07-06T10:00:00Z", 1_751_796_000_000_000),
        ("2026-11-21T02:35:00.480687", 1_795_228_500_480_687),  // no zone: these servers mean UTC
        ("2025-06-01 02:00:00.5+02:00", 1_748_736_000_500_000),
        ("2025-05-31T16:30:00-0730", 1_748_736_000_000_000),
        ("1969-12-31T23:59:59.999999Z", -1),
        ("2025-06-01T00:00:00.0000019Z", 1_748_736_000_000_001),  // a seventh digit is dropped
        ("2024-02-29T00:00:00Z", 1_709_164_800_000_000),
        ("2016-12-31T23:59:60Z", 1_483_228_800_000_000),  // a leap second
    ])
    func aTimeOfAServerIsReadToTheMicrosecond(_ text: String, _ microseconds: Int64) throws {
        #expect(Timestamp(text)?.microseconds == microseconds)
    }

    @Test(arguments: [
        "", "yesterday", "2025-06-01", "2025-13-01T00:00:00Z", "2025-02-29T00:00:00Z", "2025-06-01T24:00:00Z",
        "2025-06-01T00:60:00Z", "2025-06-01T00:00:61Z", "2025-06-01T00:00:00.Z", "2025-06-01T00:00:00Zz",
        "2025-06-01T00:00:00+24:00", "2025-06-01T00:00:00+1", "25-06-01T00:00:00Z", "2025-06-01T00:00:00 Z",
        "2025-00-10T00:00:00Z", "2025-06-00T00:00:00Z", "２０２５-06-01T00:00:00Z",
        "0000-01-01T00:00:00+00:01",  // before the earliest
    ])
    func whatIsNotATimeIsNil(_ text: String) {
        #expect(Timestamp(text) == nil)
    }

    @Test func aTimeIsPrintedWithAFixedWidth() {
        #expect(Timestamp(microseconds: 0).description == "1970-01-01T00:00:00.000000Z")
        #expect(Timestamp(microseconds: -1).description == "1969-12-31T23:59:59.999999Z")
        #expect(Timestamp.earliest.description == "0000-01-01T00:00:00.000000Z")
        #expect(Timestamp.latest.description == "9999-12-31T23:59:59.999999Z")
    }

    @Test func printingAndReadingAreInverse() throws {
        var random = TestSupport.SeededRandom()
        for _ in 0..<10_000 {
            let time = Timestamp(
                microseconds: .random(
                    in: Timestamp.earliest.microseconds...Timestamp.latest.microseconds, using: &random))
            #expect(Timestamp(time.description) == time)
        }
    }

    @Test func theTextSortsLikeTheTime() {
        var random = TestSupport.SeededRandom()
        let times = (0..<1_000).map { _ in
            Timestamp(
                microseconds: .random(
                    in: Timestamp.earliest.microseconds...Timestamp.latest.microseconds, using: &random))
        }
        #expect(times.sorted().map(\.description) == times.map(\.description).sorted())
    }

    /// gmtime_r(3) is an independent implementation of the calendar.
    @Test func theCalendarAgreesWithTheCLibrary() {
        var random = TestSupport.SeededRandom()
        for _ in 0..<10_000 {
            let second = Int.random(in: -62_167_219_200...253_402_300_799, using: &random)
            var seconds = second
            var parts = tm()
            gmtime_r(&seconds, &parts)
            let text = Timestamp(microseconds: Int64(second) * 1_000_000).description
            let numbers = text.split(whereSeparator: { "-T:.Z".contains($0) }).compactMap { Int32($0) }
            #expect(
                numbers == [
                    parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, 0,
                ])
        }
    }

    @Test func movingStopsAtTheEnds() {
        #expect(Timestamp.latest.next == .latest)
        #expect(Timestamp.earliest.previous == .earliest)
        #expect(Timestamp(microseconds: 5).next.microseconds == 6)
        #expect(Timestamp(microseconds: 5).advanced(by: .seconds(1) + .nanoseconds(1_999)).microseconds == 1_000_006)
        #expect(Timestamp(microseconds: 5).advanced(by: .seconds(Int64.max)) == .latest)
        #expect(Timestamp(microseconds: -5).advanced(by: .seconds(Int64.min)) == .earliest)
    }
}
