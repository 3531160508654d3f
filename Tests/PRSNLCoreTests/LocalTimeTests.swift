import Testing

@testable import PRSNLCore

@Suite struct LocalTimeTests {
    /// Clocks of Berlin: set forward on March 29, and back on October 25.
    private static let berlin: LocalZone = { instant in
        let summer = (Timestamp("2026-03-29T01:00:00Z")!..<Timestamp("2026-10-25T01:00:00Z")!).contains(instant)
        return summer ? (7_200, "CEST") : (3_600, "CET")
    }
    /// Clocks of Santiago, which are set forward at midnight.
    private static let santiago: LocalZone = { instant in
        instant < Timestamp("2026-09-06T04:00:00Z")! ? (-14_400, "-04") : (-10_800, "-03")
    }

    private func local(_ text: String, _ zone: @escaping LocalZone = berlin) throws -> LocalTime {
        LocalTime(try #require(Timestamp(text)), zone)
    }

    @Test func aTimeIsShownAsTheClockOnTheWallShowsIt() throws {
        let summer = try local("2026-07-01T22:30:15Z")
        #expect(summer.day == "2026-07-02" && summer.time == "00:30:15" && summer.zone == "CEST")
        #expect(try local("2026-12-31T23:30:00Z").day == "2027-01-01")
        #expect(try local("1969-12-31T22:59:59Z").time == "23:59:59")
    }

    @Test(arguments: [
        ("2026-03-29T12:00:00Z", "2026-03-28T23:00:00Z"), ("2026-10-25T12:00:00Z", "2026-10-24T22:00:00Z"),
        ("2026-10-26T12:00:00Z", "2026-10-25T23:00:00Z"),
    ])
    func aDayBeginsAtMidnightAlsoWhenTheClockIsSet(now: String, midnight: String) throws {
        #expect(try local(now).midnight() == Timestamp(midnight))
    }

    @Test func whereThereIsNoMidnightTheDayBeginsWhenTheClockIsSet() throws {
        #expect(try local("2026-09-06T12:00:00Z", Self.santiago).midnight() == Timestamp("2026-09-06T04:00:00Z"))
    }

    @Test(arguments: [
        (1, "2026-02-28T11:00:00Z"), (6, "2025-09-30T10:00:00Z"), (25, "2024-02-29T11:00:00Z"),
        (1_000_000, "0000-01-01T00:00:00Z"),
    ])
    func aMonthBeforeHasTheSameTimeOrIsItsLastDay(months: Int64, then: String) throws {
        let summer = Timestamp("2025-03-30T01:00:00Z")!..<Timestamp("2025-10-26T01:00:00Z")!
        let zone: LocalZone = { summer.contains($0) ? (7_200, "CEST") : (3_600, "CET") }
        #expect(try local("2026-03-31T11:00:00Z", zone).earlier(months: months) == Timestamp(then))
    }

    @Test func daysOfTheWeekAreCountedFromMonday() throws {
        #expect(try local("2026-11-23T12:00:00Z").dayOfWeek == 0)
        #expect(try local("2026-11-22T22:30:00Z").dayOfWeek == 6)
        #expect(try local("1969-12-31T12:00:00Z").dayOfWeek == 2)
    }
}
